package engine_test

import (
	"slices"
	"testing"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
)

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {sizes: {type: array, items: {type: integer}}, colors: {type: object, additionalProperties: {type: string}}}}
`

func TestFields(t *testing.T) {
	context, diagnostics := manifest.Read("crd.yaml", []byte(widgets))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	deployment, widget := gvk.Parse("apps/v1", "Deployment"), gvk.Parse("example.com/v1", "Widget")
	for _, test := range []struct {
		kind gvk.Kind
		path []string
		want engine.Field
	}{
		{deployment, nil, engine.Field{Name: "spec", Type: "object"}},
		{deployment, []string{"metadata"}, engine.Field{Name: "labels", Type: "map of strings"}},
		{deployment, []string{"spec"}, engine.Field{Name: "replicas", Type: "integer"}},
		{deployment, []string{"spec", "template", "spec"}, engine.Field{Name: "containers", Type: "list of objects"}},
		{deployment, []string{"spec", "template", "spec", "containers"}, engine.Field{Name: "imagePullPolicy", Type: "string"}},
		{deployment, []string{"spec", "strategy", "rollingUpdate"}, engine.Field{Name: "maxSurge", Type: "integer or string"}},
		{widget, []string{"spec"}, engine.Field{Name: "sizes", Type: "list of integers"}},
		{widget, []string{"spec"}, engine.Field{Name: "colors", Type: "map of strings"}},
	} {
		if got := engine.NewSchemas([]*manifest.Stream{context}, engine.Options{}).Fields(test.kind, test.path...); !slices.ContainsFunc(got, func(f engine.Field) bool { return f.Name == test.want.Name && f.Type == test.want.Type }) {
			t.Errorf("%s %v: no %v among %d fields", test.kind, test.path, test.want, len(got))
		}
	}
	for _, path := range [][]string{{"metadata", "labels"}, {"spec", "replicas"}, {"spec", "nothing", "below"}} {
		if got := engine.NewSchemas(nil, engine.Options{}).Fields(deployment, path...); len(got) > 0 {
			t.Errorf("%v has fields: %v", path, got)
		}
	}
	if got := engine.NewSchemas(nil, engine.Options{}).Fields(widget); len(got) > 0 {
		t.Errorf("a kind that nobody knows has fields: %v", got)
	}
}
