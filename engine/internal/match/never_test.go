package match

import "testing"

// TestContradiction compares what selectors say with a search through all labels that they name.
func TestContradiction(t *testing.T) {
	in := func(values ...string) requirement { return requirement{"a", "In", values} }
	not := func(values ...string) requirement { return requirement{"a", "NotIn", values} }
	exists, missing := requirement{"a", "Exists", nil}, requirement{"a", "DoesNotExist", nil}
	pool := []requirement{in("x"), in("x", "y"), in("z"), not("x"), not("x", "y"), exists, missing, {"b", "Exists", nil}, {"a", "=", []string{"y"}}}
	for i := range pool {
		for j := range pool {
			for k := range pool {
				all := []requirement{pool[i], pool[j], pool[k]}
				met := false
				for _, set := range []map[string]string{{"b": "1"}, {"a": "x", "b": "1"}, {"a": "y", "b": "1"}, {"a": "z", "b": "1"}, {"a": "other", "b": "1"}} {
					met = met || Selector{all}.Matches(set)
				}
				if said := contradiction(all); met != (said == "") {
					t.Errorf("%v: labels meet it: %v, said: %q", all, met, said)
				}
			}
		}
	}
}
