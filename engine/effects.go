package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/workload"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// effects finds policies without effect on the manifests: policies that fail on all of them, and
// policies that match only Pods. It counts in e.
func effects(e *tally) Observer {
	traces := map[*job]*trace{}
	note := func(r *run, w *written) {
		if w.admitted.trace != nil {
			r.lock.Lock()
			traces[w.job] = w.admitted.trace
			r.lock.Unlock()
		}
	}
	return Observer{
		tries: newTries, conclude: note, reuse: note,
		ended: func(r *run, _ *Outcome) []source.Diagnostic {
			for _, j := range r.jobs {
				if t := traces[j]; t != nil {
					e.add(t, t.ignored)
				}
			}
			return append(e.failing(), e.podsOnly(r)...)
		},
	}
}

// tally counts the results of policies on all objects.
type tally struct {
	// failures has the failures by policy and rule, without binding and param.
	failures map[policy.ID]*failures
	order    []policy.ID
	// tried has the policies that matched any object, worked the rules that had a result for one.
	tried, worked map[policy.ID]bool
}

// failures counts how often a rule, or the conditions of a policy, failed, and how often it did not
// fail.
type failures struct {
	first         policy.Failure
	count, worked int
	// common has the causes of all failures.
	common []string
}

// add adds a failure.
func (f *failures) add(failure policy.Failure) {
	causes := policy.Causes{""} // the rule itself
	errors.As(failure.Err, &causes)
	if f.count++; f.count == 1 {
		f.first, f.common = failure, causes
	}
	f.common = slices.DeleteFunc(slices.Clone(f.common), func(cause string) bool { return !slices.Contains(causes, cause) })
}

// isCertain reports whether the failures have a cause in common, so that one on another object is not likely to be the
// exception.
func (f *failures) isCertain() bool { return len(f.common) > 0 }

// always reports whether every object on which it was evaluated failed.
func (f *failures) always() bool { return f.count > 0 && f.worked == 0 }

func newTally() *tally {
	return &tally{failures: map[policy.ID]*failures{}, tried: map[policy.ID]bool{}, worked: map[policy.ID]bool{}}
}

// applied returns the number of rules that have not failed on every object.
func (e *tally) applied() (n int) {
	for id, f := range e.failures {
		if id.Rule != "" && f.worked > 0 {
			n++
		}
	}
	return n
}

// fails reports whether a rule has failed on every object.
func (e *tally) fails(id policy.ID) bool { return e.failures[id] != nil && e.failures[id].always() }

func (e *tally) of(id policy.ID) *failures {
	id = id.OfRule()
	if e.failures[id] == nil {
		e.failures[id] = &failures{}
		e.order = append(e.order, id)
	}
	return e.failures[id]
}

// add counts the tries of an object, and those of its failures that matter.
func (e *tally) add(t *trace, ended []policy.Failure) {
	for _, try := range t.tries.all() {
		if try.result == unmatched {
			continue
		}
		e.tried[try.id.OfPolicy()] = true
		if try.result == applied {
			e.worked[try.id.OfRule()] = true
		}
		if try.result != failed {
			e.of(try.id).worked++
			e.of(try.id.OfPolicy()).worked++
		}
	}
	each := map[*failures]policy.Failure{}
	for _, f := range ended {
		each[e.of(f.ID)] = f
	}
	for f, failure := range each { // one per object, whether reinvoked or not
		f.add(failure)
	}
}

// failing reports rules that failed, and were ignored, on every object on which they were
// evaluated.
func (e *tally) failing() (found []source.Diagnostic) {
	for _, id := range e.order {
		if f := e.failures[id]; f.always() {
			often := "on the only manifest that it is evaluated on"
			if f.count > 1 {
				often = fmt.Sprintf("on all %d manifests that it is evaluated on", f.count)
			}
			found = append(found, source.Warningf(f.first.At, "always-fails", "%s fails %s, and failurePolicy Ignore hides the failure: %v", id, source.Literal(often), f.first.Err).
				With("correct it: in a cluster it has no effect, and no message says so"))
		}
	}
	return found
}

// podsOnly reports policies that match only Pods, if the manifests have no Pods but have workloads
// that create them.
func (e *tally) podsOnly(r *run) (found []source.Diagnostic) {
	isPod := func(j *job) bool { return j.place.kind != nil && j.place.kind.Kind == podKind }
	if slices.ContainsFunc(r.jobs, isPod) || !slices.ContainsFunc(r.jobs, func(j *job) bool { return j.place.kind != nil && workload.Controls(j.place.kind.Kind) }) {
		return nil
	}
	others := map[policy.ID]bool{}
	var first []policy.Selected
	for _, program := range r.server.programs {
		for _, s := range program.Selects() {
			if s.Purpose != policy.ToMatch {
				continue
			}
			if s.Group != podKind.Group && s.Group != "*" || s.Kind != podKind.Kind && s.Resource != "pods" {
				others[s.ID.OfPolicy()] = true
			}
			if !slices.ContainsFunc(first, func(f policy.Selected) bool { return f.ID.OfPolicy() == s.ID.OfPolicy() }) {
				first = append(first, s)
			}
		}
	}
	for _, s := range first {
		if id := s.ID.OfPolicy(); !others[id] && !e.tried[id] {
			found = append(found, source.Diagnostic{
				At: s.At, Severity: source.Info, Code: "pods-only", Message: fmt.Sprintf("%s changes the Pods that controllers create from these manifests, not the manifests", id),
				Advice: "see 'preadmit pods', or add --pods to diff or explain",
			})
		}
	}
	return found
}

var podKind = gvk.Kind{Version: "v1", Kind: "Pod"}
