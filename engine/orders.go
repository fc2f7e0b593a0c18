package engine

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/parallel"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// orders runs the policies in other orders, and reports two policies whose exchange changes the
// result. Objects on which the policies do the same are tried once for each of a few forms.
func orders() Observer {
	all := &behaviors{by: map[string][]*sample{}}
	return Observer{
		shuffled: newShuffled,
		admit: func(_ *run, w *written) {
			if trace := w.admitted.trace; trace != nil && trace.changed() && len(trace.shuffled.all()) > 1 {
				all.note(newSample(w.admitted))
			}
		},
		reuse: func(_ *run, w *written) {
			if w.admitted.sample != nil {
				all.note(w.admitted.sample)
			}
		},
		finish: func(r *run) {
			parallel.Each(all.samples(), func(s *sample) {
				if s.tried == nil {
					s.tried = &tried{r.server.tryOrders(s.object)}
				}
				s.object.tell(s.tried.found...)
			})
		},
	}
}

// refusalOrders notes objects that several policies refuse. A server reports the first, and runs policies,
// bindings and params in random order.
var refusalOrders = Observer{judge: func(_ *run, a *admitted) {
	t := a.trace
	if len(t.unreported) == 0 {
		return
	}
	reported := t.refusals[0]
	texts := map[string]bool{reported.Err.Error(): true}
	seen := map[policy.ID]bool{invoked(reported.ID): true}
	var other *policy.Failure
	for i, f := range t.unreported {
		text, id := f.Err.Error(), invoked(f.ID)
		if f.Ignored || seen[id] || texts[text] {
			continue
		}
		seen[id], texts[text] = true, true
		if other == nil {
			other = &t.unreported[i]
		}
	}
	if other == nil {
		return
	}
	d := source.Notef(source.Position{}, source.CodeOrderDependent, "a server reports one of %d refusals, at random; that of %s is shown, and another is: %v", len(texts), reported.ID, other.Err).
		Naming(other.At, other.ID.String())
	a.tell(d.With("a cluster refuses the object in any order: correct what all of them say"))
}}

// invoked returns the ID of a policy with its binding and param. The order of its validations is fixed.
func invoked(id policy.ID) policy.ID {
	id.Rule, id.Instance = "", ""
	return id
}

// samplesOfEach is how many objects are tried of those on which the policies do the same.
const samplesOfEach = 3

// behaviors are samples of the objects, by what the policies do with them.
type behaviors struct {
	lock sync.Mutex
	by   map[string][]*sample
}

// sample is an object that is tried.
type sample struct {
	object   *admitted
	behavior string
	form     uint64
	// tried is nil if other orders have not been tried yet.
	tried *tried
}

// tried is what has been found by trying other orders.
type tried struct{ found []source.Diagnostic }

// newSample makes an object a sample, of which a later run knows what this run has found.
func newSample(a *admitted) *sample {
	a.sample = &sample{object: a, behavior: a.behavior(), form: formOf(a.trace.before)}
	return a.sample
}

// compare compares the positions in the input.
func (s *sample) compare(other *sample) int {
	return cmp.Compare(s.object.job.index, other.object.job.index)
}

// note adds an object, unless there are enough samples that are earlier in the input.
func (b *behaviors) note(s *sample) {
	b.lock.Lock()
	defer b.lock.Unlock()
	samples := append(b.by[s.behavior], s)
	slices.SortFunc(samples, (*sample).compare)
	forms := map[uint64]bool{}
	b.by[s.behavior] = slices.DeleteFunc(samples, func(s *sample) bool {
		drop := forms[s.form] || len(forms) == samplesOfEach
		forms[s.form] = true
		return drop
	})
}

// samples returns the samples in the order of the input.
func (b *behaviors) samples() []*sample {
	var all []*sample
	for _, samples := range b.by {
		all = append(all, samples...)
	}
	slices.SortFunc(all, (*sample).compare)
	return all
}

// behavior describes what the policies did with an object: which fields they have written, and
// which of those that match it were not applied.
func (a *admitted) behavior() string {
	kind := a.job.place.kind
	text := []byte(kind.APIVersion() + " " + kind.Kind.Kind)
	for _, id := range a.trace.shuffled.all() {
		text = append(text, "\n"+id.String()...)
	}
	for _, n := range a.trace.notApplied.all() {
		if !n.IsOutOfScope() {
			text = append(text, "\nnot "+n.ID.String()+": "+n.Reason.String()...)
		}
	}
	for _, e := range a.trace.events {
		text = append(text, "\n"+e.by.String()...)
		said := map[string]bool{}
		for _, c := range change.Diff(e.before, e.written, kind.Type()) {
			path := slices.Clone(c.Path)
			for i := range path {
				if path[i].IsIndex() {
					path[i].Index = 0
				}
			}
			if one := string(c.Op) + path.String(); !said[one] {
				said[one] = true
				text = append(text, " "+one...)
			}
		}
	}
	return string(text)
}

// formOf returns a hash of the form of a value: its keys, and the types and truth of its scalars.
// Equal forms of the items of a list count once.
func formOf(value any) uint64 {
	const prime, begin = 1099511628211, 14695981039346656037 // FNV-1a
	text := func(hash uint64, text string) uint64 {
		for i := range len(text) {
			hash = (hash ^ uint64(text[i])) * prime
		}
		return hash
	}
	switch value := value.(type) {
	case map[string]any:
		sum := text(begin, "map")
		for key, item := range value { // in any order: sums commute
			sum += text(formOf(item), key)
		}
		return sum
	case []any:
		sum, seen := text(begin, "list"), map[uint64]bool{}
		for _, item := range value {
			if form := formOf(item); !seen[form] {
				seen[form] = true
				sum += form
			}
		}
		return sum
	case bool:
		if value {
			return text(begin, "true")
		}
		return text(begin, "false")
	case nil:
		return text(begin, "null")
	case string:
		return text(begin, "string")
	}
	return text(begin, "number")
}

// tryOrders runs the policies on one object in other orders. It returns at most one diagnostic.
func (s server) tryOrders(a *admitted) []source.Diagnostic {
	o := ordering{server: s, object: a, memo: memos.Get().(*change.Memo), planned: a.trace.shuffled.all()}
	defer forget(o.memo)
	for _, order := range o.orders() {
		if same, _ := o.same(order); !same {
			return []source.Diagnostic{o.report(order)}
		}
	}
	return nil
}

// orders returns the orders to try. If one invocation alone changes the object, each of the others sees it
// before the change in one of the usual and the reverse order, and after it in the other.
func (o ordering) orders() [][]int {
	reverse := reversed(len(o.planned))
	if len(o.object.trace.changers()) == 1 {
		if t := o.admit(reverse); t != nil && len(t.changers()) == 1 {
			return [][]int{reverse}
		}
	}
	return permutations(len(o.planned))
}

// changers returns the invocations that have changed the object.
func (t *trace) changers() map[policy.ID]bool {
	all := map[policy.ID]bool{}
	for _, e := range t.events {
		if !e.drops && !change.Equal(e.before, e.written) {
			all[invoked(e.by)] = true
		}
	}
	return all
}

// All orders of up to maxAllOrders invocations are tried; of more invocations, only a sample, and
// the smaller the more there are: the reverse order, which exchanges every pair, and up to
// sampledOrders others.
const (
	maxAllOrders       = 5
	sampledOrders      = 100
	sampledInvocations = 2000
)

// permutations returns the orders to try, as indexes. The result is always the same.
func permutations(n int) [][]int {
	var found [][]int
	if n <= maxAllOrders {
		permute(prefixed(nil, n), 0, &found)
		return found[1:]
	}
	random := rand.New(rand.NewPCG(1, 2))
	found = append(found, reversed(n))
	for range min(sampledOrders, sampledInvocations/n) {
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

func reversed(n int) []int {
	order := prefixed(nil, n)
	slices.Reverse(order)
	return order
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

// ordering tries other orders for one object.
type ordering struct {
	server  server
	object  *admitted
	memo    *change.Memo
	planned []policy.ID
}

// same reports whether the policies have the same result in another order. If not, it returns a
// field that differs, or "" if the request is denied.
func (o ordering) same(order []int) (bool, string) {
	t := o.admit(order)
	switch {
	case t == nil:
		return true, ""
	case len(t.failures) > 0:
		return false, ""
	}
	if difference := change.Diff(o.object.trace.after, t.after, o.object.job.place.kind.Type()); len(difference) > 0 {
		return false, difference[0].Path.String()
	}
	return true, ""
}

// admit admits the object with the policies in another order. It returns nil if no server decodes it.
func (o ordering) admit(order []int) *trace {
	o.memo.Reset() // it would keep the results of all orders alive
	other := server{defaulting: o.server.defaulting, files: o.server.files, keepsReason: o.server.keepsReason}
	positions := make(map[policy.ID]int, len(order))
	for position, i := range order {
		positions[o.planned[i]] = position
	}
	for _, program := range o.server.programs {
		if program.Hook().Shuffled {
			program = &orderedProgram{program, positions}
		}
		other.programs = append(other.programs, program)
	}
	p, raw := o.object.job.place, o.object.loaded.raw
	view, err := o.server.defaulting.view(o.memo, p, raw)
	if err != nil {
		return nil
	}
	request := *o.object.request
	request.Memo, request.Object = o.memo, view
	request.Warn = func(source.Diagnostic) {}
	return other.admit(p, &request, raw, nil)
}

// report finds two neighbours, on the way from the usual order to a given one, whose exchange
// changes the result, and returns a diagnostic about them. On this way, one invocation after the other moves to its
// place.
func (o ordering) report(order []int) source.Diagnostic {
	differs := func(order []int) bool {
		same, _ := o.same(order)
		return !same
	}
	moved := sort.Search(len(order)-1, func(i int) bool { return differs(prefixed(order[:i+1], len(order))) })
	current := prefixed(order[:moved], len(order))
	from := slices.Index(current, order[moved])
	steps := 1 + sort.Search(from-moved-1, func(i int) bool { return differs(moveUp(current, from, i+1)) })
	first, second := o.planned[current[from-steps]], o.planned[current[from]]
	_, field := o.same(moveUp(current, from, steps))
	result := "one order of them is denied"
	if field != "" {
		result = field + " depends on it"
	}
	d := source.Warningf(source.Position{}, source.CodeOrderDependent, "it matters whether %s or %s runs first: %s", first, second, result).
		Naming(o.object.whereIs(first), first.String()).Naming(o.object.whereIs(second), second.String()).
		With(orderAdvice(second))
	d.Field = field
	return d
}

// prefixed returns the order of n invocations that begins as given, and has the rest in the usual
// order.
func prefixed(begin []int, n int) []int {
	order := slices.Clone(begin)
	given := make([]bool, n)
	for _, i := range begin {
		given[i] = true
	}
	for i := range n {
		if !given[i] {
			order = append(order, i)
		}
	}
	return order
}

// moveUp returns an order with one element moved towards the beginning.
func moveUp(order []int, from, steps int) []int {
	moved := slices.Clone(order)
	copy(moved[from-steps+1:from+1], order[from-steps:from])
	moved[from-steps] = order[from]
	return moved
}

// whereIs returns the position of a rule of an invocation that changed the object. It is unknown if
// none did.
func (a *admitted) whereIs(id policy.ID) source.Position {
	for _, e := range a.trace.events {
		if by := e.by; !e.drops && by.OfPolicy() == id.OfPolicy() && by.Binding == id.Binding && by.Param == id.Param && !change.Equal(e.before, e.written) {
			return e.at
		}
	}
	return source.Position{}
}

// orderedProgram runs the invocations of a program in a given order, not in the order of their
// names.
type orderedProgram struct {
	policy.Program
	// positions are the positions of the invocations, or of their policies.
	positions map[policy.ID]int
}

// Plan implements policy.Program.
func (p *orderedProgram) Plan(r *policy.Request) policy.Plan {
	plan := p.Program.Plan(r)
	slices.SortStableFunc(plan.Invocations, func(x, y policy.Invocation) int { return p.compare(x.ID(), y.ID()) })
	for i, invocation := range plan.Invocations {
		if s, ok := invocation.(policy.Shuffler); ok {
			plan.Invocations[i] = s.InOrder(p.compare)
		}
	}
	return plan
}

// compare compares the positions of two policies. Those that the usual order does not have come
// first.
func (p *orderedProgram) compare(x, y policy.ID) int { return p.position(x) - p.position(y) }

func (p *orderedProgram) position(id policy.ID) int {
	if position, planned := p.positions[id]; planned {
		return position
	}
	return -1
}
