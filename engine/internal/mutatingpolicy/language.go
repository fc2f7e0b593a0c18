package mutatingpolicy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/release"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

const group = "policies.kyverno.io"

// The kinds of the language.
const (
	clusterKind    = "MutatingPolicy"
	namespacedKind = "NamespacedMutatingPolicy"
	exceptionKind  = "PolicyException"
)

// versions are the versions in which Kyverno v1.19.0 serves a kind, the newest first.
var versions = map[string][]string{
	clusterKind:    {"v1", "v1beta1", "v1alpha1"},
	namespacedKind: {"v1", "v1beta1"},
	exceptionKind:  {"v1", "v1beta1", "v1alpha1"},
}

// Language compiles MutatingPolicies.
type Language struct {
	values    *given.Values
	answers   given.Answers
	namespace string
	// cluster and namespaced are the environments of the two kinds of policies. server is the
	// environment in which an API server evaluates the conditions of webhooks.
	cluster, namespaced, server *celenv.Env
}

var _ policy.Language = (*Language)(nil)

// New returns the language with the answers of the user's values and context. namespace is the
// default namespace of NamespacedMutatingPolicies.
func New(values *given.Values, context *given.Context, namespace string) *Language {
	return &Language{
		values: values, answers: values.Answers.Merge(context.Answers), namespace: namespace,
		cluster: celenv.Kyverno(false), namespaced: celenv.Kyverno(true), server: celenv.New(release.Newest),
	}
}

// Kinds implements policy.Language.
func (*Language) Kinds() []gvk.Kind {
	return []gvk.Kind{{Group: group, Kind: clusterKind}, {Group: group, Kind: namespacedKind}, {Group: group, Kind: exceptionKind}}
}

// Compile implements policy.Language. There are up to four programs: two for each kind of policy, one
// for each failurePolicy.
func (l *Language) Compile(documents []*manifest.Document, kept *policy.Kept) ([]policy.Program, []source.Diagnostic) {
	var definitions []*definition
	var exceptions []*exception
	var diagnostics []source.Diagnostic
	broken := map[policyRef]bool{}
	for i, one := range policy.KeepEach(kept, l, documents, l.read) {
		if one.definition != nil {
			definitions = append(definitions, one.definition.unlinked())
		}
		d, problems := documents[i], one.problems
		if d.Kind().Kind == exceptionKind { // it is compiled with the policies that it names
			x, found := readException(policydoc.New(d))
			if problems = found; x != nil {
				exceptions = append(exceptions, x)
			}
		}
		diagnostics = append(diagnostics, problems...)
		if source.HasErrors(problems) {
			broken[policyRef{d.Kind().Kind, d.Name()}] = true
		}
	}
	definitions, problems := unique(definitions)
	diagnostics = append(diagnostics, problems...)
	diagnostics = append(diagnostics, link(definitions, exceptions, broken)...)
	slices.SortStableFunc(definitions, func(a, b *definition) int { return cmp.Compare(a.key(), b.key()) })
	markShared(definitions)
	return l.programs(definitions), diagnostics
}

// document is a policy; nil if it has errors, or is an exception.
type document struct {
	definition *definition
	problems   []source.Diagnostic
}

// read reads a policy.
func (l *Language) read(d *manifest.Document) (one document) {
	if d.Kind().Kind == exceptionKind {
		return one
	}
	r := policydoc.New(d)
	if checkVersion(r) {
		one.definition = l.definition(r)
	}
	one.problems = r.Problems
	return one
}

// checkVersion reports versions that Kyverno does not serve.
func checkVersion(r *policydoc.Reader) bool {
	kind := r.Document.Kind()
	known := versions[kind.Kind]
	if slices.Contains(known, kind.Version) {
		return true
	}
	expected := make([]string, len(known))
	for i, version := range known {
		expected[i] = group + "/" + version
	}
	r.Unserved(fmt.Sprintf("Kyverno has no %s of %s", kind.Kind, kind.APIVersion()), "expected apiVersion: "+strings.Join(expected, ", "), cmp.Or(source.Nearest(kind.APIVersion(), expected), expected[0]))
	return false
}

// unique drops duplicates of a policy, and reports policies of the same name that differ.
func unique(definitions []*definition) (kept []*definition, diagnostics []source.Diagnostic) {
	first := map[string]*definition{}
	for _, d := range definitions {
		other := first[d.key()]
		if other == nil {
			first[d.key()] = d
			kept = append(kept, d)
			continue
		}
		if !change.Equal(d.document.Object()["spec"], other.document.Object()["spec"]) {
			diagnostics = append(diagnostics, policydoc.DefinedTwice(d.kind, d.key(), d.document, other.document))
		}
	}
	return kept, diagnostics
}

// places are those of the webhooks of a kind among Kyverno's webhooks, which a server calls by name:
// a webhook for failurePolicy Fail comes before the one for Ignore. The rules of ClusterPolicies run
// between the two kinds.
var places = []struct {
	kind   string
	ignore bool
	order  int
}{
	{clusterKind, false, 0}, {clusterKind, true, 1}, {namespacedKind, false, 4}, {namespacedKind, true, 5},
}

// programs groups policies by webhook. They are never called again: see settingsIgnored.
func (l *Language) programs(definitions []*definition) []policy.Program {
	var programs []policy.Program
	for _, place := range places {
		p := &program{language: l, ignore: place.ignore, hook: policy.Hook{
			Point: policy.Webhook, Configuration: "kyverno-resource-mutating-webhook-cfg", Order: place.order, Reinvocation: policy.Never, Shuffled: true,
		}}
		for _, d := range definitions {
			if d.kind == place.kind && (d.ignore == place.ignore || d.twice) {
				p.units = append(p.units, d.units...)
			}
		}
		if len(p.units) > 0 {
			programs = append(programs, p)
		}
	}
	return programs
}

// webhook finds out which webhook calls a policy, and which conditions the API server evaluates.
func (l *Language) webhook(d *definition, spec policy.Node) {
	block := spec.At("matchConstraints")
	own := block.At("matchPolicy").Text() == "Exact" || spec.At("webhookConfiguration", "timeoutSeconds").Given()
	if inServer := l.inServer(d, spec.At("matchConditions")); inServer != nil {
		own = true
		if d.readsNamespace() {
			d.inServer = inServer
		}
	}
	if !own {
		d.selectors = fmt.Sprintf("%s %s %s", d.kind, manifest.JSON(block.At("namespaceSelector").Value), manifest.JSON(block.At("objectSelector").Value))
	}
}

// inServer compiles conditions as an API server does for webhooks. It returns nil if there are
// no conditions, or if the server would reject one: then Kyverno evaluates them.
func (l *Language) inServer(d *definition, n policy.Node) []condition {
	var compiled []condition
	scope := l.server.Scope(false)
	for i, item := range n.Items() {
		program, err := scope.Condition(item.At("expression").Text())
		if err != nil || len(content.IsLabelKey(item.At("name").Text())) > 0 {
			return nil
		}
		compiled = append(compiled, condition{name: item.At("name").Text(), program: program, at: d.conditions[i].at})
	}
	return compiled
}

// readsNamespace reports whether a condition uses namespaceObject.
func (d *definition) readsNamespace() bool {
	return slices.ContainsFunc(d.conditions, func(c condition) bool { return c.program.Mentions("namespaceObject") })
}

// markShared finds policies that share a webhook with policies of the other failurePolicy.
// Kyverno calls that webhook twice, once for Fail and once for Ignore, and runs all its policies
// each time.
func markShared(definitions []*definition) {
	ignoring := map[string]map[bool]bool{}
	for _, d := range definitions {
		if d.selectors != "" {
			if ignoring[d.selectors] == nil {
				ignoring[d.selectors] = map[bool]bool{}
			}
			ignoring[d.selectors][d.ignore] = true
		}
	}
	for _, d := range definitions {
		d.twice = len(ignoring[d.selectors]) > 1
	}
}

// environment returns the environment of a kind of policies.
func (l *Language) environment(kind string) *celenv.Env {
	if kind == namespacedKind {
		return l.namespaced
	}
	return l.cluster
}
