package syntax

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/ext"
	"google.golang.org/protobuf/proto"
)

// environment returns an environment with all macros of our environments.
func environment(t testing.TB, optionals bool) (*cel.Env, *Parser) {
	t.Helper()
	options := []cel.EnvOption{ext.TwoVarComprehensions(), ext.Bindings(), ext.Math(), ext.Protos(), ext.Lists()}
	if optionals {
		options = append(options, cel.OptionalTypes())
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		t.Fatal(err)
	}
	return env, New(env.Macros(), optionals)
}

// plain are expressions that are not left to cel-go.
var plain = []string{
	// Literals.
	"1", "-1", "- 1", "0x1F", "-0xff", "0x1Fu", "42u", "42U", "-1u", "1.5", "-.5", "1e3", "1.5E-3", "2e+1", ".5e1", "9223372036854775807", "-9223372036854775808",
	"true", "false", "null", `"a"`, `'a'`, `""`, "''", `'''a'''`, `"""a"b"""`, "'''a\nb'''", "''''''", `r'\d'`, `R"\"`, `r'''a'b'''`, `'it\'s'`, `"\\\n\t\"\a\b\f\v\?"`, "'`'", "'é'", "'日本' + 'x'", `'"'`, "'//'",
	// Operators.
	"1 + 2 * 3", "1 * 2 + 3", "a - b - c", "a / b % c * d", "a -1", "a - -1", "-a", "--a", "---a", "--1", "---1", "- -1", "-1.size()", "!a", "!!a", "!!!a", "!-1", "-(1)",
	"a < b", "a < b == c", "a <= b", "a >= b", "a > b", "a != b", "a in b", "'x' in a && b", "a == b != c", "a ? b : c", "a ? b : c ? d : e", "a || b ? c && d : e", "(a ? b : c) ? d : e",
	"a && b", "a && b && c", "a && b && c && d && e && f && g", "a || b || c || d || e", "a || b && c || d", "(a || b) && !(c && d)",
	// Fields, indices and calls.
	"a.b", "a.b.c", ".a", ".a.b", "a[0]", "a['b'].c[d]", "a.b(c)", "a.b()", "a.b(c, d).e(f)", "f()", "f(a, b)", ".f(a)", "a.namespace", "object.metadata.?labels[?'a']", "a.?b.?c", "a[?0]", "(a).b", "'a'.b", "[1][0]", "{}.a", "1.0.a", "1 .a", "A{}.b",
	// Lists, maps and messages.
	"[]", "[1]", "[1, 2,]", "[,]", "[?a, b, ?c]", "{}", "{,}", "{'a': 1}", "{a: b, 'c': {}, }", "{?'a': b}", "{1: 2, true: 3}", "Object{}", "Object{,}", "Object{a: 1}", "Object{a: 1, b: 2,}", "Object{?a: b}",
	"Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{labels: {'a': 'b'}}}}}", ".a.b.C{d: 1}", "a ? B{} : c.D{}", "[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('b'), value: {'c': [1, 2]}}]",
	// Macros.
	"has(a.b)", "!has(a.b.c) || a.b.c", "has(a.b) && has(a.c)", "a.all(x, x > 0)", "a.exists(x, x.b == 'c')", "a.exists_one(x, x)", "a.existsOne(x, x)", "a.map(x, x.b)", "a.map(x, x.b, x.c)", "a.filter(x, !x.b.startsWith('c'))", "a.filter(x, x.b.all(y, y in x.c)).map(z, z.d)",
	"a.all(i, x, i < x)", "a.transformList(i, x, x + i)", "a.transformMap(k, v, v.b)", "a.transformMap(k, v, k != 'x', v.b)", "a.transformMapEntry(k, v, {v: k})", "a.exists(i, x, x)", "a.optMap(x, x + 1)", "a.b.optFlatMap(x, x.?c)", "a.?b.optMap(x, x).orValue('')",
	"cel.bind(x, a.b, x + x)", "math.greatest(1, 2, 3)", "math.least(a)", "math.greatest([1, 2])", "has(a.b) ? a.b.map(x, has(x.c)) : []", "a.map(b)", "f.has(a)", "all(a, b)", "proto.hasExt(a, b.c)", "a.sortBy(x, x.b)",
	// Space and comments.
	" a ", "a\n+\nb", "a // comment\n + b", "// only\na", "a //", "\ta\r\n.b\f", "'é' // é\n+ a.b('é', c)",
}

// TestPlain checks that plain expressions are parsed here, as cel-go parses them.
func TestPlain(t *testing.T) {
	env, p := environment(t, true)
	for _, text := range plain {
		if !compare(t, env, p, text) {
			t.Errorf("%q is left to cel-go", text)
		}
	}
}

// left are expressions that cel-go refuses, or must parse.
var left = []string{
	"", " ", "a b", "1 2", "a +", "+ a", "(a", "a)", "[1", "{a}", "{a: }", "a.", "a..b", "a.1", "a.'b'", "a.in", "a.b{}.c{}", "f(a,)", "f(,)", "a ? b", "a ? : c", "a = b", "a & b", "a | b", "-", "!", "-!a", "!-a", "!-'a'", "!-1u", "- 'a", "'a", `"a`, "'a\nb'", `'\q'`, `'\`, `'\x41'`, "'''a",
	"'a\rb'", "'''a\rb'''", "b'a'", "br'a'", "rb'a'", "a.`b`", "`a`", "0x", "0xg", "1e", "1.e1", "1ua", "9223372036854775808", "-9223372036854775809", "1e999", "18446744073709551616u", "é", "a.é", "a\u00a0", "a\xff", "'\xff'",
	"for", "if(a)", "namespace", "package.a", "has(a)", "has(a, b)", "a.map(1, b)", "a.all(x.y, x)", "a.exists(x)", "cel.bind(1, a, b)", "math.greatest()", "a.?b()", "a.?", "a[?", "A{a}", "A{a: }", "A{1: 2}", "A{'a': 1}", "a.b(c){}", "f(){}", "[1 2]", "{1: 2 3: 4}", "true{}", "in", "a in", "a.b.{}",
	strings.Repeat("(", 150) + "a" + strings.Repeat(")", 150), strings.Repeat("a + ", 300) + "a", strings.Repeat("[", 300), strings.Repeat("a.", 300) + "a", strings.Repeat("!", 300) + "a", "a" + strings.Repeat(" + a", 60000),
}

func TestLeft(t *testing.T) {
	env, p := environment(t, true)
	for _, text := range left {
		compare(t, env, p, text)
	}
	env, p = environment(t, false)
	for _, text := range []string{"a.?b", "a[?b]", "[?a]", "{?a: b}", "A{?a: b}", "a.b"} {
		compare(t, env, p, text)
	}
}

// compare parses an expression both ways, and reports whether it was parsed here.
func compare(t *testing.T, env *cel.Env, p *Parser, text string) bool {
	t.Helper()
	got := p.Parse(common.NewTextSource(text))
	if got == nil {
		return false
	}
	theirs, issues := env.ParseSource(common.NewTextSource(text))
	if issues.Err() != nil {
		t.Errorf("%q is parsed, but cel-go says %v", text, issues.Err())
		return true
	}
	want := theirs.NativeRep()
	if got, want := protoOf(t, got), protoOf(t, want); got != want {
		t.Errorf("%q is\n%s\ncel-go has\n%s", text, got, want)
	}
	if got, want := got.SourceInfo().OffsetRanges(), want.SourceInfo().OffsetRanges(); !maps.Equal(got, want) {
		t.Errorf("the places of %q are %v, cel-go has %v", text, got, want)
	}
	return true
}

// protoOf returns the text of an expression with its numbers and positions.
func protoOf(t *testing.T, a *ast.AST) string {
	e, err := ast.ExprToProto(a.Expr())
	if err != nil {
		t.Fatal(err)
	}
	info, err := ast.SourceInfoToProto(a.SourceInfo())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range []proto.Message{e, info} {
		data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(data))
	}
	return strings.Join(out, "\n")
}

// FuzzParse compares the parser with cel-go's.
func FuzzParse(f *testing.F) {
	for _, text := range plain {
		f.Add(text)
	}
	for _, text := range left {
		if len(text) < 1000 {
			f.Add(text)
		}
	}
	env, p := environment(f, true)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 5000 {
			compare(t, env, p, text)
		}
	})
}

// TestRandom compares the parsers for random expressions and random sequences of tokens.
func TestRandom(t *testing.T) {
	env, p := environment(t, true)
	r := random{rand.New(rand.NewPCG(1, 2))}
	for range 2000 {
		compare(t, env, p, r.expression(4))
	}
	for range 2000 {
		compare(t, env, p, r.tokens())
	}
}

type random struct{ *rand.Rand }

func (r random) oneOf(texts ...string) string { return texts[r.IntN(len(texts))] }

func (r random) tokens() string {
	var words []string
	for range 1 + r.IntN(9) {
		words = append(words, r.oneOf("a", "b", ".", ".", "?", ":", "(", ")", "[", "]", "{", "}", ",", "-", "!", "+", "*", "==", "&&", "||", "in", "1", "-1", "1.5", "1u", "'x'", "true", "has(a.b)", ".map(", "x", "for"))
	}
	return strings.Join(words, r.oneOf("", " "))
}

// expression returns a random expression, which is mostly valid.
func (r random) expression(depth int) string {
	if depth == 0 {
		return r.oneOf("a", "b", ".c", "1", "-2", "0x3", "1.5", "2u", "'x'", `"y\n"`, "true", "null", "[]", "{}", "D{}")
	}
	e := func() string { return r.expression(r.IntN(depth)) }
	switch r.IntN(14) {
	case 0:
		return e() + r.oneOf("+", "-", " * ", "/", "%", "==", "!=", "<", ">=", " in ", "&&", "||") + e()
	case 1:
		return e() + " && " + e() + " && " + e() + " || " + e()
	case 2:
		return r.oneOf("!", "!!", "-", "--", "- ") + e()
	case 3:
		return e() + " ? " + e() + " : " + e()
	case 4:
		return "(" + e() + ")"
	case 5:
		return e() + r.oneOf(".", ".?") + r.oneOf("a", "namespace", "b")
	case 6:
		return e() + r.oneOf("[", "[?") + e() + "]"
	case 7:
		return r.oneOf("f", "a.b.g", "size") + "(" + e() + r.oneOf("", ",", ", "+e()) + ")"
	case 8:
		return "[" + r.oneOf("", "?") + e() + ", " + e() + r.oneOf("", ",") + "]"
	case 9:
		return "{" + r.oneOf("", "?") + e() + ": " + e() + r.oneOf("", ", 'k': "+e()) + "}"
	case 10:
		return r.oneOf("Object", "Object.spec", ".x.Y") + "{" + r.oneOf("", "?") + "f: " + e() + r.oneOf("", ", g: "+e()) + "}"
	case 11:
		return e() + r.oneOf(".map", ".filter", ".all", ".exists", ".exists_one", ".optMap", ".optFlatMap", ".sortBy") + "(x, " + e() + ")"
	case 12:
		return e() + r.oneOf(".all", ".exists", ".transformList", ".transformMap", ".map") + "(i, x, " + e() + ")"
	default:
		return r.oneOf("has(", "cel.bind(v, 1, ", "math.greatest(1, ", "has(a.") + e() + ")"
	}
}
