package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/gvk"
)

// TestCompact compares the types of the embedded text with the types of the documents from which
// the text was generated.
func TestCompact(t *testing.T) {
	for name, components := range documents() {
		document, err := json.Marshal(map[string]any{"components": map[string]any{"schemas": components}})
		if err != nil {
			t.Fatal(err)
		}
		r := new(Registry)
		if err := r.AddOpenAPI(document); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range r.Kinds() {
			if got := Builtin().Lookup(want.Kind); got != nil {
				sameType(t, want.Kind.String(), got.Type(), want.Type(), map[[2]*Type]bool{})
			}
		}
	}
}

func sameType(t *testing.T, at string, a, b *Type, seen map[[2]*Type]bool) {
	if seen[[2]*Type{a, b}] || t.Failed() {
		return
	}
	seen[[2]*Type{a, b}] = true
	x, y := *a, *b
	x.Fields, y.Fields, x.Elem, y.Elem = nil, nil, nil, nil
	x.Minor, x.order = 0, "" // a document does not have what is about Go
	if !reflect.DeepEqual(x, y) || len(a.Fields) != len(b.Fields) || (a.Elem == nil) != (b.Elem == nil) {
		t.Errorf("%s: the text has %+v, the document %+v", at, *a, *b)
		return
	}
	if a.Elem != nil {
		sameType(t, at+"[]", a.Elem, b.Elem, seen)
	}
	for i, f := range a.Fields {
		g := b.Fields[i]
		sameType(t, at+"."+f.Name, f.Type, g.Type, seen)
		f.Type, g.Type, f.Zero = nil, nil, 0
		if !reflect.DeepEqual(f, g) {
			t.Errorf("%s: the text has the field %+v, the document %+v", at, f, g)
		}
	}
}

const clusterDocument = `{"openapi":"3.0.0","paths":{
	"/apis/example.com/v1/namespaces/{namespace}/gizmos":{"post":{"x-kubernetes-group-version-kind":{"group":"example.com","version":"v1","kind":"Gizmo"}}},
	"/apis/example.com/v1/namespaces/{namespace}/gizmos/{name}":{"get":{}},
	"/apis/example.com/v1/namespaces/{namespace}/gizmos/{name}/status":{"get":{}},
	"/apis/example.com/v1/gizmos":{"get":{}},
	"/apis/example.com/v1/things":{"post":{"x-kubernetes-group-version-kind":{"group":"example.com","version":"v1","kind":"Thing"}}},
	"/apis/example.com/v1/":{"get":{}}
	},"components":{"schemas":{
	"com.example.v1.Gizmo":{"type":"object","x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Gizmo"}],
		"properties":{"metadata":{"allOf":[{"$ref":"#/components/schemas/meta"}]},"next":{"$ref":"#/components/schemas/com.example.v1.Gizmo"},
		"either":{"allOf":[{"$ref":"#/components/schemas/pair"}],"x-kubernetes-map-type":"granular"}}},
	"com.example.v1.Thing":{"type":"object","x-kubernetes-group-version-kind":[{"group":"example.com","version":"v1","kind":"Thing"}]},
	"io.k8s.api.apps.v1.Deployment":{"type":"object","x-kubernetes-group-version-kind":[{"group":"apps","version":"v1","kind":"Deployment"}],
		"properties":{"old":{"type":"string"}}},
	"meta":{"type":"object","properties":{"name":{"type":"string"}}},
	"pair":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"a":{"type":"string"}}}
	}}}`

func TestAddOpenAPI(t *testing.T) {
	r := Builtin()
	if err := r.AddOpenAPI([]byte(clusterDocument)); err != nil {
		t.Fatal(err)
	}
	gizmo := r.Lookup(gvk.Parse("example.com/v1", "Gizmo"))
	if gizmo.Resource != "gizmos" || !gizmo.Namespaced || !gizmo.Custom || !slices.Equal(gizmo.Subresources, []string{"status"}) {
		t.Errorf("%+v", gizmo)
	}
	if next := gizmo.Type().FieldType("next"); next != gizmo.Type() {
		t.Error("the reference to itself is lost")
	}
	if !gizmo.Type().Prunes {
		t.Error("the server drops what the schema of a custom resource does not declare")
	}
	if either := gizmo.Type().FieldType("either"); either.AtomicMap || either.FieldType("a") == nil {
		t.Errorf("either: %+v", either)
	}
	if thing := r.LookupResource(gvk.Resource{Group: "example.com", Version: "v1", Resource: "things"}); thing == nil || thing.Namespaced {
		t.Errorf("%+v", thing)
	}
	deployment := r.Lookup(gvk.Parse("apps/v1", "Deployment"))
	if deployment.Resource != "deployments" || deployment.Custom || deployment.Type().FieldType("old") == nil {
		t.Errorf("the document's Deployment is %+v", deployment)
	}
	if k := r.LookupResource(gvk.Resource{Group: "apps", Version: "v1", Resource: "deployments"}); k != deployment {
		t.Error("the resource deployments is still the built-in kind")
	}
	if all := r.Kinds(); len(all) != len(Builtin().Kinds())+2 {
		t.Errorf("there are %d kinds", len(all))
	}
}

func TestAddOpenAPIErrors(t *testing.T) {
	for document, want := range map[string]string{
		`nonsense`:              "not JSON",
		`{"swagger":"2.0"}`:     "OpenAPI v2",
		`{"paths":{"apis":{}}}`: "no components.schemas",
		`[]`:                    "no components.schemas",
		`{"components":{"schemas":{"a":{"type":"object","properties":{"b":{"$ref":"#/components/schemas/b"}}}}}}`: "component b, which it does not have",
		`{"components":{"schemas":{"a":3}}}`: "component a is not an object",
	} {
		if err := Builtin().AddOpenAPI([]byte(document)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", document, err, want)
		}
	}
}
