package tfprovider

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/preadmit/preadmit/engine/manifest"
)

// liveLabel is the label of all objects that the test creates in a cluster, except those that Terraform
// applies.
const liveLabel = "preadmit.dev/live"

// TestLive applies manifests to a real cluster with the real providers, with and without preadmit. The apply must
// match the plan, and the second plan must be empty. It runs only if KUBECONFIG names a cluster and
// PREADMIT_PROVIDERS a directory with terraform-provider-kubernetes and terraform-provider-kubectl. It needs
// kubectl.
//
// The test installs policies in the cluster. Policies of recorded cases match only objects in namespaces
// of the test. Policies of the examples match all objects, so use a cluster for tests.
func TestLive(t *testing.T) {
	providers := os.Getenv("PREADMIT_PROVIDERS")
	if os.Getenv("KUBECONFIG") == "" || providers == "" {
		t.Skip("it installs policies in a cluster: set KUBECONFIG, and PREADMIT_PROVIDERS to a directory of built providers")
	}
	l := &live{id: strings.ToLower(rand.Text()[:8])}
	for name, directory := range map[string]string{"preadmit/preadmit": binaries(t), "hashicorp/kubernetes": providers, "alekc/kubectl": providers} {
		l.overrides += fmt.Sprintf("    %q = %q\n", name, directory)
	}
	t.Logf("if this is interrupted: kubectl delete mutatingadmissionpolicybindings,mutatingadmissionpolicies,namespaces,customresourcedefinitions -l %s=%s", liveLabel, l.id)
	t.Run("example", l.example)
	t.Run("kinds", l.kinds)
	t.Run("recorded", l.recorded)
	t.Run("foreign", l.foreign)
}

// live is one run with a cluster.
type live struct {
	// id distinguishes the objects of this run from objects of other runs.
	id        string
	overrides string
}

// cli returns a directory with a configuration, in which Terraform finds the real providers.
func (l *live) cli(t *testing.T, files map[string]string) *cli {
	t.Helper()
	config := "provider_installation {\n  dev_overrides {\n" + l.overrides + "  }\n  direct {}\n}\ndisable_checkpoint = true\n"
	kubeconfig, err := filepath.Abs(os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	return &cli{terraform(t), configuration(t, files), []string{"TF_CLI_CONFIG_FILE=" + configFile(t, config), "KUBE_CONFIG_PATH=" + kubeconfig, "TF_VAR_password=open sesame"}}
}

// kubectl runs kubectl.
func (l *live) kubectl(input string, arguments ...string) (string, error) {
	command := exec.Command("kubectl", arguments...)
	var output, problems bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &output, &problems
	if err := command.Run(); err != nil {
		return output.String(), fmt.Errorf("kubectl %q: %w\n%s", arguments, err, problems.String())
	}
	return output.String(), nil
}

// install creates the context of policies, and then policies, and waits until they are active. It
// deletes everything at the end of the test.
func (l *live) install(t *testing.T, objects []map[string]any) {
	t.Helper()
	canary := "preadmit-live-" + strings.ToLower(rand.Text()[:8])
	objects = append(slices.Clone(objects), namespace(canary, canary), confine(map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": map[string]any{"name": canary},
		"spec": map[string]any{
			"reinvocationPolicy": "Never",
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"serviceaccounts"}, "operations": []any{"CREATE"},
			}}},
			"mutations": []any{map[string]any{"patchType": "ApplyConfiguration", "applyConfiguration": map[string]any{
				"expression": `Object{metadata: Object.metadata{labels: {"canary": "alive"}}}`,
			}}},
		},
	}, canary), map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
		"metadata": map[string]any{"name": canary}, "spec": map[string]any{"policyName": canary},
	})
	t.Cleanup(func() {
		for _, kind := range []string{"mutatingadmissionpolicybindings", "mutatingadmissionpolicies", "namespaces", "customresourcedefinitions"} {
			if _, err := l.kubectl("", "delete", kind, "--wait=false", "-l", liveLabel+"="+l.id); err != nil {
				t.Error(err)
			}
		}
	})
	for _, isPolicy := range []bool{false, true} {
		var stream bytes.Buffer
		for _, object := range objects {
			if kind, _ := object["kind"].(string); strings.HasPrefix(kind, "Mutating") == isPolicy {
				put(object, l.id, "metadata", "labels", liveLabel)
				fmt.Fprintf(&stream, "---\n%s\n", manifest.JSON(object))
			}
		}
		if _, err := l.kubectl(stream.String(), "create", "-f", "-"); err != nil {
			t.Fatal(err)
		}
	}
	for range 60 {
		answer, err := l.kubectl("", "create", "serviceaccount", "canary", "-n", canary, "--dry-run=server", "-o", "json")
		if time.Sleep(time.Second); err == nil && strings.Contains(answer, `"canary": "alive"`) {
			return
		}
	}
	t.Fatal("the policies do not come into force")
}

// confine restricts a policy to objects in the namespaces of a case.
func confine(object map[string]any, id string) map[string]any {
	put(object, id, "spec", "matchConstraints", "namespaceSelector", "matchLabels", liveLabel+"-case")
	rules, _ := object["spec"].(map[string]any)["matchConstraints"].(map[string]any)["resourceRules"].([]any)
	for _, rule := range rules {
		rule.(map[string]any)["scope"] = "Namespaced"
	}
	return object
}

func namespace(name, id string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
		"name": name, "labels": map[string]any{liveLabel + "-case": id, "kubernetes.io/metadata.name": name},
	}}
}

// put sets a value in nested maps.
func put(object map[string]any, value any, keys ...string) {
	for _, key := range keys[:len(keys)-1] {
		child, ok := object[key].(map[string]any)
		if !ok {
			child = map[string]any{}
			object[key] = child
		}
		object = child
	}
	object[keys[len(keys)-1]] = value
}

// objects returns the objects in files.
func objects(t *testing.T, pattern string) []map[string]any {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	var all []map[string]any
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stream, _ := manifest.Read(file, text)
		for _, d := range stream.Documents() {
			all = append(all, d.Object())
		}
	}
	return all
}

// liveCase is a manifest with its policies.
type liveCase struct {
	Manifest string   `json:"manifest"`
	Policies []string `json:"policies"`
	Context  []string `json:"context"`
}

const liveRequired = `
terraform {
  required_providers {
    preadmit = { source = "preadmit/preadmit" }
    kubernetes = { source = "hashicorp/kubernetes" }
    kubectl = { source = "alekc/kubectl" }
  }
}
`

const liveProviders = liveRequired + `
locals {
  cases    = jsondecode(file("${path.module}/cases.json"))
  policies = jsondecode(file("${path.module}/policies.json"))
  user     = jsondecode(file("${path.module}/user.json"))
  # The server adds the uid of a Job to the labels of its template.
  job_fields = ["metadata.labels", "metadata.annotations", "spec.template.metadata.labels"]
  admitted = { for how, cases in local.cases : how => { for key, case in cases :
    key => provider::preadmit::mutate(case.manifest, concat(local.policies, case.policies), {
      context = case.context, for = "${trimprefix(how, "with-")}_manifest", allow_no_policies = true, request = { user = local.user, authorizer = "allow" }
    })
  } if startswith(how, "with-") }
  given = { for how, cases in local.cases : how => { for key, case in cases : key => case.manifest } if startswith(how, "without-") }
}
resource "kubernetes_manifest" "with" {
  for_each = local.admitted["with-kubernetes"]
  manifest = jsondecode(each.value)
  computed_fields = jsondecode(each.value).kind == "Job" ? local.job_fields : null
}
resource "kubernetes_manifest" "without" {
  for_each = local.given["without-kubernetes"]
  manifest = jsondecode(each.value)
  computed_fields = jsondecode(each.value).kind == "Job" ? local.job_fields : null
}
resource "kubectl_manifest" "with" {
  for_each         = local.admitted["with-kubectl"]
  yaml_body        = each.value
  wait_for_rollout = false
}
resource "kubectl_manifest" "without" {
  for_each         = local.given["without-kubectl"]
  yaml_body        = each.value
  wait_for_rollout = false
}
`

// variants are the ways to apply a case, each in a separate namespace.
var variants = []string{"with-kubernetes", "without-kubernetes", "with-kubectl", "without-kubectl"}

// address returns the address of a case in the configuration.
func address(variant, key string) string {
	how, provider, _ := strings.Cut(variant, "-")
	return fmt.Sprintf("%s_manifest.%s[%q]", provider, how, key)
}

// changesTo matches the address in messages of Terraform.
var changesTo = regexp.MustCompile(`When applying changes to (\S+), provider`)

// apply applies cases, and returns the failure for each address: the error, or the actions of the second
// plan. It goes on without the cases that Terraform cannot plan.
func (l *live) apply(t *testing.T, c *cli) map[string]string {
	t.Helper()
	problems := map[string]string{}
	for planned := false; !planned; {
		var found map[string]string
		found, planned = failures(c.try("apply", "-auto-approve", "-json"))
		if !planned && found[""] != "" {
			found = map[string]string{}
			l.crashes(t, c, readCases(t, c), found)
		}
		remove(t, c, found)
		maps.Copy(problems, found)
	}
	for planned := false; !planned; {
		var found map[string]string
		found, planned = failures(c.try("plan", "-json", "-out=second"))
		remove(t, c, found)
		for address, problem := range found {
			problems[address] = "the second plan fails: " + problem
		}
	}
	var plan struct {
		Changes []struct {
			Address string
			Change  struct{ Actions []string }
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal([]byte(c.run(t, "show", "-json", "second")), &plan); err != nil {
		t.Fatal(err)
	}
	for _, change := range plan.Changes {
		if problems[change.Address] == "" && !slices.Equal(change.Change.Actions, []string{"no-op"}) {
			problems[change.Address] = fmt.Sprintf("the second plan is %v", change.Change.Actions)
		}
	}
	return problems
}

// failures returns the errors in the output of Terraform by address, and whether it could plan.
func failures(output string, err error) (problems map[string]string, planned bool) {
	problems = map[string]string{}
	crash := ""
	for line := range strings.Lines(output) {
		var message struct {
			Type       string
			Diagnostic struct{ Severity, Summary, Detail, Address string }
		}
		if json.Unmarshal([]byte(line), &message) != nil {
			crash += line // the stack of a provider
			continue
		}
		planned = planned || message.Type == "change_summary"
		if d := message.Diagnostic; d.Severity == "error" {
			at := d.Address
			if named := changesTo.FindStringSubmatch(d.Detail); at == "" && named != nil {
				at = named[1]
			}
			problems[at] += d.Summary + ": " + strings.ReplaceAll(d.Detail, "\n", " ") + " "
		}
	}
	if err != nil && (len(problems) == 0 || problems[""] != "") {
		problems[""] += crash
	}
	return problems, planned
}

// crashes adds the cases whose plan crashes a provider: Terraform does not name them. It plans ever smaller
// parts of the configuration.
func (l *live) crashes(t *testing.T, c *cli, cases map[string]map[string]liveCase, found map[string]string) {
	t.Helper()
	var all []string
	halves := [2]map[string]map[string]liveCase{{}, {}}
	for _, variant := range variants {
		halves[0][variant], halves[1][variant] = map[string]liveCase{}, map[string]liveCase{}
		for _, key := range slices.Sorted(maps.Keys(cases[variant])) {
			halves[len(all)%2][variant][key] = cases[variant][key]
			all = append(all, address(variant, key))
		}
	}
	writeCases(t, c, cases)
	defer writeCases(t, c, cases)
	problems, _ := failures(c.try("plan", "-json"))
	switch {
	case problems[""] == "":
	case len(all) == 1:
		found[all[0]] = problems[""]
	default:
		l.crashes(t, c, halves[0], found)
		l.crashes(t, c, halves[1], found)
	}
}

func readCases(t *testing.T, c *cli) map[string]map[string]liveCase {
	t.Helper()
	cases := map[string]map[string]liveCase{}
	text, err := os.ReadFile(filepath.Join(c.directory, "cases.json"))
	if err == nil {
		err = json.Unmarshal(text, &cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func writeCases(t *testing.T, c *cli, cases map[string]map[string]liveCase) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.directory, "cases.json"), []byte(inJSON(t, cases)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// remove removes the cases with problems from a configuration, so that Terraform can plan the others.
func remove(t *testing.T, c *cli, problems map[string]string) {
	t.Helper()
	cases, removed := readCases(t, c), 0
	for variant, of := range cases {
		for key := range of {
			if problems[address(variant, key)] != "" {
				delete(of, key)
				removed++
			}
		}
	}
	if removed < len(problems) {
		t.Fatalf("a problem is not of a case: %v", problems)
	}
	writeCases(t, c, cases)
}

// recorded applies the recorded cases whose policies can be confined to a namespace.
func (l *live) recorded(t *testing.T) {
	cases := map[string]map[string]liveCase{}
	for _, variant := range variants {
		cases[variant] = map[string]liveCase{}
	}
	var installed []map[string]any
	s := newServer(t)
	for i, directory := range recordings(t) {
		id := fmt.Sprintf("preadmit-live-%s-%d", l.id, i)
		policies := confinable(t, directory, id)
		added := map[string]bool{} // by name: a case may have several manifests of one object
		for key, document := range recordedManifests(t, directory) {
			name := filepath.Base(directory) + "/" + key
			stored, err := os.ReadFile(filepath.Join(directory, "server", key+".result.json"))
			if err != nil || policies == nil || unliveable[name] != "" || !isApplicable(stored) || added[objectName(stored)] {
				continue
			}
			added[objectName(stored)] = true
			for n, variant := range variants {
				c := liveCase{Context: []string{string(manifest.JSON(namespace(fmt.Sprintf("%s-%d", id, n), id)))}}
				for _, p := range policies {
					c.Policies = append(c.Policies, string(manifest.JSON(p)))
				}
				var object map[string]any
				if err := json.Unmarshal([]byte(document), &object); err != nil {
					t.Fatal(err)
				}
				put(object, fmt.Sprintf("%s-%d", id, n), "metadata", "namespace")
				c.Manifest = string(manifest.JSON(object))
				if n == 0 && !s.isIdempotent(t, c) {
					t.Logf("%s: left out, as its policies act on their own output once more", name)
					delete(added, objectName(stored))
					break
				}
				cases[variant][name] = c
			}
		}
		if len(added) > 0 {
			installed = append(installed, policies...)
			for n := range variants {
				installed = append(installed, namespace(fmt.Sprintf("%s-%d", id, n), id))
			}
		}
	}
	l.install(t, installed)
	c := l.cli(t, map[string]string{"main.tf": liveProviders, "cases.json": inJSON(t, cases), "policies.json": "[]", "user.json": l.user(t)})
	problems := l.apply(t, c)
	table := map[string]int{}
	for _, variant := range variants {
		for _, key := range slices.Sorted(maps.Keys(cases[variant])) {
			problem := problems[address(variant, key)]
			if problem == "" {
				table[variant]++
			} else if strings.HasPrefix(variant, "with-") {
				t.Errorf("%s: %s: %s", variant, key, problem)
			} else {
				t.Logf("%s: %s: %.300s", variant, key, problem)
			}
		}
		t.Logf("%s: %d of %d are applied cleanly", variant, table[variant], len(cases[variant]))
	}
}

// unliveable are cases that kubernetes_manifest or kubectl_manifest cannot apply even without policies,
// with the reasons.
var unliveable = map[string]string{
	"server-owned-metadata/map": "the provider hides metadata.generation of all objects",
	"18d-duplicate-live/dep":    "server-side apply refuses a list with two items of the same key",
	"11n-copy-missing/dep":      "the policy writes the annotation of kubectl into a label",
	"11v-name-change/dep":       "the policy gives all objects one name",
}

// isIdempotent reports whether policies do not change their own output again. The cluster has the
// policies and gets this output.
func (s *server) isIdempotent(t *testing.T, c liveCase) bool {
	t.Helper()
	_, err := s.call(t, "mutate", c.Manifest, c.Policies, map[string]any{
		"context": c.Context, "normalize": true, "allow_no_policies": true, "non_idempotent": "fail", "request": recordedRequest,
	})
	return err == nil
}

// objectName returns the kind and the name of an object.
func objectName(object []byte) string {
	var o struct {
		Kind     string
		Metadata struct{ Name string }
	}
	_ = json.Unmarshal(object, &o) // it is valid JSON
	return o.Kind + "/" + o.Metadata.Name
}

// confinable returns the policies of a recorded case with unique names, restricted to the namespaces of
// the case. It returns nil if this is not possible.
func confinable(t *testing.T, directory, id string) []map[string]any {
	t.Helper()
	var policies []map[string]any
	for _, document := range acceptedPolicies(t, directory) {
		var object map[string]any
		if err := json.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		spec, _ := object["spec"].(map[string]any)
		constraints, _ := spec["matchConstraints"].(map[string]any)
		metadata, _ := object["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		put(object, id+"-"+name, "metadata", "name")
		switch {
		case object["apiVersion"] != "admissionregistration.k8s.io/v1":
			return nil
		case object["kind"] == "MutatingAdmissionPolicyBinding":
			spec["policyName"] = fmt.Sprintf("%s-%s", id, spec["policyName"])
		case spec["paramKind"] != nil || constraints["namespaceSelector"] != nil || strings.Contains(document, `"scope":"Cluster"`) || strings.Contains(document, "dryRun"):
			return nil
		default:
			confine(object, id)
		}
		policies = append(policies, object)
	}
	return policies
}

// isApplicable reports whether an answer of a server is an object in a namespace that has
// a name.
func isApplicable(answer []byte) bool {
	var object struct {
		Kind     string
		Metadata struct{ Namespace, Name, GenerateName string }
	}
	return json.Unmarshal(answer, &object) == nil && object.Kind != "Status" && object.Metadata.Namespace != "" && object.Metadata.GenerateName == ""
}

// user returns the user of the test in the cluster.
func (l *live) user(t *testing.T) string {
	t.Helper()
	var review struct {
		Status struct{ UserInfo map[string]any }
	}
	answer, err := l.kubectl("", "auth", "whoami", "-o", "json")
	if err == nil {
		err = json.Unmarshal([]byte(answer), &review)
	}
	if err != nil {
		t.Fatal(err)
	}
	user := map[string]any{}
	for _, key := range []string{"username", "uid", "groups"} {
		if value, ok := review.Status.UserInfo[key]; ok {
			user[key] = value
		}
	}
	return inJSON(t, user)
}

func inJSON(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// kinds applies objects to which servers add many fields, and applies them again after a change of a
// policy.
func (l *live) kinds(t *testing.T) {
	id := "preadmit-live-" + l.id
	given := objects(t, "testdata/live/context.yaml")
	policies := func(team string) []map[string]any {
		all := objects(t, "testdata/live/policies.yaml")
		for i, p := range all {
			changed := bytes.ReplaceAll(manifest.JSON(p), []byte("TEAM"), []byte(team))
			all[i] = nil
			if err := json.Unmarshal(changed, &all[i]); err != nil {
				t.Fatal(err)
			}
			if p["kind"] == "MutatingAdmissionPolicy" {
				confine(all[i], id)
			}
		}
		return all
	}
	cases := func(policies []map[string]any) string {
		all := map[string]map[string]liveCase{}
		for n, variant := range variants {
			all[variant] = map[string]liveCase{}
			if n%2 == 1 {
				continue
			}
			for _, object := range objects(t, "testdata/live/manifests.yaml") {
				c := liveCase{Context: []string{string(manifest.JSON(namespace(fmt.Sprintf("%s-%d", id, n), id)))}}
				for _, g := range given {
					c.Context = append(c.Context, string(manifest.JSON(g)))
				}
				for _, p := range policies {
					c.Policies = append(c.Policies, string(manifest.JSON(p)))
				}
				put(object, fmt.Sprintf("%s-%d", id, n), "metadata", "namespace")
				c.Manifest = string(manifest.JSON(object))
				all[variant][object["kind"].(string)] = c
			}
		}
		return inJSON(t, all)
	}
	before, after := policies("blue"), policies("green")
	l.install(t, slices.Concat(given, before, []map[string]any{namespace(id+"-0", id), namespace(id+"-2", id)}))
	c := l.cli(t, map[string]string{"main.tf": liveProviders, "cases.json": cases(before), "policies.json": "[]", "user.json": l.user(t)})
	for address, problem := range l.apply(t, c) {
		t.Errorf("%s: %s", address, problem)
	}
	var stream bytes.Buffer
	for _, p := range after {
		put(p, l.id, "metadata", "labels", liveLabel)
		fmt.Fprintf(&stream, "---\n%s\n", manifest.JSON(p))
	}
	if _, err := l.kubectl(stream.String(), "replace", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Second) // the server does not report when a changed policy is active
	if err := os.WriteFile(filepath.Join(c.directory, "cases.json"), []byte(cases(after)), 0o644); err != nil {
		t.Fatal(err)
	}
	for address, problem := range l.apply(t, c) {
		t.Errorf("with the changed policy: %s: %s", address, problem)
	}
}

// crasher is a Terraform whose provider crashes if the configuration has a case named bad.
const crasher = `#!/bin/sh
if grep -q '"bad' cases.json; then
	echo '{"type":"diagnostic","diagnostic":{"severity":"error","summary":"Plugin did not respond"}}'
	echo '{"type":"diagnostic","diagnostic":{"severity":"error","summary":"Request cancelled","address":"kubectl_manifest.with[\"b\"]"}}'
	echo 'panic: out of range'
	exit 1
fi
echo '{"type":"change_summary"}'
`

// TestCrashes finds the cases that crash a provider, and only those.
func TestCrashes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "terraform")
	if err := os.WriteFile(path, []byte(crasher), 0o700); err != nil {
		t.Fatal(err)
	}
	of := func(keys ...string) map[string]liveCase {
		cases := map[string]liveCase{}
		for _, key := range keys {
			cases[key] = liveCase{}
		}
		return cases
	}
	c := &cli{path, t.TempDir(), nil}
	cases := map[string]map[string]liveCase{"with-kubernetes": of("a", "bad", "c", "d", "bad-too"), "with-kubectl": of("b", "bad")}
	found := map[string]string{}
	new(live).crashes(t, c, cases, found)
	want := []string{`kubectl_manifest.with["bad"]`, `kubernetes_manifest.with["bad"]`, `kubernetes_manifest.with["bad-too"]`}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) || !strings.Contains(found[want[0]], "out of range") {
		t.Errorf("%v, want %v", found, want)
	}
}
