package jmespath

import "testing"

// TestOrder has expressions by what of their value depends on the order of keys. The recorded cases in
// engine/testdata/kyverno show it for the most important ones.
func TestOrder(t *testing.T) {
	known := map[string]Order{"shuffled": Shuffled, "random": Random}
	for expression, want := range map[string]Order{
		"labels": Fixed, "labels.a": Fixed, "items(labels, 'k', 'v')[0]": Fixed, "to_string(labels)": Fixed, "'a'": Fixed, "@": Fixed,
		"keys(labels)": Shuffled, "values(labels)": Shuffled, "labels.*": Shuffled, "labels.*.a": Shuffled, "shuffled": Shuffled,
		"reverse(keys(labels))": Shuffled, "map(&to_upper(@), keys(labels))": Shuffled, "keys(labels)[?@ != 'a']": Shuffled,
		"[keys(labels), ['z']][]": Shuffled, "keys(labels) || ['z']": Shuffled, "{a: keys(labels)}": Shuffled, "{a: keys(labels)}.a": Shuffled,
		"sort(keys(labels))": Fixed, "length(labels.*)": Fixed, "contains(keys(labels), 'a')": Fixed, "max(keys(labels))": Fixed,
		"list[?contains(keys(@), 'a')]": Fixed, "sort_by(labels.*, &a)": Fixed, "!keys(labels)": Fixed,
		"keys(labels)[0]": Random, "keys(labels) | [0]": Random, "keys(labels)[:2]": Random, "join(',', keys(labels))": Random,
		"keys(labels) == ['a']": Random, "to_string(labels.*)": Random, "sort(random)": Random, "map(&keys(@)[0], list)": Random,
		"list[?keys(@)[0] == 'a']": Random, "lookup(values(labels), `0`)": Random, "shuffled[0]": Random, "labels.shuffled": Fixed,
	} {
		n, err := Parse(expression)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Order(known); got != want {
			t.Errorf("%s: %d, want %d", expression, got, want)
		}
	}
}
