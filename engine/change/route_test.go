package change

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRoutes compares After and Before with following each path through the changes one by one.
func TestRoutes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		changes := randomChanges(random)
		after, before := After(changes), Before(changes)
		for i, c := range changes {
			if want := followed(c.Path, changes[i+1:]); !slices.Equal(after[i], want) {
				t.Fatalf("after: change %d leads to %v, want %v, of\n%v", i, after[i], want, changes)
			}
			if want := rewound(c, changes[:i]); !slices.Equal(before[i], want) {
				t.Fatalf("before: change %d leads to %v, want %v, of\n%v", i, before[i], want, changes)
			}
		}
	}
}

// randomChanges returns changes to nested lists: odd levels of all paths are lists.
func randomChanges(random *rand.Rand) []Change {
	ops := []Op{Add, Add, Remove, Replace, Move}
	changes := make([]Change, 1+random.IntN(30))
	for i := range changes {
		c := &changes[i]
		c.Op, c.From = ops[random.IntN(len(ops))], random.IntN(4)
		for level := range 1 + random.IntN(4) {
			if level%2 == 0 {
				c.Path = append(c.Path, Key(fmt.Sprint(random.IntN(2))))
			} else {
				c.Path = append(c.Path, Index(random.IntN(4)))
			}
		}
		if c.Op == Move && !c.Path[len(c.Path)-1].IsIndex() {
			c.Op = Replace
		}
	}
	return changes
}

func shifts(path Path, c Change) bool {
	at := len(c.Path) - 1
	return len(path) > at && c.Path[at].IsIndex() && path[:at].HasPrefix(c.Path[:at])
}

// followed follows one path through later changes.
func followed(path Path, later []Change) Path {
	path = slices.Clone(path)
	for _, c := range later {
		if !shifts(path, c) {
			continue
		}
		at := len(c.Path) - 1
		i := c.Path[at].Index
		switch own := &path[at].Index; {
		case c.Op == Add && *own >= i:
			*own++
		case c.Op == Remove && *own > i:
			*own--
		case c.Op == Move && *own == c.From:
			*own = i
		case c.Op == Move && c.From < *own && *own <= i:
			*own--
		case c.Op == Move && i <= *own && *own < c.From:
			*own++
		}
	}
	return path
}

// rewound follows the path of a change back through earlier changes.
func rewound(of Change, ahead []Change) Path {
	path := slices.Clone(origin(of))
	for _, c := range slices.Backward(ahead) {
		if !shifts(path, c) {
			continue
		}
		at := len(c.Path) - 1
		i := c.Path[at].Index
		switch own := &path[at].Index; {
		case c.Op == Add && *own == i:
			path = path[:at]
		case c.Op == Add && *own > i:
			*own--
		case c.Op == Remove && *own >= i:
			*own++
		case c.Op == Move && *own == i:
			*own = c.From
		case c.Op == Move && c.From <= *own && *own < i:
			*own++
		case c.Op == Move && i < *own && *own <= c.From:
			*own--
		}
	}
	return path
}

// TestPathIndex compares an index with looking at every path.
func TestPathIndex(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		changes := randomChanges(random)
		index := NewPathIndex(changes)
		path := randomChanges(random)[0].Path
		var above, nearest []int
		overlaps, best := false, -1
		for i, c := range changes {
			shared := 0
			for shared < min(len(path), len(c.Path)) && path[shared] == c.Path[shared] {
				shared++
			}
			if shared == len(c.Path) {
				above = append(above, i)
			}
			if shared == len(c.Path) || shared == len(path) {
				overlaps, shared = true, endless
			}
			if shared > best {
				best, nearest = shared, nil
			}
			if shared == best && (shared == endless || !slices.ContainsFunc(nearest, func(j int) bool { return changes[j].Op == c.Op })) {
				nearest = append(nearest, i)
			}
		}
		got := slices.Sorted(slices.Values(index.Above(path)))
		found := index.Overlapping(path)
		if !overlaps && len(found) == 0 {
			found = index.Nearest(path, func(i int) any { return changes[i].Op })
		}
		if !slices.Equal(got, above) || index.Overlaps(path) != overlaps || !slices.Equal(found, nearest) {
			t.Fatalf("%v: above %v, want %v; overlaps %v, want %v; found %v, want %v; in %v", path, got, above, index.Overlaps(path), overlaps, found, nearest, changes)
		}
	}
}
