package kyverno

import (
	"reflect"
	"testing"
)

// FuzzFindVariables holds the short way to find variables against the pattern.
func FuzzFindVariables(f *testing.F) {
	for _, text := range []string{"", "{{}}", "{{{}}}", "{{ a }}", "{{a}}b", "{{a}}{{b}}", "\\{{a}}", "{{a\n}}", "{{{a: b}.a}}", "{{a}", "x{{a}}", "{{ '{{' }}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, want := findVariables(text), variablePattern().FindAllStringSubmatchIndex(text, -1)
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}
