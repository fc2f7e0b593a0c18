package engine

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Observer learns more of a run than its result. What no observer asks for is not
// computed.
type Observer struct {
	// decorate returns programs to run in place of those given.
	decorate func([]policy.Program) []policy.Program
	// tries makes room for the tries of an admission; nil if they do not matter.
	tries func() *tries
	// admit is told of a job that is admitted and changed. It and conclude may be called for
	// several jobs at once.
	admit func(*run, *job)
	// conclude is told of a job that will not change any more, whatever became of it.
	conclude func(*run, *job)
	// progress is told how many jobs are done.
	progress func(done, total int)
	// finish is told when no manifest will change any more.
	finish func(*run)
	// ended adds to the outcome.
	ended func(*run, *Outcome) []source.Diagnostic
	// warn is told of diagnostics that are not errors.
	warn func(source.Diagnostic)
	// partial says that manifests that went well stay edited although others failed.
	partial bool
	// existing are objects that nobody sends to the cluster.
	existing map[*manifest.Document]bool
}

func newTries() *tries { return new(tries) }

// Partial has the manifests that went well edited although others failed, also if policies
// among the manifests are wrong, which then do not run. It is for reports: what such a run
// makes is no output.
func Partial() Observer { return Observer{partial: true} }

// isPartial reports whether an observer wants what went well although not all did.
func isPartial(observers []Observer) bool {
	return slices.ContainsFunc(observers, func(o Observer) bool { return o.partial })
}

// Existing says that the cluster has the objects of some of the manifests already. Nobody
// sends them to it: only policies that change other objects may change them.
func Existing(manifests []*manifest.Stream) Observer {
	o := Observer{existing: map[*manifest.Document]bool{}}
	for _, d := range documentsOf(manifests) {
		o.existing[d] = true
	}
	return o
}

// exists reports whether an observer says that the cluster has the object of a job already.
func (r *run) exists(j *job) bool {
	return slices.ContainsFunc(r.observers, func(o Observer) bool { return o.existing[j.document] })
}

func (o Observer) admitted(r *run, j *job) {
	if o.admit != nil && !j.failed() {
		o.admit(r, j)
	}
}

func (o Observer) concluded(r *run, j *job) {
	if o.conclude != nil {
		o.conclude(r, j)
	}
}

func (o Observer) warned(diagnostics []source.Diagnostic) {
	for _, d := range diagnostics {
		if o.warn != nil && d.Severity != source.Error {
			o.warn(d)
		}
	}
}

// Warn tells, at the end of a run, of every diagnostic of the Outcome that is not an error.
func Warn(tell func(source.Diagnostic)) Observer { return Observer{warn: tell} }

// Progress tells after every manifest how many are done.
func Progress(observe func(done, total int)) Observer { return Observer{progress: observe} }

// Stat counts what a policy, a binding of it or a rule did in a run: what an API server
// that admits the same objects would count, reinvocations included. The replay for
// idempotence and the other orders that a check tries do not count. Conditions that hold
// are not an evaluation of their own: those of the rules follow.
type Stat struct {
	// Policy, Binding and Rule are empty where they do not apply; params are counted
	// together.
	Policy, Binding, Rule string
	// Evaluations are how often it was tried on a manifest, and the sum of three: Applied,
	// how often it gave a result, whether or not that was a change; Skipped, how often it
	// did not apply; Errors, how often it failed. Variables counts the evaluations of
	// variables.
	Evaluations, Applied, Skipped, Errors, Variables int
	// Time is what its rules took.
	Time time.Duration
}

// Count counts what policies do, into the Stats of the Outcome. now tells the time; it is
// called for several manifests at once.
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
		conclude: func(r *run, j *job) {
			if j.trace != nil {
				r.lock.Lock()
				tries[j] = j.trace.tries.all()
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

// stat counts one try.
func (t try) stat() Stat {
	s := Stat{Policy: t.id.Policy, Binding: t.id.Binding, Rule: t.id.Rule, Evaluations: 1, Variables: t.variables, Time: t.took}
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

// compare orders stats by what they are about.
func (s Stat) compare(other Stat) int {
	return cmp.Or(cmp.Compare(s.Policy, other.Policy), cmp.Compare(s.Binding, other.Binding), cmp.Compare(s.Rule, other.Rule))
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
