package gatekeeper

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

const group = "mutations.gatekeeper.sh"

var responseKind = gvk.Kind{Group: "externaldata.gatekeeper.sh", Kind: "ProviderResponse"}

// Language compiles the mutators of Gatekeeper.
type Language struct{}

var (
	_ policy.Language   = (*Language)(nil)
	_ policy.Configured = (*Language)(nil)
)

// New returns the language.
func New() *Language { return &Language{} }

// Kinds implements policy.Language. ProviderResponse is not a kind of a server: it holds what
// Gatekeeper gets from a provider of external data.
func (*Language) Kinds() []gvk.Kind {
	kinds := []gvk.Kind{responseKind}
	for _, name := range []string{assignKind, assignImageKind, assignMetadataKind, modifySetKind} {
		kinds = append(kinds, gvk.Kind{Group: group, Kind: name})
	}
	return kinds
}

// program has the compiled mutators, sorted by kind and name, which is the order in which they
// run.
type program struct {
	mutators  []*mutator
	providers map[string]*provider
	webhook   *webhook
}

// Configures implements policy.Configured: Gatekeeper also reads its Config and its
// MutatingWebhookConfiguration.
func (*Language) Configures(d *manifest.Document) bool {
	kind := gvk.Kind{Group: d.Kind().Group, Kind: d.Kind().Kind}
	return kind == configKind && d.Name() == "config" && d.Namespace() == home || kind == configurationKind && d.Name() == configuration
}

// compiled is what Compile returns.
type compiled struct {
	programs    []policy.Program
	diagnostics []source.Diagnostic
}

// Compile implements policy.Language. The mutators are compiled together, as they disable each other.
func (l *Language) Compile(documents []*manifest.Document, kept *policy.Kept) ([]policy.Program, []source.Diagnostic) {
	all := policy.Keep(kept, *l, documents, func() (all compiled) {
		all.programs, all.diagnostics = l.compile(documents)
		return all
	})
	return all.programs, all.diagnostics
}

func (l *Language) compile(documents []*manifest.Document) ([]policy.Program, []source.Diagnostic) {
	p := &program{providers: map[string]*provider{}, webhook: stockWebhook()}
	var diagnostics []source.Diagnostic
	seen := map[string]*manifest.Document{}
	for _, d := range documents {
		r := newReader(d)
		if first := seen[identify(d)]; first == nil || l.Configures(d) {
			seen[identify(d)] = d
			p.add(r)
		} else if !sameContent(d, first) {
			diagnostics = append(diagnostics, policydoc.DefinedTwice(d.Kind().Kind, d.Name(), d, first))
		}
		diagnostics = append(diagnostics, r.doc.Problems...)
	}
	if len(p.mutators) == 0 {
		return nil, diagnostics
	}
	slices.SortFunc(p.mutators, compareMutators)
	findContests(p.mutators)
	return []policy.Program{p}, append(diagnostics, conflicts(p.mutators)...)
}

// identify returns the identity of a document in a cluster. The version of the kind does not
// count.
func identify(d *manifest.Document) string {
	kind := d.Kind()
	return kind.Group + "/" + kind.Kind + "/" + d.Namespace() + "/" + d.Name()
}

// sameContent reports whether two documents are equal except for their versions.
func sameContent(a, b *manifest.Document) bool {
	one, other := a.Object(), b.Object()
	delete(one, "apiVersion")
	delete(other, "apiVersion")
	return change.Equal(one, other)
}

// add reads a document and adds it to the program.
func (p *program) add(r *reader) {
	switch kind := r.doc.Document.Kind(); (gvk.Kind{Group: kind.Group, Kind: kind.Kind}) {
	case responseKind:
		p.providers[r.doc.Document.Name()] = r.provider()
	case configKind:
		p.webhook.readConfig(r)
	case configurationKind:
		p.webhook.readConfiguration(r)
	default:
		if m := r.mutator(); m != nil && !source.HasErrors(r.doc.Problems) {
			p.mutators = append(p.mutators, m)
		}
	}
}

// Hook implements policy.Program: all mutators together are one webhook.
func (p *program) Hook() policy.Hook {
	hook := policy.Hook{
		Point: policy.Webhook, Configuration: configuration,
		Sequence: "Gatekeeper runs mutators in the order of kinds and names, again and again until nothing changes",
	}
	if p.webhook.reinvoked {
		hook.Reinvocation = policy.IfNeeded
	}
	return hook
}

// Reads implements policy.Program. Mutators look up only namespaces, which are not listed here.
func (*program) Reads() []policy.Read { return nil }

// Selects implements policy.Program.
func (p *program) Selects() []policy.Selected {
	var all []policy.Selected
	for _, m := range p.mutators {
		for i, a := range m.applyTo {
			if !slices.Contains(slices.Concat(a.groups, a.versions), "*") {
				all = m.selected(all, "applyTo", change.Keys("spec", "applyTo").Index(i), a.kinds, a.groups, a.versions)
			}
		}
		for i, entry := range m.match.kinds {
			all = m.selected(all, "kinds", change.Keys("spec", "match", "kinds").Index(i), entry.kinds, entry.groups, nil)
		}
	}
	return all
}

// selected adds the kinds that the entry of a criterion at a path names, in any of the groups and versions.
func (m *mutator) selected(all []policy.Selected, criterion string, at change.Path, kinds, groups, versions []string) []policy.Selected {
	s := policy.Selected{ID: m.whole(), At: m.criteria[criterion], Group: "*", Version: "*"}
	if len(groups) == 1 {
		field := "groups"
		if criterion == "kinds" {
			field = "apiGroups"
		}
		s.Group, s.GroupIn = groups[0], m.document.Extent(at.Key(field).Index(0))
	}
	if len(versions) == 1 {
		s.Version, s.VersionIn = versions[0], m.document.Extent(at.Key("versions").Index(0))
	}
	for i, kind := range kinds {
		s.Kind, s.NameIn = kind, m.document.Extent(at.Key("kinds").Index(i))
		all = append(all, s)
	}
	return all
}

// Existing implements policy.Program.
func (*program) Existing() policy.Follower { return nil }

// Parts implements policy.Program: the mutators.
func (p *program) Parts() []policy.Part {
	var parts []policy.Part
	for _, m := range p.mutators {
		parts = append(parts, policy.Part{Policy: m.whole(), Kind: policy.MutationPart, Name: m.location.String(), At: m.document.At(nil), Rules: []string{m.id(1).Rule}})
	}
	return parts
}
