package tfprovider

import (
	"strings"
	"testing"
)

// refusedByDefinition is a definition with a rule, and refusedShop an object that violates it.
const (
	refusedByDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Shop, plural: shops, singular: shop}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          size:
            type: integer
            x-kubernetes-validations:
            - {rule: self < 5, message: a shop is small}
`
	refusedShop = "apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: a}\nsize: 7\n"
	// baselineNamespace is a namespace that refuses refusedPod.
	baselineNamespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: default\n  labels: {pod-security.kubernetes.io/enforce: baseline}\n"
	refusedPod        = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  hostNetwork: true\n  containers: [{name: a, image: 'a:1'}]\n"
)

// TestRefusalsAtPlan plans with Terraform: what validation refuses is an error that names the place of the
// rule, and with validation = "warn" a warning.
func TestRefusalsAtPlan(t *testing.T) {
	for name, test := range map[string]struct{ arguments, manifest, text, rule string }{
		"ValidatingAdmissionPolicy": {
			"policies = [" + heredoc(refusing(`object.data.?x.orValue("") == "y"`)) + "]", configMap("a"),
			"ValidatingAdmissionPolicy 'refusing.example.com' with binding", "policies[0], line 8, column 5: policy refusing.example.com",
		},
		"CustomResourceDefinition": {
			"context = [" + heredoc(refusedByDefinition) + "]", refusedShop,
			`Shop.example.com "a" is invalid: size: Invalid value: 7: a shop is small`, "context[0], line 19, column 15: CustomResourceDefinition shops.example.com, rule self < 5",
		},
		"PodSecurity": {
			"admission_plugins = [\"PodSecurity\"]\n  context = [" + heredoc(baselineNamespace) + "]", refusedPod,
			`violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`, "context[0], line 5, column",
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := func(more string) (string, error) {
				c := newCLI(t, configuration(t, map[string]string{
					"main.tf": required + "data \"preadmit_manifests\" \"a\" {\n  manifests = [" + heredoc(test.manifest) + "]\n  " + test.arguments + "\n" + more + "}\n",
				}))
				output, err := c.try("plan")
				return strings.Join(strings.Fields(strings.ReplaceAll(output, "│", " ")), " "), err
			}
			output, err := plan("")
			if err == nil || !strings.Contains(output, "Error: Denied by Policy [denied]") || !strings.Contains(output, test.text) || !strings.Contains(output, test.rule) {
				t.Errorf("the refusal is not an error with the place of the rule: %v\n%s", err, output)
			}
			output, err = plan("  validation = \"warn\"\n")
			if err != nil || !strings.Contains(output, "[would-be-denied]") || !strings.Contains(output, test.text) || !strings.Contains(output, test.rule) {
				t.Errorf("the refusal is not a warning with the place of the rule: %v\n%s", err, output)
			}
		})
	}
}
