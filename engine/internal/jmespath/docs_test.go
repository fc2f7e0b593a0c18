package jmespath

import "testing"

func TestDocs(t *testing.T) {
	for name := range Kyverno() {
		if name != stepFunction && name != spendFunction && Doc(name) == "" {
			t.Errorf("nothing says what %s does", name)
		}
	}
	for name := range docs {
		if _, ok := Kyverno()[name]; !ok {
			t.Errorf("there is no function %s", name)
		}
	}
	if got, want := Kyverno()["contains"].String(), "(a string or a list, a value) -> a boolean"; got != want {
		t.Errorf("contains%s, expected %s", got, want)
	}
}
