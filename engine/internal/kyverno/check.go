package kyverno

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// maxCheckedKinds is the maximum number of kinds that a rule is checked for. A rule that selects
// more kinds changes only fields that all kinds have.
const maxCheckedKinds = 40

// misfit is a part of a strategic merge patch that does not fit the type of a kind.
type misfit struct {
	path               change.Path
	code, text, advice string
}

// checkPatches checks the strategic merge patches of the rule against the schemas of its kinds.
// It skips parts with anchors or variables.
func (r *rule) checkPatches(kinds []*schema.Kind) []source.Diagnostic {
	if len(kinds) == 0 || len(kinds) > maxCheckedKinds {
		return nil
	}
	m := r.mutate()
	found := r.checkPatch(m.At("patchStrategicMerge"), kinds, r.asks(m))
	var visit func(policy.Node)
	visit = func(entry policy.Node) {
		found = append(found, r.checkPatch(entry.At("patchStrategicMerge"), kinds, true)...)
		for _, inner := range entry.At("foreach").Items() {
			visit(inner)
		}
	}
	for _, entry := range m.At("foreach").Items() {
		visit(entry)
	}
	return found
}

// asks reports whether the rule tests an object before it changes it.
func (r *rule) asks(m policy.Node) bool {
	isCondition := func(a anchor) bool { return a != addAnchor }
	return r.root.At("preconditions").Given() || r.root.At("celPreconditions").Given() || r.root.At("exclude").Given() ||
		hasAnchor(m.At("patchStrategicMerge").Value, isCondition)
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

// checkPatch reports the parts of a patch that fit none of the kinds and, unless the rule tests
// the object first, the parts that do not fit one of them. For a kind with several versions, one
// version that fits is enough.
func (r *rule) checkPatch(n policy.Node, kinds []*schema.Kind, asks bool) (found []source.Diagnostic) {
	type spot struct{ path, code string }
	fitting, all := map[spot]map[string]bool{}, map[string]bool{}
	misfits := map[string][]misfit{}
	for _, k := range kinds {
		name := k.Group + " " + k.Kind.Kind
		all[name] = true
		misfits[name] = append(misfits[name], misfitsOf(n, k.Type(), k, nil)...)
	}
	versions := map[string]int{}
	for _, k := range kinds {
		versions[k.Group+" "+k.Kind.Kind]++
	}
	var first []misfit
	for _, name := range slices.Sorted(maps.Keys(misfits)) {
		count := map[spot]int{}
		for _, m := range misfits[name] {
			s := spot{m.path.String(), m.code}
			if count[s]++; count[s] < versions[name] {
				continue
			}
			if fitting[s] == nil {
				fitting[s] = map[string]bool{}
				first = append(first, m)
			}
			fitting[s][name] = true
		}
	}
	for _, m := range first {
		if n := len(fitting[spot{m.path.String(), m.code}]); n == len(all) || !asks {
			found = append(found, source.Diagnostic{
				At: r.at(m.path), Severity: source.Warning, Code: m.code, Subject: "policy " + r.key() + ", rule " + r.name,
				Field: m.path.String(), Message: m.text, Advice: m.advice, Excerpt: r.document.Excerpt(r.at(m.path)),
			})
		}
	}
	return found
}

// misfitsOf compares a part of a patch with the type of a field of a kind.
func misfitsOf(n policy.Node, t *schema.Type, k *schema.Kind, field change.Path) []misfit {
	text, _ := n.Value.(string)
	if t == nil || n.Value == nil || t.Preserve || t.Scalar == schema.Untyped || strings.Contains(text, "{{") {
		return nil
	}
	switch value := n.Value.(type) {
	case map[string]any:
		if t.Scalar == schema.NotScalar && !t.IsList {
			return misfitFields(n, value, t, k, field)
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
	return []misfit{{n.Path, "type-mismatch", fmt.Sprintf("%s of %s is %s, and the patch writes %s", field, titleOf(k), typeWord(t), valueWord(n.Value)), "write a value of the field's type"}}
}

func misfitFields(n policy.Node, object map[string]any, t *schema.Type, k *schema.Kind, field change.Path) (found []misfit) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		a, bare := parseAnchor(key)
		if a != noAnchor && a != addAnchor || strings.HasPrefix(key, "$") || strings.Contains(key, "{{") {
			continue
		}
		inner := policy.Node{Value: object[key], Path: n.Path.Key(key)}
		of := t.Elem
		if declared := t.Declared(bare); declared != nil {
			of = declared.Type
		} else if of == nil {
			if len(t.Fields) > 0 {
				found = append(found, misfit{
					inner.Path, "field-undefined", fmt.Sprintf("%s has no field %s, so the server drops it", titleOf(k), field.Key(bare)), adviceFor(bare, t, k, field),
				})
			}
			continue
		}
		found = append(found, misfitsOf(inner, of, k, field.Key(bare))...)
	}
	return found
}

func titleOf(k *schema.Kind) string { return k.APIVersion() + " " + k.Kind.Kind }

// adviceFor returns advice about a field that does not exist.
func adviceFor(name string, t *schema.Type, k *schema.Kind, parent change.Path) string {
	if near := source.Nearest(name, t.FieldNames()); near != "" {
		return "did you mean " + near + "?"
	}
	var path strings.Builder
	for _, part := range parent {
		if part.Index < 0 {
			path.WriteString("." + part.Key)
		}
	}
	return fmt.Sprintf("'kubectl explain %s%s' lists the fields that there are", k.Resource, path.String())
}

// typeWord describes the values of a field.
func typeWord(t *schema.Type) string {
	switch {
	case t.IsList:
		return "a list"
	case t.Scalar == schema.NotScalar:
		return "a map"
	case t.Scalar == schema.String:
		return "a text"
	case t.Scalar == schema.Integer:
		return "a whole number"
	case t.Scalar == schema.Boolean:
		return "true or false"
	}
	return "of another type"
}

// valueWord describes a value without revealing it: it may be confidential.
func valueWord(value any) string {
	switch value.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case string:
		return "a text"
	case bool:
		return "true or false"
	}
	return "a number"
}
