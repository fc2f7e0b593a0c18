package schema

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
)

// server merges as the API server of Kubernetes 1.34 and later does: with its conversion of
// OpenAPI documents, structured-merge-diff v6, and the check for atomic values. Unlike the
// server, it visits maps in sorted order.
type server struct{ typed.ParseableType }

// newServer returns the server's merge for a component of a document.
func newServer(t testing.TB, components map[string]*spec.Schema, component string) server {
	t.Helper()
	converted, err := schemaconv.ToSchemaFromOpenAPI(components, false)
	if err != nil {
		t.Fatal(err)
	}
	return server{typed.ParseableType{
		Schema:  &smd.Schema{Types: converted.Types},
		TypeRef: smd.TypeRef{NamedType: &component},
	}}
}

func (s server) merge(live, patch map[string]any) (map[string]any, error) {
	patch = maps.Clone(patch)
	patch["apiVersion"], patch["kind"] = live["apiVersion"], live["kind"]
	typedPatch, err := typed.AsTyped(inOrder(patch), s.Schema, s.TypeRef)
	if err != nil {
		return nil, fmt.Errorf("error applying patch: failed to convert patch object to typed object: %w", err)
	}
	if atomic := s.atomic(nil, s.TypeRef, typedPatch.AsValue()); len(atomic) > 0 {
		return nil, fmt.Errorf("error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: %s", strings.Join(atomic, ", "))
	}
	typedLive, err := typed.AsTyped(inOrder(live), s.Schema, s.TypeRef, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("error applying patch: failed to convert original object to typed object: %w", err)
	}
	merged, err := typedLive.Merge(typedPatch)
	if err != nil {
		return nil, fmt.Errorf("error applying patch: failed to merge patch: %w", err)
	}
	object, ok := merged.AsValue().Unstructured().(map[string]any)
	if !ok {
		return nil, errors.New("no object")
	}
	return object, nil
}

func (s server) atomic(path fieldpath.Path, ref smd.TypeRef, v value.Value) (found []string) {
	atom, _ := s.Schema.Resolve(ref)
	text := func() string {
		var b strings.Builder
		for _, e := range path {
			b.WriteString(e.String())
		}
		return b.String()
	}
	if v.IsMap() && atom.Map != nil {
		if atom.Map.ElementRelationship == smd.Atomic {
			found = append(found, text())
		}
		v.AsMap().Iterate(func(key string, item value.Value) bool {
			if f, declared := atom.Map.FindField(key); declared {
				found = append(found, s.atomic(append(slices.Clone(path), fieldpath.PathElement{FieldName: &key}), f.Type, item)...)
			}
			return true
		})
	}
	if v.IsList() && atom.List != nil {
		if atom.List.ElementRelationship == smd.Atomic {
			found = append(found, text())
		}
		for i := range v.AsList().Length() {
			found = append(found, s.atomic(append(slices.Clone(path), fieldpath.PathElement{Index: &i}), atom.List.ElementType, v.AsList().At(i))...)
		}
	}
	return found
}

// ordered is a value whose maps are visited in sorted order. It prints like the value that it
// wraps.
type ordered struct {
	value.Value
	raw any
}

func inOrder(raw any) value.Value { return ordered{value.NewValueInterface(raw), raw} }

func (v ordered) AsMap() value.Map                       { return orderedMap{v.Value.AsMap(), v.raw.(map[string]any)} }
func (v ordered) AsMapUsing(value.Allocator) value.Map   { return v.AsMap() }
func (v ordered) AsList() value.List                     { return orderedList{v.Value.AsList(), v.raw.([]any)} }
func (v ordered) AsListUsing(value.Allocator) value.List { return v.AsList() }
func (v ordered) Format(state fmt.State, verb rune) {
	fmt.Fprintf(state, fmt.FormatString(state, verb), v.Value)
}
func (m orderedMap) Iterate(f func(string, value.Value) bool) bool { return m.IterateUsing(nil, f) }
func (m orderedMap) Get(key string) (value.Value, bool)            { return m.GetUsing(nil, key) }
func (l orderedList) At(i int) value.Value                         { return inOrder(l.raw[i]) }
func (l orderedList) AtUsing(_ value.Allocator, i int) value.Value { return inOrder(l.raw[i]) }

type orderedMap struct {
	value.Map
	raw map[string]any
}

func (m orderedMap) GetUsing(_ value.Allocator, key string) (value.Value, bool) {
	v, found := m.raw[key]
	return inOrder(v), found
}

func (m orderedMap) IterateUsing(_ value.Allocator, f func(string, value.Value) bool) bool {
	for _, key := range slices.Sorted(maps.Keys(m.raw)) {
		if !f(key, inOrder(m.raw[key])) {
			return false
		}
	}
	return true
}

func (m orderedMap) Zip(other value.Map, order value.MapTraverseOrder, f func(key string, lhs, rhs value.Value) bool) bool {
	return m.ZipUsing(nil, other, order, f)
}

func (m orderedMap) ZipUsing(_ value.Allocator, other value.Map, _ value.MapTraverseOrder, f func(key string, lhs, rhs value.Value) bool) bool {
	var right map[string]any
	if other != nil {
		right = other.(orderedMap).raw
	}
	all := maps.Clone(m.raw)
	maps.Copy(all, right)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		var l, r value.Value
		if v, found := m.raw[key]; found {
			l = inOrder(v)
		}
		if v, found := right[key]; found {
			r = inOrder(v)
		}
		if !f(key, l, r) {
			return false
		}
	}
	return true
}

type orderedList struct {
	value.List
	raw []any
}

// documents reads the OpenAPI documents of the archive.
var documents = sync.OnceValue(func() map[string]map[string]*spec.Schema {
	file, err := os.Open("openapi/v1.36.tar.gz")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	decompressor, err := gzip.NewReader(file)
	if err != nil {
		panic(err)
	}
	all := map[string]map[string]*spec.Schema{}
	for reader := tar.NewReader(decompressor); ; {
		header, err := reader.Next()
		if err == io.EOF {
			return all
		}
		var document spec3.OpenAPI
		if err == nil && header.Name != "api-resources.json" {
			err = json.NewDecoder(reader).Decode(&document)
			if err == nil {
				all[header.Name] = document.Components.Schemas
			}
		}
		if err != nil {
			panic(err)
		}
	}
})

// gadget defines a custom resource with features that are rare in built-in kinds.
const gadget = `{
	"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.example.com"},
	"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gadgets","kind":"Gadget"},"versions":[{"name":"v1","served":true,"storage":true,
	"subresources":{"status":{}},
	"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
		"size":{"type":"integer","default":5},
		"ratio":{"type":"number"},
		"when":{"type":"string","format":"date-time","nullable":true},
		"port":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]},
		"tags":{"type":"array","items":{"type":"string"}},
		"set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
		"pairs":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b"],
			"items":{"type":"object","required":["a","b"],"properties":{"a":{"type":"string"},"b":{"type":"integer"},"v":{"type":"string"}}}},
		"half":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b","c"],
			"items":{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"string","default":"B"},"c":{"type":"boolean","default":true},"v":{"type":"string"}}}},
		"named":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
			"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"v":{"type":"integer","default":9}}}},
		"whole":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"x":{"type":"string"}}},
		"labels":{"type":"object","additionalProperties":{"type":"string"}},
		"any":{"type":"object","additionalProperties":true},
		"empty":{"type":"object"},
		"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{
			"known":{"type":"integer"},"inner":{"type":"object","properties":{"x":{"type":"string"}}}}},
		"untyped":{"x-kubernetes-preserve-unknown-fields":true},
		"template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}
	}}}}}}]}}`

// publishedGadget is the document that the server publishes for gadget: with the metadata of
// every object.
func publishedGadget(t testing.TB) map[string]*spec.Schema {
	t.Helper()
	crd := parse(t, gadget)
	root := object(object(object(crd, "spec")["versions"].([]any)[0].(map[string]any), "schema"), "openAPIV3Schema")
	withObjectMeta := func(node map[string]any) {
		if node["properties"] == nil {
			node["properties"] = map[string]any{}
		}
		maps.Copy(object(node, "properties"), parse(t, `{"apiVersion":{"type":"string"},"kind":{"type":"string"},
			"metadata":{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}}`))
	}
	withObjectMeta(root)
	withObjectMeta(object(object(object(object(root, "properties"), "spec"), "properties"), "template"))
	data, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	var published spec.Schema
	if err := json.Unmarshal(data, &published); err != nil {
		t.Fatal(err)
	}
	components := maps.Clone(documents()["api__v1.json"])
	components["com.example.v1.Gadget"] = &published
	return components
}

// contestant is a kind and the server's merge for it.
type contestant struct {
	kind   *Kind
	server server
}

func contestants(t testing.TB) []contestant {
	r := Builtin()
	if problems := r.AddCRD(parse(t, gadget)); len(problems) > 0 {
		t.Fatal(problems)
	}
	all := []contestant{{r.Lookup(gvk.Parse("example.com/v1", "Gadget")), newServer(t, publishedGadget(t), "com.example.v1.Gadget")}}
	for _, c := range []struct{ file, apiVersion, kind string }{
		{"apis__apps__v1.json", "apps/v1", "Deployment"},
		{"api__v1.json", "v1", "Pod"},
		{"api__v1.json", "v1", "Service"},
		{"api__v1.json", "v1", "PersistentVolume"},
		{"apis__resource.k8s.io__v1.json", "resource.k8s.io/v1", "ResourceClaim"},
		{"apis__autoscaling__v2.json", "autoscaling/v2", "HorizontalPodAutoscaler"},
		{"apis__apiextensions.k8s.io__v1.json", "apiextensions.k8s.io/v1", "CustomResourceDefinition"},
		{"apis__networking.k8s.io__v1.json", "networking.k8s.io/v1", "Ingress"},
	} {
		kind := r.Lookup(gvk.Parse(c.apiVersion, c.kind))
		all = append(all, contestant{kind, newServer(t, documents()[c.file], kind.Type().Name)})
	}
	return all
}

// maker creates random objects of a type; few of their values are wrong.
type maker struct {
	*rand.Rand
	wrong float64
}

func (m maker) object(k *Kind) map[string]any {
	v := m.structure(k.Type(), 9).(map[string]any)
	v["apiVersion"], v["kind"] = k.APIVersion(), k.Kind.Kind
	return v
}

func (m maker) value(t *Type, depth int) any {
	if m.Float64() < m.wrong {
		return m.any(1)
	}
	switch {
	case t.Scalar == Untyped || t.Scalar == IntOrString || t.Scalar == Quantity:
		return m.any(2)
	case t.Scalar == String:
		return m.word()
	case t.Scalar == Integer:
		return int64(m.Intn(3))
	case t.Scalar == Number:
		return float64(m.Intn(3)) / 2
	case t.Scalar == Boolean:
		return m.Intn(2) == 0
	case t.IsList:
		list := []any{}
		for range m.Intn(4) {
			list = append(list, m.value(t.Elem, depth-1))
		}
		return list
	default:
		return m.structure(t, depth)
	}
}

func (m maker) structure(t *Type, depth int) any {
	object := map[string]any{}
	if depth <= 0 {
		return object
	}
	for _, f := range t.Fields {
		chance := 2.5 / float64(len(t.Fields)+1)
		if f.Required || f.Name == "spec" || f.Name == "template" || f.Name == "name" {
			chance = 0.9
		}
		if m.Float64() < chance {
			object[f.Name] = m.value(f.Type, depth-1)
		}
	}
	if t.Elem != nil {
		for range m.Intn(3) {
			object[m.word()] = m.value(t.Elem, depth-1)
		}
	}
	if m.Float64() < m.wrong {
		object["nope"] = m.any(1)
	}
	return object
}

func (m maker) word() string { return []string{"a", "b", "c", "TCP"}[m.Intn(4)] }

func (m maker) any(depth int) any {
	switch n := m.Intn(9); {
	case n == 0:
		return nil
	case n == 1:
		return true
	case n == 2:
		return int64(m.Intn(3))
	case n == 3:
		return 1.5
	case n == 4 && depth > 0:
		return []any{m.any(depth - 1), m.any(depth - 1)}
	case n == 5 && depth > 0:
		return map[string]any{m.word(): m.any(depth - 1)}
	case n == 6:
		return uint64(3) // the CEL value of 3u
	default:
		return m.word()
	}
}

// withoutAtomics removes the values from a patch that would be refused at once.
func (m maker) withoutAtomics(t *Type, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			if f := t.Declared(key); f != nil {
				if isAtomic(f.Type) {
					delete(v, key)
					continue
				}
				v[key] = m.withoutAtomics(f.Type, item)
			}
		}
	case []any:
		for i, item := range v {
			v[i] = m.withoutAtomics(t.ItemType(), item)
		}
	}
	return v
}

func isAtomic(t *Type) bool {
	return t.AtomicMap || t.IsList && (t.List == Atomic || isAtomic(t.Elem))
}

// FuzzMergeAsServer merges random patches into random objects and compares results and error
// texts with the server.
func FuzzMergeAsServer(f *testing.F) {
	all := contestants(f)
	for seed := range int64(600) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		r := rand.New(rand.NewSource(seed))
		c := all[r.Intn(len(all))]
		wrong := []float64{0, 0, 0.002, 0.02}[r.Intn(4)]
		live := maker{r, wrong / 4}.object(c.kind)
		patch := maker{r, wrong}.object(c.kind)
		if r.Intn(4) > 0 {
			patch = maker{}.withoutAtomics(c.kind.Type(), patch).(map[string]any)
		}
		want, wantErr := c.server.merge(live, patch)
		got, err := c.kind.Merge(nil, live, patch, AnyKey)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%v\nlive  %v\npatch %v\ngot  %v\nwant %v", c.kind.Kind, live, patch, err, wantErr)
		}
		if err == nil && !change.Equal(got, want) {
			t.Fatalf("%v\nlive  %v\npatch %v\ngot  %v\nwant %v", c.kind.Kind, live, patch, got, want)
		}
	})
}
