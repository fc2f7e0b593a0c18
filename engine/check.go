package engine

import (
	"context"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Check runs the policies as Run does, and also searches for mistakes: in the policies themselves,
// and between policies that match the same manifest. The mistakes are warnings among the
// diagnostics of the Outcome. Policies without errors are checked although others have errors.
func (s *Set) Check(ctx context.Context, manifests []*manifest.Stream, observers ...Observer) *Outcome {
	counts := newTally()
	return s.Run(ctx, manifests, append(observers[:len(observers):len(observers)], Observer{tolerant: true}, mistakes, conflicts, orders(), refusalOrders, unstored, effects(counts), generated(counts), goals(counts), pairs)...)
}

// mistakes finds mistakes in single policies.
var mistakes = Observer{ended: func(r *run, _ *Outcome) []source.Diagnostic {
	var found []source.Diagnostic
	for _, program := range r.policies.programs {
		found = append(found, program.Check(r.schemas, r.kept)...)
	}
	return found
}}

// conflicts reports fields that one policy writes and another policy overwrites.
var conflicts = Observer{admit: func(r *run, w *written) {
	a := w.admitted
	if a.trace == nil { // plain documents do not go through a server
		return
	}
	var all []Change
	var programs []policy.Program
	for _, e := range a.trace.events {
		if !e.drops {
			all = append(all, a.changes(r.server.defaulting, e)...)
			programs = append(programs, slices.Repeat([]policy.Program{e.program}, len(all)-len(programs))...)
		}
	}
	var written change.PathIndex
	var found []source.Diagnostic
	for i, c := range all {
		if c.Op == change.Replace || c.Op == change.Remove {
			for _, earlier := range written.LastAbove(c.Path) {
				if c.overwrites(all[earlier]) {
					found = append(found, c.conflict(all[earlier], order(programs[earlier], programs[i])))
				}
			}
		}
		written.Add(c.Path, i)
	}
	a.tell(found...)
}}

// overwrites reports whether a change overwrites a change of another policy.
func (c Change) overwrites(earlier Change) bool {
	if earlier.By.OfPolicy() == c.By.OfPolicy() {
		return false
	}
	value, ok := c.Path[len(earlier.Path):].Get(earlier.New)
	return ok && change.Equal(value, c.Old)
}

// order returns a clause about the order of two policies.
func order(first, second policy.Program) string {
	switch {
	case first != second || first == nil:
		return "a cluster always runs these two in this order"
	case first.Hook().Sequence != "":
		return first.Hook().Sequence
	}
	return "a cluster may run policies of one kind in any order"
}

func (c Change) conflict(earlier Change, order string) source.Diagnostic {
	d := source.Warningf(source.Position{}, "policies-fight", "%s writes into %s, and %s overwrites it", earlier.By, c.Path, c.By).
		Naming(earlier.At, earlier.By.String()).Naming(c.At, c.By.String()).
		With("the policy that runs last wins, and " + order + ": let only one of them write the field")
	d.Field = c.Path.String()
	return d
}
