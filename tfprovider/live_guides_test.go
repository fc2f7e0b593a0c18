package tfprovider

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/preadmit/preadmit/engine/manifest"
)

// guides are the examples of guides, and what the test does with each. Terraform must destroy what it
// created.
var guides = map[string]func(l *live, t *testing.T, c *cli){
	"kubernetes-manifest": (*live).applied,
	"kubectl-manifest":    (*live).applied,
	"unknown-values":      (*live).applied,
	"adopt-objects":       (*live).adopted,
	"policy-upgrade":      (*live).upgraded,
}

// example applies the examples without changes, in a cluster that has their policies.
func (l *live) example(t *testing.T) {
	l.install(t, slices.Concat(objects(t, examples+"/kubernetes-manifest/namespaces.yaml"), objects(t, examples+"/kubernetes-manifest/policies/*.yaml")))
	for _, name := range slices.Sorted(maps.Keys(guides)) {
		t.Run(name, func(t *testing.T) {
			c := l.cli(t, nil)
			if err := os.CopyFS(c.directory, os.DirFS(filepath.Join(examples, name))); err != nil {
				t.Fatal(err)
			}
			guides[name](l, t, c)
			c.run(t, "destroy", "-auto-approve")
		})
	}
	t.Run("everything-unknown", l.everythingUnknown)
}

// applied applies a configuration. The second plan must be empty.
func (l *live) applied(t *testing.T, c *cli) {
	c.run(t, "apply", "-auto-approve")
	c.run(t, "plan", "-detailed-exitcode")
}

// adopted imports objects that another client has created, and follows a change of a policy.
func (l *live) adopted(t *testing.T, c *cli) {
	if _, err := l.kubectl("", "create", "-f", filepath.Join(c.directory, "manifests.yaml")); err != nil {
		t.Fatal(err)
	}
	output := c.run(t, "apply", "-auto-approve")
	if !strings.Contains(output, "2 imported, 0 added") || !strings.Contains(output, "0 destroyed") {
		t.Error(output)
	}
	c.run(t, "plan", "-detailed-exitcode")
	if err := os.Remove(filepath.Join(c.directory, "import.tf")); err != nil {
		t.Fatal(err)
	}
	c.run(t, "plan", "-detailed-exitcode")
	next, err := os.ReadFile(examples + "/policy-upgrade/policies-next/team.yaml")
	if err == nil {
		err = os.WriteFile(filepath.Join(c.directory, "policies", "team.yaml"), next, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.upgrade(t)
	if output := c.run(t, "apply", "-auto-approve"); !strings.Contains(output, "0 added, 2 changed, 0 destroyed") {
		t.Error(output)
	}
	c.run(t, "plan", "-detailed-exitcode")
}

// upgraded plans with the next policies, and applies this plan when the cluster has them.
func (l *live) upgraded(t *testing.T, c *cli) {
	l.applied(t, c)
	output := c.run(t, "plan", "-var", "policies=policies-next")
	if changes := regexp.MustCompile(`"example.com/team" += "payments" -> "team-payments"`).FindAllString(output, -1); len(changes) == 0 || !strings.Contains(output, "0 to add, 2 to change, 0 to destroy") {
		t.Error(output)
	}
	l.upgrade(t)
	c.run(t, "plan", "-detailed-exitcode") // policies do not change the objects that exist
	c.run(t, "apply", "-auto-approve", "-var", "policies=policies-next")
	c.run(t, "plan", "-detailed-exitcode", "-var", "policies=policies-next")
}

// upgrade replaces the policy of the examples by its next version until the end of the test.
func (l *live) upgrade(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { l.replace(t, "policies", `"example.com/team": "payments"`) })
	l.replace(t, "policies-next", `"example.com/team": "team-payments"`)
}

// replace replaces a policy, and waits until objects get a label.
func (l *live) replace(t *testing.T, directory, label string) {
	t.Helper()
	for _, object := range objects(t, filepath.Join(examples, "policy-upgrade", directory, "team.yaml")) {
		put(object, l.id, "metadata", "labels", liveLabel)
		if _, err := l.kubectl(string(manifest.JSON(object)), "replace", "-f", "-"); err != nil {
			t.Fatal(err)
		}
	}
	for range 60 {
		answer, err := l.kubectl("", "create", "configmap", "canary", "-n", "shop", "--dry-run=server", "-o", "json")
		if err == nil && strings.Contains(answer, label) {
			return
		}
		time.Sleep(time.Second)
	}
	t.Fatalf("the policies in %s do not come into force", directory)
}

// unknowable are the values without which nothing is known of an object: they decide which policies match,
// or a policy uses them to find an item of a list.
var unknowable = regexp.MustCompile(`^(apiVersion|kind|metadata/namespace|spec/template/spec/containers/\d+/name)$`)

// hide replaces values by references to resources, and keeps them in leaves.
func hide(leaves map[string]any, at string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		hidden := map[string]any{}
		for key := range v {
			hidden[key] = hide(leaves, at+"/"+key, v[key])
		}
		return hidden
	case []any:
		hidden := make([]any, len(v))
		for i := range v {
			hidden[i] = hide(leaves, fmt.Sprintf("%s/%d", at, i), v[i])
		}
		return hidden
	}
	_, path, _ := strings.Cut(at, "/")
	if unknowable.MatchString(path) {
		return value
	}
	leaves[at] = value
	convert := map[bool]string{true: "tobool", false: "tostring"}[value == true || value == false]
	switch value.(type) {
	case int64, float64:
		convert = "tonumber" // without a type, an unknown port could be a text
	}
	return fmt.Sprintf("${%s(terraform_data.leaf[%q].output)}", convert, at)
}

// everythingUnknown applies objects of which all values are unknown that the resources can plan. Then all
// is known, so the second plan must be empty.
func (l *live) everythingUnknown(t *testing.T) {
	leaves, hidden := map[string]any{}, map[string]any{}
	for _, object := range slices.Concat(objects(t, examples+"/adopt-objects/manifests.yaml"), objects(t, "testdata/maximal/manifests/*.yaml")) {
		key := fmt.Sprintf("%s-%s", object["kind"], object["metadata"].(map[string]any)["name"])
		hidden[key] = hide(leaves, key, object)
	}
	for resource, call := range map[string]string{
		"kubernetes_manifest": `provider::preadmit::admit(each.value, local.policies, { context = local.context, for = "kubernetes_manifest" })`,
		"kubectl_manifest":    `jsonencode(provider::preadmit::admit(each.value, local.policies, { context = local.context, for = "kubectl_manifest" }))`,
	} {
		body := map[string]any{"for_each": "${local.objects}", "manifest": "${" + call + "}"}
		if resource == "kubectl_manifest" {
			body = map[string]any{"for_each": "${local.objects}", "yaml_body": "${" + call + "}", "wait_for_rollout": false}
		}
		t.Run(resource, func(t *testing.T) {
			c := l.cli(t, map[string]string{
				"main.tf":       liveRequired,
				"policies.json": inJSON(t, contents(t, examples+"/kubernetes-manifest/policies")),
				"context.json":  inJSON(t, contents(t, examples+"/kubernetes-manifest/namespaces.yaml")),
				"objects.tf.json": inJSON(t, map[string]any{
					"resource": map[string]any{
						"terraform_data": map[string]any{"leaf": map[string]any{"for_each": leaves, "input": "${each.value}"}},
						resource:         map[string]any{"app": body},
					},
					"locals": map[string]any{
						"objects": hidden, "policies": `${jsondecode(file("policies.json"))}`, "context": `${jsondecode(file("context.json"))}`,
					},
				}),
			})
			l.applied(t, c)
			c.run(t, "destroy", "-auto-approve")
		})
	}
}
