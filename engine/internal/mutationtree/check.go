package mutationtree

import (
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Check implements policy.Program: it finds constant parts of trees that fit none of the kinds that
// their rule matches, and rules that change nothing.
func (p *program) Check(schemas *schema.Registry, _ *policy.Kept) (found []source.Diagnostic) {
	for i := range p.rules {
		found = slices.Concat(found, p.rules[i].check(schemas), p.rules[i].checkIdle())
	}
	return found
}

// misfit is a part of a tree that does not fit a kind.
type misfit struct {
	at         source.Position
	path       change.Path
	code, text string
	advice     source.Advice
	// wants is the type that the scalar at the path should have.
	wants *schema.Type
}

func (r *rule) check(schemas *schema.Registry) (found []source.Diagnostic) {
	kinds := r.kinds(schemas)
	count := map[string]int{}
	for _, k := range kinds {
		for _, t := range r.trees {
			for _, m := range (kindCheck{r, k}).misfits(t, k.Type(), nil) {
				if count[m.path.String()]++; count[m.path.String()] < len(kinds) {
					continue
				}
				d := source.Warningf(m.at, m.code, "%s", m.text).Advised(m.advice)
				if m.wants != nil {
					d = r.document.Retyped(d, m.path, m.wants.Fits)
				}
				d.Subject, d.Field, d.Excerpt = r.id().String(), m.path.String(), r.document.Excerpt(m.at)
				found = append(found, d)
			}
		}
	}
	return found
}

// kinds returns the kinds that the rule matches; nil if it may match any.
func (r *rule) kinds(schemas *schema.Registry) []*schema.Kind {
	if r.match == nil {
		return nil
	}
	for _, a := range r.match.all {
		if k := a.kind(schemas); k != nil {
			return []*schema.Kind{k}
		}
	}
	var kinds []*schema.Kind
	for _, a := range r.match.any {
		k := a.kind(schemas)
		if k == nil {
			return nil
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// kind returns the kind that an assertion names; nil if it may be any.
func (a assertion) kind(schemas *schema.Registry) *schema.Kind {
	var of gvk.Kind
	if a.parts == nil {
		return nil
	}
	for _, p := range *a.parts {
		written, _ := p.assertion.scalar.(literal)
		text, _ := written.value.(string)
		switch {
		case p.selects != nil || p.each:
		case p.key == "kind":
			of.Kind = text
		case p.key == "apiVersion":
			version := gvk.Parse(text, "")
			of.Group, of.Version = version.Group, version.Version
		}
	}
	return schemas.Lookup(of)
}

// kindCheck compares the trees of a rule with a kind.
type kindCheck struct {
	rule *rule
	kind *schema.Kind
}

// misfits compares a tree with the type of a field.
func (c kindCheck) misfits(t tree, of *schema.Type, field change.Path) (found []misfit) {
	written, isLiteral := t.scalar.(literal)
	switch {
	case of == nil || of.Preserve || of.Scalar == schema.Untyped:
	case t.fields != nil && of.IsList:
		return c.mismatch(t, field, "a list, and the tree writes a map")
	case t.fields != nil && of.Scalar != schema.NotScalar:
		return c.mismatch(t, field, "a single value, and the tree writes a map")
	case t.fields != nil:
		for _, f := range *t.fields {
			found = append(found, c.misfitField(f, of, field)...)
		}
	case t.items != nil && !of.IsList:
		return c.mismatch(t, field, "not a list, and the tree writes one")
	case t.items != nil:
		for i, item := range *t.items {
			found = append(found, c.misfits(item, of.ItemType(), field.Index(i))...)
		}
	case isLiteral && len(of.Check(written.value)) > 0:
		found = c.mismatch(t, field, "of another type than the value that the tree writes")
		found[0].wants = of
	}
	return found
}

// misfitField compares an entry of a tree with the type of its map.
func (c kindCheck) misfitField(f field, of *schema.Type, above change.Path) []misfit {
	path := above.Key(f.key)
	if inner := of.FieldType(f.key); inner != nil || len(of.Fields) == 0 {
		return c.misfits(f.tree, inner, path)
	}
	return []misfit{{
		at: c.rule.document.Key(f.tree.at), path: f.tree.at, code: "field-undefined",
		text: fmt.Sprintf("%s has no field %s, so the server drops it", c.kind.Title(), path), advice: c.kind.SuggestField(of, f.key, above),
	}}
}

func (c kindCheck) mismatch(t tree, field change.Path, what string) []misfit {
	return []misfit{{
		at: c.rule.document.At(t.at), path: t.at, code: "type-mismatch",
		text: fmt.Sprintf("%s of %s is %s", field, c.kind.Title(), what), advice: source.Advice{Text: "write a value of the field's type"},
	}}
}
