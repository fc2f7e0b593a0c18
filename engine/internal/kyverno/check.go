package kyverno

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// misfit is a part of a patch that does not fit the type of a kind.
type misfit struct {
	// path is that of the part. offset is where the part begins in the text at the path, if it is in
	// one; or it is atKey.
	path       change.Path
	offset     int
	code, text string
	advice     source.Advice
	// mend is the advice with its changes, if they are no other name.
	mend source.Mend
	// in is the text of the JSON Patch that has the part, if it is in one.
	in string
	// wants is the type that the scalar at value should have.
	wants *schema.Type
	value change.Path
}

// atKey is the offset of a part that is the key of its path.
const atKey = -1

// checkPatches checks the patches of the rule against the schemas of its kinds. It skips parts with
// anchors or variables.
func (r *rule) checkPatches(kinds []*schema.Kind) (found []source.Diagnostic) {
	for i, n := range withEntries(r.mutation) {
		found = append(found, r.checkPatch(n, kinds, i > 0 || r.asks())...)
	}
	return found
}

// withEntries returns a mutate block, or an entry of foreach, and all entries in it.
func withEntries(n policy.Node) []policy.Node {
	all := []policy.Node{n}
	for _, entry := range n.At("foreach").Items() {
		all = append(all, withEntries(entry)...)
	}
	return all
}

// asks reports whether the rule tests an object before it changes it.
func (r *rule) asks() bool {
	return count(r.root, "preconditions", "celPreconditions", "exclude") > 0 || hasAnchor(r.mutation.At(strategicPatch).Value, isCondition)
}

// patched returns the kinds with a schema whose objects the rule changes.
func (r *rule) patched(schemas *schema.Registry) []*schema.Kind {
	var kinds []*schema.Kind
	if len(r.targets) > 0 {
		for _, target := range r.targets {
			if k := schemas.Lookup(gvk.Parse(target.At("apiVersion").Text(), target.At("kind").Text())); k != nil {
				kinds = append(kinds, k)
			}
		}
		return kinds
	}
	for _, k := range schemas.Kinds() {
		if k.Resource != "" && !k.Unknown && !policy.IsHidden(k.Kind) && r.match.covers(k.Kind) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func typesOf(kinds []*schema.Kind) []*schema.Type {
	var types []*schema.Type
	for _, k := range kinds {
		types = append(types, k.Type())
	}
	return types
}

// spot identifies a misfit of several kinds.
type spot struct {
	path   string
	offset int
	code   string
}

func (m misfit) spot() spot { return spot{m.path.String(), m.offset, m.code} }

// checkPatch reports the parts of the patches at n that fit none of the kinds and, unless the rule tests
// the object first, the parts that do not fit one of them. For a kind with several versions, one
// version that fits is enough.
func (r *rule) checkPatch(n policy.Node, kinds []*schema.Kind, asks bool) (found []source.Diagnostic) {
	fitting, versions := map[spot]int{}, map[string]int{} // numbers of kinds, and of their versions
	misfits := map[string][]misfit{}
	for _, k := range kinds {
		name := k.Group + " " + k.Kind.Kind
		versions[name]++
		misfits[name] = append(misfits[name], misfitsOf(n.At(strategicPatch), k.Type(), k, nil)...)
		misfits[name] = append(misfits[name], misfitOperations(n, k, r.subresources(k))...)
		misfits[name] = append(misfits[name], unstoredFields(n.At(strategicPatch), k, r.subresources(k), nil)...)
	}
	var first []misfit
	for _, name := range slices.Sorted(maps.Keys(misfits)) {
		count := map[spot]int{}
		for _, m := range misfits[name] {
			s := m.spot()
			if count[s]++; count[s] != versions[name] {
				continue
			}
			if fitting[s]++; fitting[s] == 1 {
				first = append(first, m)
			}
		}
	}
	for _, m := range first {
		if fitting[m.spot()] == len(versions) || !asks {
			found = append(found, r.misfit(m))
		}
	}
	return found
}

// misfit reports a misfit.
func (r *rule) misfit(m misfit) source.Diagnostic {
	at := r.at(m.path)
	switch {
	case m.offset == atKey:
		at = r.policy.document.Key(m.path)
	case m.offset > 0:
		at = r.policy.document.In(m.path, m.offset)
	}
	d := r.warning(at, m.path, m.code, m.text, "")
	switch {
	case m.mend.Advice != "":
		d = r.policy.document.Mended(d, m.path, m.mend)
	case m.in != "" && m.advice.New != "":
		d = r.policy.document.Mended(d, m.path, m.advice.In(m.in, m.offset))
	default:
		d = d.Advised(m.advice)
	}
	if m.wants != nil {
		d = r.policy.document.Retyped(d, m.value, m.wants.Fits)
	}
	return d
}

// misfitsOf compares a part of a patch with the type of a field of a kind.
func misfitsOf(n policy.Node, t *schema.Type, k *schema.Kind, field change.Path) []misfit {
	text, _ := n.Value.(string)
	if t == nil || n.Value == nil || t.Preserve || t.Scalar == schema.Untyped || strings.Contains(text, "{{") {
		return nil
	}
	switch n.Value.(type) {
	case map[string]any:
		if t.Scalar == schema.NotScalar && !t.IsList {
			return misfitFields(n, t, k, field)
		}
	case []any:
		if t.IsList {
			var found []misfit
			for i, item := range n.Items() {
				found = append(found, misfitsOf(item, t.Elem, k, field.Index(i))...)
			}
			return found
		}
	}
	if len(t.Check(n.Value)) == 0 {
		return nil
	}
	return []misfit{{
		path: n.Path, code: "type-mismatch", text: fmt.Sprintf("%s of %s is %s, and the patch writes %s", field, k.Title(), typeWord(t), change.Describe(n.Value)),
		advice: source.Advice{Text: "write a value of the field's type"}, wants: t, value: n.Path,
	}}
}

// misfitOperations compares the JSON Patches at n with a kind. subresources are those of the requests.
func misfitOperations(n policy.Node, k *schema.Kind, subresources []string) (found []misfit) {
	for _, key := range []string{"patchesJson6902", "patches"} {
		patch := n.At(key)
		text, isText := patch.Value.(string)
		items := patch.Items()
		var nested *manifest.Nested
		if isText {
			var err error
			if nested, err = manifest.ReadNested(text); err != nil {
				continue // it is reported when policies are compiled
			}
			items = policy.Node{Value: nested.Value()}.Items()
		}
		for _, item := range items {
			if item.At("op").Value == nil && isText && hasVariables(text) {
				m := misfit{path: patch.Path, offset: nested.Offset(item.Path, 0), code: "type-mismatch", text: noOperation}
				m.mend = withOperation(text, nested, item.Path, item.Object())
				found = append(found, m)
				continue
			}
			found = append(found, misfitsOfOperation(item, k, subresources, func(field string) misfit {
				if isText {
					return misfit{path: patch.Path, in: text, offset: nested.Offset(item.At(field).Path, 0)}
				}
				return misfit{path: item.Path}
			})...)
		}
	}
	return found
}

// misfitsOfOperation compares an operation with a kind. at returns a misfit at one of its fields.
func misfitsOfOperation(item policy.Node, k *schema.Kind, subresources []string, at func(field string) misfit) []misfit {
	op, m := knownOperation(item), at("path")
	if !slices.Contains(jsonpatch.Ops, op.Op) && !strings.Contains(op.Op, "{{") && hasVariables(m.in) {
		m = at("op") // without variables, it is an error
		m.code, m.text, m.advice = "type-mismatch", noOperation, source.Suggest(op.Op, jsonpatch.Ops)
		return []misfit{m}
	}
	wrong := op.Misfit(k)
	if wrong == nil {
		if why := admission.NotStored(k, subresources, op.Written()); why != nil {
			return []misfit{m.unstored(why, k)}
		}
		return nil
	}
	if wrong.Code == schema.FieldUndefined && wrong.Wants != nil {
		m = at("value")
	}
	m.code, m.text, m.advice = wrong.Code, wrong.Text, wrong.Advice
	if path := item.At("path").Text(); m.advice.New == "/"+op.Path { // with the variables that the operation does not have
		m.advice = source.Meant(path, "/"+path)
	}
	if m.in == "" {
		m.wants, m.value = wrong.Wants, item.At("value").Path
	}
	return []misfit{m}
}

// unstoredFields returns the fields in a part of a patch that no server stores. A part with anchors may be a condition.
func unstoredFields(n policy.Node, k *schema.Kind, subresources []string, field change.Path) (found []misfit) {
	if n.Object() == nil {
		return nil
	}
	for _, inner := range n.Below() {
		field := field.Key(inner.Key())
		switch why := admission.NotStored(k, subresources, field); {
		case strings.Contains(inner.Key(), "{{"):
		case why == nil:
			found = append(found, unstoredFields(inner, k, subresources, field)...)
		case !hasAnchor(inner.Value, isCondition):
			found = append(found, misfit{path: inner.Path, offset: atKey}.unstored(why, k))
		}
	}
	return found
}

// unstored returns the misfit of a part that writes what no server stores.
func (m misfit) unstored(why *admission.Unstored, k *schema.Kind) misfit {
	m.code, m.text, m.advice = "field-not-stored", why.Text, source.Advice{Text: "leave it out"}
	if _, isStatus := strings.CutSuffix(why.Instead, "/"+admission.Status); isStatus {
		m.advice.Text = "match the subresource: " + k.Kind.Kind + "/" + admission.Status
	} else if why.Instead != "" {
		m.advice.Text = "match " + k.Kind.Kind + ", without the subresource"
	}
	return m
}

// isCondition reports whether an anchor compares instead of writing.
func isCondition(a Anchor) bool { return a != Add }

// subresources returns those of the requests whose objects the rule changes.
func (r *rule) subresources(k *schema.Kind) (names []string) {
	if len(r.targets) > 0 || r.match.covers(k.Kind) {
		names = append(names, "")
	}
	if len(r.targets) == 0 && r.match.coversStatus(k.Kind) {
		names = append(names, admission.Status)
	}
	return names
}

// knownOperation returns an operation without what variables decide.
func knownOperation(item policy.Node) jsonpatch.Operation {
	op := jsonpatch.Operation{Op: item.At("op").Text(), Path: knownPointer(item.At("path").Text()), From: knownPointer(item.At("from").Text()), Value: item.At("value").Value}
	walkTexts(item.At("value"), func(policy.Node, string) { op.NoValue = true })
	return op
}

// knownPointer returns a JSON Pointer up to its first variable. The index of an element is a key.
func knownPointer(pointer string) string {
	pointer = elementIndexPattern().ReplaceAllString(pointer, jsonpatch.AnyKey)
	if known, _, cut := strings.Cut(pointer, "{{"); cut {
		return known[:strings.LastIndexByte("/"+known, '/')] + jsonpatch.AnyKeys
	}
	return pointer
}

// elementIndexPattern finds the variables elementIndex and elementIndex0, elementIndex1 ….
var elementIndexPattern = lazyregexp.New(`\{\{\s*elementIndex\d*\s*\}\}`)

func misfitFields(n policy.Node, t *schema.Type, k *schema.Kind, field change.Path) (found []misfit) {
	for _, inner := range n.Below() {
		key := inner.Key()
		a, bare := ParseAnchor(key)
		if a != NoAnchor && a != Add || strings.HasPrefix(key, "$") || strings.Contains(key, "{{") {
			continue
		}
		of := t.Elem
		if declared := t.Declared(bare); declared != nil {
			of = declared.Type
		} else if of == nil {
			if len(t.Fields) > 0 {
				found = append(found, misfit{
					path: inner.Path, offset: atKey, code: "field-undefined",
					text: fmt.Sprintf("%s has no field %s, so the server drops it", k.Title(), field.Key(bare)), advice: k.SuggestField(t, bare, field),
				})
			}
			continue
		}
		found = append(found, misfitsOf(inner, of, k, field.Key(bare))...)
	}
	return found
}

// typeWord describes the values of a field.
func typeWord(t *schema.Type) string {
	if t.IsList {
		return "a list"
	}
	words := map[schema.Scalar]string{schema.NotScalar: "a map", schema.String: "a string", schema.Integer: "a whole number", schema.Boolean: "a boolean"}
	return cmp.Or(words[t.Scalar], "of another type")
}
