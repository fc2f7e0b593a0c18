package growth

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
		{name: "snapshot/objects", commands: []string{"snapshot"}, flags: []string{"--from", "dump", "-o", "snapshot.yaml"}, n: 50, files: func(n int) map[string]string {
			return map[string]string{"dump/objects.yaml": labelMAP("team") + lines(n, "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: s-#, namespace: shop}\n")}
		}},
		{name: "snapshot/policies", commands: []string{"snapshot"}, flags: []string{"--from", "dump", "-o", "snapshot.yaml"}, n: 20, files: func(n int) map[string]string {
			rule := "{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, context: [{name: c, configMap: {name: c-#, namespace: shop}}], mutate: {patchStrategicMerge: {metadata: {labels: {a: '{{ c.data.a }}'}}}}}"
			return map[string]string{"dump/objects.yaml": lines(n, "---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p-#}\nspec: {rules: ["+rule+"]}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-#, namespace: shop}\n")}
		}},
		{name: "fn/items", commands: []string{"fn"}, n: 50, files: func(n int) map[string]string {
			return map[string]string{stdinFile: "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" +
				indented(labelAll()) + lines(n, "- {apiVersion: v1, kind: ConfigMap, metadata: {name: c-#, namespace: shop}, data: {a: b}}\n")}
		}},
		{name: "generate/objects", commands: []string{generate}, n: 40, files: func(n int) map[string]string {
			return map[string]string{policiesFile: labelMAP("team"), "manifests.yaml": configMaps(n)}
		}},
		{name: "generate/files", commands: []string{generate}, n: 25, files: func(n int) map[string]string {
			files := map[string]string{policiesFile: labelMAP("team")}
			for i := range n {
				files[fmt.Sprintf("manifests-%d.yaml", i)] = strings.ReplaceAll(configMaps(1), "c-0", fmt.Sprint("c-", i))
			}
			return files
		}},
	}
}

// ofReports are the dimensions of report.
func ofReports() []dimension {
	return []dimension{
		{name: "report/objects", commands: []string{"report"}, n: 40, files: func(n int) map[string]string {
			return input(labels(2)+boundPolicy("never", "configmaps", "  matchConditions: [{name: never, expression: 'false'}]\n", "", apply("Object{}")), configMaps(n))
		}},
		{name: "report/policies", commands: []string{"report"}, n: 16, files: func(n int) map[string]string {
			return input(labels(n), configMaps(2))
		}},
		{name: "report/idle policies", commands: []string{"report"}, n: 16, files: func(n int) map[string]string {
			return input(repeat(n, func(i int) string {
				return boundPolicy(fmt.Sprint("p-", i), "configmaps", "", "  matchResources: {objectSelector: {matchLabels: {none: none}}}\n", apply("Object{}"))
			}), configMaps(2))
		}},
		{name: "report/idle bindings", commands: []string{"report"}, n: 25, files: func(n int) map[string]string {
			return input(labelMAP("team")+lines(n, "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nmetadata: {name: b-#}\nspec: {policyName: team, matchResources: {objectSelector: {matchLabels: {app: none-#}}}}\n"), configMaps(2))
		}},
		{name: "report/page", commands: []string{"report"}, flags: []string{"-o", "html"}, n: 40, files: func(n int) map[string]string {
			return input(labels(2), configMaps(n))
		}},
	}
}

// ofComparisons are the dimensions of diff with two states or two sets of policies.
func ofComparisons() []dimension {
	return []dimension{
		{name: "base/fields", commands: []string{"diff"}, flags: []string{"--base", "base"}, n: 200, files: func(n int) map[string]string {
			return map[string]string{"manifests.yaml": configMap(n), baseFile: strings.ReplaceAll(configMap(n), ": value-", ": other-")}
		}},
		{name: "base/objects", commands: []string{"diff"}, flags: []string{"--base", "base"}, n: 40, files: func(n int) map[string]string {
			return map[string]string{"manifests.yaml": configMaps(n), baseFile: strings.ReplaceAll(configMaps(n), "a: ", "b: ")}
		}},
		{name: "base/one object", commands: []string{"diff"}, flags: []string{"--base", "base"}, n: 40, files: func(n int) map[string]string {
			files := input(labels(2), configMaps(n))
			files[baseFile], files["base/policies.yaml"] = strings.Replace(configMaps(n), "a: ", "b: ", 1), labels(2)
			return files
		}},
		{name: "base/policies", commands: []string{"diff"}, flags: []string{"--base", "base"}, n: 16, files: func(n int) map[string]string {
			files := input(labels(n), configMaps(1))
			files[baseFile], files["base/policies.yaml"] = configMaps(1), strings.ReplaceAll(labels(n), `\"x\"`, `\"y\"`)
			return files
		}},
		{name: "against/objects", commands: []string{"diff"}, flags: []string{"--against", otherPolicies}, n: 40, files: func(n int) map[string]string {
			return against(labelMAP("b"), labelMAP("c"), configMaps(n))
		}},
		{name: "against/fields", commands: []string{"diff"}, flags: []string{"--against", otherPolicies}, n: 75, files: func(n int) map[string]string {
			all := admissionPolicy("all", "configmaps", patch(setAll))
			return against(all, strings.ReplaceAll(all, `\"new\"`, `\"newer\"`), configMap(n))
		}},
		{name: "against/policies", commands: []string{"diff"}, flags: []string{"--against", otherPolicies}, n: 16, files: func(n int) map[string]string {
			return against(labels(n), strings.ReplaceAll(labels(n), `\"x\"`, `\"y\"`), configMaps(1))
		}},
	}
}

// ofConversions are the dimensions of convert.
func ofConversions() []dimension {
	return []dimension{
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
		{name: "convert/rules with many labels", commands: []string{"convert"}, flags: []string{"--to", "MutatingPolicy"}, n: 100, files: func(n int) map[string]string {
			return map[string]string{"kyverno.yaml": clusterPolicy("p", repeat(n, func(i int) string {
				return rule(fmt.Sprint("r-", i), "ConfigMap", "patchStrategicMerge: {metadata: {labels: {"+lines(8, fmt.Sprintf("l-%d-#: x, ", i))+"}}}")
			}))}
		}},
		{name: "convert/rules of one label", commands: []string{"convert"}, flags: []string{"--to", "MutatingPolicy"}, n: 40, files: func(n int) map[string]string {
			return map[string]string{"kyverno.yaml": clusterPolicy("p", repeat(n, func(i int) string {
				return rule(fmt.Sprint("r-", i), "ConfigMap", fmt.Sprintf("patchStrategicMerge: {metadata: {labels: {l: x-%d}}}", i))
			}))}
		}},
		{name: "convert/refusals", refusal: "[policy-not-convertible]", commands: []string{"convert"}, flags: []string{"--to", "MutatingPolicy"}, n: 40, files: func(n int) map[string]string {
			return map[string]string{"kyverno.yaml": clusterPolicy("p", repeat(n, func(i int) string {
				return rule(fmt.Sprint("r-", i), "ConfigMap", "patchStrategicMerge: {metadata: {labels: {l: \"{{ x509_decode('a') }}\"}}}")
			}))}
		}},
		{name: "convert/patch", commands: []string{"convert"}, flags: []string{"--to", "MutatingPolicy"}, n: 50, files: func(n int) map[string]string {
			return map[string]string{"kyverno.yaml": clusterPolicy("p", rule("r", "ConfigMap", "patchStrategicMerge: {data: {"+lines(n, "key-#: new, ")+"}}"))}
		}},
		{name: "convert/operations", commands: []string{"convert"}, flags: []string{"--to", "MutatingPolicy"}, n: 100, files: func(n int) map[string]string {
			return map[string]string{"kyverno.yaml": clusterPolicy("p", rule("r", "ConfigMap", "patchesJson6902: '["+strings.TrimSuffix(lines(n, `{"op": "add", "path": "/data/k-#", "value": "a"}, `), ", ")+"]'"))}
		}},
	}
}

// ofTests are the dimensions of test.
func ofTests() []dimension {
	return []dimension{
		{name: "test/tests", commands: []string{"test"}, n: 16, files: func(n int) map[string]string {
			return tested(repeat(n, func(i int) string { return test(fmt.Sprint("t-", i), passes) }), configMaps(1))
		}},
		{name: "test/failures", commands: []string{"test"}, n: 16, files: func(n int) map[string]string {
			return tested(repeat(n, func(i int) string { return test(fmt.Sprint("t-", i), "unchanged: true") }), configMaps(1))
		}},
		{name: "test/objects", commands: []string{"test"}, n: 25, files: func(n int) map[string]string {
			return tested(test("t", passes), configMaps(n))
		}},
		{name: "test/rows", commands: []string{"test"}, n: 25, files: func(n int) map[string]string {
			return tested(test("t", repeat(n, func(i int) string {
				return fmt.Sprintf("%s}\n  - {object: ConfigMap/c-%d, ", passes, i)
			})+passes), configMaps(n))
		}},
		{name: "test/expected", commands: []string{"test"}, n: 25, files: func(n int) map[string]string {
			files := tested(strings.Replace(test("t", ""), "  objects:\n  - {object: ConfigMap/*, }\n", "  expected: other/expected.yaml\n", 1), configMaps(n))
			files["other/expected.yaml"] = strings.ReplaceAll(configMaps(n), "a: b", "a: c")
			return files
		}},
	}
}

// generate is the command of Argo CD's plugin. It reads its directory.
const generate = "cmp generate"

// otherPolicies is a file with policies for --against.
const otherPolicies = "other/policies.yaml"

// against returns an input with two sets of policies.
func against(policies, others, manifests string) map[string]string {
	files := input(policies, manifests)
	files[otherPolicies] = others
	return files
}

// labels returns n policies that write the same label: copies of a growing map would count.
func labels(n int) string {
	return repeat(n, func(i int) string {
		return admissionPolicy(fmt.Sprint("p-", i), "configmaps", patch(`[JSONPatch{op: "add", path: "/metadata/labels/team", value: "x"}]`))
	})
}

// tested returns an input with tests of a policy.
func tested(tests, manifests string) map[string]string {
	return map[string]string{"preadmit-test.yaml": tests, otherPolicies: labelMAP("team"), "other/manifests.yaml": manifests}
}

// passes is an expectation about objects that tested labels.
const passes = "fields: {metadata.labels.team: x}"

// test returns a test with an expectation about all ConfigMaps.
func test(name, expectation string) string {
	return fmt.Sprintf("---\napiVersion: preadmit.dev/v1alpha1\nkind: PreadmitTest\nmetadata: {name: %s}\nspec:\n  policyPaths: [%s]\n  manifests: [other/manifests.yaml]\n  objects:\n  - {object: ConfigMap/*, %s}\n", name, otherPolicies, expectation)
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
