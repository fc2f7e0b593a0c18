package growth

import (
	"fmt"
	"strings"
)

// ofPolicies are the dimensions of MutatingAdmissionPolicies.
func ofPolicies() []dimension {
	return []dimension{
		{name: "policies/none matches", n: 50, files: func(n int) map[string]string {
			return input(repeat(n, func(i int) string {
				return strings.Replace(labelMAP(fmt.Sprint("p-", i)), "resources: [configmaps]", "resources: [services]", 1)
			}), configMaps(1))
		}},
		{name: "policies/one field", n: 40, files: func(n int) map[string]string {
			return input(repeat(n, func(i int) string {
				return admissionPolicy(fmt.Sprint("p-", i), "configmaps", patch(fmt.Sprintf(`[JSONPatch{op: "replace", path: "/data/a", value: "%d"}]`, i)))
			}), configMaps(1))
		}},
		{name: "policies/conditions", n: 50, files: func(n int) map[string]string {
			return input(boundPolicy("team", "configmaps", "  matchConditions:\n"+lines(min(n, 64), "  - {name: c-#, expression: 'object.metadata.name != \"#\"'}\n"), "", patch(`[JSONPatch{op: "add", path: "/data/b", value: "x"}]`)), configMaps(n))
		}},
		{name: "policies/variables", n: 25, files: func(n int) map[string]string {
			return input(boundPolicy("team", "configmaps", "  variables:\n  - {name: v0, expression: '1'}\n"+
				repeat(n, func(i int) string { return fmt.Sprintf("  - {name: v%d, expression: 'variables.v%d + 1'}\n", i+1, i) }), "",
				patch(fmt.Sprintf(`[JSONPatch{op: "add", path: "/data/b", value: string(variables.v%d)}]`, n))), configMaps(1))
		}},
		{name: "policies/expression", n: 25, files: func(n int) map[string]string {
			return input(admissionPolicy("team", "configmaps", patch(`[JSONPatch{op: "add", path: "/data/b", value: ""`+lines(n, ` + object.data.a`)+`}]`)), configMaps(1))
		}},
		{name: "policies/bindings", n: 25, files: func(n int) map[string]string {
			return input(labelMAP("team")+lines(n, "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nmetadata: {name: b-#}\nspec: {policyName: team}\n"), configMaps(1))
		}},
	}
}

// ofMutators are the dimensions of mutators of Gatekeeper.
func ofMutators() []dimension {
	return []dimension{
		{name: "gatekeeper/one list", n: 16, files: func(n int) map[string]string {
			return input(lines(n, "---\napiVersion: mutations.gatekeeper.sh/v1\nkind: ModifySet\nmetadata: {name: set-#}\nspec:\n  applyTo: [{groups: [''], versions: [v1], kinds: [Pod]}]\n  location: 'spec.containers[name: main].args'\n  parameters: {operation: merge, values: {fromList: [arg]}}\n"), mainPod)
		}},
		{name: "gatekeeper/items of one list", n: 16, files: func(n int) map[string]string {
			return input(lines(n, "---\napiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: item-#}\nspec:\n  applyTo: [{groups: [''], versions: [v1], kinds: [Pod]}]\n  location: 'spec.containers[name: c-#].image'\n  parameters: {assign: {value: mirror}, pathTests: [{subPath: 'spec.containers[name: c-#]', condition: MustExist}]}\n"), mainPod)
		}},
	}
}

// ofRules are the dimensions of rules of Kyverno.
func ofRules() []dimension {
	return []dimension{
		{name: "kyverno/rules", n: 16, files: func(n int) map[string]string {
			return input(clusterPolicy("team", repeat(n, func(i int) string {
				return rule(fmt.Sprint("r-", i), "ConfigMap", fmt.Sprintf("patchStrategicMerge: {metadata: {labels: {team: x-%d}}}", i))
			})), configMaps(1))
		}},
		{name: "kyverno/patch", n: 50, files: func(n int) map[string]string {
			return input(clusterPolicy("team", rule("r", "ConfigMap", "patchStrategicMerge: {data: {"+lines(n, "key-#: new, ")+"}}")), configMap(n))
		}},
		{name: "kyverno/json patch", n: 50, files: func(n int) map[string]string {
			return input(clusterPolicy("team", rule("r", "ConfigMap", "patchesJson6902: '["+strings.TrimSuffix(lines(n, `{"op": "add", "path": "/data/key-#", "value": "new"},`), ",")+"]'")), configMap(n))
		}},
		{name: "kyverno/exceptions", n: 16, files: func(n int) map[string]string {
			return input(clusterPolicy("team", rule("r", "ConfigMap", "patchStrategicMerge: {metadata: {labels: {team: x}}}"))+
				lines(n, "---\napiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e-#, namespace: kyverno}\nspec:\n  exceptions: [{policyName: team, ruleNames: [r]}]\n  match: {any: [{resources: {kinds: [ConfigMap], names: [d-#]}}]}\n"), configMaps(20))
		}},
		{name: "kyverno/contexts", n: 16, files: func(n int) map[string]string {
			return input(clusterPolicy("team", "  - name: r\n    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    context:\n"+
				lines(n, "    - {name: v#, variable: {value: '#'}}\n")+"    mutate: {patchStrategicMerge: {metadata: {labels: {team: \"{{v0}}\"}}}}\n"), configMaps(20))
		}},
	}
}

// ofTargets are the dimensions of policies that change other objects.
func ofTargets() []dimension {
	return []dimension{
		{name: "kyverno/targets", n: 16, files: func(n int) map[string]string {
			return input(targets("c-1"), configMaps(n)+"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\n")
		}},
		{name: "kyverno/targets by name", n: 16, files: func(n int) map[string]string {
			return input(targets("{{request.object.metadata.labels.target}}"), triggers(n)+configMaps(n))
		}},
		{name: "kyverno/triggers", n: 16, files: func(n int) map[string]string {
			return input(targets("c-1"), triggers(n)+configMaps(2))
		}},
		{name: "mutatingpolicy/targets by name", n: 16, files: func(n int) map[string]string {
			return input(strings.Replace(existing(), "expression: 'resource.Get(\"v1\", \"configmaps\", \"shop\", object.metadata.labels.target)'",
				`resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps], resourceNames: [c-0]}]`, 1), triggers(n)+configMaps(n))
		}},
		{name: "mutatingpolicy/targets by kind", n: 16, files: func(n int) map[string]string {
			return input(strings.Replace(existing(), "expression: 'resource.Get(\"v1\", \"configmaps\", \"shop\", object.metadata.labels.target)'",
				`resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [services]}]`, 1), triggers(n)+configMaps(n))
		}},
		{name: "mutatingpolicy/targets", n: 16, files: func(n int) map[string]string {
			return input(existing(), triggers(n)+configMaps(n))
		}},
	}
}

// mainPod is a Pod with a container named main.
const mainPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\nspec: {containers: [{name: main, image: app}]}\n"

// targets returns a rule that Secrets trigger, with a ConfigMap as target.
func targets(name string) string {
	return clusterPolicy("targets", rule("r", "Secret",
		fmt.Sprintf(`targets: [{apiVersion: v1, kind: ConfigMap, namespace: shop, name: %q}], patchStrategicMerge: {metadata: {annotations: {"by": "{{request.object.metadata.name}}"}}}`, name)))
}

// triggers returns Secrets that name ConfigMaps.
func triggers(n int) string {
	return lines(n, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s-#, namespace: shop, labels: {target: c-#}}\n")
}

// existing returns a MutatingPolicy that changes the ConfigMap that a Secret names.
func existing() string {
	return `apiVersion: policies.kyverno.io/v1beta1
kind: MutatingPolicy
metadata: {name: restart}
spec:
  evaluation: {mutateExisting: {enabled: true}}
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]}
  targetMatchConstraints: {expression: 'resource.Get("v1", "configmaps", "shop", object.metadata.labels.target)'}
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"by": string(request.object.metadata.name)}}}'}}]
`
}
