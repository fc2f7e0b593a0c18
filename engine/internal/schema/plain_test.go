package schema

import (
	"math/rand"
	"strconv"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
)

// FuzzMergePlain compares mergePlain with the library. FuzzMergeAsServer compares with the
// server's merge.
func FuzzMergePlain(f *testing.F) {
	kinds := contestants(f)
	for seed := range int64(400) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		r := rand.New(rand.NewSource(seed))
		kind := kinds[r.Intn(len(kinds))].kind
		wrong := []float64{0, 0, 0.002, 0.02}[r.Intn(4)]
		live := maker{r, wrong}.object(kind)
		patch := maker{r, wrong / 2}.object(kind)
		if r.Intn(4) > 0 {
			patch = maker{}.withoutAtomics(kind.Type(), patch).(map[string]any)
		}
		checkPlain(t, kind, live, patch)
	})
}

// checkPlain reports whether mergePlain merges a patch.
func checkPlain(t *testing.T, kind *Kind, live, patch map[string]any) bool {
	t.Helper()
	liveBefore, patchBefore := change.CloneObject(live), change.CloneObject(patch)
	if !conforms(nil, kind.Type(), live) {
		return false
	}
	got, ok := mergePlain(kind.Type(), live, patch)
	if !ok {
		return false
	}
	want, err := kind.lazy.merger.get(kind.Type()).merge(AnyKey, live, patch, true)
	if err != nil || !change.Equal(got, want) {
		t.Fatalf("%v\nlive  %v\npatch %v\ngot  %v\nwant %v, %v", kind.Kind, live, patch, got, want, err)
	}
	if !change.Equal(live, liveBefore) || !change.Equal(patch, patchBefore) {
		t.Fatalf("%v: the merge changed its input\nlive  %v\npatch %v", kind.Kind, live, patch)
	}
	return true
}

// TestMergePlainOften checks that mergePlain merges most patches that the library accepts.
func TestMergePlainOften(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	accepted, plain := 0, 0
	kinds := contestants(t)
	for range 50 {
		for _, c := range kinds {
			live := maker{r, 0}.object(c.kind)
			patch := maker{}.withoutAtomics(c.kind.Type(), maker{r, 0}.object(c.kind)).(map[string]any)
			if _, err := c.kind.Merge(nil, live, patch, AnyKey); err != nil {
				continue
			}
			accepted++
			if checkPlain(t, c.kind, live, patch) {
				plain++
			}
		}
	}
	if plain < accepted*3/4 {
		t.Errorf("%d of %d", plain, accepted)
	}
}

func TestMergePlain(t *testing.T) {
	pod := Builtin().Lookup(gvk.Parse("v1", "Pod"))
	for _, c := range []struct {
		name, live, patch string
		plain             bool
	}{
		{"nothing", `{}`, `{}`, true},
		{"for null", `{"metadata":{"labels":null},"spec":null}`, `{"metadata":{"labels":{"a":"b"}},"spec":{"hostname":"h"}}`, true},
		{"null", `{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"labels":{"a":null}}}`, false},
		{"a null elsewhere", `{"metadata":{"labels":{"a":null}}}`, `{"spec":{"hostname":"h"}}`, true},
		{"an empty map", `{"metadata":{}}`, `{"metadata":{"labels":{}}}`, true},
		{"an empty list", `{"spec":{"containers":[]}}`, `{"spec":{"containers":[],"volumes":[]}}`, true},
		{
			"new items before, between and after", `{"spec":{"containers":[{"name":"a"},{"name":"x"},{"name":"b"},{"name":"y"}]}}`,
			`{"spec":{"containers":[{"name":"1"},{"name":"a"},{"name":"2"},{"name":"b","image":"i"},{"name":"3"}]}}`, true,
		},
		{"another order", `{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}`, `{"spec":{"containers":[{"name":"b"},{"name":"a"}]}}`, false},
		{"repeated in the patch", `{"spec":{}}`, `{"spec":{"containers":[{"name":"a"},{"name":"a"}]}}`, false},
		{"repeated in the object", `{"spec":{"containers":[{"name":"a"},{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"a","image":"i"}]}}`, false},
		{"repeated in the object, not in the patch", `{"spec":{"containers":[{"name":"a"},{"name":"a"}]}}`, `{"spec":{"containers":[{"name":"b"}]}}`, true},
		{"a key that is null", `{"spec":{"containers":[{"name":null}]}}`, `{"spec":{"containers":[{"name":"a"}]}}`, false},
		{
			"keys by default", `{"spec":{"containers":[{"name":"a","ports":[{"containerPort":80}]}]}}`,
			`{"spec":{"containers":[{"name":"a","ports":[{"containerPort":80,"protocol":"TCP","name":"p"}]}]}}`, true,
		},
		{
			"a number in another type", `{"spec":{"containers":[{"name":"a","ports":[{"containerPort":80.5}]}]}}`,
			`{"spec":{"containers":[{"name":"a","ports":[{"containerPort":80}]}]}}`, false,
		},
		{"sets", `{"metadata":{"finalizers":["a","b"]}}`, `{"metadata":{"finalizers":["c","b","d"]}}`, true},
		{"a set in another order", `{"metadata":{"finalizers":["a","b"]}}`, `{"metadata":{"finalizers":["b","a"]}}`, false},
		{"an atomic list", `{"spec":{}}`, `{"spec":{"tolerations":[]}}`, false},
		{"an unknown field", `{"spec":{}}`, `{"spec":{"nope":1}}`, false},
		{"an unknown field in the object", `{"spec":{"nope":1}}`, `{"spec":{"hostname":"h"}}`, false},
		{"items of another type", `{"spec":{"containers":["a"]}}`, `{"spec":{"containers":[{"name":"a"}]}}`, false},
		{"a value of another type", `{"spec":{"hostname":"h"}}`, `{"spec":{"hostname":1}}`, false},
	} {
		if got := checkPlain(t, pod, parse(t, c.live), parse(t, c.patch)); got != c.plain {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	many := make([]any, 200)
	for i := range many {
		many[i] = map[string]any{"name": strconv.Itoa(i)}
	}
	if checkPlain(t, pod, map[string]any{}, map[string]any{"spec": map[string]any{"containers": many}}) {
		t.Error("long lists are compared item by item")
	}
}
