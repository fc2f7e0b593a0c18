package main

import (
	"fmt"
	"strings"
)

// ofCommands are the dimensions of commands with input of their own.
func ofCommands() []dimension {
	return []dimension{
		{name: "pods/workloads", commands: []string{"pods"}, n: 40, files: func(n int) map[string]string {
			return input(labelAll(), deployments(n))
		}},
		{name: "pods/containers", commands: []string{"pods"}, n: 50, files: func(n int) map[string]string {
			return input(labelAll(), deployments(1)+lines(n, "      - {name: c-#, image: app}\n"))
		}},
		{name: "view/objects", commands: []string{"view"}, n: 50, files: func(n int) map[string]string {
			return map[string]string{"manifests.yaml": deployments(n)}
		}},
		{name: "fn/items", commands: []string{"fn"}, n: 50, files: func(n int) map[string]string {
			return map[string]string{stdinFile: "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" +
				indented(labelAll()) + lines(n, "- {apiVersion: v1, kind: ConfigMap, metadata: {name: c-#, namespace: shop}, data: {a: b}}\n")}
		}},
		{name: "base/fields", commands: []string{"diff"}, flags: []string{"--base", "base"}, n: 200, files: func(n int) map[string]string {
			return map[string]string{"manifests.yaml": configMap(n), baseFile: strings.ReplaceAll(configMap(n), ": value-", ": other-")}
		}},
		{name: "base/objects", commands: []string{"diff"}, flags: []string{"--base", "base"}, n: 40, files: func(n int) map[string]string {
			return map[string]string{"manifests.yaml": configMaps(n), baseFile: strings.ReplaceAll(configMaps(n), "a: ", "b: ")}
		}},
		{name: "convert/policies", commands: []string{"convert"}, flags: []string{"--to", "MutatingPolicy"}, n: 20, files: func(n int) map[string]string {
			return map[string]string{"kyverno.yaml": repeat(n, func(i int) string {
				return clusterPolicy(fmt.Sprint("p-", i), rule("r", "ConfigMap", "patchStrategicMerge: {metadata: {labels: {team: x}}}"))
			})}
		}},
		{name: "convert/rules", commands: []string{"convert"}, flags: []string{"--to", "MutatingPolicy"}, n: 40, files: func(n int) map[string]string {
			return map[string]string{"kyverno.yaml": clusterPolicy("p", repeat(n, func(i int) string {
				return rule(fmt.Sprint("r-", i), "ConfigMap", fmt.Sprintf("patchStrategicMerge: {metadata: {labels: {l-%d: x}}}", i))
			}))}
		}},
		{name: "convert/patch", commands: []string{"convert"}, flags: []string{"--to", "MutatingPolicy"}, n: 50, files: func(n int) map[string]string {
			return map[string]string{"kyverno.yaml": clusterPolicy("p", rule("r", "ConfigMap", "patchStrategicMerge: {data: {"+lines(n, "key-#: new, ")+"}}"))}
		}},
	}
}

// indented makes the documents of a stream items of a list in flow style.
func indented(stream string) string {
	var b strings.Builder
	for _, document := range strings.Split(stream, "---\n")[1:] {
		b.WriteString("- " + strings.ReplaceAll(strings.TrimSuffix(document, "\n"), "\n", "\n  ") + "\n")
	}
	return b.String()
}

// deployments returns Deployments; the list of the containers of the last one is at the end.
func deployments(n int) string {
	return lines(n, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d-#, namespace: shop}\nspec:\n  selector: {matchLabels: {app: d-#}}\n  template:\n    metadata: {labels: {app: d-#}}\n    spec:\n      containers:\n      - {name: main, image: app}\n")
}
