package jmespath

import (
	"slices"
	"testing"
)

func TestDocs(t *testing.T) {
	for _, f := range slices.Concat(libraryFunctions, (&Env{}).functions()) {
		if got := Doc(f.name); (got == "") != (f.name == valuesFunction) {
			t.Errorf("%s: %q", f.name, got)
		}
	}
	if got, want := Kyverno()["contains"].String(), "(a string or a list, a value) -> a boolean"; got != want {
		t.Errorf("contains%s, expected %s", got, want)
	}
}
