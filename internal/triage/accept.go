package triage

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
)

// Acceptance is a kind of findings that a team accepts. Empty fields accept anything.
type Acceptance struct {
	// Code is a code of the catalogue. Policy is the name of a policy, and Object that of an object as
	// KIND/NAME, both with the wildcards * and ?. Path is a file, a directory, or a pattern with *, ?
	// and **, relative to the configuration file.
	Code, Policy, Object, Path string
	// Reason says why the findings are accepted.
	Reason string
	At     source.Position
	// Removal removes the entry from its file. Its position is unknown if that is not possible.
	Removal source.Edit
}

// String describes what is accepted.
func (a *Acceptance) String() string {
	text := a.Code
	for _, part := range []struct{ name, value string }{{"policy", a.Policy}, {"object", a.Object}, {"path", a.Path}} {
		if part.value != "" {
			text += ", " + part.name + " " + part.value
		}
	}
	return text
}

// acceptances finds the accepted findings by their code and, if it has no wildcards, their object,
// path or policy, so that many of them cost no more than few. places is the same index without codes and policies.
type acceptances struct {
	all           []Acceptance
	index, places map[facet][]int
	// used are those that accept a finding, and hidden those whose findings may be hidden by an error.
	used, hidden []bool
}

// facet is a property of findings: their code, with the object, the path or the policy.
type facet struct{ code, kind, value string }

func newAcceptances(all []Acceptance) *acceptances {
	found := &acceptances{all, map[facet][]int{}, map[facet][]int{}, make([]bool, len(all)), make([]bool, len(all))}
	for i, a := range all {
		key := facet{code: a.Code}
		switch {
		case isLiteral(a.Object):
			key.kind, key.value = "object", strings.ToLower(a.Object)
		case isLiteral(a.Path):
			key.kind, key.value = "path", path.Clean(a.Path)
		case isLiteral(a.Policy):
			key.kind, key.value = "policy", a.Policy
		}
		found.index[key] = append(found.index[key], i)
		if key.code = ""; key.kind == "policy" {
			key = facet{}
		}
		found.places[key] = append(found.places[key], i)
	}
	return found
}

// isLiteral reports whether a pattern is given and has no wildcards.
func isLiteral(pattern string) bool { return pattern != "" && !strings.ContainsAny(pattern, `*?[{\`) }

// accept reports whether a finding is accepted, and notes by what.
func (a *acceptances) accept(f Finding) bool {
	accepted := false
	for _, key := range facetsOf(f) {
		for _, i := range a.index[key] {
			if a.all[i].matches(f) {
				a.used[i], accepted = true, true
			}
		}
	}
	return accepted
}

// hide notes the acceptances whose findings an error about an object may hide.
func (a *acceptances) hide(f Finding) {
	f.Code = ""
	for _, key := range facetsOf(f) {
		for _, i := range a.places[key] {
			a.hidden[i] = a.hidden[i] || a.all[i].isAbout(f)
		}
	}
}

// facetsOf returns the properties by which an acceptance of a finding may be indexed.
func facetsOf(f Finding) []facet {
	facets := []facet{{code: f.Code}}
	for _, name := range namesOf(f.Subject) {
		facets = append(facets, facet{f.Code, "object", strings.ToLower(name)})
	}
	for _, file := range slices.Compact([]string{f.File, f.Source}) {
		for ; file != ""; file = file[:max(0, strings.LastIndexByte(file, '/'))] {
			facets = append(facets, facet{f.Code, "path", file})
		}
	}
	if f.File != "" {
		facets = append(facets, facet{f.Code, "path", "."})
	}
	for _, name := range f.Policies {
		facets = append(facets, facet{f.Code, "policy", name})
	}
	return facets
}

// namesOf returns the names of the object with an ID, "group/Kind/namespace/name". Groups are in lower
// case, kinds are not.
func namesOf(id string) []string {
	kind, name, ok := strings.Cut(id, "/")
	if !ok {
		return []string{id}
	}
	if !strings.ContainsFunc(kind, unicode.IsUpper) {
		group := kind
		kind, name, _ = strings.Cut(name, "/")
		kind = group + "/" + kind
	}
	return report.NamesOf(id, kind, name)
}

// matches reports whether the acceptance is about a finding.
func (a *Acceptance) matches(f Finding) bool {
	if a.Policy != "" {
		is := false
		for _, name := range f.Policies {
			is = is || report.IsNamed(a.Policy, name)
		}
		if !is {
			return false
		}
	}
	return a.isAbout(f)
}

// isAbout reports whether the acceptance is about the object and the file of a finding.
func (a *Acceptance) isAbout(f Finding) bool {
	return (a.Object == "" || f.Subject != "" && report.IsCalled(a.Object, namesOf(f.Subject))) && (a.Path == "" || f.File != "" && IsIn(a.Path, f.File) || f.Source != "" && IsIn(a.Path, f.Source))
}

// IsIn reports whether a path is a file, is in a directory, or matches a pattern.
func IsIn(pattern, file string) bool {
	pattern = path.Clean(pattern)
	return pattern == "." || pattern == file || strings.HasPrefix(file, pattern+"/") || input.Match(pattern, file)
}

// fixedPart returns the directories at the beginning of a pattern that have no wildcards.
func fixedPart(pattern string) string {
	fixed := strings.IndexFunc(pattern, func(c rune) bool { return strings.ContainsRune(`*?[{\`, c) })
	if fixed < 0 {
		return path.Clean(pattern)
	}
	return path.Clean(pattern[:strings.LastIndexByte(pattern[:fixed], '/')+1])
}

// Concerns reports whether the acceptance may be about files in a directory or at a path, relative to
// the configuration file.
func (a *Acceptance) Concerns(name string) bool {
	fixed := fixedPart(a.Path)
	return a.Path == "" || name == "." || fixed == "." || IsIn(name, fixed) || IsIn(fixed, name)
}
