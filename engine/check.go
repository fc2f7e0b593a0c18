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

// Check runs the policies as Run does, and also searches for mistakes: in the policies themselves,
// and between policies that match the same manifest. The mistakes are warnings among the
// diagnostics of the Outcome.
func (s *Set) Check(ctx context.Context, manifests []*manifest.Stream, observers ...Observer) *Outcome {
	return s.Run(ctx, manifests, append(observers[:len(observers):len(observers)], mistakes, fights, orders, unstored, effects())...)
}

// mistakes finds mistakes in single policies.
var mistakes = Observer{ended: func(r *run, _ *Outcome) []source.Diagnostic {
	var found []source.Diagnostic
	for _, program := range r.programs {
		found = append(found, program.Check(r.schemas)...)
	}
	return found
}}

// fights reports fields that one policy writes and another policy overwrites.
var fights = Observer{admit: func(r *run, j *job) {
	if j.trace == nil { // plain documents do not go through a server
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

// overwrites reports whether a change overwrites a change of another policy.
func (c Change) overwrites(earlier Change) bool {
	if earlier.By.OfPolicy() == c.By.OfPolicy() || !c.Path.HasPrefix(earlier.Path) {
		return false
	}
	value, ok := c.Path[len(earlier.Path):].Get(earlier.New)
	return ok && change.Equal(value, c.Old)
}

func (c Change) fight(earlier Change) source.Diagnostic {
	d := source.Warningf(c.At, "policies-fight", "%s writes into %s, and %s overwrites it; the first rule is at %s", earlier.By, c.Path, c.By, earlier.At).
		With("the policy that runs last wins, and a cluster may run policies of one kind in any order: let only one of them write the field")
	d.Field = c.Path.String()
	return d
}

// orders runs the policies in other orders, and reports two policies whose exchange changes the
// result.
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

// All orders of up to maxAllOrders invocations are tried; of more invocations, only a sample.
const (
	maxAllOrders  = 5
	sampledOrders = 100
)

// permutations returns the orders to try, as indexes. The result is always the same.
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

// orderAdvice returns the advice for policies whose order matters. Only policies in the server,
// which have bindings, can be reinvoked.
func orderAdvice(id policy.ID) string {
	const advice = "a cluster runs policies in any order: let each policy check for the changes of the other that it needs"
	if id.Binding == "" {
		return advice + ", or merge the policies"
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

// same reports whether the policies have the same result in another order. If not, it returns a
// field that differs, or "" if the request is denied.
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

// report finds the first swap of neighbours, on the way from the usual order to the given one, that
// changes the result, and reports it.
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

// whereIs returns the position of a rule of an invocation that changed the job, or else of the job.
func (j *job) whereIs(id policy.ID) source.Position {
	for _, e := range j.trace.events {
		if by := e.by; !e.drops && by.OfPolicy() == id.OfPolicy() && by.Binding == id.Binding && by.Param == id.Param && !change.Equal(e.before, e.written) {
			return e.at
		}
	}
	return j.document.At(nil)
}

// orderedProgram runs the invocations of a program in a given order, not in the order of their
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
