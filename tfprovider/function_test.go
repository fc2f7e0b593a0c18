package tfprovider

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// teamPolicy copies a label of the Namespace to ConfigMaps.
var teamPolicy = strings.NewReplacer(
	`{"mutated": "yes"}`, `{"team": namespaceObject.metadata.?labels.team.orValue("none")}`, "label.example.com", "team.example.com",
).Replace(labelPolicy)

const shop = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: payments}}\n"

func inShop(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: shop}\n", name)
}

// kyvernoPolicy adds a label with a value from another ConfigMap.
const kyvernoPolicy = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap], names: [a]}}]}
    context:
    - name: teams
      configMap: {name: teams, namespace: shop}
    mutate:
      patchStrategicMerge: {metadata: {labels: {team: "{{ teams.data.team }}"}}}
`

// Kyverno's rules get the given values.
func TestKyvernoValues(t *testing.T) {
	policy := strings.NewReplacer("{{ teams.data.team }}", "{{ teams.data.team }}-{{ request.userInfo.username }}", "spec:\n  rules", "spec:\n  background: false\n  rules").Replace(kyvernoPolicy)
	got := newServer(t).text(t, "mutate", inShop("a"), []string{policy}, map[string]any{
		"values":    []string{"apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nglobalValues: {teams.data.team: payments}\n"},
		"user_info": []string{"apiVersion: cli.kyverno.io/v1alpha1\nkind: UserInfo\nuserInfo: {username: ci}\n"},
	})
	if !strings.Contains(got, `"team":"payments-ci"`) {
		t.Error(got)
	}
}

func TestMutate(t *testing.T) {
	s := newServer(t)
	if got := s.text(t, "mutate", configMap("a"), []string{labelPolicy}); got != mutated("a") {
		t.Error(got)
	}
	want := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"team":"payments"},"name":"a","namespace":"shop"}}`
	if got := s.text(t, "mutate", inShop("a"), []string{teamPolicy}, map[string]any{"context": []string{shop}}); got != want {
		t.Error(got)
	}
	untouched := s.text(t, "mutate", configMap("a"), []string{labelPolicy}, map[string]any{"request": map[string]any{"operation": "UPDATE", "user": map[string]any{"username": "x"}}})
	if untouched != mutated("a") {
		t.Error(untouched)
	}
}

// Known results do not change when other values become known. Results that could change are unknown.
func TestMutateAllUnknown(t *testing.T) {
	s := newServer(t)
	labelled := func(name, label string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{%s},"name":%q,"namespace":"shop"}}`, label, name)
	}
	a, all := inShop("a"), map[string]any{"a": labelled("a", `"mutated":"yes"`), "b": labelled("b", `"mutated":"yes"`)}
	for name, test := range map[string]struct {
		manifests map[string]any
		policies  []string
		want      map[string]any
	}{
		"all known":                       {map[string]any{"a": a, "b": inShop("b")}, []string{labelPolicy}, all},
		"one unknown":                     {map[string]any{"a": a, "b": unknown{}}, []string{labelPolicy}, map[string]any{"a": all["a"], "b": unknown{}}},
		"context":                         {map[string]any{"a": a, "n": shop}, []string{teamPolicy}, map[string]any{"a": labelled("a", `"team":"payments"`), "n": `{"apiVersion":"v1","kind":"Namespace","metadata":{"labels":{"team":"payments"},"name":"shop"}}`}},
		"perhaps the context":             {map[string]any{"a": a, "n": unknown{}, "p": shop[:0] + "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n"}, []string{teamPolicy}, map[string]any{"a": unknown{}, "n": unknown{}, "p": `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x"}}`}},
		"perhaps the ConfigMap of a rule": {map[string]any{"a": a, "n": unknown{}}, []string{kyvernoPolicy}, map[string]any{"a": unknown{}, "n": unknown{}}},
		"a rule without context":          {map[string]any{"a": a, "n": unknown{}}, []string{strings.ReplaceAll(kyvernoPolicy, "{{ teams.data.team }}", "x")}, map[string]any{"a": labelled("a", `"team":"x"`), "n": unknown{}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.call(t, "mutate_all", test.manifests, test.policies)
			if err != nil || !reflect.DeepEqual(got, any(test.want)) {
				t.Errorf("got:\n%v\n%v\nwant:\n%v", got, err, test.want)
			}
		})
	}
}

// An error that may be caused by missing context is reported only if everything is known.
func TestMutateAllErrors(t *testing.T) {
	s := newServer(t)
	needsTeam := strings.Replace(teamPolicy, `.?labels.team.orValue("none")`, `.labels.team`, 1)
	if got, err := s.call(t, "mutate_all", map[string]any{"a": inShop("a"), "n": unknown{}}, []string{needsTeam}); err != nil || got.(map[string]any)["a"] != any(unknown{}) {
		t.Errorf("%v %v", got, err)
	}
	if _, err := s.call(t, "mutate_all", map[string]any{"a": inShop("a")}, []string{needsTeam}); err == nil || !strings.Contains(err.Error(), "Denied by Policy") {
		t.Error(err)
	}
	if _, err := s.call(t, "mutate_all", map[string]any{"a": "kind: [", "n": unknown{}}, []string{needsTeam}); err == nil {
		t.Error("what cannot be read is an error at once")
	}
}

// TestPods checks the objects that controllers create, as policies change them.
func TestPods(t *testing.T) {
	s := newServer(t)
	job := "{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}"
	pod := "{apiVersion: v1, kind: Pod, metadata: {name: given}, spec: {containers: [{name: c, image: busybox}]}}"
	policies := []string{strings.ReplaceAll(labelPolicy, "configmaps", "pods")}
	got, err := s.call(t, "pods", map[string]any{"job": job, "pod": pod, "map": configMap("a")}, policies)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"_/Pod/default/once-00000": `"batch.kubernetes.io/job-tracking"`,
		"_/Pod/default/given":      `"kube-api-access-00000"`,
	} {
		text, _ := got.(map[string]any)[key].(string)
		if !strings.Contains(text, want) || !strings.Contains(text, `"mutated":"yes"`) {
			t.Errorf("%s: %s", key, text)
		}
	}
	if len(got.(map[string]any)) != 2 {
		t.Errorf("%d objects: %v", len(got.(map[string]any)), got)
	}
	if got, err := s.call(t, "pods", map[string]any{"job": job, "n": unknown{}}, policies); err != nil || reflect.TypeOf(got) != reflect.TypeFor[unknown]() {
		t.Errorf("not all is known: %v %v", got, err)
	}
	if _, err := s.call(t, "pods", map[string]any{"job": strings.Replace(job, "restartPolicy: Never, ", "", 1)}, policies); err == nil || !strings.Contains(err.Error(), "restartPolicy: Required value") {
		t.Error(err)
	}
}

func TestSplit(t *testing.T) {
	s := newServer(t)
	stream := configMap("a") + "---\n\n---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: ns}}\n- {apiVersion: v1, kind: Namespace, metadata: {name: ns}}\n"
	want := map[string]any{
		"_/ConfigMap/default/a": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`,
		"apps/Deployment/ns/d":  `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"ns"}}`,
		"_/Namespace/_/ns":      `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ns"}}`,
	}
	if got, err := s.call(t, "split", stream); err != nil || !reflect.DeepEqual(got, any(want)) {
		t.Errorf("%v\n%v", got, err)
	}
	if got, err := s.call(t, "split", "# nothing\n"); err != nil || len(got.(map[string]any)) != 0 {
		t.Errorf("%v\n%v", got, err)
	}
}

func TestExplain(t *testing.T) {
	s := newServer(t)
	got, err := s.call(t, "explain", configMap("a"), []string{labelPolicy, teamPolicy}, map[string]any{"namespace": "n"})
	if err != nil {
		t.Fatal(err)
	}
	e := got.(map[string]any)
	if e["id"] != "_/ConfigMap/n/a" || e["changed"] != true || e["patch"] != `[{"op":"add","path":"/metadata/labels","value":{"mutated":"yes","team":"none"}}]` {
		t.Errorf("%v", e)
	}
	want := []any{
		map[string]any{
			"policy": "label.example.com", "binding": "label.example.com", "param": "", "rule": "mutations[0]", "at": "policies[0], line 13, column 5",
			"op": "add", "path": "/metadata/labels", "old": nil, "new": `{"mutated":"yes"}`, "disposition": "written",
		},
		map[string]any{
			"policy": "team.example.com", "binding": "team.example.com", "param": "", "rule": "mutations[0]", "at": "policies[1], line 13, column 5",
			"op": "add", "path": "/metadata/labels/team", "old": nil, "new": `"none"`, "disposition": "written",
		},
	}
	if !reflect.DeepEqual(e["changes"], any(want)) {
		t.Errorf("changes:\n%v\nwant:\n%v", e["changes"], want)
	}
	if warnings := e["warnings"].([]any); len(warnings) != 1 || !strings.Contains(warnings[0].(string), "there is no Namespace \"n\"") {
		t.Errorf("warnings: %v", warnings)
	}
	// The diff of JSON on one line has several lines.
	json, err := s.call(t, "explain", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, []string{labelPolicy})
	if err != nil || !strings.Contains(json.(map[string]any)["diff"].(string), "\n+    \"labels\": {\n+      \"mutated\": \"yes\"\n+    },\n") {
		t.Errorf("%v %v", json, err)
	}
	other, err := s.call(t, "explain", shop, []string{labelPolicy})
	if e, _ := other.(map[string]any); err != nil || e["changed"] != false || e["diff"] != "" || e["patch"] != "[]" || len(e["not_applied"].([]any)) != 1 {
		t.Errorf("%v %v", other, err)
	}
}

// Keys are known even if policies and options are unknown.
func TestMutateAllKeys(t *testing.T) {
	s := newServer(t)
	manifests := map[string]any{"a": configMap("a"), "b": unknown{}}
	want := map[string]any{"a": unknown{}, "b": unknown{}}
	for name, arguments := range map[string][]any{
		"policies":     {unknown{anything}},
		"a policy":     {[]any{labelPolicy, unknown{}}},
		"options":      {[]string{labelPolicy}, unknown{anything}},
		"an option":    {[]string{labelPolicy}, map[string]any{"namespace": unknown{}}},
		"some context": {[]string{labelPolicy}, map[string]any{"context": []any{shop, unknown{}}}},
	} {
		got, err := s.call(t, "mutate_all", append([]any{manifests}, arguments...)...)
		if err != nil || !reflect.DeepEqual(got, any(want)) {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

// Texts may have names, which messages use.
func TestNamedTexts(t *testing.T) {
	s := newServer(t)
	named := map[string]any{"policies/label.yaml": labelPolicy, "policies/team.yaml": teamPolicy}
	got, err := s.call(t, "explain", inShop("a"), named, map[string]any{"context": map[string]any{"shop.yaml": shop}})
	if err != nil || !strings.Contains(fmt.Sprint(got), "policies/team.yaml, line 13, column 5") {
		t.Errorf("%v %v", got, err)
	}
	named["policies/team.yaml"] = strings.Replace(teamPolicy, "Object{", "Objct{", 1)
	if _, err := s.call(t, "mutate", inShop("a"), named); err == nil || !strings.Contains(err.Error(), "argument 1: Invalid Policy: policies/team.yaml, line 15") || !strings.HasSuffix(err.Error(), "did you mean Object? [expression-invalid]") {
		t.Error(err)
	}
}

// Objects from other providers have null for missing fields.
func TestNulls(t *testing.T) {
	s := newServer(t)
	policy := `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicy","metadata":{"name":"label.example.com","labels":null,"generateName":null},"spec":{
		"failurePolicy":null,"matchConditions":null,"paramKind":null,"variables":null,"reinvocationPolicy":"Never",
		"matchConstraints":{"excludeResourceRules":null,"matchPolicy":null,"namespaceSelector":{"matchExpressions":null,"matchLabels":null},"objectSelector":null,
			"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resourceNames":null,"resources":["configmaps"],"scope":null}]},
		"mutations":[{"patchType":"ApplyConfiguration","jsonPatch":null,"applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {\"mutated\": \"yes\"}}}"}}]}}`
	binding := `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicyBinding","metadata":{"name":"b"},"spec":{"policyName":"label.example.com","paramRef":null,"matchResources":null}}`
	kyverno := `{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy","metadata":{"name":"team","annotations":null},"spec":{"background":null,"failurePolicy":null,"rules":[{"name":"team","context":null,"preconditions":null,"exclude":null,"validate":null,
		"match":{"all":null,"any":[{"resources":{"kinds":["ConfigMap"],"names":null,"namespaces":null,"selector":null,"annotations":null},"subjects":null,"roles":null}]},
		"mutate":{"targets":null,"foreach":null,"patchesJson6902":null,"patchStrategicMerge":{"metadata":{"labels":{"team":"x"}}}}}]}}`
	crd := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com","labels":null},"spec":{"group":"example.com","conversion":null,"preserveUnknownFields":null,"scope":"Namespaced",
		"names":{"kind":"Thing","plural":"things","categories":null,"listKind":null,"shortNames":null,"singular":null},
		"versions":[{"name":"v1","served":true,"storage":true,"deprecated":null,"subresources":null,"additionalPrinterColumns":null,
			"schema":{"openAPIV3Schema":{"type":"object","required":null,"enum":null,"items":null,"default":null,"properties":{"spec":{"type":"object","properties":null,"x-kubernetes-preserve-unknown-fields":null}}}}}]},"status":null}`
	given := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":null,"namespace":null},"data":null}`
	got, err := s.call(t, "mutate", given, []string{policy, binding, kyverno}, map[string]any{"context": []string{crd}})
	want := `{"apiVersion":"v1","data":null,"kind":"ConfigMap","metadata":{"labels":{"mutated":"yes","team":"x"},"name":"a","namespace":null}}`
	if err != nil || got != want {
		t.Errorf("%v\n%v", got, err)
	}
}

// The key of a document does not depend on other documents.
func TestKeys(t *testing.T) {
	s := newServer(t)
	const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
	thing, other := "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n", "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a, namespace: default}\n"
	for _, config := range []map[string]any{
		{"manifests": []string{thing}},
		{"manifests": []string{thing}, "context": []string{crd}},
		{"manifests": []string{thing, crd}},
		{"manifests": []string{thing}, "sensitive_context": []string{crd}, "write_namespace": true},
	} {
		config["policies"] = []string{labelPolicy}
		state, messages := s.read(t, config)
		if state == nil || state["ids"].([]any)[0] != "example.com/Thing/_/a" {
			t.Errorf("%v: %v %s", config, state["ids"], messages)
		}
	}
	if _, messages := s.read(t, map[string]any{"manifests": []string{thing, other, crd}, "policies": []string{labelPolicy}}); !strings.Contains(messages, "is already defined in manifests[0]") {
		t.Error(messages)
	}
}

// thingDefinition defines a namespaced kind with nullable fields, one of them with a default.
const thingDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              a: {type: string, nullable: true}
              size: {type: integer, nullable: true, default: 3}
              list: {type: array, items: {type: string, nullable: true}}
`

// sizePolicy tells whether a Thing has the default, and writes a null.
var sizePolicy = strings.NewReplacer(
	`apiGroups: [""]`, "apiGroups: [example.com]", "configmaps, secrets", "things",
	"ApplyConfiguration", "JSONPatch", "applyConfiguration", "jsonPatch",
	`'Object{metadata: Object.metadata{labels: {"mutated": "yes"}}}'`,
	`'[JSONPatch{op: "add", path: "/metadata/labels", value: {"size": string(object.spec.size)}}, JSONPatch{op: "add", path: "/spec/a", value: null}]'`,
).Replace(labelPolicy)

// TestFor shows the options that the option for implies, and that given ones win.
func TestFor(t *testing.T) {
	s := newServer(t)
	const thing = `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"a":null,"list":["x",null],"size":null}}`
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"image":"i","name":"c","resources":{"limits":{"cpu":"0.5"}}}],"tolerations":[]}}`
	for name, test := range map[string]struct {
		manifest string
		options  map[string]any
		want     string
	}{
		"nulls": {
			thing,
			map[string]any{"for": "kubernetes_manifest"},
			`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"labels":{"size":"3"},"name":"a","namespace":"default"},"spec":{"list":["x"]}}`,
		},
		"stored": {
			pod,
			map[string]any{"for": "kubectl_manifest"},
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"image":"i","name":"c","resources":{"limits":{"cpu":"500m"}}}]}}`,
		},
		"given": {pod, map[string]any{"for": "kubernetes_manifest", "normalize": false, "write_namespace": false}, pod},
	} {
		t.Run(name, func(t *testing.T) {
			test.options["context"] = []string{thingDefinition}
			if got, err := s.call(t, "mutate", test.manifest, []string{sizePolicy}, test.options); err != nil || got != test.want {
				t.Errorf("got:\n%v %v\nwant:\n%s", got, err, test.want)
			}
		})
	}
	if got, err := s.call(t, "explain", thing, []string{sizePolicy}, map[string]any{"for": "kubernetes_manifest", "context": []string{thingDefinition}}); err != nil || !strings.Contains(fmt.Sprint(got), "normalized") {
		t.Errorf("the nulls that are omitted are no changes: %v %v", got, err)
	}
	if _, err := s.call(t, "mutate", thing, []string{sizePolicy}, map[string]any{"for": "kubernetes_deployment"}); err == nil || !strings.Contains(err.Error(), "expected kubernetes_manifest or kubectl_manifest") {
		t.Error(err)
	}
}

// TestReport shows the results, changes and warnings of a map of manifests.
func TestReport(t *testing.T) {
	s := newServer(t)
	plain := `{"apiVersion":"v1","kind":"Service","metadata":{"name":"b","namespace":"other"},"spec":{"ports":[{"port":80}]}}`
	selecting := strings.Replace(labelPolicy, "    resourceRules:", "    namespaceSelector: {matchLabels: {team: web}}\n    resourceRules:", 1)
	manifests := map[string]any{"a": configMap("a"), "b": plain}
	got, err := s.call(t, "report", manifests, []string{labelPolicy, strings.ReplaceAll(selecting, "label.example.com", "team.example.com")})
	if err != nil {
		t.Fatal(err)
	}
	report := got.(map[string]any)
	all, err := s.call(t, "mutate_all", manifests, []string{labelPolicy, strings.ReplaceAll(selecting, "label.example.com", "team.example.com")})
	if err != nil || !reflect.DeepEqual(report["results"], all) {
		t.Errorf("%v %v, want %v", err, report["results"], all)
	}
	if changed := fmt.Sprint(report["changed"]); changed != "[a]" {
		t.Errorf("changed %s", changed)
	}
	if warnings := fmt.Sprint(report["warnings"]); !strings.Contains(warnings, "there is no Namespace") {
		t.Errorf("warnings %s", warnings)
	}
	got, err = s.call(t, "report", map[string]any{"a": configMap("a"), "b": unknown{someText}}, []string{labelPolicy})
	if report, ok := got.(map[string]any); err != nil || !ok || !isUnknown(report["changed"]) || !isUnknown(report["warnings"]) || isUnknown(report["results"].(map[string]any)["a"]) {
		t.Errorf("%v %v", got, err)
	}
}

// TestUnknowns shows which policy uses which unknown value.
func TestUnknowns(t *testing.T) {
	s := newServer(t)
	for name, test := range map[string]struct {
		expression, want string
	}{
		"copied": {"object.data.x", "[]"},
		"used":   {`object.data.x.split("-")[0]`, "[map[policy:label.example.com value:data.x]]"},
	} {
		object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"x": unknown{someText}}}
		if got, err := s.call(t, "unknowns", object, []string{copying(test.expression)}); err != nil || fmt.Sprint(got) != test.want {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	if got, err := s.call(t, "unknowns", unknown{anything}, []string{labelPolicy}); err != nil || fmt.Sprint(got) == "[]" {
		t.Errorf("%v %v", got, err)
	}
}
