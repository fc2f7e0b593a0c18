package engine

import (
	"cmp"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/parallel"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/internal/witness"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// generated runs each policy in CEL, alone, on objects that are generated to reach its branches. If one of its
// mutations fails, the others run without it, too. It reports rules that fail on all of them, unless manifests of
// the run have shown it, or mistakes in the same policy explain it.
func generated(shown *tally) Observer {
	return Observer{ended: func(r *run, _ *Outcome) []source.Diagnostic { return r.generated(shown) }}
}

func (r *run) generated(shown *tally) []source.Diagnostic {
	mutating := r.generatable("mutations")
	policies := append(mutating, r.generatable("validations")...)
	failing := eachOf(policies, func(d documented) []policy.Failure {
		return policy.Keep(r.kept, r.finding("generated"), d.documents(), func() []policy.Failure { return r.tryPolicy(d) })
	})
	var all []source.Diagnostic
	for i := range policies {
		if len(failing[i]) == 0 {
			continue
		}
		patches := patchesOf(policies[i].policy)
		for _, f := range failing[i] {
			if id := f.ID.OfRule(); i >= len(mutating) || !shown.fails(id) {
				all = append(all, r.withoutFailure(policies[i].policy, patches[f.At], f, alwaysFails(id, f)))
			}
		}
	}
	return all
}

// found identifies what is found about policies with schemas.
type found struct {
	what    string
	options *Options
	schemas *schema.Registry
}

func (r *run) finding(what string) found { return found{what, r.set.options, r.schemas} }

// eachOf calls do for every item, in parallel, and returns the results.
func eachOf[T, R any](items []T, do func(T) R) []R {
	results, indexes := make([]R, len(items)), make([]int, len(items))
	for i := range indexes {
		indexes[i] = i
	}
	parallel.Each(indexes, func(i int) { results[i] = do(items[i]) })
	return results
}

// tryPolicy returns a failure of each rule that fails on all objects that are generated for a policy, unless
// mistakes in the policy explain it.
func (r *run) tryPolicy(d documented) (failing []policy.Failure) {
	programs, problems := r.set.languages[r.set.language(d.policy.Kind())].Compile(d.documents(), r.kept)
	if source.HasErrors(problems) {
		return nil
	}
	if s := r.serverWith(programs...); s.mutating() < len(programs) {
		failing = r.tryValidations(s, d.policy)
	} else {
		failing = r.tryMutations(s, d.policy)
	}
	if len(failing) > 0 && r.explained(programs) {
		return nil
	}
	return failing
}

// documented is a policy with its bindings.
type documented struct {
	policy   *manifest.Document
	bindings []*manifest.Document
}

// documents returns the policy and its bindings.
func (d documented) documents() []*manifest.Document {
	return append([]*manifest.Document{d.policy}, d.bindings...)
}

// policyDocuments returns the documents of policies and of what configures them.
func (r *run) policyDocuments() []*manifest.Document {
	return slices.Concat(r.set.policies, r.input.policies, r.set.configuration(r.input.manifests))
}

// aspects are what says for which generated objects a document is tried: the policy that it binds, or the fields
// of its spec whose effects such objects show.
type aspects struct {
	binds  string
	fields []string
}

func (r *run) aspectsOf(d *manifest.Document) aspects {
	return policy.Keep(r.kept, "aspects", []*manifest.Document{d}, func() (a aspects) {
		root := policy.Node{Value: d.Object()}
		if a.binds = root.At("spec", "policyName").Text(); a.binds != "" || r.set.language(d.Kind()) < 0 || !witness.IsDecisive(root) {
			return a
		}
		for _, field := range []string{"mutations", "validations"} {
			if len(root.At("spec", field).Items()) > 0 {
				a.fields = append(a.fields, field)
			}
		}
		return a
	})
}

// generatable returns the policies that have a field in their spec, and whose effects generated objects
// show.
func (r *run) generatable(field string) (policies []documented) {
	type named struct {
		language int
		name     string
	}
	bindings := map[named][]*manifest.Document{}
	for _, d := range r.policyDocuments() {
		switch a := r.aspectsOf(d); {
		case a.binds != "":
			key := named{r.set.language(d.Kind()), a.binds}
			bindings[key] = append(bindings[key], d)
		case slices.Contains(a.fields, field):
			policies = append(policies, documented{policy: d})
		}
	}
	for i, d := range policies {
		policies[i].bindings = bindings[named{r.set.language(d.policy.Kind()), d.policy.Name()}]
	}
	return policies
}

// mostGenerated is how many generated objects show that nothing is certain about a policy. One on which
// each of its mutations works shows it, too.
const mostGenerated = 200

// serverWith returns a server with the programs alone.
func (r *run) serverWith(programs ...policy.Program) server {
	return server{programs: programs, defaulting: r.server.defaulting, files: r.server.files, tries: newTries, keepsReason: r.server.keepsReason}
}

// tryMutations tries one mutating policy on a server that has no other. If a mutation fails always, it also
// tries each of them without the others.
func (r *run) tryMutations(s server, d *manifest.Document) (failing []policy.Failure) {
	root := policy.Node{Value: d.Object()}
	objects := witness.Objects(root, r.schemas)
	failing = r.tryGenerated(s, d, objects, len(root.At("spec", "mutations").Items()))
	for _, p := range s.programs {
		if divisible, ok := p.(policy.Divisible); ok && len(failing) > 0 {
			for _, alone := range divisible.Alone() {
				failing = append(failing, r.tryGenerated(r.serverWith(alone), d, objects, 1)...)
			}
		}
	}
	told := map[policy.ID]bool{}
	return slices.DeleteFunc(failing, func(f policy.Failure) bool {
		id := f.ID.OfRule()
		again := told[id]
		told[id] = true
		return again
	})
}

// tryGenerated returns the first failures of the rules that fail, with a cause in common, on all objects that are
// generated for a policy, of whose mutations a server has some.
func (r *run) tryGenerated(s server, d *manifest.Document, objects iter.Seq[map[string]any], mutations int) (failing []policy.Failure) {
	t, count := newTally(), 0
	for object := range objects {
		trace := r.admitGenerated(s, d, object)
		if trace == nil {
			return nil // a valid object might show something else
		}
		t.add(trace, slices.Concat(trace.ignored, trace.failures))
		if count++; t.applied() >= mutations || count == mostGenerated {
			return nil
		}
	}
	for _, id := range t.order {
		if f := t.failures[id]; f.always() && f.isCertain() {
			f.first.ID = id
			failing = append(failing, f.first)
		}
	}
	return failing
}

// tryValidations tries one validating policy on a server that has no other. A rule is reported if it
// fails on each generated object that the policy judges, with a cause in common.
func (r *run) tryValidations(s server, d *manifest.Document) (all []policy.Failure) {
	s.defaulting.validation = nil // an object that no server takes refutes as well
	var failing map[policy.ID]*failures
	count := 0
	for object := range witness.Objects(policy.Node{Value: d.Object()}, r.schemas) {
		p, request := r.requestGenerated(s, d, object)
		if count++; request == nil || count > mostGenerated {
			return nil
		}
		t := s.trace(nil)
		t.after = request.Object
		s.validate(p, *request, t)
		if len(t.tries.verdicts()) == 0 { // the policy does not judge it
			continue
		}
		failed := failedIn(t)
		if failing == nil {
			failing = map[policy.ID]*failures{}
			for id := range failed {
				failing[id] = &failures{}
			}
		}
		maps.DeleteFunc(failing, func(id policy.ID, f *failures) bool {
			failure, again := failed[id]
			if again {
				f.add(failure)
			}
			return !again || !f.isCertain()
		})
		if len(failing) == 0 {
			return nil
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(failing), func(a, b policy.ID) int { return strings.Compare(a.Rule, b.Rule) }) {
		all = append(all, failing[id].first)
	}
	return all
}

// failedIn returns the failures in a validation, also those after the one that a server reports. A
// validation that is false does not fail.
func failedIn(t *trace) map[policy.ID]policy.Failure {
	failed := map[policy.ID]policy.Failure{}
	for _, f := range slices.Concat(t.ignored, t.refusals, t.unreported) {
		var isFalse policy.FalseError
		if !errors.As(f.Err, &isFalse) {
			failed[f.ID.OfRule()] = f
		}
	}
	return failed
}

// alwaysFails reports a rule that fails on all generated objects.
func alwaysFails(id policy.ID, f policy.Failure) source.Diagnostic {
	return source.Warningf(f.At, "always-fails", "%s fails on all objects that were generated to reach its branches: %v", id, f.Err).With("correct it: " + effectOf(f))
}

// patchesOf returns the expressions of a policy by the positions of their mutations.
func patchesOf(d *manifest.Document) map[source.Position]policy.Node {
	patches := map[source.Position]policy.Node{}
	for _, mutation := range (policy.Node{Value: d.Object()}).At("spec", "mutations").Items() {
		patch := mutation.At("jsonPatch", "expression")
		if !patch.Given() {
			patch = mutation.At("applyConfiguration", "expression")
		}
		patches[d.At(mutation.Path)] = patch
	}
	return patches
}

// withoutFailure adds its fix to a finding that the patch of a policy fails.
func (r *run) withoutFailure(d *manifest.Document, patch policy.Node, f policy.Failure, found source.Diagnostic) source.Diagnostic {
	var mend source.Mend
	var crash *jsonpatch.CrashError
	var misplaced *celenv.TypeNameError
	switch env := celenv.New(r.set.settings.minor); {
	case errors.As(f.Err, &crash):
		mend = env.Unnested(patch.Text())
	case errors.As(f.Err, &misplaced):
		mend = env.Placed(patch.Text(), misplaced)
	default:
		return found
	}
	mend.Advice = found.Advice
	return d.Mended(found, patch.Path, mend)
}

// effectOf says what a failure does in a cluster.
func effectOf(f policy.Failure) string {
	var crash *jsonpatch.CrashError
	switch {
	case errors.As(f.Err, &crash):
		return "a server panics in every request for an object that it matches"
	case f.Ignored:
		return "in a cluster it has no effect, and no message says so"
	}
	return "a cluster denies every object that it matches"
}

// admitGenerated admits an object to a server without a cluster. It returns nil if no server admits
// such an object.
func (r *run) admitGenerated(s server, d *manifest.Document, object map[string]any) *trace {
	p, request := r.requestGenerated(s, d, object)
	if request == nil {
		return nil
	}
	return s.admit(p, request, object, nil)
}

// requestGenerated returns the request for an object, or nil if no server decodes it.
func (r *run) requestGenerated(s server, d *manifest.Document, object map[string]any) (place, *policy.Request) {
	settings := &r.set.settings
	namespace := cmp.Or(textAt(object, "metadata", "namespace"), d.Namespace())
	p := r.set.placeAs(gvk.Parse(textAt(object, "apiVersion"), textAt(object, "kind")), namespace, textAt(object, "metadata", "name"), r.schemas)
	view, err := s.defaulting.view(nil, p, object)
	if err != nil {
		return p, nil
	}
	return p, &policy.Request{
		Context: r.ctx, Kind: p.kind, Name: p.name, Namespace: p.ofRequest(), Operation: settings.options.Operation, User: settings.options.User,
		Object: view, Schemas: r.schemas, Snapshot: (&snapshot.Snapshot{}).Reader(nil), Secrets: r.input.given, Warn: func(source.Diagnostic) {},
	}
}

// explained reports whether the schemas show a mistake in programs, or another one with one of the codes,
// that may be the reason why they fail.
func (r *run) explained(programs []policy.Program, codes ...string) bool {
	codes = append(codes, celenv.FieldUndefined, celenv.TypeMismatch, celenv.AtomicList)
	return slices.ContainsFunc(programs, func(p policy.Program) bool {
		return slices.ContainsFunc(p.Check(r.schemas, r.kept), func(d source.Diagnostic) bool { return slices.Contains(codes, d.Code) })
	})
}
