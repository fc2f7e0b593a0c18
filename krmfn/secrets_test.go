package krmfn

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// The canaries are values of Secrets that no output may contain. The first is in data (and a policy
// copies it), the second in stringData, the third is written by a policy, the fourth is in context.
var canaries = []string{
	"canary-one-value", "Y2FuYXJ5LW9uZS12YWx1ZQ==",
	"canary-two-value", "Y2FuYXJ5LXR3by12YWx1ZQ==",
	"canary-three-value", "Y2FuYXJ5LXRocmVlLXZhbHVl",
	"canary-four-value", "Y2FuYXJ5LWZvdXItdmFsdWU=",
	"first canary line", "second canary line",
	"tiny", "dGlueQ==",
	"old-canary", "more-canary",
}

const canaryManifests = `# canary-one-value in a comment
# it was old-canary once
apiVersion: v1
kind: Secret
metadata: # old-canary
  name: s
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"data":{"short":"dGlueQ=="}}'
data:
  one: Y2FuYXJ5LW9uZS12YWx1ZQ==
  short: dGlueQ==
stringData:
  two: canary-two-value
  lines: |
    first canary line
    second canary line
  # password: old-canary
---
# before that more-canary
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
  labels: {plain: visible}
data:
  url: https://canary-one-value@db
  encoded: Y2FuYXJ5LW9uZS12YWx1ZQ==
  lines: "first canary line, and more"
`

const canaryContext = `apiVersion: v1
kind: Secret
metadata: {name: other, namespace: default}
data: {four: Y2FuYXJ5LWZvdXItdmFsdWU=}
`

const canaryPolicies = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: leak}
spec:
  paramKind: {apiVersion: v1, kind: Secret}
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps, secrets]}
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{metadata: Object.metadata{annotations: {"leak": "see " + params.data.four, "all": "x" + params.data.four}}}
  - patchType: JSONPatch
    jsonPatch:
      expression: >
        object.kind == "Secret" ? [JSONPatch{op: "add", path: "/data/three", value: "Y2FuYXJ5LXRocmVlLXZhbHVl"},
          JSONPatch{op: "replace", path: "/data/one", value: "Y2FuYXJ5LXRocmVlLXZhbHVl"}] : [JSONPatch{op: "add", path: "/data/three", value: "canary-three-value"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: leak}
spec: {policyName: leak, paramRef: {name: other, namespace: default, parameterNotFoundAction: Deny}}
`

// failingPolicies fail with the value of a Secret in the message.
var failingPolicies = strings.Replace(canaryPolicies, `"x" + params.data.four`, `string(object[params.data.four])`, 1)

const canaryTest = `apiVersion: preadmit.dev/v1alpha1
kind: PreadmitTest
metadata: {name: t}
spec:
  policyPaths: [policies.yaml]
  contextPaths: [context.yaml]
  manifests: [manifests.yaml]
  expected: expected.yaml
`

// TestSecrets runs every command in every format on manifests, context and policies with Secrets,
// with success and with a policy that fails with the value in its message.
func TestSecrets(t *testing.T) {
	for _, policies := range []string{canaryPolicies, failingPolicies} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"policies.yaml": policies, "manifests.yaml": canaryManifests, "context.yaml": canaryContext,
			"preadmit-test.yaml": canaryTest, "expected.yaml": canaryManifests,
		} {
			writeFile(t, dir+"/"+name, text)
		}
		for command, formats := range map[string][]string{
			"explain": {"text", "json", "html"}, "report": {"text", "json", "csv", "markdown", "html"}, "diff": reportFormats, "check": reportFormats, "test": reportFormats,
		} {
			for _, format := range formats {
				args := []string{command, "-o", format, "-p", "policies.yaml", "-c", "context.yaml", "manifests.yaml"}
				if command == "test" {
					args = []string{command, "-o", format, "preadmit-test.yaml"}
				}
				output := runIn(dir, args)
				for _, canary := range canaries {
					if strings.Contains(output, canary) {
						t.Errorf("%v shows %s:\n%s", args, canary, output)
					}
				}
			}
		}
	}
}

var reportFormats = []string{"text", "json", "sarif", "junit", "github"}

// TestUnreadableExpectation shows that an expected file is not shown if its Secrets cannot be found.
func TestUnreadableExpectation(t *testing.T) {
	for name, expected := range map[string]string{
		"no YAML":    "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {two: tiny, a: [old-canary}\n",
		"no kind":    "stringData: {two: tiny, three: canary-three-value}\n",
		"one of two": canaryManifests + "---\napiVersion: v1\nkind: Secret\nstringData:\n  more: more-canary\n more: x\n",
	} {
		dir := t.TempDir()
		writeFile(t, dir+"/policies.yaml", canaryPolicies)
		writeFile(t, dir+"/manifests.yaml", canaryManifests)
		writeFile(t, dir+"/context.yaml", canaryContext)
		writeFile(t, dir+"/preadmit-test.yaml", canaryTest)
		writeFile(t, dir+"/expected.yaml", expected)
		for _, format := range reportFormats {
			output := runIn(dir, []string{"test", "-o", format})
			if !strings.Contains(output, "expected.yaml cannot be parsed or has a document without a kind, so it is not shown") {
				t.Errorf("%s, %s: it is not said why:\n%s", name, format, output)
			}
			for _, canary := range canaries {
				if strings.Contains(output, canary) {
					t.Errorf("%s: -o %s shows %s:\n%s", name, format, canary, output)
				}
			}
		}
	}
}

// TestSecretsOnlyExpected shows that values of Secrets are hidden even if only the expected file has
// the Secret.
func TestSecretsOnlyExpected(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/policies.yaml", canaryPolicies)
	writeFile(t, dir+"/manifests.yaml", canaryManifests)
	writeFile(t, dir+"/context.yaml", canaryContext)
	writeFile(t, dir+"/preadmit-test.yaml", canaryTest)
	writeFile(t, dir+"/expected.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: t}\nstringData: {a: value-of-tests}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\ndata: {a: has value-of-tests}\n")
	for _, format := range reportFormats {
		if output := runIn(dir, []string{"test", "-o", format}); strings.Contains(output, "value-of-tests") || !strings.Contains(output, "is not what expected.yaml expects") {
			t.Errorf("-o %s:\n%s", format, output)
		}
	}
}

// TestShowSecrets shows that --show-secrets shows the values, and that masking hides nothing else.
func TestShowSecrets(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/policies.yaml", canaryPolicies)
	writeFile(t, dir+"/manifests.yaml", canaryManifests)
	writeFile(t, dir+"/context.yaml", canaryContext)
	args := []string{"diff", "-p", "policies.yaml", "-c", "context.yaml", "manifests.yaml"}
	masked := runIn(dir, args)
	for _, want := range []string{"***** (before)", "***** (after)", "visible", "leak: '*****'", "three: '*****'"} {
		if !strings.Contains(strings.ReplaceAll(masked, `"`, "'"), want) {
			t.Errorf("%q is not in\n%s", want, masked)
		}
	}
	shown := runIn(dir, append(args, "--show-secrets"))
	for _, want := range []string{"canary-three-value", "see Y2FuYXJ5LWZvdXItdmFsdWU=", "canary-two-value"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
}

// TestSecretsOfRenderers shows that messages about the output of a program, or about the manifests of
// an Argo CD application, have no values of Secrets.
func TestSecretsOfRenderers(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/policies/policies.yaml", failingPolicies)
	writeFile(t, dir+"/policies/context.yaml", canaryContext)
	writeFile(t, dir+"/manifests.yaml", canaryManifests)
	for _, args := range [][]string{
		{"exec", "-p", "policies/policies.yaml", "-c", "policies/context.yaml", "--", "cat", "manifests.yaml"},
		{"cmp", "generate", "-p", "policies/policies.yaml", "-c", "policies/context.yaml"},
	} {
		var stdout, stderr bytes.Buffer
		status := Main(context.Background(), &Process{Args: args, Dir: dir, Stdout: &stdout, Stderr: &stderr, Run: RunProgram})
		if status != exitDenied || stdout.Len() > 0 || !strings.Contains(stderr.String(), "denied") {
			t.Errorf("%v: status %d, %q, %s", args, status, &stdout, &stderr)
		}
		for _, canary := range canaries {
			if strings.Contains(stderr.String(), canary) {
				t.Errorf("%v shows %s:\n%s", args, canary, &stderr)
			}
		}
	}
}

// runIn runs a command and returns its output and messages.
func runIn(dir string, args []string) string {
	var output bytes.Buffer
	Main(context.Background(), &Process{Args: args, Dir: dir, Stdin: strings.NewReader(""), Stdout: &output, Stderr: &output})
	return output.String()
}
