package admission_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

func TestUnview(t *testing.T) {
	for _, test := range []struct {
		name, object string
		// changes is a merge patch on the view; null removes.
		changes, want string
	}{
		{
			"a default is written where it changes",
			`{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: a}]}}}}`,
			`{spec: {replicas: 3, strategy: {rollingUpdate: {maxSurge: 1}}, template: {spec: {securityContext: {runAsNonRoot: true}}}}}`,
			`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, strategy: {rollingUpdate: {maxSurge: 1}},
			  template: {spec: {containers: [{name: a}], securityContext: {runAsNonRoot: true}}}}}`,
		},
		{
			"what did not change keeps its text",
			`{apiVersion: v1, kind: Pod, metadata: {labels: {}}, spec: {nodeName: null, containers: [{name: a, env: [], resources: {limits: {cpu: 1000m, memory: 1024Mi}}}]}}`,
			`{metadata: {labels: {team: a}}, spec: {nodeName: x}}`,
			`{apiVersion: v1, kind: Pod, metadata: {labels: {team: a}}, spec: {nodeName: x, containers: [{name: a, env: [], resources: {limits: {cpu: 1000m, memory: 1024Mi}}}]}}`,
		},
		{
			"a removal",
			`{apiVersion: v1, kind: ConfigMap, data: {a: b, c: d}}`,
			`{data: {a: null}}`,
			`{apiVersion: v1, kind: ConfigMap, data: {c: d}}`,
		},
		{
			"the removal of a default leaves no trace",
			`{apiVersion: apps/v1, kind: Deployment, spec: {template: {}}}`,
			`{spec: {strategy: {rollingUpdate: null}}}`,
			`{apiVersion: apps/v1, kind: Deployment, spec: {template: {}}}`,
		},
		{
			"a list that is a default is written whole",
			`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {}}`,
			`{spec: {policyTypes: [Ingress, Egress]}}`,
			`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {policyTypes: [Ingress, Egress]}}`,
		},
		{
			"items of lists are told apart by their keys",
			`{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, resources: {limits: {cpu: 1000m}}}, {name: b}]}}`,
			`{spec: {containers: [{name: new, image: x}, {name: b, image: y}, {name: a, resources: {limits: {cpu: "1"}, requests: {cpu: "1"}},
			  imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File, tty: true}]}}`,
			`{apiVersion: v1, kind: Pod, spec: {containers: [{name: new, image: x}, {name: b, image: y}, {name: a, tty: true, resources: {limits: {cpu: 1000m}}}]}}`,
		},
		{
			"a key of stringData moves to data when it changes",
			`{apiVersion: v1, kind: Secret, data: {a: ""}, stringData: {a: x, b: why, c: z, e: stays}}`,
			`{data: {a: bmV3, b: /w==, c: null, d: ZA==}}`,
			`{apiVersion: v1, kind: Secret, data: {a: bmV3, b: /w==, d: ZA==}, stringData: {e: stays}}`,
		},
		{
			"stringData of a policy is data",
			`{apiVersion: v1, kind: Secret, stringData: {a: x}}`,
			`{stringData: {b: why}}`,
			`{apiVersion: v1, kind: Secret, stringData: {a: x}, data: {b: d2h5}}`,
		},
		{
			"what the server owns is not written",
			`{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u}, spec: {}, status: {phase: Odd}}`,
			`{metadata: {uid: v, name: q, generation: 5}, status: {phase: Running}}`,
			`{apiVersion: v1, kind: Pod, metadata: {name: q, uid: u}, spec: {}, status: {phase: Odd}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			object := readYAML(t, []byte(test.object))
			kind := kindOf(t, object)
			view, err := admission.View(nil, kind, object, "")
			if err != nil {
				t.Fatal(err)
			}
			mutated := merge(change.CloneObject(view), readYAML(t, []byte(test.changes)))
			got := admission.Unview(kind, object, view, mutated)
			for _, diff := range change.Diff(readYAML(t, []byte(test.want)), got, nil) {
				t.Error(diff)
			}
		})
	}
}

// TestUnviews makes the changes of TestUnview, one after another, with Unviews and with Unview.
func TestUnviews(t *testing.T) {
	object := readYAML(t, []byte(`{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {a: b}}, data: {a: YQ==}, stringData: {b: b, c: c}}`))
	kind, before := kindOf(t, object), change.CloneObject(object)
	view, err := admission.View(nil, kind, object, "")
	if err != nil {
		t.Fatal(err)
	}
	unview, together, apart := admission.Unviews(kind), object, object
	for _, changes := range []string{
		`{metadata: {labels: {c: d}}}`, `{metadata: {labels: {a: null, e: f}}}`, `{data: {b: bmV3}}`, `{data: {a: null, c: bmV3}}`,
		`{metadata: {annotations: {a: b}, labels: null}}`, `{metadata: {annotations: {c: d}, labels: {x: y}}}`,
	} {
		mutated := merge(change.CloneObject(view), readYAML(t, []byte(changes)))
		kept := change.CloneObject(apart)
		together, apart = unview(together, view, mutated), admission.Unview(kind, apart, view, mutated)
		for _, diff := range change.Diff(apart, together, nil) {
			t.Errorf("%s: %v", changes, diff)
		}
		if change.Equal(kept, apart) {
			t.Errorf("%s changes nothing", changes)
		}
		view = mutated
	}
	if !change.Equal(before, object) {
		t.Error("Unviews has modified the object that it got")
	}
}

// merge is a JSON merge patch.
func merge(object, patch map[string]any) map[string]any {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		target, wasMap := object[key].(map[string]any)
		switch {
		case value == nil:
			delete(object, key)
		case isMap && wasMap:
			object[key] = merge(target, inner)
		default:
			object[key] = value
		}
	}
	return object
}

// TestPin changes every value of the views in testdata, one at a time, and writes the change
// back: the view of the result is the changed view.
func TestPin(t *testing.T) {
	files, err := filepath.Glob("testdata/view/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "testdata/deployment.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		object, kind := readCase(t, text)
		view, err := admission.View(nil, kind, object, "default")
		if err != nil {
			t.Fatal(err)
		}
		for _, edited := range edits(view) {
			mutated, err := mutate(kind, edited)
			if err != nil {
				continue // the edited object is not valid
			}
			before := change.CloneObject(object)
			pinned, err := admission.Pin(nil, kind, object, object, "default", mutated)
			if err != nil {
				t.Errorf("%s: %v, after %s", filepath.Base(file), err, change.Diff(view, edited, nil))
				continue
			}
			again, err := admission.View(nil, kind, pinned, "default")
			if err != nil {
				t.Fatal(err)
			}
			for _, diff := range change.Diff(again, mutated, kind.Type()) {
				if !admission.ServerOwned(kind, diff.Path) && !storedAlike(diff) {
					t.Errorf("%s: %s, after %s", filepath.Base(file), diff, change.Diff(view, edited, nil))
				}
			}
			if !change.Equal(before, object) {
				t.Fatalf("%s: Pin modified the object", filepath.Base(file))
			}
		}
	}
}

// mutate returns what the server makes of the result of a policy.
func mutate(kind *schema.Kind, object map[string]any) (map[string]any, error) {
	object, err := admission.Redefault(nil, kind, object)
	if err != nil {
		return nil, err
	}
	return admission.View(nil, kind, object, "default")
}

// edits returns copies of an object; each has one value changed or removed.
func edits(object map[string]any) []map[string]any {
	var edited []map[string]any
	var walk func(path change.Path, value any)
	try := func(c change.Change) {
		e := change.CloneObject(object)
		if err := change.Apply(e, []change.Change{c}); err == nil {
			edited = append(edited, e)
		}
	}
	walk = func(path change.Path, value any) {
		if len(path) > 0 && path[0].Key != "apiVersion" && path[0].Key != "kind" {
			try(change.Change{Path: path, Op: change.Remove, Old: value})
		}
		switch value := value.(type) {
		case map[string]any:
			for key := range value {
				walk(path.Key(key), value[key])
			}
		case []any:
			for i := range value {
				walk(path.Index(i), value[i])
			}
			if n := len(value); n > 1 {
				try(change.Change{Path: path.Index(n - 1), Op: change.Move})
			}
		case string:
			if len(path) > 1 {
				try(change.Change{Path: path, Op: change.Replace, Old: value, New: "Changed"})
			}
		case bool:
			try(change.Change{Path: path, Op: change.Replace, Old: value, New: !value})
		case int64:
			try(change.Change{Path: path, Op: change.Replace, Old: value, New: value + 1})
		}
	}
	walk(nil, object)
	return edited
}

// storedAlike reports whether a server stores both values of a change in the same way: null and
// an empty list, or null and empty bytes.
func storedAlike(c change.Change) bool {
	for _, value := range []any{c.Old, c.New} {
		if list, ok := value.([]any); value != nil && value != "" && (!ok || len(list) > 0) {
			return false
		}
	}
	return c.Op == change.Replace
}

func TestServerOwned(t *testing.T) {
	deployment := gvk.Kind{Group: "apps", Version: "v1", Kind: "Deployment"}
	for _, test := range []struct {
		kind gvk.Kind
		path change.Path
		want bool
	}{
		{deployment, change.Keys("metadata", "uid"), true},
		{deployment, change.Keys("metadata", "managedFields").Index(0), true},
		{deployment, change.Keys("metadata", "generation"), true},
		{deployment, change.Keys("metadata", "generateName"), false},
		{deployment, change.Keys("metadata"), false},
		{deployment, change.Keys("status"), true},
		{deployment, change.Keys("status", "replicas"), true},
		{deployment, change.Keys("spec", "status"), false},
		{deployment, nil, false},
		{gvk.Kind{Version: "v1", Kind: "ConfigMap"}, change.Keys("metadata", "generation"), false},
		{gvk.Kind{Version: "v1", Kind: "Node"}, change.Keys("status", "capacity"), false},
		{gvk.Kind{Version: "v1", Kind: "Pod"}, change.Keys("status", "phase"), true},
		{gvk.Kind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}, change.Keys("metadata", "generation"), false},
		{gvk.Kind{Group: "apps", Version: "v1", Kind: "DaemonSet"}, change.Keys("metadata", "annotations", "deprecated.daemonset.template.generation"), true},
		{gvk.Kind{Group: "apps", Version: "v1", Kind: "DaemonSet"}, change.Keys("metadata", "annotations"), false},
		{gvk.Kind{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"}, change.Keys("spec", "groups"), true},
		{gvk.Kind{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"}, change.Keys("spec", "request"), false},
	} {
		kind := schema.Builtin().Lookup(test.kind)
		if got := admission.ServerOwned(kind, test.path); got != test.want {
			t.Errorf("%s %s: %v", test.kind, test.path, got)
		}
	}
	widget := &schema.Kind{Kind: gvk.Kind{Group: "example.com", Version: "v1", Kind: "Widget"}, Custom: true}
	if admission.ServerOwned(widget, change.Keys("status")) {
		t.Error("the status of a custom resource without the subresource is like any field")
	}
	widget.Subresources = []string{"status"}
	if !admission.ServerOwned(widget, change.Keys("status")) {
		t.Error("the status of a custom resource with the subresource is the server's")
	}
}
