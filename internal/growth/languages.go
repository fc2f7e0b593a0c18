package growth

import (
	"fmt"
	"strings"
)

// language writes policies of one language.
type language struct {
	name string
	// label labels ConfigMaps.
	label func(name string) string
	// images changes the image of every container of a Pod.
	images string
}

var languages = []language{
	{"map", labelMAP, admissionPolicy("images", "pods", patch(`object.spec.containers.map(c, JSONPatch{op: "replace", path: "/spec/containers/" + c.args[0] + "/image", value: "mirror"})`))},
	{"apply", func(name string) string {
		return admissionPolicy(name, "configmaps", apply(fmt.Sprintf(`Object{metadata: Object.metadata{labels: {%q: "x"}}}`, name)))
	}, admissionPolicy("images", "pods", apply(`Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, image: "mirror"})}}`))},
	{"kyverno", func(name string) string {
		return clusterPolicy(name, rule("r", "ConfigMap", fmt.Sprintf(`patchStrategicMerge: {metadata: {labels: {%s: "x"}}}`, name)))
	}, clusterPolicy("images", rule("r", "Pod", `patchStrategicMerge: {spec: {containers: [{(name): "*", image: mirror}]}}`))},
	{"foreach", func(name string) string {
		return clusterPolicy(name, rule("r", "ConfigMap", fmt.Sprintf(`patchesJson6902: '[{"op": "add", "path": "/metadata/labels/%s", "value": "x"}]'`, name)))
	}, clusterPolicy("images", rule("r", "Pod", `foreach: [{list: "request.object.spec.containers[:20]", patchesJson6902: '[{"op": "replace", "path": "/spec/containers/{{elementIndex}}/image", "value": "mirror"}]'}]`))},
	{"mutatingpolicy", func(name string) string { return kyvernoCEL(labelMAP(name)) }, kyvernoCEL(admissionPolicy("images", "pods",
		apply(`Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, image: "mirror"})}}`)))},
	{"gatekeeper", func(name string) string {
		return fmt.Sprintf("---\napiVersion: mutations.gatekeeper.sh/v1\nkind: AssignMetadata\nmetadata: {name: %[1]s}\nspec: {match: {scope: Namespaced}, location: metadata.labels.%[1]s, parameters: {assign: {value: x}}}\n", name)
	}, "---\napiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nmetadata: {name: images}\nspec: {applyTo: [{groups: [\"\"], versions: [v1], kinds: [Pod]}], location: 'spec.containers[name: *].image', parameters: {assign: {value: mirror}}}\n"},
	{"tree", func(name string) string {
		return mutationTree(name, "ConfigMap", fmt.Sprintf("{metadata: {labels: {%s: x}}}", name))
	}, mutationTree("images", "Pod", "{spec: {~.containers: {image: mirror}}}")},
}

func labelMAP(name string) string {
	return admissionPolicy(name, "configmaps", patch(fmt.Sprintf(`[JSONPatch{op: "add", path: "/metadata/labels/%s", value: "x"}]`, name)))
}

// apply and patch return a mutation of a MutatingAdmissionPolicy.
func apply(expression string) string {
	return fmt.Sprintf("{patchType: ApplyConfiguration, applyConfiguration: {expression: %q}}", expression)
}

func patch(expression string) string {
	return fmt.Sprintf("{patchType: JSONPatch, jsonPatch: {expression: %q}}", expression)
}

// admissionPolicy returns a MutatingAdmissionPolicy with its binding.
func admissionPolicy(name, resources string, mutations ...string) string {
	return boundPolicy(name, resources, "", "", mutations...)
}

// boundPolicy is admissionPolicy with lines for the specs of the policy and of the binding.
func boundPolicy(name, resources, spec, binding string, mutations ...string) string {
	return fmt.Sprintf(`---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  reinvocationPolicy: IfNeeded
  matchConstraints: {resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: [%[2]s]}]}
%[3]s  mutations:
  - %[5]s
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec:
  policyName: %[1]s
%[4]s`, name, resources, spec, binding, strings.Join(mutations, "\n  - "))
}

// kyvernoCEL turns MutatingAdmissionPolicies into Kyverno's MutatingPolicies.
func kyvernoCEL(policies string) string {
	var b strings.Builder
	for _, document := range strings.Split(policies, "---\n") {
		if strings.Contains(document, "kind: MutatingAdmissionPolicy\n") {
			b.WriteString("---\n" + strings.NewReplacer("admissionregistration.k8s.io/v1", "policies.kyverno.io/v1", "MutatingAdmissionPolicy", "MutatingPolicy").Replace(document))
		}
	}
	return b.String()
}

func clusterPolicy(name string, rules ...string) string {
	return fmt.Sprintf("---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: %s}\nspec:\n  rules:\n%s", name, strings.Join(rules, ""))
}

// rule returns a rule of a ClusterPolicy.
func rule(name, kind, mutate string) string {
	return fmt.Sprintf("  - name: %s\n    match: {any: [{resources: {kinds: [%s]}}]}\n    mutate: {%s}\n", name, kind, mutate)
}

func mutationTree(name, kind, tree string) string {
	return fmt.Sprintf("---\napiVersion: json.preadmit.dev/v1alpha1\nkind: MutatingPolicy\nmetadata: {name: %[1]s}\nspec: {rules: [{name: r, match: {any: [{kind: %[2]s}]}, mutate: %[3]s}]}\n", name, kind, tree)
}

// ofLanguages are the dimensions of every language.
func ofLanguages() (all []dimension) {
	for _, l := range languages {
		all = append(all,
			dimension{name: l.name + "/edits", n: 150, files: func(n int) map[string]string { return input(l.images, pod(n)) }},
			dimension{name: l.name + "/objects", n: 50, files: func(n int) map[string]string { return input(l.label("team"), configMaps(n)) }},
			dimension{name: l.name + "/fields", n: 250, files: func(n int) map[string]string { return input(l.label("team"), configMap(n)) }},
			dimension{name: l.name + "/policies", n: 16, files: func(n int) map[string]string {
				return input(repeat(n, func(i int) string { // all write the same label, as the copies of a growing map would count
					return strings.NewReplacer("{name: team}", fmt.Sprintf("{name: team-%d}", i), "policyName: team", fmt.Sprint("policyName: team-", i)).Replace(l.label("team"))
				}), configMaps(1))
			}},
		)
	}
	return all
}

// configMaps returns small ConfigMaps.
func configMaps(n int) string {
	return lines(n, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c-#\n  namespace: shop\n  labels:\n    app: a-#\ndata:\n  a: b-#\n")
}

// configMap returns one large ConfigMap.
func configMap(n int) string { return configMaps(1) + lines(n, "  key-#: value-#\n") }

// pod returns a Pod with many containers.
func pod(n int) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\nspec:\n  containers:\n" +
		lines(n, "  - name: c-#\n    image: registry.example.com/app:# # pinned\n    args: [\"#\"]\n")
}
