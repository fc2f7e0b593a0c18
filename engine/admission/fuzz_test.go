package admission_test

import (
	"encoding/json"
	"os"
	"path/filepath"
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
	if _, redefaultErr := admission.Redefault(kind, object); err == nil && redefaultErr != nil {
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

// isException knows the differences between a view and its view that the package
// comment names.
func isException(diff change.Change) bool {
	path := diff.Path.String()
	return diff.Op == change.Remove && diff.Old == nil || // a pointer to the zero time
		diff.Op == change.Add && (strings.HasSuffix(path, ".policies") || path == "status.allocatable")
}
