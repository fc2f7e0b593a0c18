package mutatingpolicy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
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

// newestMinor is the newest minor version of Kubernetes that celenv supports.
const newestMinor = 37

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
		cluster: celenv.Kyverno(false), namespaced: celenv.Kyverno(true), server: celenv.New(newestMinor),
	}
}

// Kinds implements policy.Language.
func (*Language) Kinds() []gvk.Kind {
	return []gvk.Kind{{Group: group, Kind: clusterKind}, {Group: group, Kind: namespacedKind}, {Group: group, Kind: exceptionKind}}
}

// Compile implements policy.Language. There are up to four programs: one for each kind of
// policy, and one more for each kind with reinvocationPolicy IfNeeded.
func (l *Language) Compile(documents []*manifest.Document) ([]policy.Program, []source.Diagnostic) {
	var definitions []*definition
	var exceptions []*exception
	var diagnostics []source.Diagnostic
	for _, d := range documents {
		r := policydoc.New(d)
		switch {
		case !checkVersion(r):
		case d.Kind().Kind == exceptionKind:
			if x := readException(r); x != nil {
				exceptions = append(exceptions, x)
			}
		default:
			if definition := l.definition(r); definition != nil {
				definitions = append(definitions, definition)
			}
		}
		diagnostics = append(diagnostics, r.Problems...)
	}
	definitions, problems := unique(definitions)
	diagnostics = append(diagnostics, problems...)
	diagnostics = append(diagnostics, link(definitions, exceptions)...)
	if source.HasErrors(diagnostics) {
		return nil, diagnostics
	}
	slices.SortStableFunc(definitions, func(a, b *definition) int { return cmp.Compare(a.key(), b.key()) })
	markShared(definitions)
	return l.programs(definitions), diagnostics
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
	r.Advise(change.Keys("apiVersion"), "policy-version-unknown", fmt.Sprintf("Kyverno has no %s of %s", kind.Kind, kind.APIVersion()),
		"expected apiVersion: "+strings.Join(expected, ", "))
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
		at := change.Keys("metadata", "name")
		if !change.Equal(d.document.Object()["spec"], other.document.Object()["spec"]) {
			diagnostics = append(diagnostics, source.Errorf(d.document.At(at), "policy-defined-twice",
				"%s %s is defined twice, differently; the other one is at %s", d.kind, d.key(), other.document.At(at)).
				With("a cluster keeps one of them: remove the other"))
		}
	}
	return kept, diagnostics
}

// The places among Kyverno's webhooks. The rules of ClusterPolicies run between them.
const (
	clusterOrder    = 0
	namespacedOrder = 3
)

// programs groups policies by hook.
func (l *Language) programs(definitions []*definition) []policy.Program {
	var programs []policy.Program
	for _, hook := range []struct {
		kind         string
		order        int
		reinvocation policy.Reinvocation
	}{
		{clusterKind, clusterOrder, policy.Never},
		{clusterKind, clusterOrder, policy.IfNeeded},
		{namespacedKind, namespacedOrder, policy.Never},
		{namespacedKind, namespacedOrder, policy.IfNeeded},
	} {
		p := &program{language: l, hook: policy.Hook{
			Point: policy.Webhook, Configuration: "kyverno-resource-mutating-webhook-cfg", Order: hook.order, Reinvocation: hook.reinvocation, Shuffled: true,
		}}
		for _, d := range definitions {
			if d.kind == hook.kind && d.reinvocation == hook.reinvocation {
				p.units = append(p.units, d.units...)
			}
		}
		if len(p.units) > 0 {
			programs = append(programs, p)
		}
	}
	return programs
}

// environment returns the environment of a kind of policies.
func (l *Language) environment(kind string) *celenv.Env {
	if kind == namespacedKind {
		return l.namespaced
	}
	return l.cluster
}
