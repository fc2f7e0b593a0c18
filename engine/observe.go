package engine

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/preadmit/preadmit/engine/internal/unknown"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Observer gets more information about a run than its result. Information that no observer asks for
// is not computed.
type Observer struct {
	// decorate returns programs to run instead of the given ones.
	decorate func([]policy.Program) []policy.Program
	// tries returns an empty list for the tries of an admission. It is nil if tries are not needed.
	tries func() *tries
	// shuffled returns an empty list for the invocations of an admission that have no order. It is nil if
	// they are not needed.
	shuffled func() *shuffled
	// judge is called for each job whose object a server would validate. It may add to its result.
	judge func(*run, *admitted)
	// admit is called for each job that is admitted. admit and conclude may be called for several
	// jobs at once.
	admit func(*run, *written)
	// conclude is called for each job, admitted or not, when it cannot change again.
	conclude func(*run, *written)
	// progress is called with the number of jobs that are done.
	progress func(done, total int)
	// finish is called when no manifest can change again.
	finish func(*run)
	// ended adds to the outcome.
	ended func(*run, *Outcome) []source.Diagnostic
	// warn is called for diagnostics that are not errors.
	warn func(source.Diagnostic)
	// unknown is told what policies do with placeholders.
	unknown *Unknown
	// partial means that manifests without errors stay edited although others have failed.
	partial bool
	// tolerant means that sound policies run although others have errors.
	tolerant bool
	// apart means that policies do not look up the manifests, because the cluster does not have them.
	apart bool
	// earlier returns a function that gives a job its result of an earlier run, and reports whether it has
	// one.
	earlier func(*run) func(*job) bool
	// reuse is called instead of admit and conclude for each job with such a result, if the result is
	// that of this run, too. It gets what is kept of an admission.
	reuse func(*run, *written)
	// keep is called for each job that is concluded.
	keep func(*run, *written)
	// existing are objects that the cluster already has, and that are not sent to it.
	existing map[*manifest.Document]bool
}

func newTries() *tries { return new(tries) }

func newShuffled() *shuffled { return new(shuffled) }

// Partial keeps the edits of manifests without errors although others have failed, even if policies
// among the manifests are invalid; those do not run. It is for reports: the manifests of such a run
// are not output.
func Partial() Observer { return Observer{partial: true} }

// isPartial reports whether an observer asks for partial results.
func isPartial(observers []Observer) bool {
	return slices.ContainsFunc(observers, func(o Observer) bool { return o.partial })
}

// tolerates reports whether an observer asks for a run of the sound policies.
func (r *run) tolerates() bool {
	return slices.ContainsFunc(r.observers, func(o Observer) bool { return o.tolerant })
}

// Existing marks manifests as objects that the cluster already has. They are not sent to the
// cluster: only policies that change other objects may change them.
func Existing(manifests []*manifest.Stream) Observer {
	o := Observer{existing: map[*manifest.Document]bool{}}
	for _, d := range documentsOf(manifests) {
		o.existing[d] = true
	}
	return o
}

func (o Observer) warned(diagnostics []source.Diagnostic) {
	for _, d := range diagnostics {
		if o.warn != nil && d.Severity != source.Error {
			o.warn(d)
		}
	}
}

// Warn calls tell, at the end of a run, for every diagnostic of the Outcome that is not an error.
func Warn(tell func(source.Diagnostic)) Observer { return Observer{warn: tell} }

// Unknown is a run on placeholders of values that are not known yet: see unknown.Run. It tells
// what MutatingAdmissionPolicies, and the policies of Kyverno and Gatekeeper, do with them. Merges,
// JSON Patches, mutation trees and admission plug-ins are not observed.
type (
	Unknown        = unknown.Run
	UnknownValue   = unknown.Value
	UnknownUse     = unknown.Use
	UnknownOptions = unknown.Options
)

// NewUnknown returns a run with unknown values.
func NewUnknown(values []UnknownValue, o UnknownOptions) *Unknown { return unknown.New(values, o) }

// WithUnknown observes what policies do with placeholders, in a run for one object.
func WithUnknown(u *Unknown) Observer { return Observer{unknown: u} }

// Progress calls observe, after every manifest, with the number of manifests that are done.
func Progress(observe func(done, total int)) Observer { return Observer{progress: observe} }

// Stat counts the evaluations of a policy, a binding or a rule in a run, as an API server that
// admits the same objects would count them, with reinvocations. The replay for idempotence and the
// other orders of a check do not count. Conditions that are true are not counted separately: the
// rules that follow are.
type Stat struct {
	// Kind is the kind of the policy. Policy, Binding and Rule are empty if they do not apply.
	// Params, and the instances of a rule, are counted together.
	Kind, Policy, Binding, Rule string
	// Evaluations counts how often it was evaluated on a manifest. It is the sum of Applied, how
	// often it gave a result, changed or not; Skipped, how often it did not apply; and Errors, how
	// often it failed. Variables counts the evaluations of variables.
	Evaluations, Applied, Skipped, Errors, Variables int
	// Time is the duration of its rules.
	Time time.Duration
}

// Count adds the Stats to the Outcome. now returns the time; it is called concurrently.
func Count(now func() time.Time) Observer {
	tries := map[*job][]try{}
	return Observer{
		decorate: func(programs []policy.Program) []policy.Program {
			timed := make([]policy.Program, len(programs))
			for i, p := range programs {
				timed[i] = &timedProgram{p, now}
			}
			return timed
		},
		tries: newTries,
		conclude: func(r *run, w *written) {
			if trace := w.admitted.trace; trace != nil {
				r.lock.Lock()
				tries[w.job] = trace.tries.all()
				r.lock.Unlock()
			}
		},
		ended: func(r *run, outcome *Outcome) []source.Diagnostic {
			var stats []Stat
			for _, j := range r.jobs {
				for _, t := range tries[j] {
					stats = append(stats, t.stat())
				}
			}
			outcome.Stats = sum(stats)
			return nil
		},
	}
}

// stat returns the Stat of one try.
func (t try) stat() Stat {
	s := Stat{Kind: t.id.Kind, Policy: t.id.Policy, Binding: t.id.Binding, Rule: t.id.Rule, Evaluations: 1, Variables: t.variables, Time: t.took}
	switch t.result {
	case applied:
		s.Applied = 1
	case skipped, unmatched:
		s.Skipped = 1
	case failed:
		s.Errors = 1
	}
	return s
}

// sum adds up the stats of each policy, binding and rule, sorted by their names.
func sum(stats []Stat) []Stat {
	slices.SortStableFunc(stats, Stat.compare)
	var sums []Stat
	for _, s := range stats {
		last := len(sums) - 1
		if last < 0 || sums[last].compare(s) != 0 {
			sums = append(sums, s)
			continue
		}
		to := &sums[last]
		to.Evaluations += s.Evaluations
		to.Applied += s.Applied
		to.Skipped += s.Skipped
		to.Errors += s.Errors
		to.Variables += s.Variables
		to.Time += s.Time
	}
	return sums
}

// compare sorts stats by policy, kind, binding and rule.
func (s Stat) compare(other Stat) int {
	return cmp.Or(cmp.Compare(s.Policy, other.Policy), cmp.Compare(s.Kind, other.Kind), cmp.Compare(s.Binding, other.Binding), cmp.Compare(s.Rule, other.Rule))
}

// timedProgram measures the steps of a program.
type timedProgram struct {
	policy.Program
	now func() time.Time
}

// Plan implements policy.Program.
func (p *timedProgram) Plan(r *policy.Request) policy.Plan {
	plan := p.Program.Plan(r)
	invocations := make([]policy.Invocation, len(plan.Invocations))
	for i, invocation := range plan.Invocations {
		invocations[i] = timedInvocation{invocation, p.now}
	}
	plan.Invocations = invocations
	return plan
}

// timedInvocation measures the steps of an invocation.
type timedInvocation struct {
	policy.Invocation
	now func() time.Time
}

// Steps implements policy.Invocation.
func (i timedInvocation) Steps(r *policy.Request) iter.Seq[policy.Step] {
	return func(yield func(policy.Step) bool) {
		start := i.now()
		for step := range i.Invocation.Steps(r) {
			step.Took = i.now().Sub(start)
			if !yield(step) {
				return
			}
			start = i.now()
		}
	}
}
