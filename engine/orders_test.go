package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// TestOrders compares the findings about samples of the objects, in the orders that are tried, with those
// about every object in all orders, for random policies and objects.
func TestOrders(t *testing.T) {
	every := Observer{shuffled: newShuffled, admit: func(r *run, w *written) {
		if trace := w.admitted.trace; trace != nil && trace.changed() && len(trace.shuffled.all()) > 1 {
			o := ordering{server: r.server, object: w.admitted, memo: new(change.Memo), planned: trace.shuffled.all()}
			for _, order := range permutations(len(o.planned)) {
				if same, _ := o.same(order); !same {
					w.admitted.tell(o.report(order))
					return
				}
			}
		}
	}}
	found, objects, reported := 0, 0, 0
	for seed := range uint64(200) {
		r := random{rand.New(rand.NewPCG(seed, 7))}
		kind := oneOf(r, randomKinds...)
		var policies, manifests []string
		for i := range 2 + r.IntN(3) {
			policies = append(policies, r.policy(kind, fmt.Sprint("p", i)))
		}
		for i := range 12 {
			manifests = append(manifests, r.manifest(kind, fmt.Sprint("m", i)))
		}
		set, _ := Compile(streams(t, strings.Join(policies, "---\n")), nil, Options{})
		if set == nil {
			continue
		}
		text := strings.Join(manifests, "---\n")
		want, got := dependent(t, set, text, every), dependent(t, set, text, orders())
		found, objects, reported = found+len(slices.Compact(slices.Sorted(slices.Values(want)))), objects+len(want), reported+len(got)
		for _, pair := range want {
			if !slices.Contains(got, pair) {
				t.Errorf("seed %d: %s is not found, only %q", seed, pair, got)
			}
		}
	}
	t.Logf("%d findings about %d objects, of which %d are tried", found, objects, reported)
	if found < 8 || reported >= objects {
		t.Error("the cases show too little")
	}
}

// dependent returns what a run says about the order of policies, without the fields.
func dependent(t *testing.T, set *Set, manifests string, o Observer) []string {
	read, _ := manifest.Read("input", []byte(manifests))
	var pairs []string
	for _, d := range set.Run(context.Background(), []*manifest.Stream{read}, Partial(), o).Diagnostics {
		if d.Code == "order-dependent" && d.Severity == source.Warning {
			pair, _, _ := strings.Cut(d.Message, " runs first")
			pairs = append(pairs, pair)
		}
	}
	return pairs
}
