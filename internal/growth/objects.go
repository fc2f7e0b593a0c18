package growth

import (
	"slices"
	"strings"
)

// setAll replaces all data of a ConfigMap, one key after the other.
const setAll = `object.data.map(k, JSONPatch{op: "replace", path: "/data/" + k, value: "new"})`

// perItem returns a mutation with one operation for each environment variable of a Pod.
func perItem(operation string) string {
	return patch(`has(object.spec.containers[0].env) ? object.spec.containers[0].env.map(e, JSONPatch{` + operation + `}) : []`)
}

// environment returns a Pod with many environment variables.
func environment(n int) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\nspec:\n  containers:\n  - name: c\n    image: app\n    env:\n" +
		lines(n, "    - name: E-#\n      value: \"#\"\n")
}

// secretData returns a Secret with many values in stringData.
func secretData(n int) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\nstringData:\n  a: password-a\n" + lines(n, "  key-#: password-#\n")
}

// ofObjects are the dimensions of one object and its changes.
func ofObjects() []dimension {
	all := []dimension{
		{name: "edits/keys", n: 125, files: func(n int) map[string]string {
			return input(admissionPolicy("all", "configmaps", patch(setAll)), configMap(n))
		}},
		{name: "edits/keys added", n: 125, files: func(n int) map[string]string {
			return input(admissionPolicy("all", "configmaps", patch(strings.Replace(setAll, `"/data/" + k`, `"/data/new-" + k`, 1))), configMap(n))
		}},
		{name: "edits/keys removed", n: 125, files: func(n int) map[string]string {
			return input(admissionPolicy("all", "configmaps", patch("has(object.data) ? "+strings.Replace(setAll, "replace", "remove", 1)+" : []")), configMap(n))
		}},
		{name: "edits/stringData", n: 75, files: func(n int) map[string]string {
			return input(admissionPolicy("all", "secrets", patch(strings.Replace(setAll, "new", "bmV3", 1))), secretData(n))
		}},
		{name: "edits/twice", n: 75, files: func(n int) map[string]string {
			return input(admissionPolicy("all", "configmaps", patch(setAll))+admissionPolicy("again", "configmaps", patch(strings.Replace(setAll, "new", "newer", 1))), configMap(n))
		}},
		{name: "edits/shared anchor", n: 75, files: func(n int) map[string]string {
			return input(admissionPolicy("all", "configmaps", patch(setAll)), configMaps(1)+"  first: &a value\n"+lines(n, "  key-#: *a\n"))
		}},
		{name: "edits/generated", n: 75, files: func(n int) map[string]string {
			return input(admissionPolicy("all", "configmaps", patch(strings.Replace(setAll, `"new"`, `"new " + k + " " + object.metadata.name`, 1))), configMap(n))
		}},
		{name: "mutations", n: 50, files: func(n int) map[string]string {
			return input(admissionPolicy("all", "configmaps", slices.Repeat([]string{patch(`[JSONPatch{op: "replace", path: "/data/a", value: object.data.a == "x" ? "y" : "x"}]`)}, n)...), configMaps(1))
		}},
	}
	for name, operation := range map[string]string{
		"changed": `op: "replace", path: "/spec/containers/0/env/" + e.name.substring(2) + "/value", value: "new"`,
		"removed": `op: "remove", path: "/spec/containers/0/env/0"`,
		"added":   `op: "add", path: "/spec/containers/0/env/0", value: Object.spec.containers.env{name: "N" + e.name, value: "x"}`,
		"moved":   `op: "move", from: "/spec/containers/0/env/0", path: "/spec/containers/0/env/" + e.value`,
	} {
		all = append(all, dimension{name: "items/" + name, n: 200, files: func(n int) map[string]string {
			return input(admissionPolicy("items", "pods", perItem(operation)), environment(n))
		}})
	}
	return all
}
