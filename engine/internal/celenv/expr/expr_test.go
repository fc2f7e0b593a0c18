package expr

import (
	"fmt"
	"strings"
	"testing"
)

// texts are expressions in the form in which they are printed.
var texts = []string{
	`object.metadata.?labels.?team.orValue("platform")`,
	`!has(object.spec.replicas) && size(object.spec.containers) > 0 || object.spec.x in ["a", "b"]`,
	`object.spec.containers.filter(c, has(c.image) && !c.image.endsWith(":latest"))[0].image`,
	`(a || b) && !(c ? d : e) ? [JSONPatch{op: "add", path: "/a" + string(i), value: {"x": dyn(1), ?"y": z.?w}}] : []`,
	`Object{spec: Object.spec{?replicas: object.spec.?replicas, template: a.b["c-d"][?0]}}`,
	`lists.range(size(x)).map(i, i > 2, "\\d\"\n'" + string(-i)).flatten()`,
	`dyn("a").contains("b") == (1 - (2 - 3) < -4)`,
}

// FuzzPrint checks the laws of the package: what is printed is read as the same tree.
func FuzzPrint(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil || strings.Contains(text, "`") { // names in backquotes are not ours
			return
		}
		for _, printed := range []string{e.String(), e.Pretty()} {
			again, err := Parse(printed)
			if err != nil || !Equal(e, again) {
				t.Errorf("%s\nis printed as\n%s\n%v", text, printed, err)
			}
		}
	})
}

// TestPrint checks that the texts are printed as they are.
func TestPrint(t *testing.T) {
	for _, text := range texts {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.NewReplacer("(", "", ")", "").Replace(e.String()); got != strings.NewReplacer("(", "", ")", "").Replace(text) {
			t.Errorf("%s\nis printed as\n%s", text, e)
		}
		for line := range strings.Lines(e.Pretty()) {
			if len(line) > width+20 {
				t.Errorf("a line of %d bytes: %s", len(line), line)
			}
		}
	}
}

// TestLogic checks that conditions are simplified, and mean the same.
func TestLogic(t *testing.T) {
	a, b := Ident("a"), Ident("b")
	for want, e := range map[string]Expr{
		"true":             And(),
		"false":            Or(),
		"a":                And(True, a, Expr{}, a),
		"a && b":           And(And(a, b), b),
		"!(a || b)":        Not(Or(a, b)),
		"a != b":           Not(Is(a, b)),
		"a == b":           Not(Not(Is(a, b))),
		"!(a < b)":         Not(Compare(a, "<", b)),
		"(a || b) && c":    And(Or(a, b), Ident("c")),
		`"a == b" == a`:    Is(Literal("a == b"), a),
		`dyn("a").size()`:  Literal("a").Call("size"),
		`dyn(!a).size()`:   Not(a).Call("size"),
		`a["in"].b["x-y"]`: a.Select("in").Select("b").Select("x-y"),
		`"x-y" in a`:       a.Has("x-y"),
		"[]":               Plus(),
		"[a, b] + a + [b]": Plus(List(a), List(), List(b), a, List(b)),
	} {
		if e.String() != want {
			t.Errorf("%s, want %s", e, want)
		}
	}
}

func TestName(t *testing.T) {
	for text, want := range map[string]string{
		"object.spec.replicas":                              "replicas",
		"object.metadata.?labels['app.kubernetes.io/name']": "appKubernetesIoName",
		"object.metadata.?labels.orValue({})":               "labels",
		"object.spec.containers.filter(c, has(c.image))":    "containers",
		"has(object.spec.replicas)":                         "hasReplicas",
		"size(object.spec.containers)":                      "size",
		"object.a && object.b":                              "condition",
		"object.a + 1":                                      "value",
		"object.metadata.namespace":                         "namespaceValue",
		"string(object.metadata.X)":                         "x",
		"'text'":                                            "value",
		"object['é']":                                       "value",
	} {
		x, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Name(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestExtracted(t *testing.T) {
	for _, c := range []struct{ before, after, part, want string }{
		{"object.a + object.b", "variables.x + object.b", "object.a", ""},
		{"1 - 2 + 3", "1 - variables.x", "2 + 3", errPart.Error()},
		{"object.a", "variables.x", "object.b", errPart.Error()},
		{"'object.a'", "'variables.x'", "object.a", errPart.Error()},
		{"has(object.a.b)", "has(variables.x)", "object.a.b", errHas.Error()},
		{"has(object.a.b)", "has(variables.x.b)", "object.a", ""},
		{"[1].all(c, c > object.a)", "[1].all(c, c > variables.x)", "object.a", ""},
		{"[1].all(c, c > 1)", "[1].all(c, variables.x)", "c > 1", "the selection uses c, which only the macro around it knows"},
		{"[1].transformList(i, v, i)", "[1].transformList(i, v, variables.x)", "i", "the selection uses i, which only the macro around it knows"},
		{"object.?a.optMap(v, v + 1)", "object.?a.optMap(v, variables.x)", "v + 1", "the selection uses v, which only the macro around it knows"},
		{"Object.spec{a: 1}", "variables.x{a: 1}", "Object.spec", errPart.Error()},
	} {
		var trees [3]Expr
		for i, text := range []string{c.before, c.after, c.part} {
			var err error
			if trees[i], err = Parse(text); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		if err := Extracted(trees[0], trees[1], trees[2], "x"); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s from %s: %q, want %q", c.part, c.before, got, c.want)
		}
	}
}

// TestFields checks what an expression reads of a variable: a part whose items are computed is read as a whole.
func TestFields(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`object.spec.replicas > 1 && has(object.metadata.labels.a)`, "[[spec replicas] [metadata labels a]]"},
		{`object.?data[?"a"].orValue("") == object.data["b.c"]`, "[[data a] [data b.c]]"},
		{`object.spec.containers.all(c, c.name != object.metadata.name)`, "[[spec containers] [metadata name]]"},
		{`object.data[object.metadata.name].x == variables.object`, "[[metadata name] [data]]"},
		{`object.items[0].a == [{"k": object.b}]`, "[[items] [b]]"},
		{`f(object) || other.object`, "[[]]"},
	} {
		x, err := Parse(test.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(x.Fields("object")); got != test.want {
			t.Errorf("%s: %s, want %s", test.text, got, test.want)
		}
	}
}
