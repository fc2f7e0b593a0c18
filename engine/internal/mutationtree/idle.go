package mutationtree

import (
	"slices"

	"github.com/preadmit/preadmit/engine/source"
)

// checkIdle reports a rule that changes no object, because its match block asks for all that its trees
// write. It decides only by texts and booleans: a number may be written in several ways.
func (r *rule) checkIdle() []source.Diagnostic {
	if r.match == nil || len(r.trees) == 0 {
		return nil
	}
	alternatives := [][]assertion{r.match.all}
	if len(r.match.any) > 0 {
		alternatives = nil
		for _, a := range r.match.any {
			alternatives = append(alternatives, append(slices.Clip(r.match.all), a))
		}
	}
	for _, t := range r.trees {
		if slices.ContainsFunc(alternatives, func(required []assertion) bool { return !t.isRequired(required) }) {
			return nil
		}
	}
	at := r.document.Key(r.trees[0].at)
	d := source.Warningf(at, "changes-nothing", "the rule changes no object: all that it writes is in every object that it matches").With("write another value, or remove the rule")
	d.Subject, d.Field, d.Excerpt = r.id().String(), r.trees[0].at.String(), r.document.Excerpt(at)
	return []source.Diagnostic{d}
}

// isRequired reports whether a value has what a tree writes, if assertions hold for it.
func (t tree) isRequired(assertions []assertion) bool {
	if t.fields != nil {
		return len(*t.fields) > 0 && !slices.ContainsFunc(*t.fields, func(f field) bool { return f.replaces || !f.tree.isRequired(assertionsOf(f.key, assertions)) })
	}
	written, isLiteral := t.scalar.(literal)
	switch written.value.(type) {
	case string, bool:
		return isLiteral && slices.ContainsFunc(assertions, func(a assertion) bool { return a.scalar == t.scalar })
	}
	return false
}

// assertionsOf returns the assertions about a field of the values that assertions are about.
func assertionsOf(key string, assertions []assertion) (of []assertion) {
	for _, a := range assertions {
		if a.parts == nil {
			continue
		}
		for _, p := range *a.parts {
			if p.key == key && p.selects == nil && !p.each {
				of = append(of, p.assertion)
			}
		}
	}
	return of
}
