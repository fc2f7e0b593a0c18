package engine

import (
	"encoding/json"
	"fmt"
	"strings"
)

// grammar builds policies and manifests from the choices of a fuzzer: every byte selects one of the
// possible continuations. Without bytes left, the first one is selected.
type grammar struct {
	choices []byte
	depth   int
}

func (g *grammar) choose(n int) int {
	if len(g.choices) == 0 {
		return 0
	}
	c := int(g.choices[0])
	g.choices = g.choices[1:]
	return c % n
}

// any selects a text.
func (g *grammar) any(texts ...string) string { return texts[g.choose(len(texts))] }

// of selects a maker and calls it. At a large depth it calls the first one.
func (g *grammar) of(makers ...func() string) string {
	if g.depth++; g.depth > 4 {
		makers = makers[:1]
	}
	defer func() { g.depth-- }()
	return makers[g.choose(len(makers))]()
}

// quoted returns a text in quotes that YAML and CEL share.
func quoted(text string) string {
	encoded, _ := json.Marshal(text)
	return string(encoded)
}

// policies returns one to three documents, with the bindings that they need.
func (g *grammar) policies() string {
	var out strings.Builder
	for i := range 1 + g.choose(3) {
		name := fmt.Sprintf("p%d", i)
		out.WriteString([]func(string) string{g.admission, g.kyverno, g.tree, g.mutating, g.mutator}[g.choose(5)](name) + "---\n")
	}
	return out.String()
}

// admission returns a MutatingAdmissionPolicy with its binding.
func (g *grammar) admission(name string) string {
	return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  reinvocationPolicy: %[2]s
%[3]s---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}
`, name, g.any("Never", "IfNeeded"), g.inCEL())
}

// mutating returns a MutatingPolicy of Kyverno.
func (g *grammar) mutating(name string) string {
	return fmt.Sprintf(`apiVersion: policies.kyverno.io/%s
kind: MutatingPolicy
metadata: {name: %s}
spec:
  autogen: {podControllers: {controllers: [%s]}}
%s`, g.any("v1", "v1beta1", "v1alpha1"), name, g.any("", "deployments", "deployments, cronjobs"), g.inCEL())
}

// inCEL returns the fields that policies in CEL have in common.
func (g *grammar) inCEL() string {
	mutations, variables := "", ""
	for i := range g.choose(3) {
		variables += fmt.Sprintf("  - {name: v%d, expression: %s}\n", i, quoted(g.of(g.text, g.number, g.list, g.condition)))
	}
	for range 1 + g.choose(2) {
		if g.choose(2) == 0 {
			mutations += fmt.Sprintf("  - {patchType: ApplyConfiguration, applyConfiguration: {expression: %s}}\n", quoted(g.configuration()))
		} else {
			mutations += fmt.Sprintf("  - {patchType: JSONPatch, jsonPatch: {expression: %s}}\n", quoted(g.patches()))
		}
	}
	text := fmt.Sprintf(`  failurePolicy: %s
  matchConstraints: {resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: [%s]}]}
  matchConditions: [{name: c, expression: %s}]
`, g.any("Fail", "Ignore"), g.any(`"*"`, "pods", "deployments, configmaps"), quoted(g.of(func() string { return "true" }, g.condition)))
	if variables != "" {
		text += "  variables:\n" + variables
	}
	return text + "  mutations:\n" + mutations
}

// mutator returns a mutator of Gatekeeper.
func (g *grammar) mutator(name string) string {
	kind := g.any("Assign", "AssignMetadata", "ModifySet")
	spec := map[string]any{"match": map[string]any{"scope": g.any("*", "Namespaced", "Cluster")}}
	if kind != "AssignMetadata" {
		spec["applyTo"] = []any{map[string]any{"groups": []any{"apps", ""}, "versions": []any{"v1"}, "kinds": []any{"Deployment", "Pod", "ConfigMap", "Service"}}}
	}
	switch kind {
	case "Assign":
		spec["location"] = g.any("spec.replicas", "spec.template.spec.containers[name: *].image", "spec.template.spec.containers[name: new].tty", "spec.template.spec.nodeSelector.a", "data.k")
		spec["parameters"] = map[string]any{
			"assign":    map[string]any{"value": g.any("a", "nginx:2")},
			"pathTests": []any{map[string]any{"subPath": "spec", "condition": g.any("MustExist", "MustNotExist")}},
		}
	case "AssignMetadata":
		spec["location"] = "metadata." + g.any("labels", "annotations") + "." + g.any("a", "app", `"b.example.com/c"`)
		spec["parameters"] = map[string]any{"assign": map[string]any{"value": g.any("a", "b")}}
	default:
		spec["location"] = g.any("spec.template.spec.containers[name: *].args", "spec.template.spec.containers[name: *].command", "metadata2.x")
		spec["parameters"] = map[string]any{"operation": g.any("merge", "prune"), "values": map[string]any{"fromList": []any{g.any("a", "b")}}}
	}
	encoded, _ := json.Marshal(map[string]any{"apiVersion": "mutations.gatekeeper.sh/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec})
	return string(encoded) + "\n"
}

// configuration returns an expression for an ApplyConfiguration.
func (g *grammar) configuration() string {
	metadata := func() string {
		return fmt.Sprintf("metadata: Object.metadata{%s: {%s: %s}}", g.any("labels", "annotations"), quoted(g.any("a", "b.example.com/c", "app")), g.text())
	}
	containers := func() string {
		field := g.any("image: "+g.text(), `imagePullPolicy: "Always"`, `env: [Object.spec.template.spec.containers.env{name: "E", value: `+g.text()+`}]`,
			"ports: [Object.spec.template.spec.containers.ports{containerPort: 80}]", "resources: Object.spec.template.spec.containers.resources{limits: {\"cpu\": \"0.5\"}}")
		if g.choose(2) == 0 {
			return "spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{name: c.name, " + field + "})}}}"
		}
		return "spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: " + quoted(g.any("main", "new", "side")) + ", " + field + "}]}}}"
	}
	scalar := func() string { return "spec: Object.spec{replicas: " + g.number() + "}" }
	data := func() string { return "data: {" + quoted(g.any("a", "k", "new")) + ": " + g.text() + "}" }
	return "Object{" + g.of(metadata, containers, scalar, data) + "}"
}

var pointers = []string{
	"/metadata/labels/a", "/metadata/labels", "/metadata/annotations/b.example.com~1c", "/metadata/annotations", "/spec/replicas", "/data/k", "/data",
	"/spec/template/spec/containers/0/image", "/spec/template/spec/containers/-", "/spec/template/spec/containers/0", "/spec/template/spec/containers/0/env",
	"/spec/template/spec/tolerations", "/spec/template/metadata/labels/app", "/spec/ports/0/port", "/spec/x", "/spec", "/metadata/name",
}

// patches returns an expression for a JSONPatch.
func (g *grammar) patches() string {
	var patches []string
	for range 1 + g.choose(3) {
		op, path := g.any("add", "replace", "remove", "test", "copy", "move"), quoted(g.any(pointers...))
		switch op {
		case "remove":
			patches = append(patches, fmt.Sprintf(`JSONPatch{op: "remove", path: %s}`, path))
		case "copy", "move":
			patches = append(patches, fmt.Sprintf(`JSONPatch{op: %q, from: %s, path: %s}`, op, quoted(g.any(pointers...)), path))
		default:
			value := g.of(g.text, g.number, g.condition, func() string { return "{" + quoted(g.any("a", "name")) + ": " + g.text() + "}" },
				func() string { return `{"name": "new", "image": ` + g.text() + `}` }, g.list)
			patches = append(patches, fmt.Sprintf("JSONPatch{op: %q, path: %s, value: %s}", op, path, value))
		}
	}
	return "[" + strings.Join(patches, ", ") + "]"
}

// text returns an expression of type string.
func (g *grammar) text() string {
	return g.of(
		func() string {
			return quoted(g.any("x", "", "yes", "010", "1e3", "a: b", "- a", "#", "ä\n", " trailing ", "null"))
		},
		func() string { return "object.metadata.name" },
		func() string { return g.text() + " + " + g.text() },
		func() string { return "string(" + g.number() + ")" },
		func() string { return "(" + g.condition() + " ? " + g.text() + " : " + g.text() + ")" },
		func() string { return "(" + g.text() + ").replace(" + g.text() + ", " + g.text() + ")" },
		func() string { return g.list() + ".map(x, string(x)).join(" + g.text() + ")" },
		func() string {
			return g.any("object.kind", "request.operation", `object.metadata.?labels[?"app"].orValue("none")`, "variables.v0")
		},
	)
}

// number returns an expression of type int.
func (g *grammar) number() string {
	return g.of(
		func() string { return g.any("1", "0", "3", "9007199254740993", "-1") },
		func() string { return "object.?spec.?replicas.orValue(2)" },
		func() string { return "size(" + g.text() + ")" },
		func() string { return g.number() + " + " + g.number() },
		func() string { return g.list() + ".size()" },
		func() string { return "variables.v1" },
	)
}

// list returns an expression of type list.
func (g *grammar) list() string {
	return g.of(
		func() string { return "[" + g.text() + "]" },
		func() string { return "object.?spec.?template.?spec.?containers.orValue([]).map(c, c.name)" },
		func() string { return g.list() + " + " + g.list() },
		func() string { return g.list() + ".map(x, [x, x])" },
		func() string { return g.list() + ".filter(x, " + g.condition() + ")" },
		func() string { return "lists.range(" + g.number() + ")" },
		func() string { return "variables.v0" },
	)
}

// condition returns an expression of type bool.
func (g *grammar) condition() string {
	return g.of(
		func() string { return g.any("true", "false") },
		func() string { return "has(object.spec)" },
		func() string { return g.text() + " == " + g.text() },
		func() string { return "!(" + g.condition() + ")" },
		func() string { return g.condition() + g.any(" && ", " || ") + g.condition() },
		func() string { return g.list() + g.any(".all", ".exists") + "(x, " + g.condition() + ")" },
		func() string { return g.number() + g.any(" < ", " == ", " >= ") + g.number() },
		func() string { return g.text() + ".matches(" + quoted(g.any("a*", "(a|b)+$", "^.{3,}")) + ")" },
	)
}

// kyverno returns a ClusterPolicy with one rule.
func (g *grammar) kyverno(name string) string {
	return fmt.Sprintf(`apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: %s}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [%s]}}]}
    context: [{name: v, variable: {value: %s}}]
    mutate: %s
`, name, quoted(g.any("*", "Deployment", "Pod", "ConfigMap", "Pod*")), g.value(), g.of(
		func() string { return "{patchStrategicMerge: " + g.pattern() + "}" },
		func() string { return "{patchesJson6902: " + quoted(g.operations()) + "}" },
		func() string {
			return "{foreach: [{list: " + quoted(g.query()) + ", patchStrategicMerge: " + g.pattern() + "}]}"
		},
		func() string {
			return "{foreach: [{list: " + quoted(g.query()) + ", patchesJson6902: " + quoted(g.operations()) + "}]}"
		},
	))
}

// query returns a JMESPath expression.
func (g *grammar) query() string {
	return g.of(
		func() string {
			return g.any("request.object.metadata.name", "request.object.spec.template.spec.containers", "v", "element", "request.object.data")
		},
		func() string { return g.query() + " | " + g.query() },
		func() string { return "[" + g.query() + ", " + g.query() + "]" },
		func() string { return g.query() + g.any("[]", "[*].name", "[?@]", "[0]", ".*", " || 'x'", "[::-1]") },
		func() string {
			return g.any("to_string", "length", "keys", "to_array", "reverse") + "(" + g.query() + ")"
		},
		func() string { return "join('-', [" + g.query() + ", 'a'])" },
		func() string { return "replace_all(" + g.query() + ", 'a', " + g.query() + ")" },
	)
}

// value returns a value of a patch, in flow style.
func (g *grammar) value() string {
	return g.of(
		func() string {
			return quoted(g.any("x", "yes", "1e3", "{{ v }}", "{{element}}", "{{request.object.metadata.name}}-x"))
		},
		func() string { return quoted("{{ " + g.query() + " }}") },
		func() string { return g.any("1", "true", "null", "1.5") },
		func() string { return "[" + g.value() + ", " + g.value() + "]" },
		func() string { return "{" + quoted(g.any("a", "name", "{{ v }}")) + ": " + g.value() + "}" },
	)
}

// pattern returns a strategic merge patch with anchors.
func (g *grammar) pattern() string {
	return g.of(
		func() string {
			return "{metadata: {" + g.any("labels", "annotations", "+(labels)") + ": {" + quoted(g.any("a", "+(app)", "(app)", "b.example.com/c")) + ": " + g.value() + "}}}"
		},
		func() string {
			return "{spec: {template: {spec: {containers: [{" + quoted(g.any("name", "(name)", "<(name)", "(image)")) + ": " + quoted(g.any("*", "main", "new", "?*:latest")) + ", " +
				quoted(g.any("imagePullPolicy", "+(imagePullPolicy)", "image")) + ": " + g.any("Always", g.value()) + "}]}}}}"
		},
		func() string { return "{data: {" + quoted(g.any("a", "+(new)", "k")) + ": " + g.value() + "}}" },
		func() string {
			return "{spec: {" + g.any("replicas", "+(replicas)", "(replicas)") + ": " + g.value() + "}}"
		},
	)
}

// operations returns a JSON Patch as text.
func (g *grammar) operations() string {
	var operations []string
	for range 1 + g.choose(3) {
		op, path := g.any("add", "replace", "remove", "copy", "move"), quoted(g.any(pointers...))
		switch op {
		case "remove":
			operations = append(operations, fmt.Sprintf("{op: remove, path: %s}", path))
		case "copy", "move":
			operations = append(operations, fmt.Sprintf("{op: %s, from: %s, path: %s}", op, quoted(g.any(pointers...)), path))
		default:
			operations = append(operations, fmt.Sprintf("{op: %s, path: %s, value: %s}", op, path, g.value()))
		}
	}
	return "[" + strings.Join(operations, ", ") + "]"
}

// tree returns a MutatingPolicy with one mutation tree.
func (g *grammar) tree(name string) string {
	return fmt.Sprintf(`apiVersion: json.preadmit.dev/v1alpha1
kind: MutatingPolicy
metadata: {name: %s}
spec:
  rules:
  - name: r
    context: [{name: v, variable: %s}]
    mutate: {%s: {%s: %s}}
`, name, g.leaf(), g.any("metadata", "spec", "data", `"[data]"`), quoted(g.any("labels", "a", "[a]", "replicas", `\k\`, "annotations")), g.leaf())
}

// leaf returns a value in a tree.
func (g *grammar) leaf() string {
	return g.of(
		func() string { return quoted(g.any("x", "yes", "(@)", "($v)", "($payload.metadata.name)", `\(x)\`)) },
		func() string {
			return quoted("(" + g.any("@ || 'a'", "concat($payload.metadata.name, 'x')", "[@, @]", "length($payload.metadata.name)", "values($payload)", "let $a = @ in [$a, $a]") + ")")
		},
		func() string {
			return quoted("(cel; " + g.any("object", "[object, object]", "bindings.payload.metadata.name", "bindings.v", "1 + 1") + ")")
		},
		func() string { return g.any("1", "null", "{}", "[]") },
		func() string { return "{a: " + g.leaf() + ", b: " + g.leaf() + "}" },
		func() string { return "[" + g.leaf() + "]" },
	)
}

// manifests are the texts that policies run on, in different layouts.
var manifests = []string{
	"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  labels: {app: web} # of the team\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata:\n      labels: {app: web}\n    spec:\n      containers:\n      # the first\n      - name: main\n        image: \"nginx:latest\"\n        ports:\n        - containerPort: 80\n\n      - name: side\n        image: busybox\n",
	"apiVersion: v1\nkind: ConfigMap\nmetadata:\n    name: config\n    namespace: shop\ndata:\n    a: |\n        text\n        more\n    k: 'quoted'   # why\n",
	"{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"pod\"},\n \"spec\": {\"containers\": [{\"name\": \"main\", \"image\": \"nginx\"}]}}\n",
	"apiVersion: v1\r\nkind: Service\r\nmetadata:\r\n  name: svc\r\nspec:\r\n  ports:\r\n  - port: 80\r\n    name: http\r\n  - {port: 81, name: other}\r\n",
	"apiVersion: v1\nkind: Secret\nmetadata: {name: secret, annotations: {b.example.com/c: x}}\nstringData: {k: v}\ndata: {a: eA==}",
	"apiVersion: apps/v1\nkind: Deployment\nmetadata: &m {name: web, labels: &l {app: web}}\nspec:\n  selector: {matchLabels: *l}\n  template: {metadata: {labels: *l}, spec: {containers: [{name: main, image: nginx}]}}\n",
	"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: job}\nspec:\n  schedule: '* * * * *'\n  jobTemplate:\n    spec:\n      template:\n        spec:\n          restartPolicy: Never\n          containers:\n          - image: nginx\n            name: main\n",
}

func (g *grammar) manifest() string { return g.any(manifests...) }
