package schema

import (
	"slices"
	"sync"
	"testing"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/release"
)

func TestLookup(t *testing.T) {
	r := Builtin()
	k := r.Lookup(gvk.Parse("apps/v1", "Deployment"))
	if k == nil {
		t.Fatal("no Deployment")
	}
	if k.Resource != "deployments" || !k.Namespaced || k.Custom || !slices.Equal(k.Subresources, []string{"scale", "status"}) {
		t.Errorf("Deployment is %+v", k)
	}
	if k != r.LookupResource(gvk.Resource{Group: "apps", Version: "v1", Resource: "deployments"}) {
		t.Error("the resource deployments is another kind")
	}
	if k := r.Lookup(gvk.Parse("v1", "Namespace")); k == nil || k.Namespaced || k.Resource != "namespaces" {
		t.Errorf("Namespace is %+v", k)
	}
	if k := r.Lookup(gvk.Parse("autoscaling/v1", "Scale")); k == nil || k.Resource != "" || k.Type() == nil {
		t.Errorf("Scale is %+v", k)
	}
	for _, name := range []gvk.Kind{gvk.Parse("apps/v2", "Deployment"), gvk.Parse("apps/v1", "Deploy"), gvk.Parse("apps/v1", "deployment"), gvk.Parse("", ""), gvk.Parse("zz/v1", "Z")} {
		if k := r.Lookup(name); k != nil {
			t.Errorf("%v is %+v", name, k)
		}
	}
}

// TestEveryKind reads the types of all kinds.
func TestEveryKind(t *testing.T) {
	kinds := Builtin().Kinds()
	if len(kinds) != 92 {
		t.Errorf("there are %d kinds", len(kinds))
	}
	for _, k := range kinds {
		root := k.Type()
		if root.Declared("metadata") == nil && k.Resource != "" {
			t.Errorf("%v has no metadata", k.Kind)
		}
		check(t, root, map[*Type]bool{})
	}
}

// check checks laws that hold for every type.
func check(t *testing.T, typ *Type, seen map[*Type]bool) {
	if seen[typ] {
		return
	}
	seen[typ] = true
	if typ.Scalar == NotScalar && len(typ.Fields) == 0 && typ.Elem == nil {
		t.Errorf("the type %s holds nothing", typ.Name)
	}
	if typ.List == Associative && len(typ.ListKeys) == 0 {
		t.Errorf("a list of %s has no keys", typ.Elem.Name)
	}
	if !slices.IsSortedFunc(typ.Fields, func(a, b Field) int { return slices.Compare([]byte(a.Name), []byte(b.Name)) }) {
		t.Errorf("the fields of %s are not sorted", typ.Name)
	}
	for _, f := range typ.Fields {
		check(t, f.Type, seen)
	}
	if typ.Elem != nil {
		check(t, typ.Elem, seen)
	}
}

func TestTypes(t *testing.T) {
	pod := Builtin().Lookup(gvk.Parse("v1", "Pod")).Type()
	containers := pod.FieldType("spec").FieldType("containers")
	if !containers.IsList || containers.List != Associative || !slices.Equal(containers.ListKeys, []string{"name"}) || containers.Strategy != "merge" || containers.MergeKey != "name" {
		t.Errorf("containers: %+v", containers)
	}
	if f := pod.FieldType("spec").Declared("containers"); !f.Required || f.Default != nil {
		t.Errorf("containers: %+v", f)
	}
	container := containers.ItemType()
	if container.Name != "io.k8s.api.core.v1.Container" {
		t.Errorf("an item of containers is %q", container.Name)
	}
	for _, c := range []struct {
		path []string
		want Type
	}{
		{[]string{"command"}, Type{IsList: true, Elem: &Type{Scalar: String}}},
		{[]string{"image"}, Type{Scalar: String}},
		{[]string{"stdin"}, Type{Scalar: Boolean}},
		{[]string{"livenessProbe", "periodSeconds"}, Type{Scalar: Integer, Format: "int32"}},
		{[]string{"livenessProbe", "httpGet", "port"}, Type{Name: "io.k8s.apimachinery.pkg.util.intstr.IntOrString", Scalar: IntOrString}},
		{[]string{"resources", "limits", "cpu"}, Type{Name: "io.k8s.apimachinery.pkg.api.resource.Quantity", Scalar: Quantity}},
	} {
		got := container
		for _, name := range c.path {
			got = got.FieldType(name)
		}
		if got == nil || got.Name != c.want.Name || got.Scalar != c.want.Scalar || got.Format != c.want.Format || got.IsList != c.want.IsList || got.List != c.want.List {
			t.Errorf("%v: %+v", c.path, got)
		}
	}
	if f := container.FieldType("ports").ItemType().Declared("protocol"); f.Default != "TCP" {
		t.Errorf("protocol: %+v", f)
	}
	if !container.FieldType("env").ItemType().FieldType("valueFrom").FieldType("fieldRef").AtomicMap {
		t.Error("fieldRef is not atomic")
	}
}

// TestGranularReference checks a component that is atomic at some references and not at others.
func TestGranularReference(t *testing.T) {
	claim := Builtin().Lookup(gvk.Parse("v1", "PersistentVolume")).Type().FieldType("spec").FieldType("claimRef")
	involved := Builtin().Lookup(gvk.Parse("v1", "Binding")).Type().FieldType("target")
	if claim.AtomicMap || !involved.AtomicMap || claim.Name != involved.Name {
		t.Errorf("claimRef %+v, target %+v", claim, involved)
	}
}

func TestRecursive(t *testing.T) {
	schemas := Builtin().Lookup(gvk.Parse("apiextensions.k8s.io/v1", "CustomResourceDefinition")).Type().
		FieldType("spec").FieldType("versions").ItemType().FieldType("schema").FieldType("openAPIV3Schema")
	if again := schemas.FieldType("properties").FieldType("anything"); again != schemas {
		t.Errorf("a property is %+v, not %+v", again, schemas)
	}
	if json := schemas.FieldType("default"); json.Scalar != Untyped {
		t.Errorf("default: %+v", json)
	}
}

func TestVersions(t *testing.T) {
	r := Builtin()
	for _, c := range []struct {
		kind gvk.Kind
		want []string
	}{
		{gvk.Parse("apps/v1", "Deployment"), nil},
		{gvk.Parse("autoscaling/v1", "HorizontalPodAutoscaler"), []string{"autoscaling/v2, Kind=HorizontalPodAutoscaler"}},
		{gvk.Parse("autoscaling/v2", "HorizontalPodAutoscaler"), []string{"autoscaling/v1, Kind=HorizontalPodAutoscaler"}},
		{gvk.Parse("v1", "Event"), []string{"events.k8s.io/v1, Kind=Event"}},
		{gvk.Parse("events.k8s.io/v1", "Event"), []string{"/v1, Kind=Event"}},
		{gvk.Parse("resource.k8s.io/v1beta1", "ResourceSlice"), []string{"resource.k8s.io/v1, Kind=ResourceSlice", "resource.k8s.io/v1beta2, Kind=ResourceSlice"}},
		{gvk.Parse("autoscaling/v1", "Scale"), nil},
		{gvk.Parse("v1", "Pod"), nil},
	} {
		var got []string
		for _, k := range r.Versions(r.Lookup(c.kind)) {
			got = append(got, k.Kind.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v want %v", c.kind, got, c.want)
		}
	}
}

func TestCompareVersions(t *testing.T) {
	sorted := []string{"foo", "v1x", "v1alpha1", "v2alpha1", "v2alpha10", "v1beta1", "v2beta2", "v1", "v2", "v10"}
	for i, a := range sorted {
		for j, b := range sorted {
			if got := compareVersions(a, b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%s, %s: %d", a, b, got)
			}
		}
	}
}

// TestConcurrent uses kinds concurrently, for the race detector.
func TestConcurrent(t *testing.T) {
	r := Builtin()
	l := &library{minor: release.Default}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for _, k := range r.Kinds() {
				if same := r.Lookup(k.Kind); same != k || same.Type() != k.Type() {
					t.Errorf("%v is found twice", k.Kind)
				}
				if l.lookup(k.Kind).Type() == nil {
					t.Errorf("%v has no type", k.Kind)
				}
			}
			pod := r.Lookup(gvk.Parse("v1", "Pod"))
			if _, err := pod.Merge(nil, map[string]any{"kind": "Pod"}, map[string]any{"metadata": map[string]any{"name": "x"}}, AnyKey); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// TestBuiltinOf checks kinds and fields that differ between versions.
func TestBuiltinOf(t *testing.T) {
	field := func(minor int, apiVersion, kind string, path ...string) bool {
		typ := BuiltinOf(minor).Lookup(gvk.Parse(apiVersion, kind)).Type()
		for _, name := range path {
			if typ = typ.FieldType(name); typ != nil && typ.IsList {
				typ = typ.Elem
			}
		}
		return typ != nil
	}
	for minor := release.Oldest; minor <= release.Newest; minor++ {
		r := BuiltinOf(minor)
		if n := len(r.Kinds()); n < 80 {
			t.Errorf("1.%d has %d kinds", minor, n)
		}
		for _, k := range r.Kinds() {
			if k.Minor != minor || k.Type() == nil {
				t.Errorf("1.%d: %v is of 1.%d, type %v", minor, k.Kind, k.Minor, k.Type())
			}
		}
	}
	for _, c := range []struct {
		since, until     int
		apiVersion, kind string
		path             []string
	}{
		{34, 0, "resource.k8s.io/v1", "ResourceClaim", nil},
		{32, 37, "networking.k8s.io/v1beta1", "IPAddress", nil},
		{37, 0, "certificates.k8s.io/v1", "ClusterTrustBundle", nil},
		{36, 0, "admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", nil},
		{34, 0, "v1", "Pod", []string{"spec", "hostnameOverride"}},
		{33, 0, "v1", "Pod", []string{"spec", "containers", "lifecycle", "stopSignal"}},
		{32, 0, "v1", "Pod", []string{"spec", "resources"}},
	} {
		for minor := release.Oldest; minor <= release.Newest; minor++ {
			want := minor >= c.since && (c.until == 0 || minor < c.until)
			if got := field(minor, c.apiVersion, c.kind, c.path...); got != want {
				t.Errorf("1.%d has %s %s %v: %v, want %v", minor, c.apiVersion, c.kind, c.path, got, want)
			}
		}
	}
}
