package report

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// Filter narrows a report. An empty field does not filter.
type Filter struct {
	// Field selects edits of a field, of its parents and of its children.
	Field string
	// Object is Kind/name or the whole ID, with the wildcards * and ?.
	Object string
	// Policy is the name of a policy, with the wildcards * and ?.
	Policy string
	// Changed selects only manifests that change.
	Changed bool
}

// Narrow keeps only what the filter selects. Files stay whole. policies are the names of all
// policies of the run. The error says that the filter is malformed, or that it names an object or a
// policy that does not exist.
func (r *Report) Narrow(f Filter, policies []string) error {
	if err := r.check(&f, policies); err != nil {
		return err
	}
	r.Field = f.Field
	var manifests []Manifest
	for _, m := range r.Manifests {
		if f.Object != "" && !m.isCalled(f.Object) {
			continue
		}
		m.Edits = slices.DeleteFunc(slices.Clone(m.Edits), func(e Edit) bool {
			return !related(f.Field, e.Path) || !slices.ContainsFunc(e.Causes, func(s Step) bool { return f.by(s.Policy) })
		})
		m.Dropped = slices.DeleteFunc(slices.Clone(m.Dropped), func(s Step) bool { return !related(f.Field, s.Path) || !f.by(s.Policy) })
		m.NotApplied = slices.DeleteFunc(slices.Clone(m.NotApplied), func(n NotApplied) bool { return !f.by(n.Policy) })
		if (f.Field != "" || f.Changed) && len(m.Edits)+len(m.Dropped) == 0 || f.Policy != "" && len(m.Edits)+len(m.Dropped)+len(m.NotApplied) == 0 {
			continue
		}
		manifests = append(manifests, m)
	}
	if len(manifests) == 0 && f.Field != "" {
		r.resembling = r.resemblingField(f.Field)
	}
	r.Manifests = manifests
	return nil
}

// check checks a filter, and writes its field as the report does.
func (r *Report) check(f *Filter, policies []string) error {
	field, err := change.ParsePath(f.Field)
	switch {
	case err != nil:
		return fmt.Errorf("--field: %w; expected a path such as spec.containers[0].image", err)
	case strings.HasPrefix(f.Field, "/"), strings.Contains(f.Field, "[*]"):
		return fmt.Errorf("--field: %q is not a field path; expected one such as spec.containers[0].image, without wildcards", f.Field)
	}
	f.Field = field.String()
	policies = append(r.policies(), policies...)
	if f.Policy != "" && !slices.ContainsFunc(policies, f.by) {
		return fmt.Errorf("--by: no policy is called %q; %s", f.Policy, suggest(f.Policy, policies, "there are no policies"))
	}
	var objects []string
	for _, m := range r.Manifests {
		objects = append(objects, strings.TrimPrefix(m.ID, m.Kind[:strings.LastIndexByte(m.Kind, '/')+1]))
	}
	if f.Object == "" || slices.ContainsFunc(r.Manifests, func(m Manifest) bool { return m.isCalled(f.Object) }) {
		return nil
	}
	text := fmt.Sprintf("--object: no manifest is called %q", f.Object)
	if !strings.Contains(f.Object, "/") {
		return fmt.Errorf("%s; expected a kind and a name, as in '%s/*' or '*/%s'", text, f.Object, f.Object)
	}
	return fmt.Errorf("%s; %s", text, suggest(f.Object, objects, "there are no manifests"))
}

// policies returns the names of the policies in the report.
func (r *Report) policies() []string {
	seen := map[string]bool{}
	for _, m := range r.Manifests {
		for _, e := range m.Edits {
			for _, s := range e.Causes {
				seen[s.Policy] = true
			}
		}
		for _, s := range m.Dropped {
			seen[s.Policy] = true
		}
		for _, n := range m.NotApplied {
			seen[n.Policy] = true
		}
	}
	delete(seen, "") // the server
	return slices.Collect(maps.Keys(seen))
}

// suggest proposes the nearest name, or a few of the names.
func suggest(name string, known []string, none string) string {
	const few = 10
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	switch best := source.Nearest(name, known); {
	case best != "":
		return "did you mean " + best + "?"
	case len(known) == 0:
		return none
	case len(known) > few:
		return fmt.Sprintf("there are %s and %d more", strings.Join(known[:few], ", "), len(known)-few)
	}
	return "there is " + strings.Join(known, ", ")
}

// resemblingField returns the changed field that resembles a field, or "".
func (r *Report) resemblingField(field string) string {
	var changed []string
	for _, m := range r.Manifests {
		for _, e := range m.Edits {
			changed = append(changed, e.Path)
		}
	}
	slices.Sort(changed)
	return source.Nearest(field, slices.Compact(changed))
}

// by reports whether the filter selects a policy.
func (f *Filter) by(policy string) bool { return f.Policy == "" || IsNamed(f.Policy, policy) }

// isCalled reports whether a pattern matches one of the names of a manifest.
func (m *Manifest) isCalled(pattern string) bool {
	return IsCalled(pattern, NamesOf(m.ID, m.Kind, m.Name))
}

// NamesOf returns the names by which people call an object: its ID, or its kind and name with or
// without group and namespace.
func NamesOf(id, groupKind, namespacedName string) []string {
	kind, name := groupKind[strings.LastIndexByte(groupKind, '/')+1:], namespacedName[strings.LastIndexByte(namespacedName, '/')+1:]
	return []string{id, kind + "/" + namespacedName, kind + "/" + name, groupKind + "/" + name}
}

// IsCalled reports whether a pattern with * and ? matches one of the names of an object, in upper or
// lower case.
func IsCalled(pattern string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return IsNamed(strings.ToLower(pattern), strings.ToLower(name)) })
}

// Called returns, sorted, the numbers of the objects that a pattern matches. names are the numbers of
// the objects by their names in lower case.
func Called(pattern string, names map[string][]int) []int {
	pattern = strings.ToLower(pattern)
	if !strings.ContainsAny(pattern, `*?[\`) {
		return names[pattern]
	}
	var called []int
	for name, numbers := range names {
		if IsNamed(pattern, name) {
			called = append(called, numbers...)
		}
	}
	slices.Sort(called)
	return slices.Compact(called)
}

// IsNamed reports whether a pattern with * and ? matches a name. A malformed pattern matches only
// itself.
func IsNamed(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok || err != nil && pattern == name
}

// related reports whether two fields are equal or one contains the other. "" contains all fields.
func related(a, b string) bool {
	return isWithin(a, b) || isWithin(b, a)
}

// isWithin reports whether a field is another one or a part of it. Everything is part of "".
func isWithin(field, of string) bool {
	rest, ok := strings.CutPrefix(field, of)
	return ok && (of == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}
