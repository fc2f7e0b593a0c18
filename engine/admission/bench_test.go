package admission_test

import (
	"os"
	"testing"

	"github.com/preadmit/preadmit/engine/admission"
)

func BenchmarkView(b *testing.B) {
	text, err := os.ReadFile("testdata/deployment.yaml")
	if err != nil {
		b.Fatal(err)
	}
	object := readYAML(b, text)
	kind := kindOf(b, object)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := admission.View(kind, object, "default"); err != nil {
			b.Fatal(err)
		}
	}
}
