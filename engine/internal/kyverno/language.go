package kyverno

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

const group = "kyverno.io"

// versions are the supported versions of the kinds of the language.
var versions = map[string][]string{
	"ClusterPolicy":   {"v1", "v2beta1"},
	"Policy":          {"v1", "v2beta1"},
	"PolicyException": {"v2", "v2beta1", "v2alpha1"},
}

// Language compiles the policies of Kyverno.
type Language struct {
	values    *given.Values
	user      given.UserInfo
	namespace string
	minor     int
}

var _ policy.Language = (*Language)(nil)

// New returns the language with the user's values. namespace is the default namespace of
// Policies; the cluster's version is 1.minor.
func New(known *given.Values, user given.UserInfo, namespace string, minor int) *Language {
	return &Language{values: known, user: user, namespace: namespace, minor: minor}
}

// Kinds implements policy.Language.
func (*Language) Kinds() []gvk.Kind {
	return []gvk.Kind{{Group: group, Kind: "ClusterPolicy"}, {Group: group, Kind: "Policy"}, {Group: group, Kind: "PolicyException"}}
}

// program has the compiled policies of one webhook: ClusterPolicies, then Policies, in the order of
// their documents. In a cluster their order is random.
type program struct {
	// ignore says that it is the webhook of policies with failurePolicy Ignore.
	ignore      bool
	definitions []*definition
	exceptions  []*exception
	values      *given.Values
	user        given.UserInfo
	minor       int
	env         *jmespath.Env
	// written are the rules as their policies have them; see writtenRules.
	written func() map[policy.ID][]*rule
}

var (
	_ policy.Program  = (*program)(nil)
	_ policy.Follower = (*program)(nil)
	_ policy.Varying  = (*program)(nil)
	_ policy.Shuffler = webhook{}
)

// Compile implements policy.Language.
func (l *Language) Compile(documents []*manifest.Document, kept *policy.Kept) ([]policy.Program, []source.Diagnostic) {
	var definitions []*definition
	var exceptions []*exception
	var diagnostics []source.Diagnostic
	seen := map[string]*definition{}
	for i, one := range policy.KeepEach(kept, l, documents, l.read) {
		diagnostics = append(diagnostics, one.problems...)
		d, definition := documents[i], one.definition
		switch {
		case one.exception != nil:
			exceptions = append(exceptions, one.exception)
		case definition == nil:
		case seen[definition.key()] == nil:
			seen[definition.key()] = definition
			definitions = append(definitions, definition)
		case !change.Equal(d.Object(), seen[definition.key()].document.Object()):
			diagnostics = append(diagnostics, policydoc.DefinedTwice(d.Kind().Kind, definition.name, d, seen[definition.key()].document))
		}
	}
	diagnostics = append(diagnostics, unusedValues(l.values, definitions)...)
	for _, x := range exceptions {
		diagnostics = append(diagnostics, x.unused(definitions)...)
	}
	definitions = matching(definitions, func(d *definition) bool { return !d.broken })
	return l.programs(definitions, exceptions), diagnostics
}

// document is a policy or an exception; neither if it has another version, or is an exception with errors.
type document struct {
	definition *definition
	exception  *exception
	problems   []source.Diagnostic
}

// read reads a policy or an exception.
func (l *Language) read(d *manifest.Document) (one document) {
	r := newReader(d)
	switch {
	case !r.checkVersion():
	case d.Kind().Kind != "PolicyException":
		one.definition = r.definition(l.namespace)
		one.definition.broken = source.HasErrors(r.doc.Problems)
	default:
		if x := r.exception(); !source.HasErrors(r.doc.Problems) {
			one.exception = x
		}
	}
	one.problems = r.doc.Problems
	return one
}

// programs groups policies by webhook: there is one for each failurePolicy.
func (l *Language) programs(definitions []*definition, exceptions []*exception) (programs []policy.Program) {
	definitions = slices.Concat(
		matching(definitions, func(d *definition) bool { return d.namespace == "" }),
		matching(definitions, func(d *definition) bool { return d.namespace != "" }),
	)
	for _, ignore := range []bool{false, true} {
		if own := matching(definitions, func(d *definition) bool { return d.ignore == ignore }); len(own) > 0 {
			programs = append(programs, &program{
				ignore: ignore, definitions: own, exceptions: exceptions, values: l.values, user: l.user, minor: l.minor, env: jmespath.NewEnv(l.values.Answer),
				written: sync.OnceValue(func() map[policy.ID][]*rule { return writtenRules(own) }),
			})
		}
	}
	return programs
}

// checkVersion reports versions that are not supported.
func (r *reader) checkVersion() bool {
	kind := r.doc.Document.Kind()
	known := versions[kind.Kind]
	if slices.Contains(known, kind.Version) {
		return true
	}
	r.doc.Unserved(fmt.Sprintf("%s of %s is not known", kind.Kind, kind.APIVersion()), "expected apiVersion: "+group+"/"+known[0], group+"/"+known[0])
	return false
}

// The places among Kyverno's webhooks, which a server calls by name: mutate.kyverno.svc-fail comes
// before mutate.kyverno.svc-ignore. MutatingPolicies run before them, and NamespacedMutatingPolicies
// after them.
const (
	failOrder   = 2
	ignoreOrder = 3
)

// Hook implements policy.Program.
func (p *program) Hook() policy.Hook {
	order := failOrder
	if p.ignore {
		order = ignoreOrder
	}
	return policy.Hook{Point: policy.Webhook, Configuration: "kyverno-resource-mutating-webhook-cfg", Order: order, Reinvocation: policy.IfNeeded, Shuffled: true}
}

// Reads implements policy.Program: rules read ConfigMaps, and what the paths of API calls name.
func (p *program) Reads() []policy.Read {
	var reads []policy.Read
	for _, d := range p.definitions {
		for _, r := range d.rules {
			for _, read := range readsOf(r.root, p.minor, cmp.Or(r.policy.namespace, "default")) {
				read.By, read.At = r.id(), r.at(r.root.Path)
				reads = append(reads, read)
			}
		}
	}
	return reads
}

// Selects implements policy.Program.
func (p *program) Selects() []policy.Selected {
	var all []policy.Selected
	for _, d := range p.definitions {
		for _, r := range d.rules {
			for purpose, filter := range []filter{policy.ToMatch: r.match, policy.ToExclude: r.exclude} {
				for _, b := range filter.blocks() {
					for i, k := range b.kinds {
						all = append(all, policy.Selected{ID: r.id(), At: r.at(b.kindPaths[i]), Group: k.Group, Version: k.Version, Kind: k.Kind, Purpose: policy.Purpose(purpose)})
					}
				}
			}
			for _, target := range r.targets {
				kind := gvk.Parse(target.At("apiVersion").Text(), target.At("kind").Text())
				if !strings.Contains(target.At("apiVersion").Text()+kind.Kind, "{{") {
					all = append(all, policy.Selected{ID: r.id(), At: r.at(target.At("kind").Path), Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Purpose: policy.ToChange})
				}
			}
		}
	}
	return all
}

// Check implements policy.Program: it finds calls of functions that fail, patches that do not fit
// their kinds, controllers that do not exist, deviations of Kyverno v1.19.0, and what varies in it from
// run to run.
func (p *program) Check(schemas *schema.Registry, _ *policy.Kept) (found []source.Diagnostic) {
	for _, d := range p.definitions {
		found = append(found, d.checkCalls()...)
		found = append(found, d.checkReads(schemas)...)
		found = append(found, d.checkAutogen()...)
		for _, r := range d.rules {
			if !r.generated {
				kinds := r.patched(schemas)
				found = append(found, r.checkPatches(schemas.Checked(kinds))...)
				found = append(found, r.check(typesOf(kinds))...)
				found = append(found, r.varying()...)
			}
		}
	}
	for _, x := range p.exceptions {
		if slices.ContainsFunc(p.definitions, func(d *definition) bool { return slices.ContainsFunc(d.rules, x.concerns) }) {
			found = append(found, x.check()...)
		}
	}
	return found
}

// Parts implements policy.Program. A part is a rule that the user wrote, with the rules
// generated from it.
func (p *program) Parts() []policy.Part {
	var parts []policy.Part
	for _, d := range p.definitions {
		for _, r := range d.rules {
			at := r.at(r.root.Path)
			i := slices.IndexFunc(parts, func(part policy.Part) bool { return part.Policy == r.policy.id() && part.At == at })
			if i < 0 {
				i = len(parts)
				parts = append(parts, policy.Part{Policy: r.policy.id(), Kind: policy.MutationPart, Name: r.id().Rule, At: at})
			}
			parts[i].Rules = append(parts[i].Rules, r.id().Rule)
		}
	}
	return parts
}

// Existing implements policy.Program: rules with mutate.targets change other objects.
func (p *program) Existing() policy.Follower {
	if !p.follows() {
		return nil
	}
	return p
}
