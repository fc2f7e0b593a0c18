package kyverno

import (
	"fmt"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// A deviation is a behaviour of Kyverno v1.19.0 that differs from its documentation.
type deviation struct {
	// does is the documented behaviour, instead is Kyverno's behaviour, and advice says how to
	// write a rule for which both are the same.
	does, instead, advice string
}

var (
	additionInItem = &deviation{
		"+( ) in an item of a list is decided for each item of the object",
		"lets the first item of the object decide for all", "write a foreach over the items",
	}
	severalItems = &deviation{
		"all items with anchors in the list count",
		"loses some of them, and items of the object", "write a rule for each item",
	}
	nameInItem = &deviation{
		"a plain name in an item with anchors selects items",
		"ignores it", "write it as a condition: (name)",
	}
	belowCondition = &deviation{
		"the value of a condition is only compared",
		"also writes parts of it into the object", "write the condition with anchors down to single values, or as a precondition",
	}
	emptyMap = &deviation{"empty maps of the patch are written", "leaves them out", "write them with patchesJson6902"}
	inPlace  = &deviation{
		"items of the object that meet the conditions are changed where they are",
		"changes items with a name only, and replaces lists that do not merge by name", "write a foreach with patchesJson6902",
	}
	replaceMissing = &deviation{"replace adds what is missing", "fails", "use add"}
	nestedForeach  = &deviation{
		"the nested foreach also applies to pod controllers",
		"deletes their pod template", "write a policy for the controllers, and set the annotation " + autogenAnnotation + " to none",
	}
	orderDropped = &deviation{
		"the order of the foreach also applies to pod controllers",
		"takes the default order for them", "write a policy for the controllers, and set the annotation " + autogenAnnotation + " to none",
	}
	targetsDropped = &deviation{
		"a rule with targets does not apply to pod controllers",
		"applies it without its targets, and patches the controllers", "set the annotation " + autogenAnnotation + " to none",
	}
	afterFailure = &deviation{
		"after a failing rule, later rules see the object",
		"gives them an empty object", "correct the rule that fails",
	}
	listOfOperations = &deviation{"a list of operations is a JSON Patch", "refuses the policy: its CustomResourceDefinition wants a text", "write it as a text: patchesJson6902: |-"}
	otherSpelling    = &deviation{"operators may be written in lower or upper case", "treats this spelling as never true", "write it as the documentation does"}
)

// String implements fmt.Stringer.
func (d *deviation) String() string { return d.does + "; Kyverno 1.19.0 " + d.instead }

// mark is a part of a patch that may lead to a deviation.
type mark struct {
	path change.Path
	*deviation
}

// marks finds the parts of a strategic merge patch that Kyverno v1.19.0 may treat differently.
func marks(n policy.Node) []mark {
	switch value := n.Value.(type) {
	case map[string]any:
		return marksOfMap(n, value)
	case []any:
		return marksOfList(n)
	}
	return nil
}

func marksOfMap(n policy.Node, object map[string]any) (found []mark) {
	if len(object) == 0 {
		return []mark{{n.Path, emptyMap}}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		member := n.At(key)
		switch {
		case !isConditionKey(key):
			found = append(found, marks(member)...)
		case leavesText(member.Value):
			found = append(found, mark{member.Path, belowCondition})
		}
	}
	return found
}

// leavesText reports whether deleting the anchors inside a condition leaves something.
func leavesText(condition any) bool {
	object, ok := condition.(map[string]any)
	if !ok {
		list, _ := condition.([]any)
		return slices.ContainsFunc(list, func(item any) bool { return !hasAnchors(item) })
	}
	for key, member := range object {
		if a, _ := parseAnchor(key); a == noAnchor || leavesText(member) {
			return true
		}
	}
	return false
}

func marksOfList(n policy.Node) (found []mark) {
	anchored := 0
	for _, item := range n.Items() {
		found = append(found, marks(item)...)
		if item.Object() == nil || !hasAnchors(item.Value) {
			continue
		}
		if anchored++; anchored == 2 {
			found = append(found, mark{n.Path, severalItems})
		}
		if hasAnchor(item.Value, func(a anchor) bool { return a == addAnchor }) {
			found = append(found, mark{item.Path, additionInItem})
		}
		if item.At("name").Given() {
			found = append(found, mark{item.At("name").Path, nameInItem})
		}
		found = append(found, mark{item.Path, inPlace})
	}
	return found
}

// isSafe reports whether Kyverno v1.19.0 behaves as documented for a mark in objects of a type.
// It handles an item with anchors if the list merges by name.
func (m mark) isSafe(t *schema.Type, patch change.Path) bool {
	if m.deviation != inPlace {
		return false
	}
	var list *schema.Type
	for _, step := range m.path[len(patch):] {
		if list = t; step.IsIndex() {
			t = t.ItemType()
		} else {
			t = t.FieldType(step.Key)
		}
	}
	return list != nil && list.MergeKey == "name"
}

// differ warns that Kyverno v1.19.0 treats the object of the request differently.
func (e *evaluation) differ(r *rule, path change.Path, d *deviation, effect string) {
	e.request.Warn(source.Warningf(r.at(path), "kyverno-differs", "policy %s, rule %s: %s%s", r.key(), r.name, d, effect).With(d.advice))
}

// compareStrategic compares the result of a strategic merge patch with the result of Kyverno
// v1.19.0. value is the patch with the values of its variables.
func (s *scope) compareStrategic(r *rule, p *patch, value any, object, patched map[string]any, t *schema.Type) {
	pattern, ok := value.(map[string]any)
	all := p.marks
	if !p.plain {
		all = marks(policy.Node{Value: value, Path: p.Path})
	}
	var found []mark
	for _, m := range all {
		if !m.isSafe(t, p.Path) {
			found = append(found, m)
		}
	}
	if !ok || len(found) == 0 {
		return
	}
	cause := found[0]
	for _, m := range found {
		if cause.deviation == emptyMap || cause.deviation == inPlace {
			cause = m
		}
	}
	theirs, err := asInKyverno(pattern, object, t)
	switch {
	case err != nil:
		s.differ(r, cause.path, cause.deviation, ", and fails: "+err.Error())
	case change.Equal(theirs, patched), !s.request.Kind.Custom && sameForServer(theirs, patched):
	default:
		s.differ(r, cause.path, cause.deviation, ": "+change.Summary(change.Diff(patched, theirs, t)))
	}
}

// jsonPatches returns the dialect of JSON Patches. It warns of operations that fail in Kyverno
// v1.19.0.
func (s *scope) jsonPatches(r *rule, n policy.Node) jsonpatch.Dialect {
	return jsonpatch.KyvernoTelling(func(op jsonpatch.Operation) {
		s.differ(r, n.Path, replaceMissing, fmt.Sprintf(": there is no %s", op.Path))
	})
}

// compareOrder runs a generated foreach in the order that Kyverno v1.19.0 uses.
func (s *scope) compareOrder(f *foreach, n policy.Node, object map[string]any) {
	entry, found := entryWithOrder(n)
	if !f.rule.generated || !found {
		return
	}
	theirs := foreach{rule: f.rule, shape: f.shape, self: f.self, object: object, order: defaultOrder}
	if err := theirs.entries(s, n, 0, ""); err != nil {
		s.differ(f.rule, entry.At("order").Path, orderDropped, ", and fails: "+err.Error())
	} else if !change.Equal(theirs.object, f.object) {
		s.differ(f.rule, entry.At("order").Path, orderDropped, ": "+change.Summary(change.Diff(f.object, theirs.object, f.shape)))
	}
}

// entryWithOrder returns the first entry with an order in a foreach and the foreach nested in
// it.
func entryWithOrder(n policy.Node) (policy.Node, bool) {
	for _, entry := range n.Items() {
		if entry.At("order").Given() {
			return entry, true
		}
		if nested, found := entryWithOrder(entry.At("foreach")); found {
			return nested, true
		}
	}
	return policy.Node{}, false
}

// compareTargets runs the rules that Kyverno v1.19.0 generates for pod controllers from a rule
// with targets.
func (e *evaluation) compareTargets(d *definition, object map[string]any) {
	for _, r := range d.shadows {
		s, skipped := e.begin(r, object)
		if skipped != nil {
			continue
		}
		results, _, err := s.mutate(r, object, e.request.Kind.Type(), "request.object")
		if err == nil && len(results) > 0 {
			e.differ(r, r.root.At("mutate", "targets").Path, targetsDropped,
				": "+change.Summary(change.Diff(object, results[len(results)-1].object, e.request.Kind.Type())))
		}
	}
}

// compareFailed warns if a rule failed before. The caller is a later rule that changes the
// object.
func (e *evaluation) compareFailed() {
	if e.failed != nil {
		e.differ(e.failed, e.failed.mutate().Path, afterFailure, "")
		e.failed = nil
	}
}

// noteDeviation reports a deviation of Kyverno v1.19.0 that does not depend on the object.
func (r *reader) noteDeviation(n policy.Node, d *deviation) {
	r.Note(n, source.Warning, "kyverno-differs", d.String(), d.advice)
}

// check finds the possible deviations of Kyverno v1.19.0, without an object.
func (r *rule) check() (found []source.Diagnostic) {
	seen := map[string]bool{}
	report := func(path change.Path, d *deviation) {
		if key := path.String() + d.does; !seen[key] {
			seen[key] = true
			found = append(found, source.Diagnostic{
				At: r.at(path), Severity: source.Warning, Code: "kyverno-differs", Subject: "policy " + r.key() + ", rule " + r.name,
				Field: path.String(), Message: d.String(), Advice: d.advice, Excerpt: r.document.Excerpt(r.at(path)),
			})
		}
	}
	var visit func(n policy.Node)
	visit = func(n policy.Node) {
		for _, m := range marks(n.At("patchStrategicMerge")) {
			if m.deviation != inPlace && m.deviation != emptyMap { // these depend on the object and its type
				report(m.path, m.deviation)
			}
		}
		for _, entry := range n.At("foreach").Items() {
			visit(entry)
		}
	}
	visit(r.mutate())
	return found
}
