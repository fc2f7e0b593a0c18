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

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// FuzzView checks the laws of the package with objects of built-in kinds, and of the custom
// kinds in testdata.
func FuzzView(f *testing.F) {
	files, err := filepath.Glob("testdata/view/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	custom := map[gvk.Kind]*schema.Kind{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		object, kind := readCase(f, text)
		if kind.Custom {
			custom[kind.Kind] = kind
		}
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
			kind = custom[gvk.Parse(apiVersion, name)]
		}
		if kind == nil {
			return
		}
		checkLaws(t, kind, object)
	})
}

func checkLaws(t *testing.T, kind *schema.Kind, object map[string]any) {
	before := change.CloneObject(object)
	view, err := admission.View(nil, kind, object, "default")
	if !change.Equal(before, object) {
		t.Error("View modified the object")
	}
	if _, redefaultErr := admission.Redefault(nil, kind, object); err == nil && redefaultErr != nil {
		t.Error("Redefault refuses what View takes: ", redefaultErr)
	}
	if err != nil {
		if again, repeated := admission.View(nil, kind, object, "default"); again != nil || repeated.Error() != err.Error() {
			t.Errorf("other errors the second time: %v, %v", err, repeated)
		}
		return
	}
	if !change.Equal(object, admission.Unview(kind, object, view, view)) {
		t.Error("Unview changes what did not differ")
	}
	checkMemo(t, kind, view)
	checkNormal(t, kind, object, view)
	again, err := admission.View(nil, kind, view, "default")
	if err != nil {
		t.Fatal("view of the view: ", err)
	}
	for _, diff := range change.Diff(view, again, nil) {
		if !isException(diff) {
			t.Error("view of the view: ", diff)
		}
	}
}

// checkNormal checks the laws of Normalize.
func checkNormal(t *testing.T, kind *schema.Kind, object, view map[string]any) {
	normal, err := admission.Normalize(nil, kind, object, "default", view)
	if err != nil {
		t.Fatal("normalize: ", err)
	}
	again, err := admission.View(nil, kind, normal, "default")
	if err != nil {
		t.Fatal("view of what was normalized: ", err)
	}
	for _, diff := range change.Diff(view, again, nil) {
		if !admission.ServerOwned(kind, diff.Path) && !storedAlike(diff) && !isException(diff) {
			t.Error("view of what was normalized: ", diff)
		}
	}
	if twice, err := admission.Normalize(nil, kind, normal, "default", again); err != nil || !change.Equal(normal, twice) {
		t.Error("normalized twice: ", change.Diff(normal, twice, nil), err)
	}
}

// checkMemo changes a view in every place, and compares the result of Redefault with a shared
// Memo and without one.
func checkMemo(t *testing.T, kind *schema.Kind, view map[string]any) {
	memo, before := new(change.Memo), change.CloneObject(view)
	for changed := range variants(view) {
		changed := changed.(map[string]any)
		want, wantErr := admission.Redefault(nil, kind, changed)
		got, err := admission.Redefault(memo, kind, changed)
		if !change.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("Redefault %v\ngot  %v, %v\nwant %v, %v", changed, got, err, want, wantErr)
		}
		want, wantErr = admission.View(nil, kind, changed, "default")
		got, err = admission.View(memo, kind, changed, "default")
		if !change.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("View %v\ngot  %v, %v\nwant %v, %v", changed, got, err, want, wantErr)
		}
	}
	if !change.Equal(view, before) {
		t.Errorf("modified %v\nwhich is now %v", before, view)
	}
}

// variants yields copies of a value that each have one change. They share the rest with it.
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

// isException reports whether a difference between a view and its view is one that the package
// comment names.
func isException(diff change.Change) bool {
	path := diff.Path.String()
	return diff.Op == change.Remove && diff.Old == nil || // a pointer to the zero time
		diff.Op == change.Add && (strings.HasSuffix(path, ".policies") || path == "status.allocatable")
}
