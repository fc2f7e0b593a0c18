package celenv

import (
	"errors"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	"github.com/preadmit/preadmit/engine/limit"
)

// TestBoundedFunctions compares the functions that check their arguments with the functions of
// cel-go that they replace.
func TestBoundedFunctions(t *testing.T) {
	libraries := []cel.EnvOption{ext.Strings(ext.StringsVersion(2)), ext.Sets(), ext.Lists(ext.ListsVersion(3))}
	theirs, err := cel.NewEnv(libraries...)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := theirs.Extend(append(append(boundedStrings(), boundedSets()...), boundedLists()...)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, expression := range []string{
		"'abab'.replace('a', 'xy')", "'abab'.replace('', '-')", "'äöü'.replace('', '-', 2)", "'abab'.replace('b', 'c', 0)", "'abab'.replace('b', 'c', -1)",
		"[].join()", "['a'].join('-')", "['', 'a', ''].join('-')", "['a', 'b'].join()", "[dyn(1), dyn('a')].join()",
		"lists.range(0)", "lists.range(3)", "lists.range(-1)",
		"[].distinct()", "[1, 1, 2, 1].distinct()", "[dyn(1), dyn(1.0), dyn(1u), dyn('1')].distinct()", "[[1], [1], [2]].distinct()",
		"sets.contains([1, 2], [])", "sets.contains([1, 2], [2, 3])", "sets.contains([dyn(1)], [dyn(1.0)])",
		"sets.equivalent([1, 2], [2, 1, 1])", "sets.equivalent([1], [1, 2])", "sets.equivalent([], [])",
		"sets.intersects([1, 2], [2])", "sets.intersects([], [1])", "sets.intersects([1], [dyn('a')])",
	} {
		if want, got := evaluated(t, theirs, expression), evaluated(t, ours, expression); want != got {
			t.Errorf("%s: %s, cel-go says %s", expression, got, want)
		}
	}
}

func evaluated(t *testing.T, env *cel.Env, expression string) string {
	checked, issues := env.Compile(expression)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(checked)
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := program.Eval(cel.NoVars())
	if err != nil {
		return err.Error()
	}
	return types.Format(value)
}

// TestSizes evaluates expressions whose values have the maximum size, or more.
func TestSizes(t *testing.T) {
	env := New(36)
	for expression, fits := range map[string]bool{
		"lists.range(1000).map(x, [x, x])":                                               true,
		"[lists.range(9000)].map(x, x + x).map(x, [x, x])":                               true,
		"[lists.range(90000)].map(x, [x, x, x, x, x, x, x, x, x, x])":                    false,
		"[lists.range(90000)].map(x, x + x + x).map(x, x + x + x)":                       false,
		"[lists.range(90000)].map(x, {'a': x, 'b': x}).map(x, {'a': x, 'b': x, 'c': x})": false,
	} {
		program, compileErr := env.TreeExpression(expression + ".size()")
		if compileErr != nil {
			t.Fatal(compileErr)
		}
		_, err := program.Evaluate(t.Context(), nil, nil)
		if tooLarge := errors.As(err, new(*limit.Error)); tooLarge == fits || fits && err != nil {
			t.Errorf("%s: %v", expression, err)
		}
	}
}
