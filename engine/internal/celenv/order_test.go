package celenv

import (
	"context"
	"reflect"
	"testing"
)

// TestOrder checks that maps of all kinds are iterated in the order of their keys, every time.
func TestOrder(t *testing.T) {
	labels := map[string]any{}
	want := []any{}
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		labels[key] = map[string]any{key: key}
		want = append(want, key)
	}
	for _, expression := range []string{
		"object.map(k, k)",
		"[object][0].map(k, k)",
		"object.map(k, object[k].map(l, l)[0])",
		`{"h": 1, "g": 1, "f": 1, "e": 1, "d": 1, "c": 1, "b": 1, "a": 1}.map(k, k)`,
		`bindings.labels.map(k, k)`,
		"object.transformMap(k, v, k).map(k, k)",
		"object.transformMap(k, v, k != 'i', k).map(k, k)",
		"object.transformMapEntry(k, v, {k: k}).map(k, k)",
		"[object.transformMap(k, v, k)].map(m, m.map(k, k))[0]",
	} {
		program, err := New(36).TreeExpression(expression)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			got, err := program.Evaluate(context.Background(), labels, func(string) (any, error) { return labels, nil })
			if err != nil || !reflect.DeepEqual(got, any(want)) {
				t.Errorf("%s: %v, %v", expression, got, err)
			}
		}
	}
}
