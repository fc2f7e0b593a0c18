package admission_test

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/preadmit/preadmit/engine/admission"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/schema"
)

func BenchmarkView(b *testing.B) {
	data, err := os.ReadFile("testdata/deployment.yaml")
	if err != nil {
		b.Fatal(err)
	}
	data, err = yaml.YAMLToJSON(data)
	if err != nil {
		b.Fatal(err)
	}
	object := readJSON(b, data)
	kind := schema.Builtin().Lookup(gvk.Kind{Group: "apps", Version: "v1", Kind: "Deployment"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := admission.View(kind, object, "default"); err != nil {
			b.Fatal(err)
		}
	}
}
