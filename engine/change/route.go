package change

import (
	"math"
	"math/rand/v2"
	"slices"
)

// After returns, for each change, its path after all later changes. The path of a removed value is
// followed as if the value were still there.
func After(changes []Change) []Path {
	r := router{random: rand.New(rand.NewPCG(1, 2))}
	paths := make([]Path, len(changes))
	for i, c := range slices.Backward(changes) {
		paths[i] = r.root.lead(c.Path)
		if items := r.listOf(c); items != nil {
			at := c.Path[len(c.Path)-1].Index
			switch c.Op {
			case Add:
				r.take(items, at)
			case Remove:
				r.insert(items, at+1, r.copyOf(items, at))
			case Move:
				r.insert(items, c.From, r.take(items, at))
			}
		}
	}
	return paths
}

// Before returns, for each change, the path of its value before all changes. It is the path of the
// deepest ancestor that existed then, if the change or an earlier one creates the value.
func Before(changes []Change) []Path {
	r := router{random: rand.New(rand.NewPCG(1, 2))}
	paths := make([]Path, len(changes))
	for i, c := range changes {
		paths[i] = r.root.lead(origin(c))
		if items := r.listOf(c); items != nil {
			at := c.Path[len(c.Path)-1].Index
			switch c.Op {
			case Add:
				r.insert(items, at, &run{count: 1, created: true})
			case Remove:
				r.take(items, at)
			case Move:
				r.insert(items, at, r.take(items, c.From))
			}
		}
	}
	return paths
}

// origin returns the path of a change's value just before the change.
func origin(c Change) Path {
	last := len(c.Path) - 1
	switch {
	case c.Op == Add && c.Path[last].IsIndex():
		return c.Path[:last]
	case c.Op == Move:
		return append(slices.Clip(c.Path[:last]), Index(c.From))
	}
	return c.Path
}

// router maps the paths of one state of an object to the paths of another. Only changes that shift
// the items of a list make a difference.
type router struct {
	root   route
	random *rand.Rand
}

// route is the part of a router below one value. Values without a route keep their paths.
type route struct {
	keys map[string]*route
	// items is the list of items if the value is a list; nil if no item was shifted.
	items *run
	// shared means that several items have this route: it is copied before it is modified.
	shared bool
}

// run is a run of consecutive items of a list with consecutive indexes in the other state. The runs
// of a list are a treap, sorted by their position.
type run struct {
	left, right *run
	weight      uint32
	// total is the number of items in the treap.
	total int
	// first is the index of the first item in the other state, and count the number of items.
	first, count int
	// created means that the item does not exist in the other state.
	created bool
	// inside is the route below the item. Only runs of one item have it.
	inside *route
}

// endless is the length of a list whose length is unknown.
const endless = math.MaxInt32 / 4

// lead returns the path in the other state. It ends above an item that does not exist there.
func (r *route) lead(path Path) Path {
	var led Path
	for i, e := range path {
		switch {
		case r == nil || r.keys == nil && r.items == nil:
			return orElse(led, path)
		case !e.IsIndex():
			r = r.keys[e.Key]
		case r.items == nil:
			r = nil
		default:
			found, offset := r.items.find(e.Index)
			if found.created {
				return orElse(led, path)[:i:i]
			}
			if found.first+offset != e.Index {
				if led == nil {
					led = slices.Clone(path)
				}
				led[i].Index = found.first + offset
			}
			r = found.inside
		}
	}
	return orElse(led, path)
}

func orElse(path, other Path) Path {
	if path == nil {
		return other
	}
	return path
}

// listOf returns the list whose items a change shifts, with its route. It is nil if the change
// shifts no items.
func (r *router) listOf(c Change) *route {
	last := len(c.Path) - 1
	if last < 0 || !c.Path[last].IsIndex() || c.Op == Replace {
		return nil
	}
	at := &r.root
	for _, e := range c.Path[:last] {
		at = r.child(at, e)
	}
	if at.items == nil {
		at.items = r.newRun(run{count: endless})
	}
	return at
}

// child returns the route of a value inside a value. It is not shared.
func (r *router) child(of *route, e Element) *route {
	if e.IsIndex() {
		if of.items == nil {
			of.items = r.newRun(run{count: endless})
		}
		item := r.take(of, e.Index)
		item.inside = r.owned(item.inside)
		r.insert(of, e.Index, item)
		return item.inside
	}
	if of.keys == nil {
		of.keys = map[string]*route{}
	}
	of.keys[e.Key] = r.owned(of.keys[e.Key])
	return of.keys[e.Key]
}

// owned returns a route, or a copy if it is shared.
func (r *router) owned(at *route) *route {
	switch {
	case at == nil:
		return &route{}
	case !at.shared:
		return at
	}
	copied := &route{items: at.items.clone()}
	if at.keys != nil {
		copied.keys = make(map[string]*route, len(at.keys))
		for key, child := range at.keys {
			child.shared = true
			copied.keys[key] = child
		}
	}
	return copied
}

func (r *router) newRun(from run) *run {
	from.left, from.right, from.weight, from.total = nil, nil, r.random.Uint32(), from.count
	return &from
}

// take removes the item at an index from a list.
func (r *router) take(of *route, at int) *run {
	left, rest := r.split(of.items, at)
	item, right := r.split(rest, 1)
	of.items = join(left, right)
	return item
}

// insert inserts an item at an index of a list.
func (r *router) insert(of *route, at int, item *run) {
	left, right := r.split(of.items, at)
	of.items = join(join(left, r.newRun(*item)), right)
}

// copyOf returns a copy of the item at an index of a list. Both share their route.
func (r *router) copyOf(of *route, at int) *run {
	item := r.take(of, at)
	if item.inside != nil {
		item.inside.shared = true
	}
	r.insert(of, at, item)
	return item
}

// find returns the run with the item at an index, and the position of the item in the run.
func (n *run) find(at int) (*run, int) {
	for {
		before := n.left.len()
		switch {
		case at < before:
			n = n.left
		case at < before+n.count:
			return n, at - before
		default:
			n, at = n.right, at-before-n.count
		}
	}
}

func (n *run) len() int {
	if n == nil {
		return 0
	}
	return n.total
}

// with returns a run with other children.
func (n *run) with(left, right *run) *run {
	n.left, n.right, n.total = left, right, left.len()+n.count+right.len()
	return n
}

func (n *run) clone() *run {
	if n == nil {
		return nil
	}
	if n.inside != nil {
		n.inside.shared = true
	}
	copied := *n
	return copied.with(n.left.clone(), n.right.clone())
}

// split splits a treap after a number of items. If that splits a run, its parts get new weights,
// which may be larger than those above them, so all runs on the way are joined again.
func (r *router) split(n *run, after int) (left, right *run) {
	if n == nil {
		return nil, nil
	}
	before := n.left.len()
	switch {
	case after <= before:
		left, right = r.split(n.left, after)
		return left, join(right, n.with(nil, n.right))
	case after >= before+n.count:
		left, right = r.split(n.right, after-before-n.count)
		return join(n.with(n.left, nil), left), right
	}
	head, tail := *n, *n
	head.count = after - before
	tail.first, tail.count = n.first+head.count, n.count-head.count
	return join(n.left, r.newRun(head)), join(r.newRun(tail), n.right)
}

// join joins two treaps.
func join(left, right *run) *run {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	case left.weight >= right.weight:
		return left.with(left.left, join(left.right, right))
	}
	return right.with(join(left, right.left), right.right)
}
