package gatekeeper

import (
	"fmt"
	"math"

	"github.com/preadmit/preadmit/engine/policy"
)

// condition is what a path test requires of its node.
type condition string

const (
	mustExist    condition = "MustExist"
	mustNotExist condition = "MustNotExist"
)

// pathTest is a test of the location's node at some depth.
type pathTest struct {
	condition condition
	// at is the test in the document.
	at policy.Node
}

// pathTests are the tests of a location, by the depth of their nodes. A test without a condition
// always fails.
type pathTests map[int]pathTest

// failing returns the test at a depth, and whether it fails for a node that exists or is
// missing.
func (t pathTests) failing(depth int, exists bool) (pathTest, bool) {
	test, ok := t[depth]
	holds := exists && test.condition == mustExist || !exists && test.condition == mustNotExist
	return test, ok && !holds
}

// String prints the test for messages.
func (t pathTest) String() string {
	index := t.at.Path[len(t.at.Path)-1]
	return fmt.Sprintf("pathTests[%d]", index.Index)
}

// pathTests reads the tests of a mutator, and checks them as Gatekeeper does.
func (r *reader) pathTests(n policy.Node, m *mutator) pathTests {
	if !r.doc.IsSound(n) {
		return nil
	}
	tests := pathTests{}
	paths := map[int]location{}
	var depths []int
	for _, item := range n.Items() {
		subPath := item.At("subPath")
		path, err := parseLocation(subPath.Text())
		if err != nil {
			r.unparsed(subPath, err, "problem parsing sub path `%s` for %s %s: %v", subPath.Text(), m.kind, m.name, err)
			continue
		}
		if m.location != nil && !m.location.hasPrefix(path) {
			r.advise(subPath, 0, "a path test can only ask for what is on the way to the location",
				"all subpaths must be a prefix of the `location` value of the mutation: subpath %q is not a prefix of location %q", path.String(), m.location.String())
			continue
		}
		depth := len(path) - 1
		depths = append(depths, depth)
		paths[depth] = path
		tests[depth] = pathTest{condition(item.At("condition").Text()), item}
	}
	if len(depths) == len(n.Items()) {
		r.contradictions(n, depths, tests, paths)
	}
	return tests
}

// contradictions reports tests that Gatekeeper considers contradictory. Gatekeeper compares
// their positions in the list, not their depths.
func (r *reader) contradictions(n policy.Node, depths []int, tests pathTests, paths map[int]location) {
	lowestMustNot, highestMust := math.MaxInt, 0
	for i, item := range n.Items() {
		own := condition(item.At("condition").Text())
		if tests[depths[i]].condition != own {
			r.advise(item, 0, "keep one of the two tests", "conflicting path test conditions: path %q is marked both MustExist and MustNotExist", paths[depths[i]].String())
			return
		}
		switch own {
		case mustNotExist:
			lowestMustNot = min(lowestMustNot, i)
		case mustExist:
			highestMust = max(highestMust, i)
		}
	}
	if highestMust > lowestMustNot {
		named := func(depth int) string {
			if path, ok := paths[depth]; ok {
				return fmt.Sprintf("%q", path.String())
			}
			return "<nil>"
		}
		r.advise(n.Items()[highestMust], 0, "Gatekeeper goes by the order of the tests: put those with MustExist first",
			"conflicting path test conditions: path %s is marked MustExist but parent %s MustNotExist", named(highestMust), named(lowestMustNot))
	}
}
