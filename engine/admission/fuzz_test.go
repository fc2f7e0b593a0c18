package admission_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/admission"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/schema"
)

// FuzzView holds the laws of the package against any object of a built-in kind.
func FuzzView(f *testing.F) {
	files, err := filepath.Glob("testdata/view/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		object, _ := readCase(f, text)
		seed, err := json.Marshal(object)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	registry := schema.Builtin()
	f.Fuzz(func(t *testing.T, text []byte) {
		var object map[string]any
		if err := json.Unmarshal(text, &object); err != nil {
			return
		}
		wholeNumbers(object)
		apiVersion, _ := object["apiVersion"].(string)
		name, _ := object["kind"].(string)
		kind := registry.Lookup(gvk.Parse(apiVersion, name))
		if kind == nil {
			return
		}
		checkLaws(t, kind, object)
	})
}

func checkLaws(t *testing.T, kind *schema.Kind, object map[string]any) {
	before := change.CloneObject(object)
	view, err := admission.View(kind, object, "default")
	if !change.Equal(before, object) {
		t.Error("View modified the object")
	}
	if _, redefaultErr := admission.Redefault(kind, object, nil); err == nil && redefaultErr != nil {
		t.Error("Redefault refuses what View takes: ", redefaultErr)
	}
	if err != nil {
		if again, repeated := admission.View(kind, object, "default"); again != nil || repeated.Error() != err.Error() {
			t.Errorf("other errors the second time: %v, %v", err, repeated)
		}
		return
	}
	if !change.Equal(object, admission.Unview(kind, object, view, view)) {
		t.Error("Unview changes what did not differ")
	}
	checkStable(t, kind, view)
	checkNormal(t, kind, object, view)
	again, err := admission.View(kind, view, "default")
	if err != nil {
		t.Fatal("view of the view: ", err)
	}
	for _, diff := range change.Diff(view, again, nil) {
		if !isException(diff) {
			t.Error("view of the view: ", diff)
		}
	}
}

// checkNormal holds Normalize against its laws.
func checkNormal(t *testing.T, kind *schema.Kind, object, view map[string]any) {
	normal, err := admission.Normalize(kind, object, "default", view)
	if err != nil {
		t.Fatal("normalize: ", err)
	}
	again, err := admission.View(kind, normal, "default")
	if err != nil {
		t.Fatal("view of what was normalized: ", err)
	}
	for _, diff := range change.Diff(view, again, nil) {
		if !admission.ServerOwned(kind, diff.Path) && !storedAlike(diff) && !isException(diff) {
			t.Error("view of what was normalized: ", diff)
		}
	}
	if twice, err := admission.Normalize(kind, normal, "default", again); err != nil || !change.Equal(normal, twice) {
		t.Error("normalized twice: ", change.Diff(normal, twice, nil), err)
	}
}

// checkStable changes a view in every place, and compares what Redefault makes of that
// with and without knowing the view.
func checkStable(t *testing.T, kind *schema.Kind, view map[string]any) {
	stable, err := admission.Redefault(kind, view, nil)
	if err != nil {
		t.Fatal("the view: ", err)
	}
	if next, err := admission.Redefault(kind, stable, nil); err != nil || !change.Equal(stable, next) {
		return // what is in it depends on what is not
	}
	before := change.CloneObject(stable)
	for changed := range variants(stable) {
		changed := changed.(map[string]any)
		want, wantErr := admission.Redefault(kind, changed, nil)
		got, err := admission.Redefault(kind, changed, stable)
		if !change.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%v\ngot  %v, %v\nwant %v, %v", changed, got, err, want, wantErr)
		}
	}
	if !change.Equal(stable, before) {
		t.Errorf("Redefault modified %v\nwhich is now %v", before, stable)
	}
}

// variants yields a value changed in each place in turn. They share the rest with it.
func variants(value any) iter.Seq[any] {
	return func(yield func(any) bool) {
		switch value := value.(type) {
		case map[string]any:
			for key, item := range value {
				without := maps.Clone(value)
				delete(without, key)
				if !yield(without) {
					return
				}
				for changed := range variants(item) {
					with := maps.Clone(value)
					with[key] = changed
					if !yield(with) {
						return
					}
				}
			}
			with := maps.Clone(value)
			with["labels"] = map[string]any{"a": "b"}
			yield(with)
		case []any:
			for i, item := range value {
				if !yield(slices.Delete(slices.Clone(value), i, i+1)) {
					return
				}
				for changed := range variants(item) {
					with := slices.Clone(value)
					with[i] = changed
					if !yield(with) {
						return
					}
				}
			}
		case string:
			_ = yield("0.0001") && yield(value+"x")
		default:
			_ = yield(int64(7)) && yield(nil)
		}
	}
}

// isException knows the differences between a view and its view that the package
// comment names.
func isException(diff change.Change) bool {
	path := diff.Path.String()
	return diff.Op == change.Remove && diff.Old == nil || // a pointer to the zero time
		diff.Op == change.Add && (strings.HasSuffix(path, ".policies") || path == "status.allocatable")
}
