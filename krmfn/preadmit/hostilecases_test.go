//go:build unix

package main

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {a: b}\n"

// admissionPolicy returns a MutatingAdmissionPolicy for ConfigMaps with one JSONPatch, and its
// binding.
func admissionPolicy(variables []string, expression string) string {
	var b strings.Builder
	b.WriteString(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: p.example.com}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}
  reinvocationPolicy: Never
  failurePolicy: Ignore
  variables:
`)
	for i, v := range variables {
		fmt.Fprintf(&b, "  - {name: v%d, expression: %q}\n", i, v)
	}
	fmt.Fprintf(&b, `  mutations:
  - {patchType: JSONPatch, jsonPatch: {expression: %q}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: p.example.com}
spec: {policyName: p.example.com}
`, expression)
	return b.String()
}

// idle is a policy that changes nothing.
var idle = admissionPolicy([]string{"1"}, `[JSONPatch{op: "test", path: "/kind", value: object.kind}]`)

// input is a hostile manifest.
func input(name string, manifest generator, want string) hostile {
	return hostile{name: name, arguments: []string{"render", "-p", "p.yaml", "-"}, files: map[string]generator{"p.yaml": text(idle), "-": manifest}, want: want}
}

// policy is a hostile policy.
func policy(name, policy, want string) hostile {
	return policyOn(name, text(policy), text(configMap), want)
}

func policyOn(name string, policy, manifest generator, want string) hostile {
	return hostile{name: name, arguments: []string{"render", "-p", "p.yaml", "m.yaml"}, files: map[string]generator{"p.yaml": policy, "m.yaml": manifest}, want: want}
}

// inputCases are manifests that are large, deep, many or malformed.
func inputCases() []hostile {
	bomb, merges := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n", "a0: &a0 {k: v}\n"
	for i := range 12 {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9), i)
	}
	for i := range 1000 {
		merges += fmt.Sprintf("a%d: &a%d {<<: *a%d, k%d: v}\n", i+1, i+1, i, i)
	}
	endless := func(w *bufio.Writer) {
		for line := strings.Repeat("a", 1<<20); ; {
			if _, err := w.WriteString(line); err != nil {
				return
			}
		}
	}
	deepBlock := func(w *bufio.Writer) {
		for i := range 1000 {
			w.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
	}
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: b, resources: {limits: {cpu: '"
	return []hostile{
		input("endless line", endless, "the input is larger than 64 MiB"),
		{name: "input: endless renderer", arguments: []string{"exec", "--", "yes"}, want: "yes failed: the input is larger than 64 MiB"},
		input("a million documents", repeat("", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\n", "", 1_000_000), "there are more than 100000 documents"),
		input("a million documents of JSON", repeat("", "{}", "", 1_000_000), "there are more than 100000 documents"),
		input("a million items", repeat("apiVersion: v1\nkind: List\nitems:\n", "- {}\n", "", 1_000_000), "there are more than 100000 documents"),
		input("a million separators", repeat("", "---\n", "", 1_000_000), "there are no manifests"),
		input("a million mistakes", repeat("", "---\na: b: c\n", "", 1_000_000), "there are more than 500 mistakes"),
		input("a million warnings", repeat(configMap, "k%d: {yes: v}\n", "", 200_000), ""),
		input("documents without names", repeat("", "---\na: c\n", "", 40_000), "the same in"),
		input("many keys", repeat(configMap, "k%d: v\n", "", 200_000), ""),
		input("many anchors", repeat(configMap, "k%d: &a v\n", "", 500_000), ""),
		input("alias bomb", text(configMap+bomb), "aliases expand to more than 100,000 values"),
		input("merge keys", text(configMap+merges), "aliases expand to more than 100,000 values"),
		input("deep flow", repeat(configMap+"x: ", "[", "", 1_000_000), "more than 200 levels deep"),
		input("deep JSON", repeat(`{"a":`, `{"a":`, "", 1_000_000), "more than 200 levels deep"),
		input("deep list", repeat(configMap+"x:\n", "- ", "", 1_000_000), "more than 200 levels deep"),
		input("deep block", deepBlock, "more than 200 levels deep"),
		input("folded text", repeat(configMap+"a: >\n", "  a\n\n", "", 500_000), ""),
		input("long number", repeat(configMap+"a: ", "9", "\n", 3_000_000), ""),
		input("quantity with a huge exponent", text(pod+"1e2147483647'}}}]}\n"), ""),
		input("quantity with many digits", repeat(pod, "9", "'}}}]}\n", 100_000), ""),
		policyOn("long line in a policy", repeat("apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: p}\nspec: {x: '", "a", "'}\n", 20_000_000), text(configMap), "unknown field"),
		policyOn("many mistaken policies", repeat("", "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: p%d}\nspec: {x: y}\n", "", 20_000), text(configMap), "the same in 19999 more places"),
	}
}

// doubling returns variables, each built from the previous one.
func doubling(n int, first, next string) []string {
	variables := []string{first}
	for i := range n {
		variables = append(variables, strings.ReplaceAll(next, "$", fmt.Sprintf("variables.v%d", i)))
	}
	return variables
}

// celCases are CEL expressions that reach the limits of a server or of preadmit.
func celCases() []hostile {
	value := func(variables []string, expression string) string {
		return admissionPolicy(variables, `[JSONPatch{op: "add", path: "/data/x", value: `+expression+`}]`)
	}
	cost, budget := "actual cost limit exceeded", "running out of cost budget"
	tree := doubling(40, "['aaaaaaaaaa']", "dyn([$,$])")
	variables, sizes := []string{"'a'.replace('a', '" + strings.Repeat("b", 2000) + "')"}, []string{"0"}
	for i := range 100 {
		variables = append(variables, "variables.v0.replace('b', variables.v0.substring(0, 1000))")
		sizes = append(sizes, fmt.Sprintf("size(variables.v%d)", i+1))
	}
	strict := func(h hostile) hostile { // failurePolicy decides about the server's limits
		generate := h.files["p.yaml"]
		h.files["p.yaml"] = func(w *bufio.Writer) {
			var b strings.Builder
			inner := bufio.NewWriter(&b)
			generate(inner)
			inner.Flush()
			w.WriteString(strings.Replace(b.String(), "failurePolicy: Ignore", "failurePolicy: Fail", 1))
		}
		return h
	}
	return []hostile{
		strict(policy("cel: nested loops", value([]string{"lists.range(1000)"}, `string(variables.v0.map(x, variables.v0.map(y, variables.v0.map(z, x*y*z))).size())`), cost)),
		strict(policy("cel: range", value([]string{"1"}, `string(lists.range(2000000000).size())`), cost)),
		strict(policy("cel: distinct", value([]string{"lists.range(10000)"}, `string(variables.v0.distinct().size())`), budget)),
		strict(policy("cel: sets", value([]string{"lists.range(10000)"}, `string(sets.intersects(variables.v0, variables.v0.map(x, -1-x)))`), budget)),
		strict(policy("cel: doubled text", value(doubling(40, "'aaaaaaaaaa'", "$+$"), "variables.v40"), cost)),
		policy("cel: replace", value(doubling(14, "'aaaaaaaaaa'", "$+$"), `string(variables.v14.replace('', variables.v14).size())`), "replace: the text becomes longer than 4 MiB"),
		policy("cel: join", value([]string{"lists.range(1000)", "'" + strings.Repeat("a", 10_000) + "'"}, `string(variables.v0.map(x, 'a').join(variables.v1).size())`), "join: the text becomes longer than 4 MiB"),
		policy("cel: doubled list", value(doubling(40, "['aaaaaaaaaa']", "$+$"), "string(variables.v40.size())"), "a list or map of more than 16 MiB"),
		policy("cel: doubled tree", value(tree, "variables.v40"), "a list or map of more than 16 MiB"),
		policy("cel: equal trees", value(tree, "string(variables.v40 == variables.v40)"), "a list or map of more than 16 MiB"),
		policy("cel: many variables", value(variables, "string("+strings.Join(sizes, "+")+")"), "the variables of the policy take more than 64 MiB"),
		policy("cel: long expression", value([]string{"1"}, "'"+strings.Repeat("a", 3_000_000)+"'"), "expression"),
		policy("cel: deep parentheses", value([]string{"1"}, strings.Repeat("(", 240)+"'a'"+strings.Repeat(")", 240)), ""),
		policy("cel: regular expression", value([]string{"1"}, `string('`+strings.Repeat("a", 10_000)+`'.matches('(a*)*(a*)*(a*)*(a*)*b'))`), ""),
	}
}

// patchCases are JSON Patches.
func patchCases() []hostile {
	copies := func(operation string) string {
		var all []string
		for i := range 40 {
			all = append(all, fmt.Sprintf(operation, i))
		}
		return strings.Join(all, ", ")
	}
	custom := strings.Replace(admissionPolicy([]string{"1"}, "["+copies(`JSONPatch{op: "copy", from: "/spec", path: "/spec/x%d"}`)+"]"), "failurePolicy: Ignore", "failurePolicy: Fail", 1)
	custom = strings.Replace(custom, `apiGroups: [""], apiVersions: [v1], resources: [configmaps]`, `apiGroups: [b.c], apiVersions: [v1], resources: [as]`, 1)
	object := text("apiVersion: b.c/v1\nkind: A\nmetadata: {name: a}\nspec: {a: " + strings.Repeat("b", 1000) + "}\n")
	definition := "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.b.c}\nspec: {group: b.c, names: {kind: A, plural: as}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}\n"
	list := "    mutate: {patchesJson6902: '[" + copies(`{"op": "copy", "from": "/spec", "path": "/spec/x%d"}`) + "]'}\n"
	return []hostile{
		policyOn("patch: operations", text(admissionPolicy([]string{"lists.range(1000)"}, `variables.v0.map(i, JSONPatch{op: "test", path: "/kind", value: "ConfigMap"}) + `+strings.Join(slices.Repeat([]string{`variables.v0.map(i, JSONPatch{op: "test", path: "/kind", value: "ConfigMap"})`}, 11), " + "))), text(configMap), ""),
		policyOn("patch: copies", text(custom+definition), object, "the accumulated size increase of copy is"),
		policyOn("patch: copies of Kyverno", text(strings.Replace(kyverno(list), "ConfigMap", "A", 1)+definition), object, "more than 3 MiB"),
		policyOn("patch: operations that make parents", repeat(kyverno("    mutate:\n      patchesJson6902: |-\n"), "        - {op: add, path: /a/b%d/c, value: d}\n", "", 10_000),
			repeat("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n", "  k%d: v\n", "", 20_000), ""),
	}
}
