package engine

import (
	"slices"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/witness"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// pairs compares what validating policies in CEL say about generated objects before and after mutating
// ones. It reports a validating policy that refuses all objects that a mutating one changes, although it
// accepts some of them before, and one that the mutating policy makes redundant.
var pairs = Observer{ended: func(r *run, _ *Outcome) []source.Diagnostic {
	validating := r.generatable("validations")
	if len(validating) == 0 {
		return nil
	}
	reads := r.readBy(validating)
	return slices.Concat(eachOf(r.generatable("mutations"), func(m documented) (found []source.Diagnostic) {
		does := policy.Keep(r.kept, r.finding("influence"), m.documents(), func() influence { return r.influenceOf(m) })
		changed := sync.OnceValue(func() []generatedChange { return r.changedBy(r.alone(m), does.objects) })
		for _, i := range concerned(does.paths, reads) {
			v := validating[i]
			found = append(found, policy.Keep(r.kept, r.finding("pair"), append(m.documents(), v.documents()...), func() []source.Diagnostic {
				return r.tryPair(r.alone(m), r.alone(v), changed())
			})...)
		}
		return found
	})...)
}}

// influence is what a mutating policy does with the objects that are generated for it: those that it changes,
// and the paths of what it changes.
type influence struct {
	objects []map[string]any
	paths   []change.Path
}

func (r *run) influenceOf(d documented) (e influence) {
	m, seen := r.alone(d), map[string]bool{}
	for _, object := range m.objects {
		for _, c := range r.changedBy(m, []map[string]any{object}) {
			e.objects = append(e.objects, object)
			for _, difference := range change.Diff(c.trace.before, c.trace.after, nil) {
				if text := difference.Path.String(); !seen[text] {
					seen[text], e.paths = true, append(e.paths, difference.Path)
				}
			}
		}
	}
	return e
}

// single is a policy with its bindings, without others, and objects that are generated for it.
type single struct {
	source  documented
	server  server
	objects []map[string]any
}

// mostPaired is how many objects are generated for each policy of a pair.
const mostPaired = 24

// alone compiles a policy that compiles with the others.
func (r *run) alone(d documented) *single {
	programs, problems := r.set.languages[r.set.language(d.policy.Kind())].Compile(d.documents(), r.kept)
	one := &single{source: d, server: r.serverWith(programs...)}
	if source.HasErrors(problems) {
		return one
	}
	one.objects = policy.Keep(r.kept, r.finding("objects"), []*manifest.Document{d.policy}, func() (objects []map[string]any) {
		for object := range witness.Objects(policy.Node{Value: d.policy.Object()}, r.schemas) {
			if objects = append(objects, object); len(objects) == mostPaired {
				break
			}
		}
		return objects
	})
	return one
}

// generatedChange is what a policy makes of a generated object.
type generatedChange struct {
	place   place
	request *policy.Request
	trace   *trace
}

// changedBy returns what a policy changes in objects that a server admits.
func (r *run) changedBy(m *single, objects []map[string]any) (changed []generatedChange) {
	for _, object := range objects {
		p, request := r.requestGenerated(m.server, m.source.policy, object)
		if request == nil {
			continue
		}
		if t := m.server.admit(p, request, object, nil); len(t.failures) == 0 && t.changed() {
			changed = append(changed, generatedChange{p, request, t})
		}
	}
	return changed
}

// readBy returns the paths that policies read, with the indexes of the policies.
func (r *run) readBy(policies []documented) *change.PathIndex {
	reads := &change.PathIndex{}
	for i, p := range policies {
		for _, d := range p.documents() {
			paths := policy.Keep(r.kept, "reads", []*manifest.Document{d}, func() []change.Path { return witness.Reads(policy.Node{Value: d.Object()}) })
			for _, path := range paths {
				reads.Add(path, i)
			}
		}
	}
	return reads
}

// concerned returns, sorted, the indexes of the policies that read what has changed. The others say the same
// before and after.
func concerned(changed []change.Path, reads *change.PathIndex) (policies []int) {
	for _, path := range changed {
		policies = append(policies, reads.Overlapping(path)...)
	}
	slices.Sort(policies)
	return slices.Compact(policies)
}

// judged validates an object before or after a change. matches is false if the policy does not match the
// object, or if no server stores it.
func (v *single) judged(c generatedChange, object map[string]any) (refusal *policy.Failure, matches bool) {
	t := v.server.trace(nil)
	t.after = object
	v.server.validate(c.place, *c.request, t)
	if len(t.refusals) == 0 {
		return nil, len(t.tries.verdicts()) > 0
	}
	return &t.refusals[0], t.refusals[0].ID.Policy != ""
}

// turned counts what a validating policy says about the objects that a mutating one changes.
type turned struct {
	// accepted and refused count the results after the change, worse and better those that it turns.
	accepted, refused, worse, better int
	// first is the first refusal before or after the change.
	first *policy.Failure
}

// add adds the results for changed objects.
func (t *turned) add(v *single, changed []generatedChange) {
	for _, c := range changed {
		before, had := v.judged(c, c.trace.before)
		after, has := v.judged(c, c.trace.after)
		if !had || !has {
			continue
		}
		switch {
		case after != nil:
			t.refused++
			if before == nil {
				t.worse++
			}
		default:
			t.accepted++
			if before != nil {
				t.better++
			}
		}
		for _, f := range []*policy.Failure{before, after} {
			if t.first == nil {
				t.first = f
			}
		}
	}
}

func (t *turned) contradicts() bool { return t.worse > 0 && t.accepted == 0 }
func (t *turned) isRedundant() bool { return t.better > 0 && t.refused == 0 }

// tryPair tries a validating policy on what a mutating one has changed in the objects that are generated
// for it, and if these show something, in those that are generated for the validating policy.
func (r *run) tryPair(m, v *single, changed []generatedChange) []source.Diagnostic {
	var t turned
	t.add(v, changed)
	if !t.contradicts() && !t.isRedundant() {
		return nil
	}
	t.add(v, r.changedBy(m, v.objects))
	var d source.Diagnostic
	name, by := source.Name(v.source.policy.Name()), source.Name(m.source.policy.Name())
	switch {
	case t.contradicts():
		d = source.Warningf(t.first.At, "mutation-refused", "policy %s refuses every generated object that policy %s has changed, and accepts %d of %d before: %v", name, by, t.worse, t.refused, t.first.Err).
			With("let the mutating policy write a value that the validating one accepts, or except its objects from one of them")
	case t.isRedundant() && r.changesAll(m, v):
		d = source.Notef(t.first.At, "validation-redundant", "policy %s refuses no generated object that policy %s has changed, and %d of %d before: in a cluster with both, it refuses nothing that the other matches", name, by, t.better, t.accepted).
			With("keep it for requests that the mutating policy does not see, or remove it")
	default:
		return nil
	}
	return []source.Diagnostic{d.Naming(m.source.policy.At(nil), "policy "+m.source.policy.Name())}
}

// changesAll reports whether a mutating policy changes all objects, generated for a validating policy, that
// the validating one refuses.
func (r *run) changesAll(m, v *single) bool {
	for _, object := range v.objects {
		p, request := r.requestGenerated(v.server, v.source.policy, object)
		if request == nil {
			continue
		}
		c := generatedChange{place: p, request: request}
		if refusal, matches := v.judged(c, request.Object); matches && refusal != nil && len(r.changedBy(m, []map[string]any{object})) == 0 {
			return false
		}
	}
	return true
}
