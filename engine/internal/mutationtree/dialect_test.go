package mutationtree

import (
	"context"
	"errors"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
)

// TestDialects shows why there are two libraries of JMESPath: the dialects of Kyverno's policies and
// of mutation trees give different results, or one lacks what the other has.
func TestDialects(t *testing.T) {
	data := map[string]any{"a": map[string]any{"b": int64(1)}, "list": []any{"x"}, "text": "abc"}
	failed := errors.New("an error")
	for _, c := range []struct {
		expression    string
		kyverno, tree any
	}{
		{"a.b", int64(1), int64(1)},
		{"a.missing", failed, nil}, // a missing key is an error to Kyverno
		{"list[*].missing", []any{}, []any{}},
		{"to_number('1Ki')", nil, nil},
		{"a.b + `1`", failed, int64(2)},          // arithmetic
		{"let $x = a.b in $x", failed, int64(1)}, // bindings
		{"$.a.b", failed, int64(1)},              // the root
		{"reverse(text)", "cba", "cba"},
		{"items(a, 'k', 'v')", []any{map[string]any{"k": "b", "v": int64(1)}}, failed}, // other arguments
		{"items(a)", failed, []any{[]any{"b", int64(1)}}},
		{"truncate(text, `2`)", "ab", failed},   // functions of Kyverno
		{"pad_left(text, `4`)", failed, " abc"}, // functions of JMESPath Community
		{"split(text, '')", []any{"a", "b", "c"}, []any{"a", "b", "c"}},
		{"text[1:]", nil, "bc"}, // slices of strings
	} {
		if got := evaluateKyverno(c.expression, data, failed); !change.Equal(got, c.kyverno) && got != c.kyverno {
			t.Errorf("Kyverno: %s is %v, want %v", c.expression, got, c.kyverno)
		}
		var got any = failed
		if e, problems := compileJMESPath(c.expression); problems == nil {
			if value, err := e.evaluate(context.Background(), data, nil); err == nil {
				got = value
			}
		}
		if !change.Equal(got, c.tree) && got != c.tree {
			t.Errorf("tree: %s is %v, want %v", c.expression, got, c.tree)
		}
	}
}

func evaluateKyverno(expression string, data any, failed error) any {
	compiled, err := jmespath.Compile(expression)
	if err != nil {
		return failed
	}
	value, err := jmespath.NewEnv(nil).Search(compiled, jmespath.Input(data))
	if err == nil {
		value, err = jmespath.Output(value)
	}
	if err != nil {
		return failed
	}
	return value
}
