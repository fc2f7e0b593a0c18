package gatekeeper

import (
	"slices"

	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/witness"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

var _ witness.Reacher = (*Language)(nil)

// Rules implements witness.Reacher: a document has one mutator.
func (l *Language) Rules(d *manifest.Document, schemas *schema.Registry) []witness.Rule {
	programs, problems := l.Compile([]*manifest.Document{d}, nil)
	if len(programs) == 0 || source.HasErrors(problems) {
		return nil
	}
	m := programs[0].(*program).mutators[0]
	return []witness.Rule{{ID: m.id(1), Document: d, At: m.end(), Program: programs[0], Goals: m.goals(schemas)}}
}

// goals returns what a mutator asks of objects in namespaces, of Namespaces, and of other objects. It is
// empty if labels of namespaces or external data decide, if kinds are not known, or if the selector of
// labels is not valid, of which every run warns.
func (m *mutator) goals(schemas *schema.Registry) (goals []witness.Goal) {
	end, known := m.change()
	if !known || m.match.ofNamespace != nil || m.match.labels != nil && m.match.labels.err != nil {
		return nil
	}
	var inside, namespaces, outside witness.Goal
	kinds, all := m.tried(schemas)
	if !all {
		return nil
	}
	for _, kind := range kinds {
		of := &outside
		switch {
		case isNamespace(kind.Kind):
			of = &namespaces
		case kind.Namespaced:
			of = &inside
		}
		of.Kinds = append(of.Kinds, kind)
	}
	needs := append(m.matched(), m.walked(end)...)
	inside.Needs = append(m.namespaced([]string{"metadata", "namespace"}), needs...)
	namespaces.Needs = append(m.namespaced([]string{"metadata", "name"}), needs...)
	outside.Needs = needs
	for _, goal := range []witness.Goal{inside, namespaces, outside} {
		if len(goal.Kinds) > 0 {
			goals = append(goals, goal)
		}
	}
	return goals
}

// tried returns the kinds for which a mutator is tried. all is false if it names kinds whose schemas are not
// known, too many, or some only for updates. An AssignMetadata does the same to objects of all kinds.
func (m *mutator) tried(schemas *schema.Registry) (kinds []*schema.Kind, all bool) {
	var names []string
	for _, a := range m.applyTo {
		if !slices.Contains(a.effective(), policy.Create) {
			return nil, false
		}
		names = append(names, a.kinds...)
	}
	for _, entry := range m.match.kinds {
		if m.kind == assignMetadataKind {
			names = append(names, entry.kinds...)
		}
	}
	if len(names) == 0 || slices.Contains(names, "*") {
		names = []string{"ConfigMap", namespaceKind.Kind}
	}
	found := map[string]bool{}
	for _, k := range schemas.Kinds() {
		if k.Unknown || !slices.Contains(names, k.Kind.Kind) || !m.applies(k.Kind, policy.Create) {
			continue
		}
		found[k.Kind.Kind] = true
		if m.match.selects(k.Kind) {
			kinds = append(kinds, k)
		}
	}
	all = !slices.ContainsFunc(names, func(name string) bool { return !found[name] })
	return kinds, all && len(kinds) <= witness.MostKinds
}

// namespaced returns what the match block asks of the name of a namespace.
func (m *mutator) namespaced(path []string) []witness.Need {
	isExcluded := func(value any) bool { text, _ := value.(string); return anyWild(m.match.excluded, text) }
	needs := []witness.Need{{Path: path, Values: []any{"example", "other"}, Holds: func(value any) bool { return !isExcluded(value) }}}
	if len(m.match.namespaces) > 0 {
		needs = append(needs, witness.OneOf(path, m.match.namespaces))
	}
	return needs
}

// matched returns what the match block asks of the labels and the name of an object.
func (m *mutator) matched() []witness.Need {
	needs := witness.Selected(policy.NodeAt(m.document, "spec", "match", "labelSelector"), "metadata", "labels")
	if m.match.name != "" {
		needs = append(needs, witness.OneOf([]string{"metadata", "name"}, []string{m.match.name}))
	}
	return needs
}

// walked returns what the location asks of an object: that the path tests hold, and that the field at its
// end needs a change.
func (m *mutator) walked(end func(path []string) []witness.Need) (needs []witness.Need) {
	var path []string
	for depth, n := range m.location {
		test := m.tests[depth].condition
		if n.list {
			path = append(slices.Clip(path), "0")
			key := append(slices.Clip(path), n.name)
			switch {
			case n.glob:
				needs = append(needs, witness.Exists(path))
			case test == mustNotExist:
				return append(needs, witness.Differs(key, n.key))
			default:
				needs = append(needs, witness.Is(key, n.key))
			}
			continue
		}
		switch path = append(slices.Clip(path), n.name); test {
		case mustExist:
			needs = append(needs, witness.Exists(path))
		case mustNotExist:
			return append(needs, witness.Lacks(path))
		}
	}
	if m.location.endsInList() {
		return needs
	}
	return append(needs, end(path)...)
}

// change returns what the action asks of the field at the end of the location, if that is known.
func (m *mutator) change() (end func(path []string) []witness.Need, known bool) {
	parameters := policy.NodeAt(m.document, "spec", "parameters")
	switch action := m.action.(type) {
	case *constant, fromMetadata:
		return func(path []string) []witness.Need {
			if m.kind == assignMetadataKind {
				return []witness.Need{witness.Lacks(path)}
			}
			return []witness.Need{witness.Differs(path, parameters.At("assign", "value").Value)}
		}, true
	case *set:
		listed := parameters.At("values", "fromList").Value
		return func(path []string) []witness.Need {
			if action.prunes {
				return []witness.Need{witness.Is(path, listed)}
			}
			return []witness.Need{witness.Differs(path, listed)}
		}, true
	case image:
		return func(path []string) []witness.Need {
			return []witness.Need{{Path: path, Values: []any{"registry.example/some/image:1", "other.example/another:2"}, Holds: func(value any) bool {
				text, isText := value.(string)
				return isText && action.onto(text) != text
			}}}
		}, true
	}
	return nil, false
}
