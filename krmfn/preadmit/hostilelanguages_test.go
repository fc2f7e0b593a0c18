//go:build unix

package main

import (
	"fmt"
	"strings"
)

// kyverno returns a ClusterPolicy for ConfigMaps with one rule.
func kyverno(rule string) string {
	return `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
` + rule
}

// jmespathCases are expressions in Kyverno's JMESPath.
func jmespathCases() []hostile {
	query := func(name, expression, want string) hostile {
		return policy("jmespath: "+name, kyverno(fmt.Sprintf("    mutate: {patchStrategicMerge: {data: {x: %q}}}\n", "{{ "+expression+" }}")), want)
	}
	again := func(first, next string) string { return first + " " + strings.Repeat("| "+next+" ", 60) }
	work, size := "the expression looks at more than", "the result is larger than 4 MiB"
	return []hostile{
		query("doubled list", again("`[1,2]`", "[@,@][]")+"| length(@)", work),
		query("doubled tree", again("`[1,2]`", "[@,@]")+"| length(to_string(@))", work),
		query("doubled map", again("`[1,2]`", "{a: @, b: @}")+"| length(to_string(@))", work),
		query("equal trees", again("`[1,2]`", "[@,@]")+"| @ == [@]", work),
		query("doubled text", again("'aaaaaaaaaa'", "join('', [@,@])")+"| length(@)", size),
		query("nested text", again("'\"'", "to_string([@])")+"| length(@)", size),
		query("replaced text", again("'aaaaaaaaaa'", "replace_all(@, 'a', 'aaaaaaaaaa')")+"| length(@)", size),
		query("regular expression", "to_string(regex_match('(a*)*(a*)*b', '"+strings.Repeat("a", 10_000)+"'))", ""),
		query("wildcards", "to_string(pattern_match('"+strings.Repeat("*a", 3000)+"', '"+strings.Repeat("a", 8000)+"b'))", ""),
		query("deep", "to_string("+strings.Repeat("(", 8000)+"'a'"+strings.Repeat(")", 8000)+")", ""),
		query("long", strings.Repeat("!", 20_000)+"a", "longer than 16384 bytes"),
		query("aliases", `parse_yaml('a: &a [x,x,x,x,x,x,x,x,x,x]`+"\n"+aliases(10)+`')`, "not YAML"),
	}
}

// aliases returns lists, each with ten aliases of the previous one.
func aliases(n int) string {
	var b strings.Builder
	name := "a"
	for i := range n {
		next := fmt.Sprintf("b%d", i)
		fmt.Fprintf(&b, "%s: &%s [%s*%s]\n", next, next, strings.Repeat("*"+name+",", 9), name)
		name = next
	}
	return b.String()
}

// kyvernoCases are variables and loops of Kyverno.
func kyvernoCases() []hostile {
	context := func(name string, n int, first, next, want string) hostile {
		var b strings.Builder
		fmt.Fprintf(&b, "    context:\n    - {name: v0, variable: {value: %s}}\n", first)
		for i := range n {
			fmt.Fprintf(&b, "    - {name: v%d, variable: {value: %s}}\n", i+1, strings.ReplaceAll(next, "$", fmt.Sprintf("{{v%d}}", i)))
		}
		return policy("kyverno: "+name, kyverno(b.String()+fmt.Sprintf("    mutate: {patchStrategicMerge: {data: {x: '{{v%d}}'}}}\n", n)), want)
	}
	numbers := strings.Repeat("1,", 2000) + "1"
	return []hostile{
		context("recursive variable", 0, "'{{v0}}{{v0}}'", "", `there is no "v0"`),
		context("doubled text", 60, "aaaaaaaaaa", "'$$'", "longer than 4 MiB"),
		context("doubled tree", 60, "[a, a]", "['$', '$']", "the values of variables in one value take more than 16 MiB"),
		policy("kyverno: foreach in foreach", kyverno(`    context: [{name: range, variable: {value: [`+numbers+`]}}]
    mutate:
      foreach:
      - list: range
        foreach:
        - list: range
          foreach: [{list: range, patchStrategicMerge: {data: {x: "{{element}}"}}}]
`), "foreach has more than 20000 elements"),
		policyOn("kyverno: foreach on a large object", text(kyverno(`    mutate:
      foreach: [{list: "keys(request.object.data)", patchStrategicMerge: {data: {"{{element}}": "{{element}}x"}}}]
`)), repeat("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n", "  k%d: v\n", "", 20_000), "the patches of foreach, times the size of the object"),
		policyOn("kyverno: anchors on a long list", text(strings.Replace(kyverno(`    mutate:
      patchStrategicMerge:
        spec:
          containers:
          - {<(name): "*", (image): "?", +(imagePullPolicy): Always}
          - {(name): "a*", securityContext: {privileged: false}}
`), "ConfigMap", "Pod", 1)), repeat("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n", "  - {name: a%d, image: b}\n", "", 1000), ""),
		policyOn("kyverno: wildcards", text(strings.Replace(kyverno("    mutate: {patchStrategicMerge: {data: {x: y}}}\n"), "kinds: [ConfigMap]", "kinds: [ConfigMap], names: ['"+strings.Repeat("*a", 50_000)+"']", 1)),
			repeat("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ", "a", "b}\n", 50_000), "error[denied]"),
	}
}

// treeCases are mutation trees.
func treeCases() []hostile {
	tree := func(name string, n int, first, next, mutate, want string) hostile {
		var b strings.Builder
		b.WriteString("apiVersion: json.preadmit.dev/v1alpha1\nkind: MutatingPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    context:\n")
		fmt.Fprintf(&b, "    - {name: v0, variable: %s}\n", first)
		for i := range n {
			fmt.Fprintf(&b, "    - {name: v%d, variable: %s}\n", i+1, strings.ReplaceAll(next, "#", fmt.Sprintf("v%d", i)))
		}
		return policy("tree: "+name, b.String()+"    mutate: "+mutate+"\n", want)
	}
	expression := func(first, next string) string {
		return fmt.Sprintf("{data: {x: %q}}", "("+first+" "+strings.Repeat("| "+next+" ", 60)+"| to_string(@))")
	}
	numbers := "[" + strings.Repeat("1,", 2000) + "1]"
	work, binding := "the expression looks at more than", "is larger than 4 MiB"
	return []hostile{
		tree("doubled binding", 60, "[a, a]", "['($#)', '($#)']", "{data: {x: '(to_string($v60))'}}", binding),
		tree("doubled binding in CEL", 60, "[a, a]", "'(cel; [bindings.#, bindings.#])'", "{data: {x: '(to_string($v60))'}}", binding),
		tree("doubled object", 0, "a", "", "["+strings.Repeat(`{data: {x: '($payload)', y: '($payload)'}},`, 60)+"{}]", "adds more than 16 MiB to the object"),
		tree("doubled list", 0, "a", "", expression("`[1,2]`", "[@,@][]"), work),
		tree("doubled tree", 0, "a", "", expression("`[1,2]`", "[@,@]"), work),
		tree("doubled text", 0, "a", "", expression("'aaaaaaaa'", "concat(@,@)"), work),
		tree("joined text", 0, "a", "", expression("'aaaaaaaa'", "join('', [@,@])"), work),
		tree("replaced text", 0, "a", "", expression("'aaaaaaaa'", "replace(@, 'a', 'aaaaaaaaaaaa')"), work),
		tree("nested loops", 0, numbers, "", "{data: {x: '(to_string(length(map(&length(map(&length(map(&length($v0), $v0)), $v0)), $v0))))'}}", work),
		tree("nested filters", 0, numbers, "", "{data: {x: '(to_string(length($v0[?length($v0[?length($v0[?length($v0)>`1`])>`1`])>`1`])))'}}", work),
		tree("deep expression", 0, "a", "", "{data: {x: '("+strings.Repeat("(", 20_000)+"data.a"+strings.Repeat(")", 20_000)+")'}}", ""),
		tree("long expression", 0, "a", "", "{data: {x: '("+strings.Repeat("!", 200_000)+"data.a)'}}", "the expression is too long"),
	}
}

// schemaCases are CustomResourceDefinitions and OpenAPI documents.
func schemaCases() []hostile {
	openAPI := func(name string, document generator, want string) hostile {
		return hostile{
			name: "openapi: " + name, arguments: []string{"render", "--openapi", "o.json", "-p", "p.yaml", "m.yaml"},
			files: map[string]generator{"o.json": document, "p.yaml": text(idle), "m.yaml": text("apiVersion: b.c/v1\nkind: A\nmetadata: {name: a}\na: {a: {a: {}}}\n")}, want: want,
		}
	}
	return []hostile{
		policy("crd: deep schema", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.b.c}\nspec: {group: b.c, names: {kind: A, plural: as}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: "+
			strings.Repeat("{type: object, properties: {a: ", 90)+"{type: string}"+strings.Repeat("}}", 90)+"}}]}\n---\n"+idle, ""),
		openAPI("deep", repeat(`{"components":{"schemas":{"a":`, `{"properties":{"a":`, "", 1_000_000), "exceeded max depth"),
		openAPI("recursive", text(`{"openapi":"3.0.0","paths":{},"components":{"schemas":{"a":{"x-kubernetes-group-version-kind":[{"group":"b","version":"v1","kind":"A"}],"type":"object","properties":{"a":{"$ref":"#/components/schemas/a"},"b":{"allOf":[{"$ref":"#/components/schemas/b"}]}}},"b":{"$ref":"#/components/schemas/b"}}}}`), ""),
		openAPI("large", repeat(`{"openapi":"3.0.0","paths":{},"components":{"schemas":{"a":{"type":"object"}`, `,"a%d":{"type":"object","properties":{"c":{"allOf":[{"$ref":"#/components/schemas/a"}]}}}`, `}}}`, 50_000), ""),
		openAPI("endless", repeat(`{"openapi":"`, strings.Repeat("a", 1<<20), `"}`, 65), "the input is larger than 64 MiB"),
	}
}
