package schema

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/release"
)

const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{"app":"web"}},
	"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
	"spec":{"containers":[{"name":"app","image":"nginx","command":["run"],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]}]}}}}`

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	value, err := number.Decode(text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value.(map[string]any)
}

func TestMerge(t *testing.T) {
	for _, c := range []struct{ name, live, patch, want, err string }{
		{
			name:  "scalar and map",
			live:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","labels":{"a":"1"}},"data":{"x":"1"}}`,
			patch: `{"metadata":{"labels":{"b":"2"}},"data":{"x":"2"}}`,
			want:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","labels":{"a":"1","b":"2"}},"data":{"x":"2"}}`,
		},
		{
			name:  "apiVersion and kind of the patch are ignored",
			live:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}`,
			patch: `{"apiVersion":7,"kind":"Secret","data":{"a":"b"}}`,
			want:  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"b"}}`,
		},
		{
			name:  "new items go where the patch has them",
			live:  `{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}}`,
			patch: `{"spec":{"containers":[{"name":"z","image":"2"},{"name":"b","image":"2"}]}}`,
			want:  `{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"a","image":"1"},{"name":"z","image":"2"},{"name":"b","image":"2"}]}}`,
		},
		{
			name:  "sets are united",
			live:  `{"apiVersion":"v1","kind":"Pod","metadata":{"finalizers":["a","b"]}}`,
			patch: `{"metadata":{"finalizers":["b","c"]}}`,
			want:  `{"apiVersion":"v1","kind":"Pod","metadata":{"finalizers":["a","b","c"]}}`,
		},
		{
			name:  "empty lists and maps change nothing",
			live:  `{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a"}]}}`,
			patch: `{"metadata":{"labels":{}},"spec":{"containers":[]}}`,
			want:  `{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a"}]}}`,
		},
		{
			name:  "items with the same keys stay when the patch does not touch them",
			live:  `{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"},{"name":"X","value":"2"},{"name":"Y"}]}]}}`,
			patch: `{"spec":{"containers":[{"name":"a","env":[{"name":"Y","value":"3"}]}]}}`,
			want:  `{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"},{"name":"X","value":"2"},{"name":"Y","value":"3"}]}]}}`,
		},
		{
			name:  "large integers",
			live:  `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":1}}`,
			patch: `{"spec":{"replicas":9007199254740993}}`,
			want:  `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":9007199254740993}}`,
		},
		{
			name:  "a key by default",
			live:  `{"apiVersion":"v1","kind":"Service","spec":{"ports":[{"port":80,"protocol":"TCP","name":"a"}]}}`,
			patch: `{"spec":{"ports":[{"port":80,"name":"b"}]}}`,
			want:  `{"apiVersion":"v1","kind":"Service","spec":{"ports":[{"port":80,"protocol":"TCP","name":"b"}]}}`,
		},
		{
			name:  "some of the keys: another item",
			live:  `{"apiVersion":"v1","kind":"Pod","spec":{"topologySpreadConstraints":[{"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","maxSkew":1}]}}`,
			patch: `{"spec":{"topologySpreadConstraints":[{"topologyKey":"zone","maxSkew":2}]}}`,
			want:  `{"apiVersion":"v1","kind":"Pod","spec":{"topologySpreadConstraints":[{"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","maxSkew":1},{"topologyKey":"zone","maxSkew":2}]}}`,
		},
		{
			name:  "unknown field",
			live:  deployment,
			patch: `{"spec":{"nope":1}}`,
			err:   `error applying patch: failed to convert patch object to typed object: .spec.nope: field not declared in schema`,
		},
		{
			name:  "several errors",
			live:  deployment,
			patch: `{"metadata":{"annotations":"x"},"spec":{"replicas":"three","template":{"spec":{"containers":[{"name":"app","image":7}]}}}}`,
			err: "error applying patch: failed to convert patch object to typed object: errors:\n" +
				"  .metadata.annotations: expected map, got &{x}\n" +
				"  .spec.replicas: expected numeric (int or float), got string\n" +
				`  .spec.template.spec.containers[name="app"].image: expected string, got &value.valueUnstructured{Value:7}`,
		},
		{
			name:  "duplicate keys in the patch",
			live:  deployment,
			patch: `{"spec":{"template":{"spec":{"containers":[{"name":"app"},{"name":"app"}]}}}}`,
			err:   `error applying patch: failed to convert patch object to typed object: .spec.template.spec.containers: duplicate entries for key [name="app"]`,
		},
		{
			name:  "atomic",
			live:  `{"apiVersion":"v1","kind":"Pod"}`,
			patch: `{"spec":{"tolerations":[{}],"nodeSelector":{},"containers":[{"name":"a","command":["x"],"args":[]},{"name":"b"}]}}`,
			err: `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ` +
				`.spec.containers[0].args, .spec.containers[0].command, .spec.nodeSelector, .spec.tolerations`,
		},
		{
			name:  "atomic within atomic",
			live:  `{"apiVersion":"v1","kind":"Pod"}`,
			patch: `{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{}]}}}}}`,
			err: `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ` +
				`.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution, ` +
				`.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms, ` +
				`.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]`,
		},
		{
			name:  "invalid object",
			live:  `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":"three"}}`,
			patch: `{"spec":{"paused":true}}`,
			err:   `error applying patch: failed to convert original object to typed object: .spec.replicas: expected numeric (int or float), got string`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			live, patch := parse(t, c.live), parse(t, c.patch)
			kind := Builtin().Lookup(gvk.Parse(live["apiVersion"].(string), live["kind"].(string)))
			got, err := kind.Merge(nil, live, patch, AnyKey)
			if err != nil || c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("error %v\nwant  %s", err, c.err)
				}
				return
			}
			if want := parse(t, c.want); !change.Equal(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
			if !change.Equal(live, parse(t, c.live)) || !change.Equal(patch, parse(t, c.patch)) {
				t.Error("the merge changed its input")
			}
		})
	}
}

// TestUniqueKey checks that objects may not repeat keys in 1.34.
func TestUniqueKey(t *testing.T) {
	pod := Builtin().Lookup(gvk.Parse("v1", "Pod"))
	twice := `{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"a"},{"name":"a"}]}}`
	for _, c := range []struct{ live, patch, err string }{
		{twice, `{}`, `error applying patch: failed to convert original object to typed object: .spec.containers: duplicate entries for key [name="a"]`},
	} {
		if _, err := pod.Merge(nil, parse(t, c.live), parse(t, c.patch), UniqueKey); err == nil || err.Error() != c.err {
			t.Errorf("got  %v\nwant %s", err, c.err)
		}
		if _, err := pod.Merge(nil, parse(t, c.live), parse(t, c.patch), AnyKey); err != nil {
			t.Error(err)
		}
	}
}

func TestMergeUnknown(t *testing.T) {
	widget := Builtin().Unknown(gvk.Parse("example.com/v1", "Widget"))
	live := parse(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","finalizers":["a"]},"spec":{"size":1}}`)
	got, err := widget.Merge(nil, live, parse(t, `{"metadata":{"labels":{"a":"b"},"finalizers":["b"]}}`), AnyKey)
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","finalizers":["a","b"],"labels":{"a":"b"}},"spec":{"size":1}}`)
	if !change.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	_, err = widget.Merge(nil, live, parse(t, `{"metadata":{"labels":{"a":"b"}},"status":{},"spec":{"size":2}}`), AnyKey)
	var missing *NoSchemaError
	if !errors.As(err, &missing) || missing.Kind != widget.Kind || len(missing.Fields) != 2 || missing.Fields[0] != "spec" {
		t.Errorf("error %v", err)
	}
	_, err = widget.Merge(nil, live, parse(t, `{"metadata":{"labels":{"a":1}}}`), AnyKey)
	if err == nil || err.Error() != `error applying patch: failed to convert patch object to typed object: .metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}` {
		t.Errorf("error %v", err)
	}
}

func BenchmarkFirstUse(b *testing.B) {
	for b.Loop() {
		l := library{minor: release.Default}
		l.lookup(gvk.Parse("apps/v1", "Deployment")).Type()
	}
}

func BenchmarkMergerOfDeployment(b *testing.B) {
	root := Builtin().Lookup(gvk.Parse("apps/v1", "Deployment")).Type()
	for b.Loop() {
		newAtoms(root)
	}
}

func BenchmarkMergeSidecar(b *testing.B) {
	kind := Builtin().Lookup(gvk.Parse("apps/v1", "Deployment"))
	live := parse(b, deployment)
	patch := parse(b, `{"spec":{"template":{"spec":{"containers":[{"name":"proxy","image":"proxy:1","ports":[{"containerPort":15001}],"env":[{"name":"A","value":"B"}]}]}}}}`)
	for b.Loop() {
		if _, err := kind.Merge(nil, live, patch, AnyKey); err != nil {
			b.Fatal(err)
		}
	}
}

// TestMergeCELValues merges values that CEL returns, with the errors recorded on kube-apiserver
// 1.36.3.
func TestMergeCELValues(t *testing.T) {
	text := func(s string) ref.Val { return types.String(s) }
	mapOf := func(key string, v ref.Val) ref.Val {
		return types.NewRefValMap(types.DefaultTypeAdapter, map[ref.Val]ref.Val{text(key): v})
	}
	list := types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{mapOf("name", text("x"))})
	kind := Builtin().Lookup(gvk.Parse("apps/v1", "Deployment"))
	spec := func(name string, v any) map[string]any { return map[string]any{"spec": map[string]any{name: v}} }
	metadata := func(name string, v any) map[string]any { return map[string]any{"metadata": map[string]any{name: v}} }
	for _, c := range []struct {
		patch map[string]any
		want  string
	}{
		{spec("replicas", types.NullValue.Value()), ".spec.replicas: expected numeric (int or float), got structpb.NullValue"},
		{metadata("annotations", types.NullValue.Value()), ".metadata.annotations: expected map, got &{NULL_VALUE}"},
		{spec("replicas", types.Uint(3).Value()), ".spec.replicas: expected numeric (int or float), got uint64"},
		{spec("paused", types.String("true").Value()), ".spec.paused: expected boolean, got &{true}"},
		{
			spec("template", mapOf("metadata", mapOf("labels", mapOf("x", text("y")))).Value()),
			".spec.template: expected map, got &{map[metadata:{labels: {x: y}}]}",
		},
		{
			spec("template", map[string]any{"spec": map[string]any{"containers": []any{mapOf("name", text("x")).Value()}}}),
			".spec.template.spec.containers: element 0: associative list with keys may not have non-map elements",
		},
		{
			spec("template", map[string]any{"spec": map[string]any{"containers": list.Value()}}),
			".spec.template.spec.containers: expected list, got &{[{name: x}]}",
		},
		{
			metadata("creationTimestamp", types.Timestamp{Time: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}.Value()),
			".metadata.creationTimestamp: expected any scalar, got &{2020-01-01 00:00:00 +0000 UTC}",
		},
		{metadata("labels", map[string]any{"a": types.Int(1).Value()}), ".metadata.labels.a: expected string, got &value.valueUnstructured{Value:1}"},
		{metadata("labels", map[string]any{"app": types.NullValue.Value()}), ".metadata.labels.app: expected string, got &value.valueUnstructured{Value:0}"},
	} {
		_, err := kind.Merge(nil, parse(t, deployment), c.patch, AnyKey)
		if want := "error applying patch: failed to convert patch object to typed object: " + c.want; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestMergeShares checks that the result shares unchanged parts with the object, and is the
// object if nothing changes.
func TestMergeShares(t *testing.T) {
	if change.Reference {
		t.Skip("the library shares less")
	}
	live := parse(t, deployment)
	kind := Builtin().Lookup(gvk.Parse("apps/v1", "Deployment"))
	same := func(a, b any) bool { return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer() }
	merged, err := kind.Merge(nil, live, parse(t, `{"spec":{"template":{"spec":{"volumes":[{"name":"a"}]}}}}`), AnyKey)
	if err != nil {
		t.Fatal(err)
	}
	from, to := object(live, "spec"), object(merged, "spec")
	if !same(merged["metadata"], live["metadata"]) || !same(to["selector"], from["selector"]) || same(to["template"], from["template"]) {
		t.Errorf("the result shares too much or too little: %v", merged)
	}
	if !change.Equal(live, parse(t, deployment)) {
		t.Errorf("the merge changed its input: %v", live)
	}

	merged, err = kind.Merge(nil, live, parse(t, `{"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"app","env":[{"name":"B"}]}]}}}}`), AnyKey)
	if err != nil || !same(merged, live) {
		t.Errorf("a patch that changes nothing gave %v, %v", merged, err)
	}
}
