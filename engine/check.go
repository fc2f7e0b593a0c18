package engine

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Check runs the policies as Run does, and looks for mistakes besides: in the policies
// themselves, and where several of them meet at the same manifest. What it finds is
// among the diagnostics of the Outcome, as warnings.
func (s *Set) Check(ctx context.Context, manifests []*manifest.Stream, observers ...Observer) *Outcome {
	return s.Run(ctx, manifests, append(observers[:len(observers):len(observers)], mistakes, fights, orders, unstored, effects())...)
}

// mistakes looks for mistakes in the policies themselves.
var mistakes = Observer{ended: func(r *run, _ *Outcome) []source.Diagnostic {
	var found []source.Diagnostic
	for _, program := range r.programs {
		found = append(found, program.Check(r.schemas)...)
	}
	return found
}}

// fights reports fields that one policy writes and another overwrites.
var fights = Observer{admit: func(r *run, j *job) {
	if j.trace == nil { // of a plain document: there is no server
		return
	}
	var all []Change
	for _, e := range j.trace.events {
		if !e.drops {
			all = append(all, j.changes(r.defaulting, e)...)
		}
	}
	for i, c := range all {
		if c.Op != change.Replace && c.Op != change.Remove {
			continue
		}
		for _, earlier := range all[:i] {
			if c.overwrites(earlier) {
				j.tell(c.fight(earlier))
			}
		}
	}
}}

// overwrites reports whether a change takes back what another policy wrote before.
func (c Change) overwrites(earlier Change) bool {
	if earlier.By.Policy == c.By.Policy || !c.Path.HasPrefix(earlier.Path) {
		return false
	}
	value, ok := c.Path[len(earlier.Path):].Get(earlier.New)
	return ok && change.Equal(value, c.Old)
}

func (c Change) fight(earlier Change) source.Diagnostic {
	d := source.Warningf(c.At, "policies-fight", "%s writes into %s, and %s overwrites it; the first rule is at %s", earlier.By, c.Path, c.By, earlier.At).
		With("the last to run wins, and a cluster may run policies of one kind in any order: leave the field to one of them")
	d.Field = c.Path.String()
	return d
}

// orders runs the policies in other orders than ours, and reports which two of them give
// another result when they change places.
var orders = Observer{admit: func(r *run, j *job) {
	if j.trace == nil || !j.trace.changed() || len(j.trace.shuffled) < 2 {
		return
	}
	o := ordering{run: r, job: j, planned: j.trace.shuffled}
	for _, order := range permutations(len(o.planned)) {
		if same, _ := o.same(order); !same {
			o.report(order)
			return
		}
	}
}}

// The orders of up to maxAllOrders invocations are all tried, of more a sample.
const (
	maxAllOrders  = 5
	sampledOrders = 100
)

// permutations returns the orders to try, as indexes: the same ones every time.
func permutations(n int) [][]int {
	identity := make([]int, n)
	for i := range identity {
		identity[i] = i
	}
	var found [][]int
	if n <= maxAllOrders {
		permute(identity, 0, &found)
		return found[1:]
	}
	random := rand.New(rand.NewPCG(1, 2))
	reversed := slices.Clone(identity)
	slices.Reverse(reversed)
	found = append(found, reversed)
	for range sampledOrders {
		found = append(found, random.Perm(n))
	}
	return found
}

// orderAdvice is what to do about policies whose order matters. Only those that run in the
// server, which have bindings, can be run again.
func orderAdvice(id policy.ID) string {
	const advice = "a cluster runs policies in any order: have each check what it needs of the other's work"
	if id.Binding == "" {
		return advice + ", or make one policy of them"
	}
	return advice + ", and set reinvocationPolicy: IfNeeded"
}

func permute(order []int, from int, found *[][]int) {
	if from == len(order)-1 {
		*found = append(*found, slices.Clone(order))
		return
	}
	for i := from; i < len(order); i++ {
		order[from], order[i] = order[i], order[from]
		permute(order, from+1, found)
		order[from], order[i] = order[i], order[from]
	}
}

func pick(ids []policy.ID, order []int) []policy.ID {
	picked := make([]policy.ID, len(order))
	for i, n := range order {
		picked[i] = ids[n]
	}
	return picked
}

// ordering tries other orders for one job.
type ordering struct {
	run     *run
	job     *job
	planned []policy.ID
}

// same reports whether the policies do the same in another order, and where not in which
// field; none if they deny the request.
func (o ordering) same(order []int) (bool, string) {
	view, err := o.run.defaulting.view(o.job.memo, o.job.place, o.job.raw)
	if err != nil {
		return true, ""
	}
	other := server{defaulting: o.run.defaulting}
	for _, program := range o.run.server.programs {
		if program.Hook().Shuffled {
			program = &orderedProgram{program, pick(o.planned, order)}
		}
		other.programs = append(other.programs, program)
	}
	request := *o.job.request
	request.Object = view
	t := other.admit(o.job.place, &request, o.job.raw, nil)
	if len(t.failures) > 0 {
		return false, ""
	}
	if difference := change.Diff(o.job.trace.after, t.after, o.job.kind.Type()); len(difference) > 0 {
		return false, difference[0].Path.String()
	}
	return true, ""
}

// report goes from our order to the one that makes a difference, swapping two neighbours
// at a time, and reports the first swap that does.
func (o ordering) report(order []int) {
	current := make([]int, len(order))
	for i := range current {
		current[i] = i
	}
	for i := range order {
		for j := slices.Index(current, order[i]); j > i; j-- {
			first, second := o.planned[current[j-1]], o.planned[current[j]]
			current[j-1], current[j] = current[j], current[j-1]
			same, field := o.same(current)
			if same {
				continue
			}
			result := "one order of them is denied"
			if field != "" {
				result = field + " depends on it"
			}
			d := source.Warningf(o.job.whereIs(second), "order-dependent", "it matters whether %s or %s runs first: %s", first, second, result).
				With(orderAdvice(second))
			d.Field = field
			o.job.tell(d)
			return
		}
	}
}

// whereIs is where a rule of an invocation that changed the job is, or else the job.
func (j *job) whereIs(id policy.ID) source.Position {
	for _, e := range j.trace.events {
		if by := e.by; !e.drops && by.Policy == id.Policy && by.Binding == id.Binding && by.Param == id.Param && !change.Equal(e.before, e.written) {
			return e.at
		}
	}
	return j.document.At(nil)
}

// orderedProgram runs the invocations of a program in another order than that of their
// names.
type orderedProgram struct {
	policy.Program
	order []policy.ID
}

// Plan implements policy.Program.
func (p *orderedProgram) Plan(r *policy.Request) policy.Plan {
	plan := p.Program.Plan(r)
	slices.SortStableFunc(plan.Invocations, func(x, y policy.Invocation) int {
		return slices.Index(p.order, x.ID()) - slices.Index(p.order, y.ID())
	})
	return plan
}
