package growth

import (
	"fmt"
	"strings"
)

// paramKind adds Secrets as params to boundPolicy.
const paramKind = "  paramKind: {apiVersion: v1, kind: Secret}\n"

// params returns Secrets.
func params(n int) string {
	return lines(n, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: p-#, namespace: shop, labels: {pick: \"#\"}}\nstringData: {a: password-#}\n")
}

// ofParams are the dimensions of params.
func ofParams() []dimension {
	fromParam := patch(`[JSONPatch{op: "add", path: "/data/b", value: "x" + string(params.metadata.name)}]`)
	return []dimension{
		{name: "params/objects", n: 25, files: func(n int) map[string]string {
			return withContext(boundPolicy("team", "configmaps", paramKind, "  paramRef: {selector: {matchLabels: {pick: \"0\"}}, namespace: shop, parameterNotFoundAction: Deny}\n", fromParam), params(n), configMaps(n))
		}},
		{name: "params/all", n: 40, files: func(n int) map[string]string {
			return withContext(boundPolicy("team", "configmaps", paramKind, "  paramRef: {selector: {matchExpressions: [{key: pick, operator: Exists}]}, namespace: shop, parameterNotFoundAction: Deny}\n", fromParam), params(n), configMaps(1))
		}},
		{name: "params/by name", n: 40, files: func(n int) map[string]string {
			return withContext(repeat(n, func(i int) string {
				return boundPolicy(fmt.Sprint("team-", i), "configmaps", paramKind, fmt.Sprintf("  paramRef: {name: p-%d, namespace: shop, parameterNotFoundAction: Deny}\n", i), fromParam)
			}), params(n), configMaps(1))
		}},
	}
}

// ofSecrets are the dimensions of Secrets.
func ofSecrets() []dimension {
	return []dimension{
		{name: "secrets", n: 25, files: func(n int) map[string]string { return input(labelAll(), params(n)) }},
		{name: "secrets/values", n: 75, files: func(n int) map[string]string { return input(labelAll(), secretData(n)) }},
		{name: "secrets/in text", n: 25, files: func(n int) map[string]string {
			return input(labelAll(), params(n)+lines(n, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-#, namespace: shop}\ndata: {url: see-password-#}\n"))
		}},
		{name: "secrets/copied", n: 25, files: func(n int) map[string]string {
			return withContext(boundPolicy("team", "configmaps", paramKind, "  paramRef: {name: p-1, namespace: shop, parameterNotFoundAction: Deny}\n",
				patch(strings.Replace(setAll, `"new"`, `k + string(params.data.a)`, 1))), params(2), configMap(n))
		}},
		{name: "secrets/copied, policies", n: 16, files: func(n int) map[string]string {
			return withContext(repeat(n, func(i int) string {
				return boundPolicy(fmt.Sprint("team-", i), "configmaps", paramKind, "  paramRef: {name: p-1, namespace: shop, parameterNotFoundAction: Deny}\n",
					patch(`[JSONPatch{op: "replace", path: "/data/a", value: "x" + string(params.data.a)}]`))
			}), params(2), configMaps(1))
		}},
		{name: "secrets/copied, objects", n: 25, files: func(n int) map[string]string {
			return withContext(boundPolicy("team", "configmaps", paramKind, "  paramRef: {name: p-1, namespace: shop, parameterNotFoundAction: Deny}\n",
				patch(`[JSONPatch{op: "replace", path: "/data/a", value: object.metadata.name + string(params.data.a)}]`)), params(2), configMaps(n))
		}},
		{name: "secrets/with edits", n: 50, files: func(n int) map[string]string {
			return input(admissionPolicy("all", "configmaps", patch(setAll)), params(n)+configMap(n))
		}},
	}
}

// ofContext are the dimensions of what policies and schemas look up.
func ofContext() []dimension {
	return []dimension{
		{name: "namespaces", n: 25, files: func(n int) map[string]string {
			return withContext(strings.Replace(labelMAP("team"), "  matchConstraints: {", "  matchConstraints: {namespaceSelector: {matchLabels: {team: x}}, ", 1),
				lines(n, "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: n-#, labels: {team: x}}\n"), lines(n, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: n-#, labels: {a: b}}\n"))
		}},
		{name: "namespaces/unknown", n: 25, files: func(n int) map[string]string {
			return input(strings.Replace(labelMAP("team"), "  matchConstraints: {", "  matchConstraints: {namespaceSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}, ", 1),
				lines(n, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: n-#, labels: {a: b}}\n"))
		}},
		{name: "definitions", n: 30, files: func(n int) map[string]string {
			return withContext(admissionPolicy("team", `"*"`, patch(`object.apiVersion == "example.com/v1" ? [JSONPatch{op: "replace", path: "/spec/a", value: "c"}] : []`)),
				lines(n, "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: kinds#.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {plural: kinds#, kind: Kind#}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string, default: b}}}}}}}]\n"),
				lines(n, "---\napiVersion: example.com/v1\nkind: Kind#\nmetadata: {name: k, namespace: shop}\nspec: {a: b}\n"))
		}},
		{name: "definitions/fields", n: 100, files: func(n int) map[string]string {
			return withContext(admissionPolicy("team", "kinds", patch(`[JSONPatch{op: "replace", path: "/spec/f1", value: "c"}]`)),
				"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: kinds.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {plural: kinds, kind: Kind}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec:\n            type: object\n            properties:\n"+lines(n, "              f#: {type: string, default: b}\n"),
				"apiVersion: example.com/v1\nkind: Kind\nmetadata: {name: k, namespace: shop}\nspec:\n"+lines(n, "  f#: b\n"))
		}},
		{name: "config maps", n: 25, files: func(n int) map[string]string {
			return withContext(clusterPolicy("team", "  - name: r\n    match: {any: [{resources: {kinds: [Service]}}]}\n    context: [{name: c, configMap: {name: \"{{request.object.metadata.name}}\", namespace: shop}}]\n    mutate: {patchStrategicMerge: {metadata: {labels: {team: \"{{c.data.a}}\"}}}}\n"),
				configMaps(n), lines(n, "---\napiVersion: v1\nkind: Service\nmetadata: {name: c-#, namespace: shop}\n"))
		}},
	}
}
