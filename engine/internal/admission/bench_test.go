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

// BenchmarkView computes the first view of a manifest.
func BenchmarkView(b *testing.B) {
	kind, object := readDeployment(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := admission.View(nil, kind, object, "default"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkViewAgain computes the view of a view, without a Memo. The result is the same view.
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

// BenchmarkJob computes the view of a manifest, changes and redefaults the view ten times, as a
// job does, and then computes the view of the result.
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
