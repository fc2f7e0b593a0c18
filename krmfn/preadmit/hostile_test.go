package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostile is input that is made to use up time or memory.
type hostile struct {
	name      string
	arguments string
	// files are written into the working directory; "-" is standard input.
	files map[string]generator
	// want is in the messages, "" for success.
	want string
	// megabytes bounds what the process takes, 0 for the usual.
	megabytes int64
}

type generator func(w *bufio.Writer)

func text(s string) generator { return func(w *bufio.Writer) { w.WriteString(s) } }

// repeat writes a text n times, each with its number for %d.
func repeat(head, text, tail string, n int) generator {
	return func(w *bufio.Writer) {
		w.WriteString(head)
		for i := range n {
			if strings.Contains(text, "%") {
				fmt.Fprintf(w, text, i)
			} else if _, err := w.WriteString(text); err != nil {
				return
			}
		}
		w.WriteString(tail)
	}
}

func TestHostile(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "preadmit")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, h := range hostiles() {
		t.Run(h.name, func(t *testing.T) {
			dir := t.TempDir()
			var stdin io.Reader
			for name, generate := range h.files {
				if name == "-" {
					r, w := io.Pipe()
					go func() { b := bufio.NewWriter(w); generate(b); b.Flush(); w.Close() }()
					defer r.Close()
					stdin = r
					continue
				}
				f, err := os.Create(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				b := bufio.NewWriter(f)
				generate(b)
				b.Flush()
				f.Close()
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			start := time.Now()
			c := exec.CommandContext(ctx, "sh", "-c", `ulimit -d 2500000; exec "$0" `+h.arguments, binary)
			c.Dir, c.Stdin = dir, stdin
			c.WaitDelay = time.Second
			var stderr bytes.Buffer
			n := new(counter)
			c.Stdout, c.Stderr = n, &stderr
			err := c.Run()
			if os.Getenv("FULL") != "" { t.Log(stderr.String()) }
			usage, _ := c.ProcessState.SysUsage().(*syscall.Rusage)
			t.Logf("%5.1f s %5d MB out=%d err=%d %v %v %.300s", time.Since(start).Seconds(), usage.Maxrss>>10, *n, stderr.Len(), err, ctx.Err(), stderr.String())
		})
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

const service = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {a: b}\n"

func admissionPolicy(variables, mutations string) string {
	return `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: p.example.com}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}
  reinvocationPolicy: Never
  failurePolicy: Fail
` + variables + "  mutations:\n" + mutations + `---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: p.example.com}
spec: {policyName: p.example.com}
`
}

func patchPolicy(variables []string, expression string) string {
	v := "  variables:\n"
	for i, e := range variables {
		v += fmt.Sprintf("  - {name: v%d, expression: %q}\n", i, e)
	}
	if len(variables) == 0 {
		v = ""
	}
	return admissionPolicy(v, fmt.Sprintf("  - {patchType: JSONPatch, jsonPatch: {expression: %q}}\n", expression))
}

func value(variables []string, expression string) string {
	return patchPolicy(variables, `[JSONPatch{op: "add", path: "/data/x", value: `+expression+`}]`)
}

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

func kyvernoText(s string) string {
	return kyverno(fmt.Sprintf("    mutate: {patchStrategicMerge: {data: {x: %q}}}\n", s))
}

func kyvernoContext(n int, entry func(i int) string, last string) string {
	b := "    context:\n"
	for i := range n {
		b += "    - " + entry(i) + "\n"
	}
	return kyverno(b + fmt.Sprintf("    mutate: {patchStrategicMerge: {data: {x: %q}}}\n", last))
}

func treePolicy(n int, entry func(i int) string, mutate string) string {
	b := "apiVersion: json.preadmit.dev/v1alpha1\nkind: MutatingPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n"
	if n > 0 {
		b += "    context:\n"
	}
	for i := range n {
		b += "    - " + entry(i) + "\n"
	}
	return b + "    mutate: " + mutate + "\n"
}

func chain(n int, first, next string) []string {
	v := []string{first}
	for i := range n {
		v = append(v, strings.ReplaceAll(next, "$", fmt.Sprintf("variables.v%d", i)))
	}
	return v
}

func hostiles() []hostile {
	const render = "render -p p.yaml m.yaml"
	policy := func(name, p, want string) hostile {
		return hostile{name: name, arguments: render, files: map[string]generator{"p.yaml": text(p), "m.yaml": text(service)}, want: want}
	}
	input := func(name string, g generator, want string) hostile {
		return hostile{name: name, arguments: "render -p p.yaml -", files: map[string]generator{"p.yaml": text(patchPolicy(nil, "[]")), "-": g}, want: want}
	}
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 12 {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9), i)
	}
	merges := "a0: &a0 {k: v}\n"
	for i := range 3000 {
		merges += fmt.Sprintf("a%d: &a%d {<<: *a%d, k%d: v}\n", i+1, i+1, i, i)
	}
	big := func(n int) generator { // a ConfigMap with n entries
		return repeat(service, "  k%d: v\n", "", 0)
	}
	_ = big
	deepBlock := func(w *bufio.Writer) {
		w.WriteString(service)
		for i := range 3000 {
			w.WriteString(strings.Repeat(" ", i) + "a:\n")
		}
	}
	return []hostile{
		input("endless line", func(w *bufio.Writer) {
			w.WriteString("a: ")
			s := strings.Repeat("a", 1<<20)
			for range 1500 {
				if _, err := w.WriteString(s); err != nil {
					return
				}
			}
		}, ""),
		input("million separators", repeat("", "---\n", "", 1000000), ""),
		input("million documents", repeat("", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\n", "", 1000000), ""),
		input("million bad documents", repeat("", "---\na: b: c\n", "", 1000000), ""),
		input("million unnamed documents", repeat("", "---\na: c\n", "", 1000000), ""),
		input("million keys", repeat(service, "k%d: v\n", "", 1000000), ""),
		input("million duplicate keys", repeat(service, "k: v\n", "", 1000000), ""),
		input("million json", repeat("", "{}", "", 1000000), ""),
		input("million anchors", repeat(service, "k%[1]d: &a%[1]d v\n", "", 300000), ""),
		input("million aliased documents", repeat("", "---\na: &a b\nb: *a\n", "", 100000), ""),
		input("list of aliased items", repeat("apiVersion: v1\nkind: List\nitems:\n", "- {a: &a b, b: *a}\n", "", 100000), ""),
		input("alias bomb", text(service+bomb), ""),
		input("merge chain", text(service+merges), ""),
		input("deep flow", repeat(service+"x: ", "[", "", 1000000), ""),
		input("deep json", repeat(`{"a":`, `{"a":`, "", 1000000), ""),
		input("deep compact", repeat(service+"x:\n", "- ", "", 1000000), ""),
		input("deep block", deepBlock, ""),
		input("comments", repeat(service, "# a\n", "", 1000000), ""),
		input("comments in aliased", repeat(service+"b: &a c\n", "# a\n", "d: *a\n", 300000), ""),
		input("quotes", repeat(service+"a: '", "''", "", 1000000), ""),
		input("long escapes", repeat(service+"a: \"", "\\x00", "\"\n", 1000000), ""),
		input("folded", repeat(service+"a: >\n", "  a\n\n", "", 1000000), ""),
		input("multi-line plain", repeat(service+"a:\n", "  a\n", "", 1000000), ""),
		input("long number", repeat(service+"a: ", "9", "\n", 3000000), ""),
		input("exponent", text(service+"a: 1e999999999999\n"), ""),
		input("quantity exponent", text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: b, resources: {limits: {cpu: '1e2147483647'}}}]}\n"), ""),
		input("quantity exponent 2", text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: b, resources: {limits: {cpu: '1e-2147483647'}}}]}\n"), ""),
		input("quantity digits", repeat("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: b, resources: {limits: {cpu: '", "9", "'}}}]}\n", 1000000), ""),
		input("many containers", repeat("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n", "  - {name: a, image: b, resources: {limits: {cpu: 1}}}\n", "", 50000), ""),
		{name: "policy excerpt", arguments: render, files: map[string]generator{"p.yaml": repeat("apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: p}\nspec: {x: '", "a", "'}\n", 20000000), "m.yaml": text(service)}},
		{name: "many policies", arguments: render, files: map[string]generator{"p.yaml": repeat("", "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: p%d}\nspec: {x: y}\n", "", 100000), "m.yaml": text(service)}},

		policy("cel product", value(chain(0, "lists.range(1000)", ""), `string(variables.v0.map(x, variables.v0.map(y, variables.v0.map(z, x*y*z))).size())`), ""),
		policy("cel range", value(nil, `string(lists.range(2000000000).size())`), ""),
		policy("cel range 2", value(nil, `string(lists.range(50000000).size())`), ""),
		policy("cel replace", value(chain(14, "'aaaaaaaaaa'", "$+$"), `string(variables.v14.replace('', variables.v14).size())`), ""),
		policy("cel format", value(nil, `'%.2000000000f'.format([1.0])`), ""),
		policy("cel string doubling", value(chain(40, "'aaaaaaaaaa'", "$+$"), `variables.v40`), ""),
		policy("cel list doubling", value(chain(40, "['aaaaaaaaaa']", "$+$"), `string(variables.v40.size())`), ""),
		policy("cel tree doubling", value(chain(40, "['aaaaaaaaaa']", "dyn([$,$])"), `variables.v40`), ""),
		policy("cel tree equality", value(chain(40, "['aaaaaaaaaa']", "dyn([$,$])"), `string(variables.v40 == variables.v40)`), ""),
		policy("cel tree inline", value(nil, `string([1].map(x,`+strings.Repeat(`[[`, 40)+`x`+strings.Repeat(`]].map(y,[y,y])`, 40)+`) == [1])`), ""),
		policy("cel regex", value(nil, `string('`+strings.Repeat("a", 10000)+`'.matches('(a*)*(a*)*(a*)*(a*)*b'))`), ""),
		policy("cel many variables", value(chain(1000, "'a'.replace('a', '"+strings.Repeat("a", 5000)+"').replace('a', '"+strings.Repeat("a", 1000)+"')", "$+'a'"), "string(variables.v1000.size())"), ""),
		policy("cel deep parens", value(nil, strings.Repeat("(", 240)+"'a'"+strings.Repeat(")", 240)), ""),
		policy("cel deep ternary", value(nil, strings.Repeat("true ? (", 120)+"'a'"+strings.Repeat(") : 'b'", 120)), ""),
		policy("cel long sum", value(nil, "string(1"+strings.Repeat("+1", 40000)+")"), ""),
		policy("cel deep macros", value(nil, "string("+strings.Repeat("[1].all(x, ", 100)+"true"+strings.Repeat(")", 100)+")"), ""),
		policy("cel expression size", value(nil, "'"+strings.Repeat("a", 3000000)+"'"), ""),
		policy("patch copies", patchPolicy(nil, "["+strings.Repeat(`JSONPatch{op:"copy",from:"/data",path:"/data/x"},`, 39)+`JSONPatch{op:"copy",from:"/data",path:"/data/x"}]`), ""),
		policy("patch operations", patchPolicy(nil, `lists.range(60000).map(i, JSONPatch{op:"add",path:"/data/x"+string(i),value:"a"})`), ""),
		policy("patch odd operations", patchPolicy(nil, `lists.range(60000).map(i, JSONPatch{op:"replace",path:"/data/x"+string(i),value:"a"})`), ""),

		policy("jmespath list doubling", kyvernoText("{{ `[1,2]` "+strings.Repeat("| [@,@][] ", 60)+" | length(@) }}"), ""),
		policy("jmespath tree doubling", kyvernoText("{{ `[1,2]` "+strings.Repeat("| [@,@] ", 60)+" | length(to_string(@)) }}"), ""),
		policy("jmespath map doubling", kyvernoText("{{ `[1,2]` "+strings.Repeat("| {a: @, b: @} ", 60)+" | length(to_string(@)) }}"), ""),
		policy("jmespath tree equality", kyvernoText("{{ `[1,2]` "+strings.Repeat("| [@,@] ", 60)+" | @ == [@] }}"), ""),
		policy("jmespath string doubling", kyvernoText("{{ 'aaaaaaaaaa' "+strings.Repeat("| join('', [@,@]) ", 60)+" | length(@) }}"), ""),
		policy("jmespath to_string", kyvernoText("{{ '\"' "+strings.Repeat("| to_string([@]) ", 60)+" | length(@) }}"), ""),
		policy("jmespath replace_all", kyvernoText("{{ 'aaaaaaaaaa' "+strings.Repeat("| replace_all(@, 'a', 'aaaaaaaaaa') ", 60)+" | length(@) }}"), ""),
		policy("jmespath regex", kyvernoText("{{ regex_match('(a*)*(a*)*b', '"+strings.Repeat("a", 10000)+"') }}"), ""),
		policy("jmespath deep", kyvernoText("{{ "+strings.Repeat("(", 8000)+"a"+strings.Repeat(")", 8000)+" }}"), ""),
		policy("jmespath deep not", kyvernoText("{{ "+strings.Repeat("!", 16000)+"a }}"), ""),
		policy("jmespath pow", kyvernoText("{{ multiply(`1e308`, `1e308`) }}"), ""),
		policy("jmespath range", kyvernoText("{{ random('[a-z]{1000000}') }}"), ""),
		policy("jmespath pattern", kyvernoText("{{ pattern_match('"+strings.Repeat("*a", 3000)+"', '"+strings.Repeat("a", 8000)+"b') }}"), ""),
		policy("kyverno recursive text", kyvernoContext(2, func(i int) string {
			return fmt.Sprintf("{name: v%d, variable: {value: '{{v%d}}{{v%d}}'}}", i, 1-i, 1-i)
		}, "{{v0}}"), ""),
		policy("kyverno text doubling", kyvernoContext(60, func(i int) string {
			if i == 0 {
				return "{name: v0, variable: {value: aaaaaaaaaa}}"
			}
			return fmt.Sprintf("{name: v%d, variable: {value: '{{v%d}}{{v%d}}'}}", i, i-1, i-1)
		}, "{{v59}}"), ""),
		policy("kyverno tree doubling", kyvernoContext(60, func(i int) string {
			if i == 0 {
				return "{name: v0, variable: {value: [a,a]}}"
			}
			return fmt.Sprintf("{name: v%d, variable: {value: ['{{v%d}}','{{v%d}}']}}", i, i-1, i-1)
		}, "{{v59}}"), ""),
		policy("kyverno variables in values", kyvernoContext(1, func(int) string {
			return `{name: v, variable: {value: '\{{v}}\{{v}}'}}`
		}, "{{v}}"), ""),
		policy("kyverno growing variables", kyvernoContext(1, func(int) string {
			return "{name: v, variable: {jmesPath: \"`\\\"{{v}}{{v}}{{v}}\\\"`\"}}"
		}, "{{v}}"), ""),
		policy("kyverno nested foreach", kyverno(`    mutate:
      foreach:
      - list: "range"
        context: [{name: x, variable: {value: 1}}]
        foreach:
        - list: "range"
          foreach:
          - list: "range"
            patchStrategicMerge: {data: {x: "{{element}}"}}
    context: [{name: range, variable: {value: [`+strings.Repeat("1,", 2000)+`1]}}]
`), ""),
		{name: "kyverno foreach large", arguments: render, files: map[string]generator{"m.yaml": repeat(strings.TrimSuffix(service, "data: {a: b}\n")+"data:\n", "  k%d: v\n", "", 20000), "p.yaml": text(kyverno(`    mutate:
      foreach:
      - list: "request.object.data | keys(@)"
        patchStrategicMerge: {data: {"{{element}}": "{{element}}x"}}
`))}},
		{name: "kyverno json patch large", arguments: render, files: map[string]generator{"m.yaml": repeat(strings.TrimSuffix(service, "data: {a: b}\n")+"data:\n", "  k%d: v\n", "", 20000), "p.yaml": repeat(kyverno("    mutate:\n      patchesJson6902: |-\n"), "        - {op: add, path: /a/b%d/c, value: d}\n", "", 10000)}},
		policy("kyverno copies", kyverno("    mutate:\n      patchesJson6902: |-\n"+strings.Repeat("        - {op: copy, from: /data, path: /data/x}\n", 40)), ""),
		{name: "kyverno global anchor", arguments: render, files: map[string]generator{"m.yaml": repeat("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n", "  - {name: a%d, image: b}\n", "", 5000), "p.yaml": text(strings.Replace(kyverno(`    mutate:
      patchStrategicMerge:
        spec:
          containers:
          - <(name): "*"
            (image): "?"
            +(imagePullPolicy): Always
          - (name): "a*"
            securityContext: {a: b}
`), "ConfigMap", "Pod", 1))}},
		policy("kyverno many rules", kyverno("    mutate: {patchStrategicMerge: {data: {x: a}}}\n"+strings.Repeat("  - {name: r, match: {any: [{resources: {kinds: ['*']}}]}, mutate: {patchesJson6902: '[{op: copy, from: /data, path: /data/x}]'}}\n", 40)), ""),

		policy("tree binding doubling", treePolicy(60, func(i int) string {
			if i == 0 {
				return "{name: v0, variable: [a,a]}"
			}
			return fmt.Sprintf("{name: v%d, variable: ['($v%d)','($v%d)']}", i, i-1, i-1)
		}, "{data: {x: '(to_string($v59))'}}"), ""),
		policy("tree binding doubling cel", treePolicy(60, func(i int) string {
			if i == 0 {
				return "{name: v0, variable: [a,a]}"
			}
			return fmt.Sprintf("{name: v%d, variable: '(cel; [bindings.v%d, bindings.v%d])'}", i, i-1, i-1)
		}, "{data: {x: '(to_string($v59))'}}"), ""),
		policy("tree folding", treePolicy(0, nil, "["+strings.Repeat("{data: '(cel; {\"x\": object, \"y\": object})'},", 60)+"{}]"), ""),
		policy("tree jmespath doubling", treePolicy(0, nil, "{data: {x: \"(`[1,2]` "+strings.Repeat("| [@,@][] ", 60)+"| to_string(length(@)))\"}}"), ""),
		policy("tree jmespath tree doubling", treePolicy(0, nil, "{data: {x: \"(`[1,2]` "+strings.Repeat("| [@,@] ", 60)+"| to_string(@))\"}}"), ""),
		policy("tree jmespath string doubling", treePolicy(0, nil, "{data: {x: \"('aaaaaaaa' "+strings.Repeat("| concat(@,@) ", 60)+")\"}}"), ""),
		policy("tree jmespath join doubling", treePolicy(0, nil, "{data: {x: \"('aaaaaaaa' "+strings.Repeat("| join('', [@,@]) ", 60)+")\"}}"), ""),
		policy("tree jmespath replace", treePolicy(0, nil, "{data: {x: \"('aaaaaaaa' "+strings.Repeat("| replace(@, 'a', 'aaaaaaaaaaaa') ", 60)+")\"}}"), ""),
		policy("tree jmespath loops", treePolicy(1, func(int) string { return "{name: l, variable: [" + strings.Repeat("1,", 2000) + "1]}" },
			"{data: {x: '(to_string(length(map(&length(map(&length(map(&length($l), $l)), $l)), $l))))'}}"), ""),
		policy("tree jmespath projections", treePolicy(1, func(int) string { return "{name: l, variable: [" + strings.Repeat("1,", 2000) + "1]}" },
			"{data: {x: '(to_string(length($l[?length($l[?length($l[?length($l)>`1`])>`1`])>`1`])))'}}"), ""),
		policy("tree jmespath deep", treePolicy(0, nil, "{data: {x: '("+strings.Repeat("(", 49000)+"a"+strings.Repeat(")", 49000)+")'}}"), ""),
		policy("tree jmespath deep not", treePolicy(0, nil, "{data: {x: '("+strings.Repeat("!", 99000)+"a)'}}"), ""),
		policy("tree many rules doubling", treePolicy(0, nil, "{data: {x: \"(@)\"}}")+strings.Repeat("  - {name: s, mutate: {data: {x: '($payload.data)', y: '($payload.data)'}}}\n", 60), ""),

		policy("crd deep", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.b.c}\nspec: {group: b.c, names: {kind: A, plural: as}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: "+strings.Repeat("{type: object, properties: {a: ", 90)+"{type: string}"+strings.Repeat("}}", 90)+"}}]}\n", ""),
		{name: "openapi deep", arguments: "render --openapi o.json m.yaml", files: map[string]generator{"m.yaml": text(service), "o.json": repeat(`{"components":{"schemas":{"a":`, `{"properties":{"a":`, "", 1000000)}},
		{name: "openapi refs", arguments: "render --openapi o.json m.yaml", files: map[string]generator{"m.yaml": text("apiVersion: b/v1\nkind: A\nmetadata: {name: a}\na: {a: {a: {}}}\n"), "o.json": text(`{"openapi":"3.0.0","components":{"schemas":{"a":{"x-kubernetes-group-version-kind":[{"group":"b","version":"v1","kind":"A"}],"type":"object","properties":{"a":{"$ref":"#/components/schemas/a"},"b":{"allOf":[{"$ref":"#/components/schemas/b"}]}}},"b":{"$ref":"#/components/schemas/b"}}},"paths":{}}`)}},
		{name: "openapi large", arguments: "render --openapi o.json m.yaml", files: map[string]generator{"m.yaml": text(service), "o.json": repeat(`{"openapi":"3.0.0","paths":{},"components":{"schemas":{"a":{"type":"object"}`, `,"a%d":{"type":"object","properties":{"b":{"type":"string"},"c":{"allOf":[{"$ref":"#/components/schemas/a"}]}}}`, `}}}`, 300000)}},
	}
}
