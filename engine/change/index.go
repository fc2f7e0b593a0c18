package change

import (
	"maps"
	"slices"
)

// PathIndex finds numbered paths by their relation to another path. The zero value is empty.
type PathIndex struct {
	// numbers are the numbers of the paths that end here.
	numbers  []int
	children map[Element]*PathIndex
	// nearest is the result of Nearest for paths that end here; nil if it was not needed.
	nearest []int
}

// NewPathIndex returns the index of the paths of changes, each with the index of the change.
func NewPathIndex(changes []Change) *PathIndex {
	x := &PathIndex{}
	for i, c := range changes {
		x.Add(c.Path, i)
	}
	return x
}

// Add adds a path with its number.
func (x *PathIndex) Add(path Path, number int) {
	for _, e := range path {
		if x.children == nil {
			x.children = map[Element]*PathIndex{}
		}
		child := x.children[e]
		if child == nil {
			child = &PathIndex{}
			x.children[e] = child
		}
		x = child
	}
	x.numbers = append(x.numbers, number)
}

// walk goes down a path as far as the index has paths. It returns the numbers of the paths above or
// at the path, the deepest part of the index that it reaches, and whether that is the whole path.
func (x *PathIndex) walk(path Path) (above []int, at *PathIndex, whole bool) {
	above = slices.Clip(x.numbers)
	for _, e := range path {
		child := x.children[e]
		if child == nil {
			return above, x, false
		}
		x = child
		above = append(above, x.numbers...)
	}
	return above, x, true
}

// Above returns the numbers of the paths that are equal to a path or lead to a value that contains
// it, from the shortest path to the longest.
func (x *PathIndex) Above(path Path) []int {
	above, _, _ := x.walk(path)
	return above
}

// LastAbove is Above with only the last number of each path.
func (x *PathIndex) LastAbove(path Path) []int {
	var above []int
	for i := -1; x != nil; {
		if len(x.numbers) > 0 {
			above = append(above, x.numbers[len(x.numbers)-1])
		}
		if i++; i == len(path) {
			break
		}
		x = x.children[path[i]]
	}
	return above
}

// Overlaps reports whether any path is equal to a path, above it or below it.
func (x *PathIndex) Overlaps(path Path) bool {
	above, at, whole := x.walk(path)
	return len(above) > 0 || whole && (len(at.numbers) > 0 || len(at.children) > 0)
}

// Overlapping returns, sorted, the numbers of the paths that are equal to a path, above it or below
// it.
func (x *PathIndex) Overlapping(path Path) []int {
	found, at, whole := x.walk(path)
	if whole {
		found = at.all(found[:len(found)-len(at.numbers)])
	}
	slices.Sort(found)
	return found
}

// Nearest returns, sorted, the numbers of the paths that share the longest beginning with a path; of
// those for which kind returns the same, only the first. All calls must have the same kind. The
// result must not be modified.
func (x *PathIndex) Nearest(path Path, kind func(number int) any) []int {
	_, at, _ := x.walk(path)
	if at.nearest == nil {
		known := map[any]bool{}
		at.nearest = []int{}
		for _, number := range slices.Sorted(slices.Values(at.all(nil))) {
			if k := kind(number); !known[k] {
				known[k] = true
				at.nearest = append(at.nearest, number)
			}
		}
	}
	return at.nearest
}

// all appends the numbers of all paths.
func (x *PathIndex) all(to []int) []int {
	to = append(to, x.numbers...)
	for child := range maps.Values(x.children) {
		to = child.all(to)
	}
	return to
}
