package celenv

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"

	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
)

var deployment = map[string]any{
	"apiVersion": "apps/v1",
	"kind":       "Deployment",
	"metadata":   map[string]any{"name": "web", "labels": map[string]any{"app": "web"}},
	"spec": map[string]any{
		"replicas": int64(3),
		"template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "app", "image": "nginx:1.25"},
			map[string]any{"name": "side", "image": "busybox"},
		}}},
	},
}

func input() Input {
	return Input{
		Object: deployment,
		Namespace: func() map[string]any {
			return map[string]any{"metadata": map[string]any{"name": "default", "labels": map[string]any{"team": "blue"}}}
		},
		Request: func() map[string]any {
			return map[string]any{
				"kind":      map[string]any{"group": "apps", "version": "v1", "kind": "Deployment"},
				"operation": "CREATE", "namespace": "default", "name": "web", "dryRun": false,
			}
		},
	}
}

func TestApplyConfiguration(t *testing.T) {
	for name, tc := range map[string]struct {
		expression string
		variables  [][2]string
		want       map[string]any
		err        string
	}{
		"nested": {
			expression: `Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{name: c.name, image: "r/" + c.image})}}}}`,
			want: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
				map[string]any{"name": "app", "image": "r/nginx:1.25"}, map[string]any{"name": "side", "image": "r/busybox"},
			}}}}},
		},
		"variables": {
			variables: [][2]string{
				{"team", `namespaceObject.metadata.labels["team"]`},
				{"labels", `{"team": variables.team, "n": string(object.spec.replicas)}`},
			},
			expression: `Object{metadata: Object.metadata{labels: variables.labels}}`,
			want:       map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "blue", "n": "3"}}},
		},
		"optional field": {
			expression: `Object{spec: Object.spec{?replicas: object.spec.?nope, minReadySeconds: 3}}`,
			want:       map[string]any{"spec": map[string]any{"minReadySeconds": int64(3)}},
		},
		"field of a literal": {
			expression: `has(Object{}.x) ? Object{} : Object{metadata: Object.metadata{name: Object{a: "b"}.a}}`,
			want:       map[string]any{"metadata": map[string]any{"name": "b"}},
		},
		"missing key": {
			expression: `Object{metadata: Object.metadata{name: object.spec.nope}}`,
			err:        `expression 'Object{metadata: Object.metadata{name: object.spec.nope}}' resulted in error: no such key: nope`,
		},
		"failing variable": {
			variables:  [][2]string{{"v", "object.spec.nope"}},
			expression: `Object{metadata: Object.metadata{name: string(variables.v)}}`,
			err:        `composited variable "v" fails to evaluate: no such key: nope`,
		},
		"type names": {
			expression: `Object{spec: Object.spec{template: Object.spec.wrong{}}}`,
			err:        `type mismatch: unexpected type name "Object.spec.wrong", expected "Object.spec.template", which matches field name path from root Object type`,
		},
		"cost": {
			expression: `Object{metadata: Object.metadata{name: string([1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a+b+c+d+e+f > 0)))))))}}`,
			err:        `resulted in error: operation cancelled: actual cost limit exceeded`,
		},
		"authorizer": {
			expression: `Object{metadata: Object.metadata{name: string(authorizer.group("apps").resource("deployments").check("get").allowed())}}`,
			err:        `resulted in error: the authorizer was asked`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			scope := New(36).Scope(false)
			for _, v := range tc.variables {
				if err := scope.Variable(v[0], v[1]); err != nil {
					t.Fatal(err)
				}
			}
			program, err := scope.ApplyConfiguration(tc.expression)
			if err != nil {
				t.Fatal(err)
			}
			got, err := scope.Activate(context.Background(), input()).ApplyConfiguration(program)
			checkError(t, err, tc.err)
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %#v, want %#v", got, tc.want)
			}
		})
	}
}

func TestJSONPatch(t *testing.T) {
	for name, tc := range map[string]struct {
		minor      int
		expression string
		want       []jsonpatch.Operation
		err        string
	}{
		"values": {
			expression: `[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b"), value: "x"}, JSONPatch{op: "replace", path: "/spec/replicas", value: 3.0}, JSONPatch{op: "move", from: "/a", path: "/b"}]`,
			want: []jsonpatch.Operation{
				{Op: "add", Path: "/metadata/labels/a~1b", Value: "x"},
				{Op: "replace", Path: "/spec/replicas", Value: int64(3)},
				{Op: "move", From: "/a", Path: "/b", NoValue: true},
			},
		},
		"integers beyond 2^53 are strings": {
			expression: `[JSONPatch{op: "add", path: "/a", value: 9007199254740993}]`,
			want:       []jsonpatch.Operation{{Op: "add", Path: "/a", Value: "9007199254740993"}},
		},
		"an Object": {
			expression: `[JSONPatch{op: "add", path: "/spec/x", value: Object.spec.x{a: 1, b: Object.spec.x.b{c: [true]}}}]`,
			want: []jsonpatch.Operation{{Op: "add", Path: "/spec/x", Value: map[string]any{
				"a": int64(1), "b": map[string]any{"c": []any{true}},
			}}},
		},
		"a list of Objects": {
			expression: `[JSONPatch{op: "add", path: "/spec/volumes", value: [Object.spec.volumes{name: "v"}]}]`,
			err:        `kube-apiserver crashes on it before 1.37`,
		},
		"a list of Objects in 1.37": {
			minor:      37,
			expression: `[JSONPatch{op: "add", path: "/spec/volumes", value: [Object.spec.volumes{name: "v"}]}]`,
			want:       []jsonpatch.Operation{{Op: "add", Path: "/spec/volumes", Value: []any{map[string]any{"name": "v"}}}},
		},
		"null": {
			expression: `[JSONPatch{op: "add", path: "/a", value: null}]`,
			want:       []jsonpatch.Operation{{Op: "add", Path: "/a"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			scope := New(max(tc.minor, 36)).Scope(false)
			program, err := scope.JSONPatch(tc.expression)
			if err != nil {
				t.Fatal(err)
			}
			got, err := scope.Activate(context.Background(), input()).JSONPatch(program)
			checkError(t, err, tc.err)
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %#v, want %#v", got, tc.want)
			}
		})
	}
}

// TestCompileErrors checks the texts of kube-apiserver 1.36.3.
func TestCompileErrors(t *testing.T) {
	type compile func(*Scope, string) (*Program, error)
	for _, tc := range []struct {
		compile    compile
		minor      int
		expression string
		want       string
		offset     int
	}{
		{
			(*Scope).ApplyConfiguration, 36, `Object{spec: Object.spec{replicas: undefinedVar}}`,
			"compilation failed: ERROR: <input>:1:36: undeclared reference to 'undefinedVar' (in container '')\n | Object{spec: Object.spec{replicas: undefinedVar}}\n | ...................................^", 35,
		},
		{(*Scope).ApplyConfiguration, 36, `object`, "must evaluate to Object but got dyn", 0},
		{(*Scope).ApplyConfiguration, 36, `[JSONPatch{op: "add"}]`, "must evaluate to Object but got list(JSONPatch)", 0},
		{(*Scope).JSONPatch, 36, `Object{}`, "must evaluate to list(JSONPatch) but got Object", 0},
		{(*Scope).JSONPatch, 36, `[]`, "must evaluate to list(JSONPatch) but got list(dyn)", 0},
		{
			(*Scope).JSONPatch, 36, `[JSONPatch{op: "add", nope: "x"}]`,
			"compilation failed: ERROR: <input>:1:27: expected type of field 'nope' is '' but provided type is 'string'\n | [JSONPatch{op: \"add\", nope: \"x\"}]\n | ..........................^", 26,
		},
		{(*Scope).JSONPatch, 36, `[JSONPatch{op: "add", path: 1}]`, "expected type of field 'path' is 'string' but provided type is 'int'", 26},
		{(*Scope).JSONPatch, 36, `[JSONPatch{op: 'add', path: '/a', value: params.x}]`, "undeclared reference to 'params' (in container '')", 41},
		{(*Scope).JSONPatch, 36, `[JSONPatch{op: 'add', path: '/a', value: [1, 'a']}]`, "expected type 'int' but found 'string'", 45},
		{(*Scope).JSONPatch, 36, `[JSONPatch{op: 'add', path: '/a', value: [1,2].includes(1)}]`, "undeclared reference to 'includes' (in container '')", 55},
		{(*Scope).JSONPatch, 36, `[JSONPatch{op: "a", path: variables.nope}]`, "undefined field 'nope'", 35},
		{(*Scope).JSONPatch, 36, `[JSONPatch{op: "a", path: request.object.x}]`, "undefined field 'object'", 33},
		{(*Scope).Condition, 36, `variables.v`, "undeclared reference to 'variables' (in container '')", 0},
		{(*Scope).Condition, 36, `object.spec.x`, "must evaluate to bool but got dyn", 0},
		{(*Scope).Condition, 36, "true &&\n  nope", "<input>:2:3: undeclared reference to 'nope'", 10},
		{(*Scope).Condition, 36, "\n  'é' == nope  \n", "<input>:1:8: undeclared reference to 'nope'", 11},
		{(*Scope).Condition, 36, "Object{} == null", "undeclared reference to 'Object'", 6},
		{(*Scope).Condition, 34, "[3].sort() == [3]", "undeclared reference to 'sort'", 8},
		{(*Scope).Condition, 35, "[3].sort() == [3]", "", 0},
	} {
		_, err := tc.compile(New(tc.minor).Scope(false), tc.expression)
		checkError(t, err, tc.want)
		var e *CompileError
		if errors.As(err, &e) && e.Offset != tc.offset {
			t.Errorf("%s: at %d, want %d", tc.expression, e.Offset, tc.offset)
		}
	}
}

func TestConditions(t *testing.T) {
	scope := New(36).Scope(true)
	program, err := scope.Condition("params == null && object.spec.replicas == 3 && authorizer.requestResource.check('get').allowed()")
	if err != nil {
		t.Fatal(err)
	}
	in := input()
	in.Authorizer = AllowAll
	budget := ConditionsBudget
	if ok, err := scope.Activate(context.Background(), in).Bool(program, &budget); !ok || err != nil {
		t.Error(ok, err)
	}
	if budget >= ConditionsBudget {
		t.Error("the evaluation cost nothing")
	}
	budget = 1
	if _, err := scope.Activate(context.Background(), in).Bool(program, &budget); !errors.Is(err, ErrBudget) {
		t.Error("got", err, "want", ErrBudget)
	}
}

// TestCancelled evaluates nothing for a request that was cancelled: cel-go itself looks only in long
// loops.
func TestCancelled(t *testing.T) {
	scope := New(36).Scope(true)
	program, err := scope.Condition("object.spec.replicas == 3")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	budget := ConditionsBudget
	if _, err := scope.Activate(ctx, input()).Bool(program, &budget); !errors.Is(err, context.Canceled) || budget != ConditionsBudget {
		t.Errorf("%v, budget %d", err, budget)
	}
}

func TestReadNamespace(t *testing.T) {
	for expression, want := range map[string]bool{
		"namespaceObject.metadata.name == 'x'":                                       false,
		"has(namespaceObject.metadata.name) && object.metadata.name == 'x'":          false,
		"namespaceObject.metadata.labels['a'] == namespaceObject.metadata.name":      true,
		"namespaceObject != null":                                                    true,
		"request.namespace == 'x' || object.namespaceObject.metadata.labels == null": false,
	} {
		scope := New(36).Scope(false)
		program, err := scope.Condition(expression)
		if err != nil {
			t.Fatal(err)
		}
		activation, budget := scope.Activate(context.Background(), input()), ConditionsBudget
		_, _ = activation.Bool(program, &budget)
		if got := activation.ReadNamespace(); got != want {
			t.Errorf("%s: got %v, want %v", expression, got, want)
		}
	}
}

func TestOldUnknown(t *testing.T) {
	scope := New(36).Scope(false)
	program, err := scope.Condition("true || oldObject == null")
	if err != nil {
		t.Fatal(err)
	}
	other, err := scope.Condition("oldObject == null")
	if err != nil {
		t.Fatal(err)
	}
	in := input()
	in.OldUnknown = true
	budget := ConditionsBudget
	activation := scope.Activate(context.Background(), in)
	if ok, err := activation.Bool(program, &budget); !ok || err != nil {
		t.Error("an expression that does not read oldObject:", ok, err)
	}
	_, err = activation.Bool(other, &budget)
	checkError(t, err, "oldObject was read, but the object before the update is not known")
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("no error, want %s", want)
	case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
		t.Errorf("got error\n%v\nwant\n%s", err, want)
	}
}

func BenchmarkApplyConfiguration(b *testing.B) {
	scope := New(36).Scope(false)
	program, err := scope.ApplyConfiguration(`Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{name: c.name, image: "r/" + c.image})}}}}`)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := scope.Activate(context.Background(), input()).ApplyConfiguration(program); err != nil {
			b.Fatal(err)
		}
	}
}

// everyFunction has expressions that compile and use every function.
var everyFunction = []string{
	`1 + 2 * 3 - 4 / 2 % 3`, `-1 < 2 && 3u >= 2u || 1.5 <= 2.5 && !false`, `"a" + "b" == "ab"`, `[1] + [2] != [1, 2, 3]`,
	`1 / 0`, `9223372036854775807 + 1`, `dyn(1) == 1.0`, `1 in [1, 2]`, `"a" in {"a": 1}`, `object.spec.replicas in [1, 2]`,
	`size("abc") + size([1, 2]) + {"a": 1}.size() + size(b"x")`, `"abc".startsWith("a") && "abc".endsWith("c") && "abc".contains("b")`,
	`"abc".matches("^a.c$")`, `object.metadata.name.matches("w.*")`, `object.metadata.name.matches(object.metadata.name + "[")`,
	`int("1") + int(1.5) + int(2u)`, `string(1) + string(true) + string(b"x") + string(1.5)`, `double("1.5") + double(1)`, `uint(1)`, `bytes("a")`, `bool("true")`,
	`duration("1h") + duration("1m")`, `duration(object.kind)`, `timestamp("2024-01-01T10:00:00Z").getHours() + timestamp("2024-01-01T10:00:00Z").getFullYear("+02:00")`,
	`timestamp("2024-01-02T00:00:00Z") - timestamp("2024-01-01T00:00:00Z") == duration("24h")`, `type(1) == int`, `type(object.metadata)`, `null == object.metadata`,
	`object.spec.template.spec.containers.map(c, c.name)`, `object.spec.template.spec.containers.filter(c, c.image.startsWith("n")).map(c, c.image)[0]`,
	`object.spec.template.spec.containers.exists(c, c.name == "app") && object.spec.template.spec.containers.all(c, has(c.image))`,
	`object.spec.template.spec.containers.exists_one(c, c.nope == 1)`, `has(object.spec.nope) ? object.spec.nope : "none"`, `object.spec.nope`, `object["spec"]["template"]`,
	`[1, 2, 3][5]`, `{"a": 1}["b"]`, `[[1, 2], [3]].map(l, l.map(x, x * x))`, `{"a": [1], ?"b": optional.of([2])}`, `namespaceObject.metadata.labels["team"]`, `request.operation + request.name`,
	`Object{metadata: Object.metadata{labels: {"a": "b"}}}`, `Object{spec: Object.spec{replicas: 1}}.spec.replicas`, `JSONPatch{op: "add", path: "/a", value: Object.b{c: [1]}}.value.c`,
	`[1, 2, 3].sum()`, `[3, 1].sort()`, `[1, 2].slice(0, 1)`, `sets.contains([1, 2, 3, 4], [1])`, `"a,b".split(",")`, `"abc".find("[")`, `"abc".find("b.")`,
	`string(ip("10.0.0.1"))`, `quantity("1Ki").asInteger()`, `object.?spec.?nope.orValue(1)`, `optional.of(1).or(optional.of(1 / 0))`, `[1, 2].all(i, v, i < v)`, `jsonpatch.escapeKey("a/b")`,
}

// TestPlanning checks that programs planned without the libraries have the same results and
// costs.
func TestPlanning(t *testing.T) {
	env := New(36)
	full, err := env.full()
	if err != nil {
		t.Fatal(err)
	}
	compiler, err := env.borrow(dialect{patches: true})
	if err != nil {
		t.Fatal(err)
	}
	activation := env.Scope(false).Activate(t.Context(), input())
	for _, expression := range everyFunction {
		checked, issues, err := compiler.compile(expression)
		if err != nil || issues.Err() != nil {
			t.Errorf("%s: %v, %v", expression, err, issues.Err())
			continue
		}
		run := func(program cel.Program, err error) string {
			if err != nil {
				return err.Error()
			}
			value, details, err := program.ContextEval(t.Context(), activation)
			var native any // fmt prints maps in order
			if value != nil {
				native = value.Value()
			}
			return fmt.Sprintf("%v, %v, cost %d", native, err, actualCost(details))
		}
		got, want := run(env.program(checked, nil)), run(full.PlanProgram(checked, programOptions...))
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", expression, got, want)
		}
	}
}

// TestCrash checks that an expression on which cel-go crashes is an error.
func TestCrash(t *testing.T) {
	_, err := New(36).Scope(false).JSONPatch(`[JSONPatch{op: "add", path: "/a", value: {?"a": object[?0], "b": "c"}}]`)
	if err == nil || !strings.Contains(err.Error(), "crashes") {
		t.Error(err)
	}
	_, err = New(36).Scope(false).JSONPatch(`[JSONPatch{op: "add", path: "/a", value: {?"a": object[?0], "b": "c"}}`) // the bracket that is missing
	if err == nil || !strings.Contains(err.Error(), "Syntax error") {
		t.Error(err)
	}
}
