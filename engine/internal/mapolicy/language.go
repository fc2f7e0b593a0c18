// Package mapolicy implements Kubernetes MutatingAdmissionPolicies and their bindings: versions
// v1, v1beta1 and v1alpha1 of admissionregistration.k8s.io. Invalid documents and denied
// requests have the error texts of kube-apiserver 1.36.3.
//
// A server runs policies in random order. Here they are sorted by the names of policy, binding
// and param.
//
// The package also reads policies in the forms of two proposals, KEP-3775 and the early
// KEP-3962, with a warning. draft.go describes these drafts.
//
// The files in order: language.go (from documents to a program), document.go (reading and
// checking), definition.go and binding.go (the two kinds), draft.go and draftcel.go (drafts and
// their expressions), plan.go (what applies to a request), params.go, mutate.go (conditions and
// mutations), draftmutate.go and unset.go (mutations of drafts), request.go (the input of
// expressions), convert.go (from drafts to what servers accept), check.go (mistakes that a
// server accepts).
package mapolicy

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

const group = "admissionregistration.k8s.io"

// served has the minor versions of Kubernetes that serve a version of the API; until is the
// first one without it, zero if all later versions serve it.
var served = map[string]struct{ since, until int }{
	"v1alpha1": {since: 32, until: 38},
	"v1beta1":  {since: 34, until: 40},
	"v1":       {since: 36},
}

// Language compiles MutatingAdmissionPolicies.
type Language struct {
	minor      int
	authorizer celenv.Authorizer
	cel        *celenv.Env
	schemas    *schema.Registry
}

// New returns the language of Kubernetes 1.minor. The authorizer answers expressions about the
// rights of the user.
func New(minor int, authorizer celenv.Authorizer) *Language {
	return &Language{minor: minor, authorizer: authorizer, cel: celenv.New(minor), schemas: schema.BuiltinOf(minor)}
}

// Kinds implements policy.Language.
func (*Language) Kinds() []gvk.Kind {
	return []gvk.Kind{{Group: group, Kind: "MutatingAdmissionPolicy"}, {Group: group, Kind: "MutatingAdmissionPolicyBinding"}}
}

// program has the compiled policies with their bindings, sorted by name.
type program struct {
	cel         *celenv.Env
	minor       int
	authorizer  celenv.Authorizer
	definitions []*definition
}

var (
	_ policy.Language = (*Language)(nil)
	_ policy.Program  = (*program)(nil)
)

// Compile implements policy.Language. Policies are compiled in parallel, because compiling is
// most of the work of a run on few manifests.
func (l *Language) Compile(documents []*manifest.Document) ([]policy.Program, []source.Diagnostic) {
	readers := make([]*reader, len(documents))
	definitions := make([]*definition, len(documents))
	bindings := make([]*binding, len(documents))
	inParallel(len(documents), func(i int) {
		readers[i] = newReader(documents[i])
		switch {
		case l.isDraft(readers[i]):
			definitions[i] = l.draft(readers[i])
		case !l.decodes(readers[i]):
		case documents[i].Kind().Kind == "MutatingAdmissionPolicy":
			definitions[i] = l.definition(readers[i])
		default:
			bindings[i] = readBinding(readers[i], l.minor)
		}
	})
	var diagnostics []source.Diagnostic
	for _, r := range readers {
		diagnostics = append(diagnostics, r.Problems...)
	}
	p := &program{cel: l.cel, minor: l.minor, authorizer: l.authorizer}
	diagnostics = append(diagnostics, p.link(definitions, bindings)...)
	return []policy.Program{p}, diagnostics
}

// inParallel calls do for every index below n, on all processors. It uses few goroutines, so
// that few stacks have to grow.
func inParallel(n int, do func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wait.Wait()
}

// decodes checks that the server serves the document's version and that it has the
// fields of its kind.
func (l *Language) decodes(r *reader) bool {
	kind := r.Document.Kind()
	span, known := served[kind.Version]
	switch {
	case !known:
		r.Advise(change.Keys("apiVersion"), "policy-version-unknown", fmt.Sprintf("no API server serves %s", kind.APIVersion()), "expected "+group+"/v1, v1beta1 or v1alpha1")
		return false
	case l.minor < span.since:
		r.Advise(change.Keys("apiVersion"), "policy-version-unknown", fmt.Sprintf("Kubernetes 1.%d does not serve %s, which came with 1.%d", l.minor, kind.APIVersion(), span.since), l.servedVersions())
		return false
	case span.until > 0 && l.minor >= span.until:
		r.Advise(change.Keys("apiVersion"), "policy-version-unknown", fmt.Sprintf("Kubernetes 1.%d does not serve %s any more, 1.%d was the last", l.minor, kind.APIVersion(), span.until-1), l.servedVersions())
		return false
	}
	problems := l.schemas.Lookup(kind).Type().Check(r.Root.Value)
	for _, p := range problems {
		code := "policy-invalid"
		if strings.HasPrefix(p.Text, "unknown field ") {
			code = "policy-field-unknown"
		}
		r.Advise(p.Path, code, p.Text, draftAdvice(p.Path))
	}
	return len(problems) == 0
}

func (l *Language) servedVersions() string {
	text := "use"
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		if s := served[version]; l.minor >= s.since && (s.until == 0 || l.minor < s.until) {
			if text != "use" {
				text += " or"
			}
			text += " " + group + "/" + version
		}
	}
	return text
}

// link adds the bindings to their policies and sorts both. A server ignores bindings without a
// policy and policies without a binding, so they get a warning.
func (p *program) link(definitions []*definition, bindings []*binding) []source.Diagnostic {
	var diagnostics []source.Diagnostic
	byName := map[string]*definition{}
	for _, d := range definitions {
		if d == nil {
			continue
		}
		if other := byName[d.name]; other != nil {
			diagnostics = append(diagnostics, duplicate("MutatingAdmissionPolicy", d.name, d.document, other.document)...)
			continue
		}
		byName[d.name] = d
		p.definitions = append(p.definitions, d)
	}
	seen := map[string]*binding{}
	for _, b := range bindings {
		if b == nil {
			continue
		}
		if other := seen[b.name]; other != nil {
			diagnostics = append(diagnostics, duplicate("MutatingAdmissionPolicyBinding", b.name, b.document, other.document)...)
			continue
		}
		seen[b.name] = b
		d := byName[b.policy]
		if d == nil {
			diagnostics = append(diagnostics, source.Warningf(b.document.At(change.Keys("spec", "policyName")), "binding-without-policy",
				"MutatingAdmissionPolicyBinding %s: there is no policy %q, so the binding does nothing", b.name, b.policy).
				With("give the policy as well, or correct spec.policyName"))
			continue
		}
		d.bindings = append(d.bindings, b)
	}
	slices.SortFunc(p.definitions, func(a, b *definition) int { return cmp.Compare(a.name, b.name) })
	for _, d := range p.definitions {
		slices.SortFunc(d.bindings, func(a, b *binding) int { return cmp.Compare(a.name, b.name) })
		if len(d.bindings) == 0 {
			diagnostics = append(diagnostics, source.Warningf(d.at, "policy-without-binding",
				"MutatingAdmissionPolicy %s has no binding, so it does nothing", d.name).
				With("give a MutatingAdmissionPolicyBinding with spec.policyName: "+d.name))
		}
	}
	return diagnostics
}

// duplicate reports a second document of the same name, unless the specs are equal.
func duplicate(kind, name string, second, first *manifest.Document) []source.Diagnostic {
	if change.Equal(second.Object()["spec"], first.Object()["spec"]) {
		return nil
	}
	return []source.Diagnostic{source.Errorf(second.At(change.Keys("metadata", "name")), "policy-defined-twice",
		"%s %s is defined twice, differently; the other one is at %s", kind, name, first.At(change.Keys("metadata", "name"))).
		With("a cluster keeps one of them: remove the other")}
}

// Hook implements policy.Program. A server runs the policies in any order.
func (*program) Hook() policy.Hook { return policy.Hook{Point: policy.InServer, Shuffled: true} }

// Selects implements policy.Program.
func (p *program) Selects() []policy.Selected {
	var all []policy.Selected
	for _, d := range p.definitions {
		for _, name := range d.constraints.Names() {
			path := change.Keys("spec", "matchConstraints", "resourceRules").Index(name.Rule)
			all = append(all, policy.Selected{ID: policy.ID{Policy: d.name}, At: d.document.At(path), Group: name.Group, Version: name.Version, Resource: name.Resource.Resource})
		}
		if k := d.paramKind; k != (gvk.Kind{}) {
			at := d.document.At(change.Keys("spec", "paramKind", "kind"))
			all = append(all, policy.Selected{ID: policy.ID{Policy: d.name}, At: at, Group: k.Group, Version: k.Version, Kind: k.Kind})
		}
	}
	return all
}

// Existing implements policy.Program.
func (*program) Existing() policy.Follower { return nil }

// Parts implements policy.Program.
func (p *program) Parts() []policy.Part {
	var parts []policy.Part
	for _, d := range p.definitions {
		of := policydoc.Parts{Policy: d.name, Document: d.document}
		spec := change.Keys("spec")
		for i, c := range d.conditions {
			of.Condition(spec.Key("matchConditions").Index(i), c.name, c.program)
		}
		of.Variables(d.scope)
		for i, m := range d.mutations {
			n := policy.Node{Value: d.document.Object()}.At("spec", "mutations").Items()[i]
			of.Mutation(n.Path, m.rule)
			of.Branches(policydoc.Expression(n), m.program)
		}
		parts = append(parts, of.All()...)
	}
	return parts
}

// Reads implements policy.Program: policies read params.
func (p *program) Reads() []gvk.Kind {
	var kinds []gvk.Kind
	for _, d := range p.definitions {
		if d.paramKind != (gvk.Kind{}) && !slices.Contains(kinds, d.paramKind) {
			kinds = append(kinds, d.paramKind)
		}
	}
	return kinds
}
