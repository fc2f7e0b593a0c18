package kyverno

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/strategicmerge"
	"github.com/preadmit/preadmit/engine/internal/unknown"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// result is the object after a rule, or after an element of its foreach.
type result struct {
	object  map[string]any
	element string
	// at is the path of the patch of an entry of foreach; nil for the patch of the rule.
	at change.Path
}

// outcome is what a rule makes of an object.
type outcome struct {
	results []result
	// reason says why there are no results.
	reason string
	// applied says that Kyverno counts the rule as applied: see [foreach.entries] and [rule.unchanged].
	applied bool
}

const (
	ChangesNothing  = "the patch changes nothing"
	changesOnlyText = "the patch changes only how the object is written as JSON, which counts for applyRules: One"
)

// mutate applies all patches of a rule to an object, or none if one fails.
func (s *scope) mutate(r *rule, object map[string]any, t *schema.Type) (outcome, error) {
	if r.foreach.Given() {
		s.variables() // all elements share them
		f := foreach{rule: r, shape: t, object: object}
		applied, err := f.entries(s, r.foreach, 0, "")
		if err != nil {
			return outcome{}, err
		}
		return outcome{f.results, f.reason(), applied}, nil
	}
	if err := s.substituteOthers(r); err != nil {
		return outcome{}, err
	}
	patched, reason, err := s.patch(r, &r.patch, r.substitution(r.patch.node.Path), object, t)
	if err != nil || reason != "" {
		return outcome{reason: reason, applied: reason == changesOnlyText}, err
	}
	return outcome{results: []result{{object: patched}}, applied: true}, nil
}

// substituteOthers replaces the variables of a rule outside its patch, to no effect but errors: see
// allSubstituted.
func (s *scope) substituteOthers(r *rule) error {
	for _, n := range r.others {
		if name := n.At("name").Text(); s.given[name] && !n.Has("variable") {
			continue // an entry of the context whose value the user gave
		}
		if _, err := s.substitute(n.Value, r.substitution(n.Path)); err != nil {
			return err
		}
	}
	return nil
}

// readOthers returns the parts of a rule outside its patch that have variables, but for
// preconditions that have been evaluated when the patch is applied.
func (r *rule) readOthers() (found []policy.Node) {
	if r.foreach.Given() || r.isLegacy() {
		return nil
	}
	for _, n := range r.root.Below() {
		parts := []policy.Node{n}
		switch n.Key() {
		case "context":
			parts = n.Items()
		case "preconditions":
			any := n.At("any").Items()
			parts = any[min(1, len(any)):]
		case "mutate":
			parts[0] = n.At("targets")
		}
		for _, part := range parts {
			if HasSubstitutions(part.Value) {
				found = append(found, part)
			}
		}
	}
	return found
}

// patch is the patch of a mutate block or an entry of foreach.
type patch struct {
	node policy.Node
	// plain says that the patch has no variables. form is then set if it is a strategic merge patch.
	plain bool
	form  form
}

// kind returns the key of the patch in the rule.
func (p *patch) kind() string { return p.node.Key() }

const strategicPatch = "patchStrategicMerge"

// readPatch reads the patch of a mutate block or an entry of foreach.
func readPatch(n policy.Node) patch {
	p := patch{node: patchOf(n)}
	if p.plain = !HasSubstitutions(p.node.Value); p.plain && p.kind() == strategicPatch {
		p.form = newForm(p.node.Value)
	}
	return p
}

// patchOf returns the patch of a mutate block or an entry of foreach.
func patchOf(n policy.Node) policy.Node {
	for _, key := range []string{strategicPatch, "patchesJson6902", "overlay", "patches"} {
		if patch := n.At(key); patch.Given() {
			return patch
		}
	}
	return n
}

// patch applies one patch. The reason says why nothing changed.
func (s *scope) patch(r *rule, patch *patch, at substitution, object map[string]any, t *schema.Type) (patched map[string]any, reason string, err error) {
	value := patch.node.Value
	if !patch.plain {
		if value, err = s.substitute(patch.node.Value, at); err == nil {
			value, err = jmespath.Output(value)
		}
		if err != nil {
			return nil, "", err
		}
	}
	patched, reason, err = s.apply(r, patch, value, object, t)
	switch {
	case err != nil && !patch.plain: // the error may quote values of variables
		return nil, "", unpatched(patch.node.Path, source.Derive(err))
	case err != nil:
		return nil, "", unpatched(patch.node.Path, err)
	case reason != "":
		return nil, reason, nil
	case change.Equal(patched, object):
		return nil, r.unchanged(patch, value, object), nil
	}
	for _, key := range []string{"apiVersion", "kind"} {
		if patched[key] != object[key] {
			return nil, "", unpatched(patch.node.Path, fmt.Errorf("a patch must not change %s", key))
		}
	}
	return patched, "", nil
}

// unchanged returns the reason why a patch does not change an object. For applyRules: One, Kyverno
// compares the object's JSON before and after a rule without foreach: Mutate in
// pkg/engine/mutate/mutation.go.
func (r *rule) unchanged(patch *patch, value any, object map[string]any) string {
	if r.policy.one && !r.foreach.Given() && patch.kind() == "patchesJson6902" && rewrites(object, value) {
		return changesOnlyText
	}
	return ChangesNothing
}

// rewrites reports whether a JSON Patch changes the JSON of an object. Kyverno sorts the keys of a patch
// in YAML, but not of one in JSON.
func rewrites(object map[string]any, value any) bool {
	text, _ := value.(string)
	if strings.HasPrefix(text, "[") {
		return jsonpatch.Rewrites(object, []byte(text))
	}
	parsed, err := manifest.Value(text)
	if err != nil {
		return false
	}
	written, err := json.Marshal(parsed)
	return err == nil && jsonpatch.Rewrites(object, written)
}

// apply applies a patch whose variables are replaced.
func (s *scope) apply(r *rule, patch *patch, value any, object map[string]any, t *schema.Type) (patched map[string]any, reason string, err error) {
	switch patch.kind() {
	case strategicPatch:
		f := patch.form
		if !patch.plain {
			f = newForm(value)
		}
		return s.merge(r, patch, f, object, t)
	case "overlay":
		if HasAnchors(value) {
			s.evaluation.observer().Use(object)
		}
		return overlay(object, value, t)
	}
	if _, isText := value.(string); !isText && patch.kind() == "patchesJson6902" {
		return nil, "", errors.New("the variable must be a text with the operations")
	}
	s.evaluation.observer().UseText(value)
	patched, err = patchJSON(object, value)
	return patched, "", err
}

// merge applies a strategic merge patch, and warns of what Kyverno does besides.
func (s *scope) merge(r *rule, patch *patch, f form, object map[string]any, t *schema.Type) (patched map[string]any, reason string, err error) {
	memo := s.evaluation.request.Memo
	read, err := readAsYAML(memo, object)
	if err != nil {
		return nil, "", err
	}
	patched, plain, reason, err := strategic(memo, read, f, t, s.evaluation.observer())
	if err != nil || change.Same(patched, object) {
		return patched, reason, err
	}
	if !change.Same(read, object) {
		reason = "" // Kyverno writes the object as it read it, whatever the patch does
		s.warn(linesFolded, r, patch.node.Path, change.Diff(object, read, t))
	}
	if reason == "" {
		s.warnLost(r, patch, f, read, patched, t, plain)
	}
	return patched, reason, nil
}

// strategic applies a strategic merge patch with anchors. plain says that the merge was not
// unusual.
func strategic(memo *change.Memo, object map[string]any, f form, t *schema.Type, o unknown.Observer) (patched map[string]any, plain bool, reason string, err error) {
	patch, failed, err := f.resolve(object, o)
	switch {
	case err != nil:
		return nil, false, "", err
	case failed != nil:
		patch, reason = nil, failed.String()
	}
	// Kyverno merges even if there is nothing to merge: this may change lists of the object.
	patched, plain, err = strategicmerge.Merge(memo, object, patch, t)
	if err != nil || !plain && !change.Equal(patched, object) {
		reason = ""
	}
	return patched, plain, reason, err
}

// patchJSON applies a JSON Patch.
func patchJSON(object map[string]any, value any) (map[string]any, error) {
	operations, err := parseJSONPatch(value)
	if err == nil && isFlowText(value) {
		err = errors.New("the JSON Patch begins with [, but is not JSON")
	}
	if err != nil {
		return nil, err
	}
	return jsonpatch.Kyverno.Apply(object, operations)
}

// isFlowText reports whether a JSON Patch is a text that Kyverno takes for JSON, but is YAML: see
// flowTextFails.
func isFlowText(value any) bool {
	text, _ := value.(string)
	return strings.HasPrefix(text, "[") && !json.Valid([]byte(text))
}

// noOperation is what is said about an operation without a known op.
var noOperation = "op must be one of " + strings.Join(jsonpatch.Ops, ", ")

// parseJSONPatch reads a JSON Patch that is a list or a text with a list.
func parseJSONPatch(value any) ([]jsonpatch.Operation, error) {
	if text, ok := value.(string); ok {
		parsed, err := manifest.Value(text)
		if err != nil {
			return nil, fmt.Errorf("the JSON Patch is not YAML: %w", err)
		}
		value = parsed
	}
	list, ok := value.([]any)
	if !ok {
		return nil, errors.New("the JSON Patch is not a list of operations")
	}
	operations := make([]jsonpatch.Operation, len(list))
	for i, item := range list {
		operation, err := parseOperation(item)
		if err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
		operations[i] = operation
	}
	return operations, nil
}

// operationError reports a mistake in a word of an operation. The word to write instead may be "".
type operationError struct {
	text  string
	meant source.Advice
	// field is the field of the operation whose value is wrong; "" if that is the name of a field.
	field string
}

// Error says what was expected.
func (e *operationError) Error() string { return e.text }

func parseOperation(item any) (jsonpatch.Operation, error) {
	var operation jsonpatch.Operation
	fields, ok := item.(map[string]any)
	if !ok {
		return operation, errors.New("expected a map")
	}
	for _, key := range sortedKeys(fields) {
		if !slices.Contains([]string{"op", "path", "from", "value"}, key) {
			known := []string{"op", "path", "from", "value"}
			return operation, &operationError{text: "expected only op, path, from and value", meant: source.Meant(key, source.Nearest(key, known))}
		}
	}
	var hasPath, hasValue bool
	operation.Op, _ = fields["op"].(string)
	operation.Path, hasPath = fields["path"].(string)
	operation.From, _ = fields["from"].(string)
	operation.Value, hasValue = fields["value"]
	operation.NoValue = !hasValue
	switch {
	case !slices.Contains(jsonpatch.Ops, operation.Op):
		near := source.Nearest(operation.Op, jsonpatch.Ops)
		return operation, &operationError{noOperation, source.Meant(operation.Op, near), "op"}
	case !hasPath || operation.Path != "" && operation.Path[0] != '/':
		return operation, &operationError{"path must be a JSON Pointer, which starts with /", source.Meant(operation.Path, "/"+operation.Path), "path"}
	case (operation.Op == "move" || operation.Op == "copy") && !strings.HasPrefix(operation.From, "/"):
		return operation, &operationError{"from must be a JSON Pointer, which starts with /", source.Meant(operation.From, "/"+operation.From), "from"}
	case (operation.Op == "add" || operation.Op == "replace") && !hasValue:
		return operation, errors.New("the operation has no value")
	}
	return operation, nil
}

// jsonPatch checks a JSON Patch. A patch whose text has variables cannot be checked before they
// have values.
func (r *reader) jsonPatch(n policy.Node) {
	if !n.Given() {
		return
	}
	r.expressions(n)
	text, isText := n.Value.(string)
	if !isText && n.Key() == "patchesJson6902" {
		d := source.Errorf(r.doc.Document.At(n.Path), "policy-invalid", "must be of type string").
			With("write the operations as a text: patchesJson6902: |-")
		r.doc.Report(r.doc.Document.Texted(d, n.Path), n.Path)
		return
	}
	if !isText || !hasVariables(text) {
		if _, err := parseJSONPatch(n.Value); err != nil {
			d := source.Errorf(r.doc.Document.At(n.Path), "policy-invalid", "%v", err)
			if isText {
				d = r.doc.Document.Mended(d, n.Path, meantOperation(text))
			}
			r.doc.Report(d, n.Path)
		}
	}
}

// meantOperation returns what was probably meant by the first wrong operation in the text of a JSON Patch.
func meantOperation(text string) source.Mend {
	nested, err := manifest.ReadNested(text)
	if err != nil {
		return source.Mend{}
	}
	list, _ := nested.Value().([]any)
	for i, item := range list {
		var e *operationError
		if _, err := parseOperation(item); !errors.As(err, &e) {
			continue
		}
		at := change.Path{change.Index(i)}
		if fields, _ := item.(map[string]any); e.field == "op" && fields["op"] == nil {
			return withOperation(text, nested, at, fields)
		}
		if e.field != "" {
			at = at.Key(e.field)
		}
		if e.meant.Old == "" || e.meant.New == "" {
			break
		}
		return e.meant.In(text, nested.Offset(at, 0))
	}
	return source.Mend{}
}

// withOperation returns the mend of an operation without op, at a path of the text of a JSON Patch: one with a value adds
// it, and one without removes.
func withOperation(text string, nested *manifest.Nested, at change.Path, fields map[string]any) source.Mend {
	op := "remove"
	switch {
	case fields["from"] != nil:
		return source.Mend{}
	case fields["value"] != nil:
		op = "add"
	}
	first := len(text)
	for key := range fields {
		first = min(first, nested.KeyOffset(at.Key(key)))
	}
	line := strings.LastIndexByte(text[:first], '\n') + 1
	insert := "op: " + op + "\n" + strings.Repeat(" ", first-line)
	if strings.ContainsAny(text[line:first], "{[") {
		insert = `"op": "` + op + `", `
	}
	return source.Mend{
		Advice: "write op: " + op, Title: "Write op: " + op, Changes: []source.Change{{From: first, To: first, New: insert}},
	}
}

// foreach is the state of the foreach of a rule.
type foreach struct {
	rule    *rule
	shape   *schema.Type
	object  map[string]any
	results []result
	// skipped is the reason why the first element without a change changed nothing; count is the
	// number of elements.
	skipped string
	count   int
	// size is the size of all results.
	size int
}

func (f *foreach) reason() string {
	switch {
	case len(f.results) > 0:
		return ""
	case f.count == 0:
		return "foreach: the list has no elements"
	}
	return "foreach: " + f.skipped
}

// maxElements is the maximum number of foreach elements in one request.
const maxElements = 20000

// entries runs the entries of a foreach. An entry sees the changes of the entries before; its
// elements are those of its list when the entry starts. They see the object as it was then: the
// entries of a nested foreach do not see what it changed for elements before. applied says that an
// entry changed the object, and did not change it back: mutateForEach and mutateElements in
// pkg/engine/handlers/mutation/common.go.
func (f *foreach) entries(s *scope, n policy.Node, depth int, label string) (applied bool, err error) {
	for i, entry := range n.Items() {
		before := f.object
		if err := f.entry(s.child(), entry, fmt.Sprintf("%sforeach[%d]", label, i), depth); err != nil {
			return false, err
		}
		if !change.Equal(before, f.object) {
			applied = true
			s.setObject(f.object) // of a target, too
		}
	}
	return applied, nil
}

// entry runs an entry of a foreach for the elements of its list.
func (f *foreach) entry(s *scope, entry policy.Node, label string, depth int) error {
	elements, err := s.query(entry.At("list").Text())
	if err != nil {
		return unreplaced(entry.At("list").Path, explain(entry.At("list").Text(), err, false))
	}
	list, ok := elements.([]any)
	if !ok {
		list = []any{elements}
	}
	for _, index := range order(entry, len(list)) {
		if list[index] == nil {
			continue
		}
		if s.evaluation.elements++; s.evaluation.elements > maxElements {
			return unpatched(entry.Path, limit.Exceeded(limit.Foreach, "select fewer elements", "foreach has more than %d elements", maxElements))
		}
		if err := f.element(s.child(), entry, fmt.Sprintf("%s element %d", label, index), list[index], index, depth); err != nil {
			return err
		}
	}
	return nil
}

// order returns the indexes of elements in the order of an entry. A strategic merge puts new items
// first, so by default it begins with the last element.
func order(entry policy.Node, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	order := entry.At("order")
	if order.Text() == "Descending" || !order.Given() && entry.At(strategicPatch).Given() {
		slices.Reverse(all)
	}
	return all
}

// element runs an entry for one element.
func (f *foreach) element(s *scope, entry policy.Node, label string, value any, index, depth int) error {
	// The index is no number for comparisons and functions of JMESPath.
	for name, value := range map[string]any{"element": element(value), "elementIndex": int64(index)} {
		s.vars[name], s.vars[fmt.Sprintf("%s%d", name, depth)] = value, value
	}
	for _, v := range f.rule.foreachVariables(s.evaluation.program.values, index) {
		s.give(v.key, v.value)
	}
	s.addContext(f.rule, entry.At("context"))
	f.count++
	reason, err := s.check(f.rule, entry.At("preconditions"))
	if err != nil {
		return fmt.Errorf("%s: %w", label, err)
	}
	if reason != "" {
		f.skip(label, reason)
		return nil
	}
	if entry.At("foreach").Given() {
		_, err := f.entries(s, entry.At("foreach"), depth+1, label+", ")
		return err
	}
	patch := readPatch(entry)
	patched, reason, err := s.patch(f.rule, &patch, substitution{root: map[string]any{patch.kind(): patch.node.Value}, path: patch.node.Path, base: entry.Path}, f.object, f.shape)
	if err != nil {
		return fmt.Errorf("%s: %w", label, err)
	}
	if reason != "" {
		f.skip(label, reason)
		return nil
	}
	size, _ := limit.Size(patched, limit.ForeachBytes)
	if f.size += size; f.size > limit.ForeachBytes {
		return limit.Exceeded(limit.Foreach, "let fewer elements change the object, or change it in one patch",
			"%s: the patches of foreach, times the size of the object, exceed %d MiB", label, limit.ForeachBytes>>20)
	}
	f.object = patched
	f.results = append(f.results, result{patched, label, patch.node.Path})
	return nil
}

// element returns an item of a list as the variable element. Maps and lists keep their integers: see
// numbersWhole.
func element(value any) any {
	if number, ok := value.(int64); ok {
		return jmespath.Input(number)
	}
	return jmespath.Whole(value)
}

func (f *foreach) skip(label, reason string) {
	if f.skipped == "" {
		f.skipped = label + ": " + reason
	}
}
