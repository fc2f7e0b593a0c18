package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/number"
)

func withGadget(t testing.TB) *Registry {
	t.Helper()
	r := Builtin()
	if problems := r.AddCRD(parse(t, gadget)); len(problems) > 0 {
		t.Fatal(problems)
	}
	return r
}

func TestCustomKind(t *testing.T) {
	r := withGadget(t)
	k := r.Lookup(gvk.Parse("example.com/v1", "Gadget"))
	if k == nil || k != r.LookupResource(gvk.Resource{Group: "example.com", Version: "v1", Resource: "gadgets"}) {
		t.Fatal("the kind is not found by its name and resource")
	}
	if !k.Custom || !k.Namespaced || k.Resource != "gadgets" || !slices.Equal(k.Subresources, []string{"status"}) {
		t.Errorf("%+v", k)
	}
	if Builtin().Lookup(k.Kind) != nil {
		t.Error("another registry has the kind too")
	}
	root := k.Type()
	if root.Name != "com.example.v1.Gadget" || root.FieldType("metadata").FieldType("labels") == nil || root.Elem != nil || root.Embedded {
		t.Errorf("the root is %+v", root)
	}
	spec := root.FieldType("spec")
	for name, holds := range map[string]func(t *Type) bool{
		"size":     func(t *Type) bool { return t.Scalar == Integer && spec.Declared("size").Default == any(int64(5)) },
		"when":     func(t *Type) bool { return t.Scalar == String && spec.Declared("when").Nullable },
		"port":     func(t *Type) bool { return t.Scalar == IntOrString },
		"tags":     func(t *Type) bool { return t.IsList && t.List == Atomic },
		"set":      func(t *Type) bool { return t.IsList && t.List == Set },
		"pairs":    func(t *Type) bool { return t.List == Associative && slices.Equal(t.ListKeys, []string{"a", "b"}) },
		"whole":    func(t *Type) bool { return t.AtomicMap && t.Prunes },
		"labels":   func(t *Type) bool { return t.Elem.Scalar == String && !t.Prunes },
		"empty":    func(t *Type) bool { return t.Elem.Scalar == Untyped && t.Prunes },
		"free":     func(t *Type) bool { return t.Preserve && !t.Prunes && t.Elem.Scalar == Untyped },
		"untyped":  func(t *Type) bool { return t.Preserve && t.Scalar == Untyped },
		"template": func(t *Type) bool { return t.Embedded && t.FieldType("metadata").FieldType("name") != nil },
	} {
		if typ := spec.FieldType(name); !holds(typ) {
			t.Errorf("%s is %+v", name, typ)
		}
	}
	if inner := spec.FieldType("free").FieldType("inner"); !inner.Prunes || inner.Elem == nil {
		t.Errorf("within what is preserved, undeclared fields merge and are dropped, got %+v", inner)
	}
}

func TestMergeCustom(t *testing.T) {
	k := withGadget(t).Lookup(gvk.Parse("example.com/v1", "Gadget"))
	const refused = "error applying patch: failed to convert patch object to typed object: "
	for _, c := range []struct {
		name, live, patch, want string
		rule                    KeyRule
		err                     string
	}{
		{
			name:  "some of the keys: another item",
			live:  `{"spec":{"pairs":[{"a":"x","b":1,"v":"1"}]}}`,
			patch: `{"spec":{"pairs":[{"a":"x","v":"2"}]}}`,
			want:  `{"spec":{"pairs":[{"a":"x","b":1,"v":"1"},{"a":"x","v":"2"}]}}`,
		},
		{
			name:  "the same some of the keys: the same item",
			live:  `{"spec":{"pairs":[{"a":"x","v":"1"},{"b":1,"v":"1"}]}}`,
			patch: `{"spec":{"pairs":[{"b":1,"v":"2"},{"a":"x","v":"2"}]}}`,
			want:  `{"spec":{"pairs":[{"b":1,"v":"2"},{"a":"x","v":"2"}]}}`,
		},
		{
			name:  "keys by default",
			live:  `{"spec":{"half":[{"a":"x","b":"B","c":true,"v":"1"}]}}`,
			patch: `{"spec":{"half":[{"a":"x","v":"2"},{"v":"3"}]}}`,
			want:  `{"spec":{"half":[{"a":"x","b":"B","c":true,"v":"2"},{"v":"3"}]}}`,
		},
		{
			name:  "none of the keys",
			live:  `{}`,
			patch: `{"spec":{"nope":1,"pairs":[{"a":"x"},{"v":"2"},{"v":7}]}}`,
			err:   refused + "errors:\n  .spec.nope: field not declared in schema",
		},
		{
			name:  "none of the keys, and before",
			live:  `{}`,
			patch: `{"spec":{"half":[{"c":1}],"pairs":[{"a":"x"},{"v":"2"},{"v":7}]}}`,
			err: refused + "errors:\n" +
				`  .spec.half[b="B",c=1].c: expected boolean, got &{1}` + "\n" +
				`  .spec.pairs: element 1: associative list with keys has an element that omits all key fields ["a" "b"] (and doesn't have default values for any key fields)`,
		},
		{
			name:  "a path to an item without some of the keys",
			live:  `{}`,
			patch: `{"spec":{"pairs":[{"b":2,"v":7}]}}`,
			err:   refused + `.spec.pairs[b=2].v: expected string, got &value.valueUnstructured{Value:7}`,
		},
		{
			name:  "what is preserved merges",
			live:  `{"spec":{"free":{"a":{"b":1}},"untyped":{"a":{"b":1}}}}`,
			patch: `{"spec":{"free":{"a":{"c":2},"inner":{"more":true}},"untyped":{"a":{"c":2}}}}`,
			want:  `{"spec":{"free":{"a":{"b":1,"c":2},"inner":{"more":true}},"untyped":{"a":{"b":1,"c":2}}}}`,
		},
		{
			name:  "lists are atomic unless declared",
			live:  `{}`,
			patch: `{"spec":{"tags":["a"],"whole":{"x":"y"},"free":{"list":[{"x":[]}]}}}`,
			err:   "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.tags, .spec.whole",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := k.Merge(nil, parse(t, c.live), parse(t, c.patch), c.rule)
			if err != nil || c.err != "" {
				want := strings.Replace(c.err, "errors:\n  .spec.nope", ".spec.nope", 1)
				if err == nil || err.Error() != want {
					t.Errorf("error %v\nwant  %s", err, want)
				}
				return
			}
			if !change.Equal(got, parse(t, c.want)) {
				t.Errorf("got  %v\nwant %s", got, c.want)
			}
		})
	}
}

func TestCustomVersions(t *testing.T) {
	crd := parse(t, gadget)
	versions := object(crd, "spec")["versions"].([]any)
	first := versions[0].(map[string]any)
	for _, c := range []struct {
		name   string
		served bool
	}{{"v1beta1", true}, {"v1alpha1", false}, {"v2", true}} {
		versions = append(versions, map[string]any{"name": c.name, "served": c.served, "schema": first["schema"]})
	}
	object(crd, "spec")["versions"] = versions
	r := Builtin()
	if problems := r.AddCRD(crd); len(problems) > 0 {
		t.Fatal(problems)
	}
	names := func(kinds []*Kind) (versions []string) {
		for _, k := range kinds {
			versions = append(versions, k.Version)
		}
		return versions
	}
	beta := r.Lookup(gvk.Parse("example.com/v1beta1", "Gadget"))
	if got := names(r.Versions(beta)); !slices.Equal(got, []string{"v1", "v2"}) {
		t.Errorf("other versions are %v", got)
	}
	if r.Lookup(gvk.Parse("example.com/v1alpha1", "Gadget")) != nil {
		t.Error("a version is known that is not served")
	}
	derived := r.Clone()
	object(crd, "spec")["versions"] = versions[:1]
	if problems := derived.AddCRD(crd); len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := names(derived.Versions(beta)); !slices.Equal(got, []string{"v2", "v1"}) {
		t.Errorf("after v1 was defined again, other versions are %v", got)
	}
	if got := names(r.Versions(beta)); !slices.Equal(got, []string{"v1", "v2"}) {
		t.Errorf("a clone changed its origin: %v", got)
	}
}

func TestCRDProblems(t *testing.T) {
	version := func(schema string) string {
		return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"group":"example.com","scope":"Cluster",
			"names":{"plural":"xs","kind":"X"},"versions":[{"name":"v1","served":true,"schema":{"openAPIV3Schema":` + schema + `}}]}}`
	}
	const at = "spec.versions[0].schema.openAPIV3Schema"
	for _, c := range []struct {
		crd  string
		want []string
	}{
		{`{}`, []string{"kind: expected apiextensions.k8s.io/v1, Kind=CustomResourceDefinition, got /, Kind="}},
		{
			`{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"CustomResourceDefinition"}`,
			[]string{"apiVersion: apiextensions.k8s.io/v1beta1 is not served any more, expected apiextensions.k8s.io/v1"},
		},
		{`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"group":"","scope":"Global","names":{"kind":3}}}`, []string{
			"spec.group: expected a string that is not empty",
			"spec.names.kind: expected a string that is not empty",
			"spec.names.plural: expected a string that is not empty",
			`spec.scope: expected Namespaced or Cluster, got "Global"`,
		}},
		{
			`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"group":"apps","scope":"Namespaced","names":{"plural":"deployments","kind":"Deployment"},
			"versions":[{"name":"v1","served":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`,
			[]string{"spec.names.kind: apps/v1, Kind=Deployment is built in, it cannot be defined"},
		},
		{version(`{"type":"object"}`), nil},
		{version(`null`), []string{at + ": expected a schema"}},
		{version(`{}`), []string{at + ".type: must not be empty at the root"}},
		{version(`{"type":"string"}`), []string{at + ".type: must be object at the root"}},
		{version(`{"type":"object","additionalProperties":{"type":"string"}}`), []string{at + ".additionalProperties: must not be used at the root"}},
		{version(`{"type":"object","properties":{"b":{"type":"array"},"a":{"type":"array","items":{}},"c":{"type":"float"},"d":3}}`), []string{
			at + ".properties.a.items.type: must not be empty for specified array items",
			at + ".properties.b.items: must be specified where type is array",
			at + `.properties.c.type: expected one of array, boolean, integer, number, object, string, got "float"`,
			at + ".properties.d: expected a schema",
		}},
		{version(`{"type":"object","properties":{"a":{"$ref":"#/definitions/a"},"b":{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":false}}}`), []string{
			at + ".properties.a.$ref: references are not supported, expected the schema in place",
			at + ".properties.b.additionalProperties: must not be used together with properties",
		}},
		{version(`{"type":"object","properties":{"a":{"type":"array","x-kubernetes-list-type":"map","items":{"type":"object"}},
			"b":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k","m"],"items":{"type":"object","properties":{"k":{"type":"string"}}}},
			"c":{"type":"object","x-kubernetes-list-type":"set","x-kubernetes-map-type":"whole"},
			"d":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":[{}],"items":{"type":"object","required":[{}],"properties":{"":{"type":"string"}}}}}}`), []string{
			at + ".properties.a.x-kubernetes-list-map-keys: expected at least one key where x-kubernetes-list-type is map",
			at + ".properties.b.x-kubernetes-list-map-keys[0]: the property k must have a default or be required",
			at + ".properties.b.x-kubernetes-list-map-keys[1]: expected a property of the items, got m",
			at + ".properties.c.x-kubernetes-map-type: expected atomic or granular, got whole",
			at + ".properties.c.x-kubernetes-list-type: must only be used where type is array",
			at + ".properties.d.x-kubernetes-list-map-keys[0]: expected a property of the items, got map[]",
		}},
		{
			version(`{"type":"object","properties":{"e":{"x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}`),
			[]string{at + ".properties.e.type: must be object if x-kubernetes-embedded-resource is true"},
		},
	} {
		r := Builtin()
		var got []string
		for _, problem := range r.AddCRD(parse(t, c.crd)) {
			got = append(got, problem.Error())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s\ngot  %q\nwant %q", c.crd, got, c.want)
		}
		if known := r.Lookup(gvk.Parse("example.com/v1", "X")) != nil; known != (c.want == nil) {
			t.Errorf("%s: the kind is known: %v", c.crd, known)
		}
	}
}

// FuzzAddCRD checks, for any definition, that nothing panics, that a second run finds the same
// problems, and that every new kind has a type that merges.
func FuzzAddCRD(f *testing.F) {
	f.Add(gadget)
	f.Add(strings.ReplaceAll(gadget, `"string"`, `[{}]`))
	f.Add(strings.ReplaceAll(gadget, `"type":"object"`, `"type":"array"`))
	f.Add(strings.ReplaceAll(gadget, `["a","b"]`, `[{},3]`))
	f.Add(strings.ReplaceAll(gadget, `"properties":`, `"items":`))
	f.Fuzz(func(t *testing.T, definition string) {
		value, err := number.Decode(definition)
		crd, ok := value.(map[string]any)
		if err != nil || !ok {
			return
		}
		r := Builtin()
		problems := r.AddCRD(crd)
		again := Builtin().AddCRD(crd)
		if !slices.EqualFunc(problems, again, func(a, b Problem) bool { return a.Error() == b.Error() }) {
			t.Errorf("first %v, then %v", problems, again)
		}
		for _, k := range r.added {
			if k.Type() == nil || k.Type().FieldType("metadata") == nil {
				t.Errorf("%v has the type %+v", k.Kind, k.Type())
			}
			if _, err := k.Merge(nil, map[string]any{"kind": k.Kind.Kind}, map[string]any{"metadata": map[string]any{"name": "x"}}, AnyKey); err != nil {
				t.Error(err)
			}
		}
	})
}
