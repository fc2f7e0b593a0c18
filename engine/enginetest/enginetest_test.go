package enginetest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/enginetest"
)

const policies = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  validations: [{expression: "object.data.size == '1'", message: not one}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [ACTION]}
`

// recorder records the errors of a test.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, values ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, values...))
}

// TestValidation checks what is said about an object that a validating policy refuses or warns of.
func TestValidation(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	deny := enginetest.Load(t, engine.Options{}, write("deny.yaml", strings.Replace(policies, "ACTION", "Deny", 1)))
	warn := enginetest.Load(t, engine.Options{}, write("warn.yaml", strings.Replace(policies, "ACTION", "Warn", 1)))
	one := write("one.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {size: '1'}\n")
	two := write("two.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {size: '2'}\n")
	for name, test := range map[string]struct {
		check func(t testing.TB)
		want  int
	}{
		"denied":          {func(t testing.TB) { deny.Denies(t, two, "not one") }, 0},
		"another text":    {func(t testing.TB) { deny.Denies(t, two, "not two") }, 1},
		"accepted":        {func(t testing.TB) { deny.Denies(t, one, "not one") }, 1},
		"left alone":      {func(t testing.TB) { deny.LeavesAlone(t, one) }, 0},
		"not left alone":  {func(t testing.TB) { deny.LeavesAlone(t, two) }, 1},
		"warned":          {func(t testing.TB) { warn.Warns(t, two, "not one") }, 0},
		"warned of other": {func(t testing.TB) { warn.Warns(t, two, "not two") }, 1},
		"only warned":     {func(t testing.TB) { warn.Denies(t, two, "not one") }, 1},
		"not warned":      {func(t testing.TB) { warn.Warns(t, one, "not one") }, 1},
	} {
		r := &recorder{TB: t}
		if test.check(r); len(r.errors) != test.want {
			t.Errorf("%s: the errors are %q", name, r.errors)
		}
	}
}

// TestDeniesByServer checks that refusals of the server itself count as denials: by a rule of a
// CustomResourceDefinition, and by PodSecurity.
func TestDeniesByServer(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	definition := write("definition.yaml", `apiVersion: apiextensions.k8s.io/v1
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
          size: {type: integer, x-kubernetes-validations: [{rule: self < 5, message: a shop is small}]}
`)
	namespace := write("namespace.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {pod-security.kubernetes.io/enforce: baseline}}\n")
	policies := enginetest.Load(t, engine.Options{AdmissionPlugins: []string{"PodSecurity"}}, definition, namespace)
	shop := write("shop.yaml", "apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: a}\nsize: 7\n")
	pod := write("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {hostNetwork: true, containers: [{name: a, image: 'a:1'}]}\n")
	for name, test := range map[string]struct {
		check func(t testing.TB)
		want  int
	}{
		"rule":             {func(t testing.TB) { policies.Denies(t, shop, "a shop is small") }, 0},
		"rule, other text": {func(t testing.TB) { policies.Denies(t, shop, "a shop is big") }, 1},
		"PodSecurity":      {func(t testing.TB) { policies.Denies(t, pod, "hostNetwork=true") }, 0},
		"other level":      {func(t testing.TB) { policies.Denies(t, pod, "restricted") }, 1},
	} {
		r := &recorder{TB: t}
		if test.check(r); len(r.errors) != test.want {
			t.Errorf("%s: the errors are %q", name, r.errors)
		}
	}
}
