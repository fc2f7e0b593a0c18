package schema

import (
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
)

// FuzzMemo changes an object in one place after another. The results must be the same with a
// Memo that is shared between the objects as without one.
func FuzzMemo(f *testing.F) {
	kinds := contestants(f)
	for seed := range int64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		r := rand.New(rand.NewSource(seed))
		kind := kinds[r.Intn(len(kinds))].kind
		m := maker{r, []float64{0, 0.002, 0.02}[r.Intn(3)]}
		memo := new(change.Memo)
		object := m.object(kind)
		for range 20 {
			before := change.CloneObject(object)
			checkMemo(t, memo, kind, object)
			if !change.Equal(object, before) {
				t.Fatalf("modified %v", before)
			}
			object = m.elsewhere(object).(map[string]any)
		}
	})
}

func checkMemo(t *testing.T, memo *change.Memo, kind *Kind, object map[string]any) {
	t.Helper()
	if got, want := conforms(memo, kind.Type(), object), conforms(nil, kind.Type(), object); got != want {
		t.Errorf("%v conforms: %v", object, got)
	}
	got, want := kind.StrictDecode(memo, object), kind.StrictDecode(nil, object)
	if (got == nil) != (want == nil) || got != nil && got.Error() != want.Error() {
		t.Errorf("%v decodes: %v, without a memo: %v", object, got, want)
	}
}

// elsewhere returns a copy of a value that differs in one place, and shares the rest.
func (m maker) elsewhere(value any) any {
	switch value := value.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(value))
		if len(keys) == 0 || m.Intn(9) == 0 {
			return with(value, m.word(), m.any(2))
		}
		key := keys[m.Intn(len(keys))]
		return with(value, key, m.elsewhere(value[key]))
	case []any:
		if len(value) == 0 || m.Intn(5) == 0 {
			return slices.Insert(slices.Clone(value), 0, m.any(2))
		}
		i := m.Intn(len(value))
		if m.Intn(5) == 0 {
			return slices.Delete(slices.Clone(value), i, i+1)
		}
		changed := slices.Clone(value)
		changed[i] = m.elsewhere(value[i])
		return changed
	}
	return m.any(1)
}

func with(object map[string]any, key string, value any) map[string]any {
	changed := maps.Clone(object)
	changed[key] = value
	return changed
}

// BenchmarkStep merges a patch of one field into a Deployment and decodes the result
// strictly, ten times, as a job does.
func BenchmarkStep(b *testing.B) {
	kind := Builtin().Lookup(gvk.Parse("apps/v1", "Deployment"))
	live := parse(b, deployment)
	b.ReportAllocs()
	var memo change.Memo
	for b.Loop() {
		memo.Reset()
		object := live
		for i := range 10 {
			patch := map[string]any{"spec": map[string]any{"replicas": int64(i)}}
			var err error
			if object, err = kind.Merge(&memo, object, patch, AnyKey); err == nil {
				err = kind.StrictDecode(&memo, object)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
