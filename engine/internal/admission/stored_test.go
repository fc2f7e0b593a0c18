package admission_test

import (
	"fmt"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

func TestStored(t *testing.T) {
	for _, test := range []struct {
		name, object string
		// change is a merge patch on the view, which does what a step does: null removes, and
		// "null" writes a null.
		change string
		// want is the effect of the step according to Stored, as a merge patch of the same form.
		want string
	}{
		{
			"what is empty is not stored",
			`{apiVersion: v1, kind: Pod, spec: {containers: [{name: a}]}}`,
			`{metadata: {labels: {}}, spec: {hostNetwork: false, hostname: "", initContainers: [], nodeSelector: {}, nodeName: "null", dnsConfig: {}}}`,
			`{spec: {dnsConfig: {}}}`,
		},
		{
			"what becomes empty goes",
			`{apiVersion: v1, kind: Pod, metadata: {labels: {a: b}}, spec: {hostNetwork: true, hostname: a, tolerations: [{key: a}], nodeName: a}}`,
			`{metadata: {labels: {a: null}}, spec: {hostNetwork: false, hostname: "", tolerations: [], nodeName: "null"}}`,
			`{metadata: {labels: null}, spec: {hostNetwork: null, hostname: null, tolerations: null, nodeName: null}}`,
		},
		{
			"pointers to zero are stored",
			`{apiVersion: v1, kind: Pod, spec: {automountServiceAccountToken: true, terminationGracePeriodSeconds: 5}}`,
			`{spec: {automountServiceAccountToken: false, terminationGracePeriodSeconds: 0}}`,
			`{spec: {automountServiceAccountToken: false, terminationGracePeriodSeconds: 0}}`,
		},
		{
			"an item shows what was written, and not what is empty in it",
			`{apiVersion: v1, kind: Pod, spec: {}}`,
			`{spec: {containers: [{name: a, env: [], stdin: false, securityContext: {}, ports: [{containerPort: 80, hostPort: 0, hostIP: ""}]}]}}`,
			`{spec: {containers: [{name: a, securityContext: {}, ports: [{containerPort: 80}]}]}}`,
		},
		{
			"quantities",
			`{apiVersion: v1, kind: Pod, spec: {volumes: [{name: v, emptyDir: {sizeLimit: 1Gi}}], overhead: {cpu: "1"}}}`,
			`{spec: {volumes: [{name: v, emptyDir: {sizeLimit: 2048Mi}}], overhead: {cpu: 1000m, memory: 0.5Gi, x: 2}}}`,
			`{spec: {volumes: [{name: v, emptyDir: {sizeLimit: 2Gi}}], overhead: {memory: 512Mi, x: "2"}}}`,
		},
		{
			"what the server undoes has no effect",
			`{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: a, readinessProbe: {httpGet: {port: 80}}}]}}}}`,
			`{spec: {replicas: null, strategy: null, progressDeadlineSeconds: "null", template: {spec: {containers: [{name: a, image: b,
			  readinessProbe: {httpGet: {port: 80, path: ""}, periodSeconds: 0}}]}}}}`,
			`{spec: {template: {spec: {containers: [{name: a, image: b, resources: {}, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File,
			  readinessProbe: {httpGet: {port: 80, path: /, scheme: HTTP}, failureThreshold: 3, periodSeconds: 10, successThreshold: 1, timeoutSeconds: 1}}]}}}}`,
		},
		{
			"a removed value that becomes a default",
			`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 5, paused: true}}`,
			`{spec: {replicas: null, paused: "null"}}`,
			`{spec: {replicas: null, paused: null}}`,
		},
		{
			"a struct that is filled with defaults is stored, a map or list is a default itself",
			`{apiVersion: v1, kind: Pod, spec: {volumes: [{name: v, hostPath: {path: /}}], containers: [{name: a, resources: {limits: {cpu: "1"}}}]}}`,
			`{spec: {volumes: [{name: v, secret: {}}], containers: [{name: a, resources: {limits: {cpu: "2"}, requests: {}}}]}}`,
			`{spec: {volumes: [{name: v, secret: {}}], containers: [{name: a, resources: {limits: {cpu: "2"}},
			  imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}]}}`,
		},
		{
			"an empty list that is always stored is stored as null",
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [{verbs: [get]}]}`,
			`{rules: []}`,
			`{rules: null}`,
		},
		{
			"a null in a map",
			`{apiVersion: v1, kind: ConfigMap, data: {a: b}}`,
			`{metadata: {labels: {x: "null"}}}`,
			`{metadata: {labels: {x: ""}}}`,
		},
		{
			"stringData is data",
			`{apiVersion: v1, kind: Secret, data: {a: eA==}}`,
			`{stringData: {a: new, b: old}}`,
			`{data: {a: bmV3, b: b2xk}}`,
		},
		{
			"metadata of a custom resource",
			`{apiVersion: example.com/v1, kind: Widget, metadata: {labels: {a: b}}, spec: {list: [a]}}`,
			`{metadata: {labels: {a: null}, annotations: {}, generateName: ""}, spec: {list: [], map: {}, no: false}}`,
			`{metadata: {labels: null}, spec: {list: [], map: {}, no: false}}`,
		},
		{
			"what a server drops",
			`{apiVersion: v1, kind: Service, spec: {type: ClusterIP}}`,
			`{spec: {typ: NodePort, type: ""}}`,
			`{spec: {typ: NodePort}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			object := readYAML(t, []byte(test.object))
			kind := kindOf(t, object, widget(t))
			view, err := admission.View(nil, kind, object, "")
			if err != nil {
				t.Fatal(err)
			}
			before := change.CloneObject(view)
			written := step(change.CloneObject(view), readYAML(t, []byte(test.change)))
			next, err := admission.Redefault(nil, kind, written)
			if err != nil {
				t.Fatal(err)
			}
			from, to := admission.Stored(kind, view, written, next)
			want := step(change.CloneObject(from), readYAML(t, []byte(test.want)))
			for _, diff := range change.Diff(want, to, nil) {
				t.Error(diff)
			}
			if !change.Equal(view, before) {
				t.Error("Stored modified its argument")
			}
		})
	}
}

// widget returns the definition of a custom resource without constraints.
func widget(t *testing.T) map[string]any {
	return readYAML(t, []byte(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com},
		spec: {group: example.com, names: {kind: Widget, plural: widgets}, scope: Namespaced,
		versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`))
}

// step is merge, except that "null" writes a null.
func step(object, patch map[string]any) map[string]any {
	object = merge(object, patch)
	for key, value := range object {
		if inner, ok := value.(map[string]any); ok {
			step(inner, nil)
		} else if value == "null" {
			object[key] = nil
		}
	}
	return object
}

// notStored are the cases of the corpus in which a server does not return the values that
// Normalize leaves in a manifest, with the reason.
var notStored = map[string]string{
	"core-pod-11-quantities":                                    "a number beyond int64, which lost digits when it was read as a float64",
	"core-pod-28-unknown-fields-dropped":                        unknownFields,
	"apps-deployment-08-unknown-and-case":                       unknownFields,
	"cr-widget-05-pruning":                                      unknownFields,
	"cr-widget-09-embedded-prune":                               unknownFields,
	"core-pod-29-gated-fields":                                  disabledFields,
	"core-persistentvolumeclaim-04-datasourceref-ns":            disabledFields,
	"apps-statefulset-06-rolling-maxunavailable":                disabledFields,
	"autoscaling-horizontalpodautoscaler-03-metrics-annotation": "the server completes the behavior in the annotation when it stores it",
}

const (
	unknownFields  = "a field that the kind does not have is left to the server, which refuses it if it is asked to be strict"
	disabledFields = "whether the server drops a field after admission is up to its feature gates"
)

// TestNormalizeCorpus compares normalized manifests with what an API server returned: every
// value is there, equal and of the same type.
func TestNormalizeCorpus(t *testing.T) {
	for _, c := range readCorpus(t) {
		t.Run(c.Case, func(t *testing.T) {
			object, response := c.read(t, "manifest.yaml"), c.read(t, "response.json")
			kind := kindOf(t, object, c.definitions(t)...)
			normal := normalize(t, kind, object)
			problems := missing("", normal, response)
			if reason, ok := notStored[c.Case]; ok != (len(problems) > 0) {
				t.Errorf("expected to differ: %v %s, differs: %q", ok, reason, problems)
			}
			if again := normalize(t, kind, normal); !change.Equal(normal, again) {
				t.Errorf("normalized again: %v", change.Diff(normal, again, nil))
			}
		})
	}
}

func normalize(t *testing.T, kind *schema.Kind, object map[string]any) map[string]any {
	t.Helper()
	view, err := admission.View(nil, kind, object, "default")
	if err != nil {
		t.Fatal(err)
	}
	normal, err := admission.Normalize(nil, kind, object, "default", view)
	if err != nil {
		t.Fatal(err)
	}
	return normal
}

// missing returns the values of an object that a server does not return.
func missing(path string, value, stored any) (problems []string) {
	switch value := value.(type) {
	case map[string]any:
		has, ok := stored.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: %v is %v", path, value, stored)}
		}
		for key, item := range value {
			problems = append(problems, missing(path+"."+key, item, has[key])...)
		}
	case []any:
		has, ok := stored.([]any)
		if !ok || len(has) != len(value) {
			return []string{fmt.Sprintf("%s: %v is %v", path, value, stored)}
		}
		for i, item := range value {
			problems = append(problems, missing(fmt.Sprintf("%s[%d]", path, i), item, has[i])...)
		}
	case float64:
		if whole, ok := stored.(int64); stored != value && (!ok || float64(whole) != value) { // JSON writes 1.0 as 1
			problems = append(problems, fmt.Sprintf("%s: %v is %v", path, value, stored))
		}
	default:
		if !change.Equal(value, stored) {
			problems = append(problems, fmt.Sprintf("%s: %T %v is %T %v", path, value, value, stored, stored))
		}
	}
	return problems
}
