package webhook

import (
	"cmp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Kind is the kind of the configurations.
var Kind = gvk.Kind{Group: admissionpolicy.Group, Version: "v1", Kind: policy.WebhookKind}

// Language compiles the webhooks that have an answerer.
type Language struct {
	shared   *admissionpolicy.Language
	answerer policy.Answerer
}

var (
	_ policy.Language   = (*Language)(nil)
	_ policy.Configured = (*Language)(nil)
)

// New returns the language of Kubernetes 1.minor. The answerer answers the calls; nil answers none.
func New(minor int, authorizer celenv.Authorizer, answerer policy.Answerer) *Language {
	return &Language{&admissionpolicy.Language{
		Kind: policy.WebhookKind, Served: map[string]admissionpolicy.Span{"v1": {Since: 16}}, Versions: []string{"v1"},
		Rules: match.Validating, Minor: minor, Authorizer: authorizer, CEL: celenv.New(minor),
	}, answerer}
}

// Kinds implements policy.Language. Configurations are manifests as well, so they are only
// configuration here.
func (*Language) Kinds() []gvk.Kind { return nil }

// Configures implements policy.Configured. Configurations without an answerer count, too: a server
// numbers the webhooks of all.
func (l *Language) Configures(d *manifest.Document) bool {
	return d.Kind() == Kind && l.answerer != nil
}

func (l *Language) answers(w policy.WebhookName) bool {
	return l.answerer != nil && l.answerer.Answers(w)
}

// webhooksIn returns the webhooks of a configuration.
func webhooksIn(d *manifest.Document) []policy.WebhookName {
	var all []policy.WebhookName
	for _, n := range policy.NodeAt(d, "webhooks").Items() {
		all = append(all, identify(d, n))
	}
	return all
}

// Compile implements policy.Language. Each webhook with an answerer is a program. A configuration
// that is given twice counts once, as in a cluster.
func (l *Language) Compile(documents []*manifest.Document, _ *policy.Kept) ([]policy.Program, []source.Diagnostic) {
	named := map[string]*manifest.Document{}
	for _, d := range documents {
		named[d.Name()] = cmp.Or(named[d.Name()], d)
	}
	documents = slices.DeleteFunc(slices.Clone(documents), func(d *manifest.Document) bool { return named[d.Name()] != d })
	slices.SortStableFunc(documents, func(a, b *manifest.Document) int { return strings.Compare(a.Name(), b.Name()) })
	webhooks, problems := admissionpolicy.Read(l.shared, documents, nil, func(r *admissionpolicy.Reader) []*webhook {
		if slices.ContainsFunc(webhooksIn(r.Doc.Document), l.answers) && l.shared.Decodes(r, func(path change.Path) string { return "" }) {
			return l.read(r)
		}
		return nil
	})
	var programs []policy.Program
	before := 0 // webhooks of earlier configurations
	for i, all := range webhooks {
		for _, w := range all {
			w.index = before + w.position
			if l.answers(w.name) && !source.HasErrors(problems[i]) {
				programs = append(programs, w)
			}
		}
		before += len(webhooksIn(documents[i]))
	}
	return programs, slices.Concat(problems...)
}

// Hook implements policy.Program.
func (w *webhook) Hook() policy.Hook {
	return policy.Hook{
		Point: policy.Webhook, Configuration: w.name.Configuration, Order: w.position, Reinvocation: w.reinvocation,
		Sequence: "a server calls webhooks by the names of their configurations, and then by position",
	}
}

// Reads implements policy.Program: webhooks look up only namespaces, which are not listed here.
func (*webhook) Reads() []policy.Read { return nil }

// Selects implements policy.Program.
func (w *webhook) Selects() []policy.Selected {
	if w.policy.Constraints == nil {
		return nil
	}
	return policydoc.Selected(w.policy.Document, w.path.Key("rules"), w.policy.Constraints, policy.Selected{ID: w.ID()})
}

// Check implements policy.Program.
func (*webhook) Check(*schema.Registry, *policy.Kept) []source.Diagnostic { return nil }

// Parts implements policy.Program: the webhook and its conditions.
func (w *webhook) Parts() []policy.Part {
	parts := []policy.Part{{Policy: w.ID().OfPolicy(), Kind: policy.MutationPart, Name: w.name.Name, At: w.policy.At, Rules: []string{w.name.Name}}}
	conditions := policydoc.Parts{Policy: w.ID().OfPolicy(), Document: w.policy.Document}
	for i, c := range w.policy.Conditions {
		conditions.Condition(w.path.Key("matchConditions").Index(i), c.Name, c.Program)
	}
	return append(parts, conditions.All()...)
}

// Existing implements policy.Program.
func (*webhook) Existing() policy.Follower { return nil }
