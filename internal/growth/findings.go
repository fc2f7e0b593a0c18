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
