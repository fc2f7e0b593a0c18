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
func (s *Set) Check(ctx context.Context, manifests []*manifest.Stream, observe func(done, total int)) *Outcome {
	r := s.newRun(ctx)
	r.checking = true
	outcome := r.all(manifests, observe)
	for _, program := range r.programs {
		if checker, ok := program.(policy.Checker); ok {
			r.report(checker.Check(r.schemas)...)
		}
	}
	source.Sort(r.outcome.Diagnostics)
	return outcome
}

// checkFights reports fields that one policy writes and another overwrites.
func (r *run) checkFights(t *target) {
	for i, c := range t.Changes {
		if c.By.Policy == "" || c.Op != change.Replace && c.Op != change.Remove {
			continue
		}
		for _, earlier := range t.Changes[:i] {
			if earlier.By.Policy == "" || earlier.By.Policy == c.By.Policy || !c.Path.HasPrefix(earlier.Path) {
				continue
			}
			if written, ok := c.Path[len(earlier.Path):].Get(earlier.New); !ok || !change.Equal(written, c.Old) {
				continue
			}
			d := source.Warningf(c.At, "policies-fight", "%s writes into %s, and %s overwrites it; the first rule is at %s", earlier.By, c.Path, c.By, earlier.At).
				With("the last to run wins, and a cluster runs policies in any order: leave the field to one of them")
			d.Field = c.Path.String()
			r.about(t, d)
		}
	}
}

// The orders of up to maxAllOrders invocations are all tried, of more a sample.
const (
	maxAllOrders  = 5
	sampledOrders = 100
)

// checkOrders runs the policies in other orders than ours, and reports which two of
// them give another result when they change places.
func (r *run) checkOrders(t *target, planned []policy.ID) {
	if len(planned) < 2 {
		return
	}
	for _, order := range orders(len(planned)) {
		if same, _ := r.sameInOrder(t, pick(planned, order)); same {
			continue
		}
		r.reportOrder(t, planned, order)
		return
	}
}

// orders returns the orders to try, as indexes: the same ones every time.
func orders(n int) [][]int {
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

// sameInOrder reports whether the policies do the same in another order, and where not
// in which field; none if they deny the request.
func (r *run) sameInOrder(t *target, order []policy.ID) (bool, string) {
	view, err := r.view(t.place, t.raw)
	if err != nil {
		return true, ""
	}
	other := &admitting{run: r, target: t, request: r.requestFor(t, view), replaying: true, order: order}
	if !other.both() {
		return false, ""
	}
	if difference := change.Diff(t.After, other.request.Object, t.kind.Type()); len(difference) > 0 {
		return false, difference[0].Path.String()
	}
	return true, ""
}

// reportOrder goes from our order to the one that makes a difference, swapping two
// neighbours at a time, and reports the first swap that does.
func (r *run) reportOrder(t *target, planned []policy.ID, order []int) {
	current := make([]int, len(order))
	for i := range current {
		current[i] = i
	}
	for i := range order {
		for j := slices.Index(current, order[i]); j > i; j-- {
			first, second := planned[current[j-1]], planned[current[j]]
			current[j-1], current[j] = current[j], current[j-1]
			same, field := r.sameInOrder(t, pick(planned, current))
			if same {
				continue
			}
			result := "one order of them is denied"
			if field != "" {
				result = field + " depends on it"
			}
			d := source.Warningf(r.whereIs(t, second), "order-dependent", "it matters whether %s or %s runs first: %s", first, second, result).
				With("a cluster runs policies in any order: have each check what it needs of the other's work, and set reinvocationPolicy: IfNeeded")
			d.Field = field
			r.about(t, d)
			return
		}
	}
}

// whereIs is where a rule of an invocation that changed a target stands, or else the
// target.
func (r *run) whereIs(t *target, id policy.ID) source.Position {
	for _, c := range t.Changes {
		if by := c.By; by.Policy == id.Policy && by.Binding == id.Binding && by.Param == id.Param {
			return c.At
		}
	}
	return t.Document.At(nil)
}

// arrange puts the invocations of a program into the order asked for, and notes those
// of the first pass.
func (a *admitting) arrange(program policy.Program, invocations []policy.Invocation) {
	if _, ok := program.(policy.Unordered); !ok {
		return
	}
	if a.pass == 1 {
		for _, invocation := range invocations {
			a.planned = append(a.planned, invocation.ID())
		}
	}
	if a.order != nil {
		slices.SortStableFunc(invocations, func(x, y policy.Invocation) int {
			return slices.Index(a.order, x.ID()) - slices.Index(a.order, y.ID())
		})
	}
}
