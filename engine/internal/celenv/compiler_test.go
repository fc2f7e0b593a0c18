package celenv

import (
	"testing"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"google.golang.org/protobuf/proto"
)

// TestCompiler compares the results of compilers with those of an environment of cel-go.
func TestCompiler(t *testing.T) {
	wrong := []string{
		`1 + "a"`, `nope`, `object.`, `params.a`, `variables.a`, `variables.nope`, `Object{}`, `JSONPatch{nope: 1}`, `request.nope`, `[1, "a"]`, `{"a": 1, "b": "c"}`, `duration("x")`, `timestamp("x")`,
		`"a".matches("(")`, `has(a)`, `object.all(1, x)`, `jsonpatch.escapeKey(1)`, `nope(1)`, `"a".format([1, "b"])`, `"%q".format([1])`, `object.metadata == `, `1 < 1.5`, `dyn(1) < "a"`, `b"a"`, "object.`a`",
	}
	for _, env := range []*Env{New(30), New(36), New(37), Kyverno(false)} {
		for _, d := range []dialect{{}, {params: true}, {variables: true, patches: true}, {params: true, variables: true, patches: true}} {
			compiler, err := env.newCompiler(d)
			if err != nil {
				t.Fatal(err)
			}
			compiler.provider.variables = map[string]*types.Type{"a": types.IntType}
			complete, err := env.complete(d, compiler.provider)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range append(wrong, everyFunction...) {
				checked, issues, err := compiler.compile(text)
				if err != nil {
					t.Fatal(err)
				}
				want, wanted := complete.Compile(text)
				switch {
				case (issues.Err() == nil) != (wanted.Err() == nil), issues.String() != wanted.String():
					t.Errorf("%v %s: %v, cel-go says %v", d, text, issues.Err(), wanted.Err())
				case issues.Err() == nil && checkedProto(t, checked) != checkedProto(t, want.NativeRep()):
					t.Errorf("%v %s: other types or functions than with cel-go", d, text)
				}
			}
		}
	}
}

// TestValidators checks that all validators are known.
func TestValidators(t *testing.T) {
	for _, env := range []*Env{New(30), New(36), New(37), Kyverno(false)} {
		base, err := env.base()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range base.Validators() {
			if _, known := validated[v.Name()]; !known {
				t.Errorf("the validator %s is not known", v.Name())
			}
		}
	}
}

// checkedProto returns the text of a checked expression, with its types and functions.
func checkedProto(t *testing.T, checked *ast.AST) string {
	message, err := ast.ToProto(checked)
	if err != nil {
		t.Fatal(err)
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
