package growth

import (
	"fmt"
	"strings"
)

// ofFindings are the dimensions of messages.
func ofFindings() []dimension {
	return []dimension{
		{name: "findings/denied", refusal: "[denied]", n: 25, files: func(n int) map[string]string {
			return input(admissionPolicy("deny", "configmaps", patch(`[JSONPatch{op: "remove", path: "/data/none"}]`)), configMaps(n))
		}},
		{name: "findings/warnings", n: 25, files: func(n int) map[string]string {
			return input(strings.Replace(admissionPolicy("warn", "configmaps", patch(`[JSONPatch{op: "remove", path: "/data/none"}]`)), "spec:\n  reinvocation", "spec:\n  failurePolicy: Ignore\n  reinvocation", 1), configMaps(n))
		}},
		{name: "findings/not idempotent", n: 25, files: func(n int) map[string]string {
			return input(admissionPolicy("grow", "configmaps", patch(`[JSONPatch{op: "replace", path: "/data/a", value: object.data.a + "x"}]`)), configMaps(n))
		}},
		{name: "findings/not idempotent edits", n: 25, files: func(n int) map[string]string {
			return input(admissionPolicy("grow", "configmaps", patch(strings.Replace(setAll, `"new"`, `object.data[k] + "x"`, 1))), configMap(n))
		}},
		{name: "findings/conflicts", n: 25, files: func(n int) map[string]string {
			return input(labelMAP("a")+strings.Replace(labelMAP("b"), `labels/b", value: \"x`, `labels/a", value: \"y`, 1), configMaps(n))
		}},
		{name: "findings/policies", n: 16, files: func(n int) map[string]string {
			return input(repeat(n, func(i int) string {
				return admissionPolicy(fmt.Sprint("p-", i), "configmaps", apply(`has(object.metadata.nam) ? Object{} : Object{}`))
			}), configMaps(1))
		}},
		{name: "findings/random order", n: 25, files: func(n int) map[string]string {
			return input(clusterPolicy("p", rule("r", "ConfigMap", "patchStrategicMerge: {data: {"+lines(n, `key-#: "{{ keys(request.object.data)[0] }}", `)+"}}")), configMaps(1))
		}},
		{name: "findings/unknown kinds", n: 16, files: func(n int) map[string]string {
			return input(repeat(n, func(i int) string {
				return clusterPolicy(fmt.Sprint("p-", i), rule("r", fmt.Sprint("Deploymnt", i), "patchStrategicMerge: {metadata: {labels: {a: b}}}"))
			}), configMaps(1))
		}},
		{name: "findings/unknown schemas", n: 16, files: func(n int) map[string]string {
			return input(labelAll(), lines(n, "---\napiVersion: example.com/v1\nkind: Kind#\nmetadata: {name: k, namespace: shop}\nspec: {a: b}\n"))
		}},
	}
}

// ofMistakes are the dimensions of messages with fixes.
func ofMistakes() []dimension {
	return []dimension{
		{name: "findings/misspelt names", refusal: "error", n: 16, commands: []string{"check"}, files: func(n int) map[string]string {
			return input(admissionPolicy("p", "configmaps", manyOf(n, `Object{metadata: Object.metadata{labels: {"a-#": objct.metadata.name}}}`)...), configMaps(1))
		}},
		{name: "findings/misspelt fields", n: 16, commands: []string{"check"}, files: func(n int) map[string]string {
			return input(onConfigMaps(admissionPolicy("p", "configmaps", manyOf(n, `has(object.metadata.nam) ? Object{metadata: Object.metadata{labels: {"a-#": "b"}}} : Object{}`)...)), configMaps(1))
		}},
		{name: "findings/unquoted values", refusal: "error", n: 100, commands: []string{"check"}, files: func(n int) map[string]string {
			return input(labelAll(), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\ndata:\n"+lines(n, "  key-#: #\n"))
		}},
	}
}

// manyOf returns mutations that write what an expression says, each with its number in place of each "#".
func manyOf(n int, expression string) (mutations []string) {
	for i := range n {
		mutations = append(mutations, apply(strings.ReplaceAll(expression, "#", fmt.Sprint(i))))
	}
	return mutations
}

// ofRefusals are the dimensions of validation: policies, definitions and objects, alone and beside mutations.
func ofRefusals() []dimension {
	withReport := []string{"render", "diff", "explain", "check", "report"}
	return []dimension{
		{name: "refusals/objects", refusal: "[denied]", n: 25, commands: withReport, files: func(n int) map[string]string {
			return input(dataPolicy("m")+repeat(10, func(i int) string { return valuePolicy(fmt.Sprint("p-", i), "none") }), configMaps(n))
		}},
		{name: "refusals/accepted objects", n: 25, commands: withReport, files: func(n int) map[string]string {
			return input(dataPolicy("m")+repeat(10, func(i int) string { return valuePolicy(fmt.Sprint("p-", i), "x0") }), configMaps(n))
		}},
		{name: "refusals/of one object", refusal: "[denied]", n: 25, commands: withReport, files: func(n int) map[string]string {
			return input(repeat(n, func(i int) string { return valuePolicy(fmt.Sprint("p-", i), "none") }), configMaps(1))
		}},
		{name: "refusals/validations", refusal: "[denied]", n: 25, files: func(n int) map[string]string {
			return input(strings.Replace(valuePolicy("p", "none"), "  validations:\n", "  validations:\n"+lines(n, "  - {expression: \"object.data.a == 'x#'\"}\n"), 1), configMaps(1))
		}},
		{name: "refusals/custom resources", refusal: "[denied]", n: 25, commands: withReport, files: func(n int) map[string]string {
			return withContext(labelAll(), limitedKinds(1), lines(n, "---\napiVersion: example.com/v1\nkind: Limited0\nmetadata: {name: k-#, namespace: shop}\nspec: {a: wrong, b: x}\n"))
		}},
		{name: "refusals/definitions", refusal: "[denied]", n: 16, files: func(n int) map[string]string {
			return withContext(labelAll(), limitedKinds(n), lines(n, "---\napiVersion: example.com/v1\nkind: Limited#\nmetadata: {name: k, namespace: shop}\nspec: {a: wrong, b: x}\n"))
		}},
		{name: "refusals/validating, one mutating", n: 10, commands: []string{"check"}, files: func(n int) map[string]string {
			return input(dataPolicy("m")+repeat(n, func(i int) string { return valuePolicy(fmt.Sprint("p-", i), fmt.Sprint("x", i%2)) }), configMaps(1))
		}},
		{name: "refusals/mutating, one validating", n: 10, commands: []string{"check"}, files: func(n int) map[string]string {
			return input(repeat(n, func(i int) string { return dataPolicy(fmt.Sprint("m-", i)) })+valuePolicy("p", "x0"), configMaps(1))
		}},
	}
}

// limitedKinds returns definitions of kinds with an enumeration and a rule.
func limitedKinds(n int) string {
	return lines(n, "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: limited#s.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {plural: limited#s, kind: Limited#}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string, enum: [right]}, b: {type: string, maxLength: 9, x-kubernetes-validations: [{rule: self != 'x'}]}}}}}}}]\n")
}

// dataPolicy returns a mutating policy that writes x0 into ConfigMaps.
func dataPolicy(name string) string {
	return admissionPolicy(name, "configmaps", patch(`[JSONPatch{op: "add", path: "/data/a", value: "x0"}]`))
}

// valuePolicy returns a validating policy that asks for a value in ConfigMaps.
func valuePolicy(name, value string) string {
	return fmt.Sprintf(`---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]}
  validations:
  - {expression: "object.data.a == '%[2]s'"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, name, value)
}
