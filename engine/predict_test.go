package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/internal/racing"
)

// TestPredictRecorded compares the objects that are predicted for the manifests of the recorded cases
// with the answers of kube-apiserver 1.36.3, which had the policies. Cases that are known to differ
// are left out.
func TestPredictRecorded(t *testing.T) {
	exceptions := readExceptions(t, "testdata/exceptions.txt")
	compared, refused := 0, 0
	for _, dir := range racing.Sample(recordedCases(t)) {
		if exceptions[filepath.Base(dir)] != "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, "server", "summary.json"))
		if err != nil {
			t.Fatal(err)
		}
		var want recorded
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		policies, _ := acceptedPolicies(t, dir, want, recordedRequest)
		set, diagnostics := Compile(policies, nil, recordedRequest)
		if set == nil {
			t.Fatal(dir, diagnostics)
		}
		for name, answer := range want.Manifests {
			object := sentObject(t, set, dir, name)
			p, err := set.Predict(context.Background(), object, nil)
			switch kind, _ := object["kind"].(string); {
			case strings.HasSuffix(kind, "Review"): // a server answers it, and stores nothing
			case err != nil:
				t.Errorf("%s: %s: %v", dir, name, err)
			case answer.Result == 409 || answer.Result == 422:
				// the server refuses the mutated object for other reasons than its policies
			case answer.Result >= 300:
				if refused++; p.Sent != nil || p.Held != nil || len(p.Diagnostics) == 0 {
					t.Errorf("%s: %s: the server says %s", dir, name, answer.Message)
				}
			case p.Sent == nil:
				t.Errorf("%s: %s: %v", dir, name, p.Diagnostics)
			default:
				compared++
				for _, c := range p.Differences(recordedObject(t, filepath.Join(dir, "server", name+".result.json"))) {
					t.Errorf("%s: %s: %s", dir, name, c)
				}
			}
		}
	}
	t.Logf("%d objects and %d refusals compared", compared, refused)
	if compared < racing.Least(380) || compared+refused < racing.Least(500) || refused == 0 || racing.Least(8) == 8 && refused < 120 { // a sample may have few
		t.Errorf("only %d objects and %d refusals were compared", compared, refused)
	}
}

// sentObject returns a manifest of a recorded case, in the namespace to which it was sent.
func sentObject(t *testing.T, set *Set, dir, name string) map[string]any {
	t.Helper()
	d := readCase(t, dir, "manifests", name).Documents()[0]
	object := change.CloneObject(d.Object())
	if namespace := set.placeOf(d, set.schemas).namespace; namespace != "" {
		if metadata, ok := object["metadata"].(map[string]any); ok {
			metadata["namespace"] = namespace
		}
	}
	return object
}

// predictPolicies label everything but Secrets, with a value of a Secret for ConfigMaps with a label,
// and refuse Pods.
const predictPolicies = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: label}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [configmaps, services, pods]}]}
  mutations:
  - {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"by": request.operation, "was": oldObject == null ? "none" : string(oldObject.metadata.?labels["by"].orValue("other"))}}}'}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: label}
spec: {policyName: label}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: param}
spec:
  reinvocationPolicy: Never
  paramKind: {apiVersion: v1, kind: Secret}
  matchConstraints: {objectSelector: {matchLabels: {param: used}}, resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [configmaps]}]}
  mutations:
  - {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{data: {"token": string(params.data.a)}}'}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: param}
spec: {policyName: param, paramRef: {name: s, namespace: shop, parameterNotFoundAction: Deny}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-pods}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: 'false', message: no Pods}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-pods}
spec: {policyName: no-pods, validationActions: [Deny]}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: shop}
data: {a: cTh6}
`

// objectOf reads one object.
func objectOf(t *testing.T, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	stream, problems := manifest.Read("object", []byte(text))
	if len(problems) > 0 || len(stream.Documents()) != 1 {
		t.Fatal(text, problems)
	}
	return stream.Documents()[0].Object()
}

// TestPredict checks predictions against an answer of a server: what differs, and what is left out.
func TestPredict(t *testing.T) {
	policies, _ := manifest.Read("policies", []byte(predictPolicies))
	set, problems := Compile([]*manifest.Stream{policies}, nil, Options{})
	if set == nil {
		t.Fatal(problems)
	}
	const server = "uid: u, resourceVersion: '7', creationTimestamp: '2026-01-01T00:00:00Z', generation: 3, managedFields: [{manager: m}]"
	const service = "type: ClusterIP, sessionAffinity: None, internalTrafficPolicy: Cluster, ports: [{port: 80, protocol: TCP, targetPort: 80}]"
	for _, c := range []struct {
		name, object, old, answer string
		want                      []string
		sensitive                 bool
	}{
		{
			name: "equal", object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}",
			answer: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, labels: {by: CREATE, was: none}, " + server + "}}",
		},
		{
			name: "other values", object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {a: b}}",
			answer: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, labels: {by: CREATE, more: x}, annotations: {more: x}}}",
			want:   []string{"data", "metadata.annotations", "metadata.labels.more", "metadata.labels.was"},
		},
		{
			name: "an update", object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}",
			old:    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, labels: {by: hand}, " + server + "}}",
			answer: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, labels: {by: UPDATE, was: hand}, " + server + "}}",
		},
		{
			name: "a name that the server draws", object: "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: c-, namespace: shop}}",
			answer: "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: c-, name: c-x7k2p, namespace: shop, labels: {by: CREATE, was: none}}}",
		},
		{
			name: "an address that the server draws", object: "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}, spec: {ports: [{port: 80}]}}",
			answer: "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop, labels: {by: CREATE, was: none}}, spec: {clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, " + service + "}, status: {loadBalancer: {}}}",
		},
		{
			name: "an address that the server has drawn", object: "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}, spec: {ports: [{port: 80}]}}",
			old:    "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop, " + server + "}, spec: {clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, " + service + "}}",
			answer: "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop, labels: {by: UPDATE, was: other}}, spec: {clusterIP: 10.0.0.8, clusterIPs: [10.0.0.8], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, " + service + "}}",
			want:   []string{"spec.clusterIP", "spec.clusterIPs[0]"},
		},
		{
			name: "a Secret", object: "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}, stringData: {a: q8z}}", sensitive: true,
			answer: "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}, type: Opaque, data: {a: cTh6}}",
		},
		{
			name: "a value of a Secret", object: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, labels: {param: used}}}", sensitive: true,
			answer: "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, labels: {param: used, by: CREATE, was: none}}, data: {token: other}}", want: []string{"data.token"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			object, old := objectOf(t, c.object), objectOf(t, c.old)
			before := change.CloneObject(object)
			p, err := set.Predict(context.Background(), object, old)
			if err != nil || p.Sent == nil {
				t.Fatal(p, err)
			}
			answer := objectOf(t, c.answer)
			if got := pathsOf(p.Differences(answer)); !slices.Equal(got, c.want) {
				t.Errorf("%q differ, want %q\n%s", got, c.want, manifest.YAML(p.Held))
			}
			if between := p.Between(answer, objectOf(t, c.answer)); p.Sensitive != c.sensitive || len(between) > 0 {
				t.Error(p.Sensitive, between)
			}
			if !change.Equal(object, before) {
				t.Errorf("the object has changed: %v", object)
			}
		})
	}
}

func pathsOf(changes []change.Change) (paths []string) {
	for _, c := range changes {
		paths = append(paths, c.Path.String())
	}
	slices.Sort(paths)
	return paths
}

// TestPredictRefused checks predictions of refusals, and objects that cannot be sent.
func TestPredictRefused(t *testing.T) {
	policies, _ := manifest.Read("policies", []byte(predictPolicies))
	set, problems := Compile([]*manifest.Stream{policies}, nil, Options{})
	if set == nil {
		t.Fatal(problems)
	}
	for object, want := range map[string]string{
		"{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, spec: {containers: [{name: c, image: i}]}}": "no Pods",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: Upper, namespace: shop}}":                                  "Upper",
	} {
		p, err := set.Predict(context.Background(), objectOf(t, object), nil)
		if err != nil || p.Sent != nil || p.Held != nil || !strings.Contains(fmt.Sprint(p.Diagnostics), want) {
			t.Errorf("%s: %+v %v", object, p, err)
		}
	}
	if p, err := (*Set)(nil).Predict(context.Background(), objectOf(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"), nil); err != nil || p.Held == nil {
		t.Error("without policies: ", p, err)
	}
}

// TestPredictNumbers has answers in the form of a server, which writes a float as an integer if it is one:
// the bounds of a schema, and a field of the type number.
func TestPredictNumbers(t *testing.T) {
	const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"sizes.example.com"},"spec":{"group":"example.com","names":{"kind":"Size","listKind":"SizeList","plural":"sizes","singular":"size"},"conversion":{"strategy":"None"},"scope":"Namespaced","versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"n":{"type":"number","minimum":1,"maximum":10.5,"multipleOf":1,"default":1},"i":{"type":"integer","minimum":-3,"enum":[1,2]}}}}}}}]}}`
	const size = `{"apiVersion":"example.com/v1","kind":"Size","metadata":{"name":"s","namespace":"default"},"spec":{"n":2,"i":1}}`
	given, problems := manifest.Read("definitions", []byte(definition))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	set, problems := Compile(nil, []*manifest.Stream{given}, Options{})
	if set == nil {
		t.Fatal(problems)
	}
	for _, c := range []struct {
		name, sent, answer string
		want               []string
	}{
		{"definition", definition, definition, nil},
		{"another bound", definition, strings.Replace(definition, `"minimum":1,`, `"minimum":1.5,`, 1), []string{"1.5"}},
		{"float", strings.Replace(size, `"n":2`, `"n":2.0`, 1), size, nil},
		{"text", size, strings.Replace(size, `"n":2`, `"n":"2"`, 1), []string{`"2"`}},
	} {
		p, err := set.Predict(context.Background(), objectOf(t, c.sent), nil)
		if err != nil || p.Held == nil {
			t.Fatal(c.name, p, err)
		}
		found := p.Differences(objectOf(t, c.answer))
		if len(found) != len(c.want) || len(found) > 0 && string(manifest.JSON(found[0].New)) != c.want[0] {
			t.Errorf("%s: %v", c.name, found)
		}
		if found := p.Between(objectOf(t, c.answer), number.Floats(objectOf(t, c.answer)).(map[string]any)); len(found) > 0 {
			t.Errorf("%s: the same answer differs: %v", c.name, found)
		}
	}
}

// TestNamed checks which kinds the policies of a set name, and what they look up.
func TestNamed(t *testing.T) {
	policies, _ := manifest.Read("policies", []byte(predictPolicies+`---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Widget, example.com/*/Gadget, 'Tool*']}}]}
    context:
    - {name: teams, configMap: {name: teams, namespace: shop}}
    - {name: nodes, apiCall: {urlPath: /api/v1/nodes}}
    mutate: {patchStrategicMerge: {metadata: {labels: {team: '{{ teams.data.web }}'}}}}
`))
	set, problems := Compile([]*manifest.Stream{policies}, nil, Options{})
	if set == nil {
		t.Fatal(problems)
	}
	isNamed := set.Named()
	for of, want := range map[[3]string]bool{
		{"", "configmaps", "ConfigMap"}:                true,
		{"", "secrets", "Secret"}:                      true, // the param
		{"", "nodes", "Node"}:                          true, // looked up
		{"", "endpoints", "Endpoints"}:                 false,
		{"other.example.com", "widgets", "Widget"}:     true,
		{"example.com", "gadgets", "Gadget"}:           true,
		{"other.example.com", "gadgets", "Gadget"}:     false,
		{"example.com", "toolboxes", "Toolbox"}:        true,
		{"apps", "deployments", "Deployment"}:          false,
		{"other.example.com", "configmaps", "Another"}: false,
	} {
		if got := isNamed(of[0], of[1], of[2]); got != want {
			t.Errorf("%q: %v", of, got)
		}
	}
	var reads []string
	for _, read := range set.Reads() {
		reads = append(reads, strings.TrimSpace(read.Kind.Kind+read.Resource.Resource)+" "+read.Namespace+"/"+read.Name)
	}
	slices.Sort(reads)
	if want := []string{"ConfigMap shop/teams", "Node /", "Secret shop/s"}; !slices.Equal(reads, want) {
		t.Errorf("%q", reads)
	}
	if isNamed := (*Set)(nil).Named(); isNamed("", "configmaps", "ConfigMap") {
		t.Error("no policy names a kind")
	}
}
