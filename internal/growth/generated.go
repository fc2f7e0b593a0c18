package growth

import (
	"fmt"
	"strings"
)

// ofGenerated are the dimensions of policies that check runs on generated objects.
func ofGenerated() (all []dimension) {
	check := func(name string, n int, policies func(n int) string) {
		all = append(all, dimension{name: name, n: n, commands: []string{"check"}, files: func(n int) map[string]string {
			return input(policies(n), configMaps(1))
		}})
	}
	check("generated/policies", 16, func(n int) string {
		return repeat(n, func(i int) string { return keyPolicy(i, "x") })
	})
	check("generated/failing policies", 16, func(n int) string {
		return repeat(n, func(i int) string {
			return onConfigMaps(admissionPolicy(fmt.Sprint("p-", i), "configmaps", literals(1)...))
		})
	})
	check("generated/failing mutations", 16, func(n int) string {
		return onConfigMaps(admissionPolicy("p", "configmaps", literals(n)...))
	})
	check("generated/validations", 50, func(n int) string {
		return strings.Replace(valuePolicy("p", "none"), "  validations:\n", "  validations:\n"+lines(n, "  - {expression: \"object.data.a == 'x#'\"}\n"), 1)
	})
	check("generated/rules", 16, func(n int) string {
		return clusterPolicy("p", lines(n, rule("r-#", "ConfigMap", `patchStrategicMerge: {metadata: {labels: {"a-#": b}}}`)))
	})
	check("generated/mutators", 16, func(n int) string {
		return lines(n, "---\napiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: a-#}\nspec: {applyTo: [{groups: [''], versions: [v1], kinds: [Pod]}], location: 'spec.nodeSelector.a-#', parameters: {assign: {value: b}}}\n")
	})
	check("pairs/of different fields", 10, func(n int) string {
		return repeat(n, func(i int) string { return keyPolicy(i, "x") + keyValidation(i) })
	})
	check("pairs/of one mutating policy", 10, func(n int) string {
		return keyPolicy(0, "x") + repeat(n, keyValidation)
	})
	check("pairs/of one validating policy", 10, func(n int) string {
		return repeat(n, func(i int) string { return keyPolicy(i, "x") }) + keyValidation(0)
	})
	return all
}

// onConfigMaps lets a policy match only ConfigMaps of one version, for which objects are generated.
func onConfigMaps(policy string) string {
	return strings.Replace(policy, `apiGroups: ["*"], apiVersions: ["*"]`, `apiGroups: [""], apiVersions: [v1]`, 1)
}

// literals returns mutations that fail always, as JSONPatch has no Object literals.
func literals(n int) (mutations []string) {
	for i := range n {
		mutations = append(mutations, patch(fmt.Sprintf(`[JSONPatch{op: "add", path: "/metadata/ownerReferences", value: [Object.metadata.ownerReferences{name: "x-%d"}]}]`, i)))
	}
	return mutations
}

// keyPolicy returns a mutating policy that writes a value into a field of its own.
func keyPolicy(i int, value string) string {
	const condition = "  matchConditions: [{name: data, expression: 'has(object.data) && \"a\" in object.data'}]\n"
	return onConfigMaps(boundPolicy(fmt.Sprint("m-", i), "configmaps", condition, "", apply(fmt.Sprintf(`Object{data: {"key-%d": %q}}`, i, value))))
}

// keyValidation returns a validating policy that asks for another value of the field of keyPolicy.
func keyValidation(i int) string {
	return strings.Replace(valuePolicy(fmt.Sprint("v-", i), "y"), "object.data.a ==", fmt.Sprintf(`object.?data[?\"key-%d\"].orValue(\"y\") ==`, i), 1)
}
