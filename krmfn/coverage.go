package krmfn

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// coverage records which parts of the policies have run in any test.
type coverage struct {
	parts []policy.Part
	index map[partKey]int
}

// partKey identifies a part. A policy file that two tests read has the same parts in both.
type partKey struct {
	policy policy.ID
	name   string
	kind   policy.PartKind
	at     source.Position
}

// add adds the parts of one test.
func (c *coverage) add(parts []policy.Part) {
	if c.index == nil {
		c.index = map[partKey]int{}
	}
	for _, p := range parts {
		key := partKey{p.Policy, p.Name, p.Kind, p.At}
		i, ok := c.index[key]
		if !ok {
			i = len(c.parts)
			c.index[key] = i
			c.parts = append(c.parts, p)
		}
		c.parts[i].Ran = c.parts[i].Ran || p.Ran
	}
}

// neverRan is the message for a part that has not run.
var neverRan = map[policy.PartKind]string{
	policy.MutationPart: "never runs", policy.ValidationPart: "never runs", policy.ConditionPart: "is never true", policy.BranchPart: "is never evaluated",
}

// text writes a table of policies, and a line for every part that has not run.
func (c *coverage) text(w io.Writer) {
	if len(c.parts) == 0 {
		return
	}
	slices.SortStableFunc(c.parts, func(a, b policy.Part) int {
		return cmp.Or(cmp.Compare(a.Policy.Policy, b.Policy.Policy), cmp.Compare(a.Policy.Kind, b.Policy.Kind), cmp.Compare(a.At.File, b.At.File))
	})
	names := policy.Names(func(yield func(policy.ID) bool) {
		for _, p := range c.parts {
			if !yield(p.Policy) {
				return
			}
		}
	})
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\npolicy\tmutations that ran\tvalidations that ran\tconditions that were true\tbranches that ran")
	for i, p := range c.parts {
		if i > 0 && c.parts[i-1].Policy == p.Policy && c.parts[i-1].At.File == p.At.File {
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", source.Printable(names[p.Policy]), c.count(p, policy.MutationPart), c.count(p, policy.ValidationPart), c.count(p, policy.ConditionPart), c.count(p, policy.BranchPart))
	}
	table.Flush()
	for _, p := range c.parts {
		if !p.Ran {
			fmt.Fprintf(w, "%s: %s %s in these tests\n", p.At, source.Printable(p.Name), neverRan[p.Kind])
		}
	}
}

// count returns how many parts of a kind have run in a policy, as "1 of 2".
func (c *coverage) count(of policy.Part, kind policy.PartKind) string {
	ran, all := 0, 0
	for _, p := range c.parts {
		if p.Policy == of.Policy && p.At.File == of.At.File && p.Kind == kind {
			all++
			if p.Ran {
				ran++
			}
		}
	}
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", ran, all)
}
