package admission_test

import (
	"maps"
	"os"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

func readDeployment(b *testing.B) (*schema.Kind, map[string]any) {
	b.Helper()
	text, err := os.ReadFile("testdata/deployment.yaml")
	if err != nil {
		b.Fatal(err)
	}
	object := readYAML(b, text)
	return kindOf(b, object), object
}

// BenchmarkView makes the first view of a manifest.
func BenchmarkView(b *testing.B) {
	kind, object := readDeployment(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := admission.View(nil, kind, object, "default"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkViewAgain makes the view of a view, which is the same, without remembering
// anything.
func BenchmarkViewAgain(b *testing.B) {
	kind, object := readDeployment(b)
	view, err := admission.View(nil, kind, object, "default")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if again, err := admission.View(nil, kind, view, "default"); err != nil || !change.Same(again, view) {
			b.Fatal(err)
		}
	}
}

// BenchmarkJob makes the view of a manifest, changes it ten times and defaults it again
// each time, as a job does, and then makes the view of the outcome.
func BenchmarkJob(b *testing.B) {
	kind, object := readDeployment(b)
	b.ReportAllocs()
	var memo change.Memo
	for b.Loop() {
		memo.Reset()
		view, err := admission.View(&memo, kind, object, "default")
		for i := 0; i < 10 && err == nil; i++ {
			view = withLabel(view, string(rune('a'+i)))
			view, err = admission.Redefault(&memo, kind, view)
		}
		if err == nil {
			_, err = admission.View(&memo, kind, view, "default")
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func withLabel(object map[string]any, name string) map[string]any {
	object = maps.Clone(object)
	metadata := maps.Clone(object["metadata"].(map[string]any))
	labels := maps.Clone(metadata["labels"].(map[string]any))
	labels[name], metadata["labels"], object["metadata"] = "x", labels, metadata
	return object
}
