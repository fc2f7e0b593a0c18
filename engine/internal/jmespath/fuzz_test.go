package jmespath

import (
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// FuzzSearch evaluates any expression twice: it must end without a panic, with the same result.
func FuzzSearch(f *testing.F) {
	for _, seed := range []string{
		"labels.*", "sort_by(names, &name)[0].name", "max_by(names, &m)", "names[?m > `0`] | [0]", "merge(labels, {a: @})", "list[::-1]",
		"not_null(a, b)", "map(&name, names)", "join('-', keys(labels))", "items(labels, 'a', 'b')", "min(list)", "reverse(text)",
		"to_array(labels)[0].*", "names[*].[name, m][]", "type(&a)", "contains(list, `1`)", "x509_decode(text)", "time_parse('x', text)",
	} {
		f.Add(seed)
	}
	value, err := manifest.Value(data)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		if len(expression) > 200 {
			return
		}
		compiled, err := Compile(expression)
		if err != nil {
			return
		}
		first, firstErr := testEnv.Search(compiled, Input(value))
		second, secondErr := testEnv.Search(compiled, Input(value))
		if (firstErr == nil) != (secondErr == nil) || !change.Equal(first, second) {
			t.Errorf("%s\nfirst:  %v, %v\nsecond: %v, %v", expression, first, firstErr, second, secondErr)
		}
	})
}
