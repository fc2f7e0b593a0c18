package admission_test

import (
	"bytes"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/release"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

var update = flag.Bool("update", false, "rewrite the views in testdata")

// readYAML reads a document as the API server does.
func readYAML(t testing.TB, document []byte) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON(document)
	if err != nil {
		t.Fatal(err)
	}
	return readJSON(t, data)
}

// kindOf returns the kind of an object. The kind is built in, or one of definitions defines it.
func kindOf(t testing.TB, object map[string]any, definitions ...map[string]any) *schema.Kind {
	t.Helper()
	kind := kindIn(t, release.Default, object, definitions...)
	if kind == nil {
		t.Fatalf("%v %v is not known", object["apiVersion"], object["kind"])
	}
	return kind
}

// kindIn returns the kind of an object in Kubernetes 1.minor, nil if that version lacks the
// kind.
func kindIn(t testing.TB, minor int, object map[string]any, definitions ...map[string]any) *schema.Kind {
	t.Helper()
	registry := schema.BuiltinOf(minor)
	for _, crd := range definitions {
		for _, problem := range registry.AddCRD(crd) {
			t.Fatal(problem)
		}
	}
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	return registry.Lookup(gvk.Parse(apiVersion, name))
}

// TestView runs the cases in testdata/view. A case has a manifest, its view in the namespace
// "default", and optionally a CustomResourceDefinition.
func TestView(t *testing.T) {
	files, err := filepath.Glob("testdata/view/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases: ", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			written, view, _ := bytes.Cut(text, []byte(viewSeparator))
			object, kind := readCase(t, text)
			got := checkView(t, kind, object)
			if *update {
				data, err := yaml.Marshal(got)
				if err != nil {
					t.Fatal(err)
				}
				text = append(append(bytes.TrimRight(written, "\n"), viewSeparator...), data...)
				if err := os.WriteFile(file, text, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, diff := range change.Diff(readYAML(t, view), got, nil) {
				t.Error(diff)
			}
		})
	}
}

const viewSeparator = "\n--- # view\n"

// readCase returns the object of a case and its kind.
func readCase(t testing.TB, text []byte) (map[string]any, *schema.Kind) {
	t.Helper()
	written, _, _ := bytes.Cut(text, []byte(viewSeparator))
	definition, manifest, custom := bytes.Cut(written, []byte("\n---\n"))
	if !custom {
		object := readYAML(t, written)
		return object, kindOf(t, object)
	}
	object := readYAML(t, manifest)
	return object, kindOf(t, object, readYAML(t, definition))
}

// checkView returns the view of an object in the namespace "default" and checks the laws of the
// package for it.
func checkView(t *testing.T, kind *schema.Kind, object map[string]any) map[string]any {
	t.Helper()
	before := change.CloneObject(object)
	view, err := admission.View(nil, kind, object, "default")
	if err != nil {
		t.Fatal(err)
	}
	if !change.Equal(before, object) {
		t.Error("View modified the object")
	}
	again, err := admission.View(nil, kind, view, "default")
	if err != nil {
		t.Fatal("view of the view: ", err)
	}
	for _, diff := range change.Diff(view, again, nil) {
		t.Error("view of the view: ", diff)
	}
	if !change.Same(view, again) && kind.APIVersion() != "autoscaling/v1" { // autoscaling/v1 writes its annotations anew
		t.Error("the view of the view is another map")
	}
	for _, diff := range change.Diff(object, admission.Unview(kind, object, view, view), nil) {
		t.Error("Unview of no difference: ", diff)
	}
	return view
}

// TestShared checks that unchanged parts are shared: of a view with the object, and of a view
// after a policy with the view before it.
func TestShared(t *testing.T) {
	object := readYAML(t, []byte(`{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: b}}, spec: {containers: [
		{name: a, env: [{name: x, value: z}], ports: [{containerPort: 80}], resources: {limits: {cpu: 1000m}}}]}}`))
	kind := kindOf(t, object)
	view, err := admission.View(nil, kind, object, "default")
	if err != nil {
		t.Fatal(err)
	}
	container := change.Keys("spec", "containers").Index(0)
	for _, c := range []struct {
		path   change.Path
		shared bool
	}{
		{change.Keys("metadata", "labels"), true},
		{container.Key("env"), true},
		{change.Keys("metadata"), false},
		{container, false},
		{container.Key("ports"), false},
		{container.Key("resources").Key("limits"), false},
	} {
		before, _ := c.path.Get(object)
		after, _ := c.path.Get(view)
		if change.Same(before, after) != c.shared {
			t.Errorf("%s: shared is %v", c.path, !c.shared)
		}
	}
	changed := maps.Clone(view)
	changed["metadata"] = map[string]any{"name": "p", "namespace": "default", "labels": map[string]any{"a": "c"}}
	if after, err := admission.Redefault(nil, kind, changed); err != nil || !change.Same(changed, after) {
		t.Errorf("an object that stays as it is became %v, %v", after, err)
	}
}

func TestViewErrors(t *testing.T) {
	for _, test := range []struct{ name, object, want string }{
		{
			"type", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: three}}`,
			"spec.replicas: expected a whole number, got a string",
		},
		{
			"all are reported", `{apiVersion: v1, kind: Pod, metadata: [], spec: {hostNetwork: 1, containers: [{name: true}], volumes: {}}}`,
			"metadata: expected a map, got a list\n" +
				"spec.containers[0].name: expected a string, got a boolean\n" +
				"spec.hostNetwork: expected a boolean, got a whole number\n" +
				"spec.volumes: expected a list, got a map",
		},
		{
			"fraction", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3.5}}`,
			"spec.replicas: expected a whole number, got a number with a fraction",
		},
		{
			"overflow", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 9999999999}}`,
			"spec.replicas: 9999999999 does not fit into the 32 bits of this field",
		},
		{
			"quantity", `{apiVersion: v1, kind: Pod, spec: {overhead: {cpu: 1 core, memory: true}}}`,
			"spec.overhead.cpu: expected a quantity such as 500m, \"2\" or 128Mi, got a string\n" +
				"spec.overhead.memory: expected a quantity such as 500m, \"2\" or 128Mi, got a boolean",
		},
		{
			"time", `{apiVersion: v1, kind: Event, eventTime: "2020-01-01T00:00:00Z", firstTimestamp: yesterday}`,
			"eventTime: expected a time such as 1970-01-01T00:00:00.000000Z\nfirstTimestamp: expected a time such as 1970-01-01T00:00:00Z",
		},
		{
			"base64", `{apiVersion: v1, kind: Secret, data: {password: hunter2!}}`,
			"data.password: expected base64",
		},
		{
			"annotation", `{apiVersion: apps/v1, kind: DaemonSet, metadata: {annotations: {deprecated.daemonset.template.generation: x}}}`,
			"metadata.annotations[deprecated.daemonset.template.generation]: expected a whole number",
		},
		{
			"union", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {versions: [{schema: {openAPIV3Schema: {additionalProperties: 1}}}]}}`,
			"spec.versions[0].schema.openAPIV3Schema.additionalProperties: expected a boolean or a schema, got a whole number",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			object := readYAML(t, []byte(test.object))
			_, err := admission.View(nil, kindOf(t, object), object, "")
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestRedefaultErrors(t *testing.T) {
	for _, test := range []struct{ name, object, want, path string }{
		{
			"fraction", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3.5}}`,
			"unable to convert unstructured object to apps/v1, Kind=Deployment: cannot convert float64 to int32", "spec.replicas",
		},
		{
			"core group", `{apiVersion: v1, kind: Pod, spec: {overhead: {cpu: true}}}`,
			"unable to convert unstructured object to /v1, Kind=Pod: quantities must match the regular expression " +
				"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'", "spec.overhead.cpu",
		},
		{
			"overflow", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 9999999999}}`,
			"unable to convert unstructured object to apps/v1, Kind=Deployment: 9999999999 does not fit into an int32; " +
				"kube-apiserver 1.36 wraps it around to 1410065407 without an error, which is hardly intended", "spec.replicas",
		},
		{
			"int or string", `{apiVersion: v1, kind: Service, spec: {ports: [{targetPort: 1.5}]}}`,
			"unable to convert unstructured object to /v1, Kind=Service: json: cannot unmarshal number 1.5 into Go value of type int32",
			"spec.ports[0].targetPort",
		},
		{
			"struct", `{apiVersion: v1, kind: Service, spec: x}`,
			"unable to convert unstructured object to /v1, Kind=Service: cannot restore struct from: string", "spec",
		},
		{
			"boolean", `{apiVersion: v1, kind: Pod, spec: {hostNetwork: "true"}}`,
			"unable to convert unstructured object to /v1, Kind=Pod: unrecognized type: bool", "spec.hostNetwork",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			object := readYAML(t, []byte(test.object))
			_, err := admission.Redefault(nil, kindOf(t, object), object)
			if err == nil || err.Error() != test.want {
				t.Fatalf("got  %v\nwant %s", err, test.want)
			}
			var field *admission.FieldError
			if !errors.As(err, &field) || field.Path.String() != test.path {
				t.Errorf("the error is at %v, want %s", field, test.path)
			}
		})
	}
}

// TestRedefault checks how Redefault differs from View: it defaults, but does not convert.
func TestRedefault(t *testing.T) {
	for _, test := range []struct{ name, object, want string }{
		{
			"whole floats are integers, defaults return",
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {uid: u}, spec: {minReadySeconds: 3.0, unknown: 1, selector: null}}`,
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {uid: u}, spec: {replicas: 1, minReadySeconds: 3, selector: null,
			  template: {metadata: {}, spec: {containers: null, restartPolicy: Always, terminationGracePeriodSeconds: 30,
			  dnsPolicy: ClusterFirst, securityContext: {}, schedulerName: default-scheduler}}}, status: {replicas: 0}}`,
		},
		{
			"stringData stays",
			`{apiVersion: v1, kind: Secret, metadata: {}, stringData: {a: b}}`,
			`{apiVersion: v1, kind: Secret, metadata: {}, stringData: {a: b}, type: Opaque}`,
		},
		{
			"no annotation on DaemonSets",
			`{apiVersion: apps/v1, kind: DaemonSet, spec: {updateStrategy: {type: OnDelete}, selector: {}, template: {spec: {serviceAccount: a}}}}`,
			`{apiVersion: apps/v1, kind: DaemonSet, metadata: {}, spec: {updateStrategy: {type: OnDelete}, revisionHistoryLimit: 10, selector: {},
			  template: {metadata: {}, spec: {serviceAccount: a, containers: null, restartPolicy: Always, terminationGracePeriodSeconds: 30,
			  dnsPolicy: ClusterFirst, securityContext: {}, schedulerName: default-scheduler}}},
			  status: {currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			object := readYAML(t, []byte(test.object))
			got, err := admission.Redefault(nil, kindOf(t, object), object)
			if err != nil {
				t.Fatal(err)
			}
			for _, diff := range change.Diff(readYAML(t, []byte(test.want)), got, nil) {
				t.Error(diff)
			}
		})
	}
}

// TestRedefaultCustom: between mutations custom resources are defaulted, not pruned.
func TestRedefaultCustom(t *testing.T) {
	crd := readYAML(t, []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: example.com
  scope: Cluster
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer, default: 3}}}}}
`))
	object := readYAML(t, []byte(`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: x}, size: null, extra: 1}`))
	kind := kindOf(t, object, crd)
	got, err := admission.Redefault(nil, kind, object)
	if err != nil {
		t.Fatal(err)
	}
	want := readYAML(t, []byte(`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: x}, size: 3, extra: 1}`))
	for _, diff := range change.Diff(want, got, nil) {
		t.Error(diff)
	}
	view, err := admission.View(nil, kind, object, "default")
	if err != nil {
		t.Fatal(err)
	}
	want = readYAML(t, []byte(`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, size: 3}`))
	for _, diff := range change.Diff(want, view, nil) {
		t.Error("view: ", diff)
	}
}

// TestUnknownKind checks that only metadata is treated if a kind has no schema.
func TestUnknownKind(t *testing.T) {
	object := readYAML(t, []byte(`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, labels: {}, uid: u}, spec: {a: null}}`))
	kind := schema.Builtin().Unknown(gvk.Kind{Group: "example.com", Version: "v1", Kind: "Widget"})
	got, err := admission.View(nil, kind, object, "default")
	if err != nil {
		t.Fatal(err)
	}
	want := readYAML(t, []byte(`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {a: null}}`))
	for _, diff := range change.Diff(want, got, nil) {
		t.Error(diff)
	}
}

// TestClusterSchema checks that fields of the OpenAPI document of a newer server are kept, and
// that custom resources follow the schema in such a document.
func TestClusterSchema(t *testing.T) {
	registry := schema.Builtin()
	if err := registry.AddOpenAPI([]byte(clusterDocument)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ object, want string }{
		{
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, since2030: {a: {}, b: 1.0}, gone: null, unknown: 1}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, since2030: {a: {}, b: 1}}`,
		},
		{
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, labels: {}}, free: {a: {b: null}, c: null}, size: null, unknown: 1}`,
			`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, free: {a: {b: null}, c: null}, size: 3}`,
		},
	} {
		object := readYAML(t, []byte(test.object))
		kind := registry.Lookup(gvk.Parse(object["apiVersion"].(string), object["kind"].(string)))
		got, err := admission.View(nil, kind, object, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, diff := range change.Diff(readYAML(t, []byte(test.want)), wholeNumbers(got), nil) {
			t.Error(kind, ": ", diff)
		}
	}
}

const clusterDocument = `{"openapi": "3.0.0", "components": {"schemas": {
	"io.k8s.api.core.v1.ConfigMap": {"type": "object",
		"x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "ConfigMap"}],
		"properties": {"since2030": {"type": "object"}, "gone": {"type": "string"}}},
	"com.example.v1.Widget": {"type": "object",
		"x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}],
		"properties": {"free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}, "size": {"type": "integer", "default": 3},
			"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}}}}}`
