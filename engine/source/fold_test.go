package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/source"
)

// TestFold shows that the same message about many objects becomes one, and that nothing else does.
func TestFold(t *testing.T) {
	at := func(line int) source.Position { return source.Position{File: "m.yaml", Line: line, Column: 1} }
	var all []source.Diagnostic
	for i := range 9 {
		d := source.Errorf(at(i+1), "denied", "no").With("say please").Naming(source.Position{File: "p.yaml", Line: 1}, "policy p")
		d.Subject, d.Field = fmt.Sprintf("Pod/a/p%d", i), fmt.Sprintf("spec.containers[%d].image", i)
		if i > 0 {
			d.Excerpt = fmt.Sprintf("- name: rule%d", i) // the same mistake in different lines
		}
		all = append(all, d)
		if i < 3 { // three are not many
			all = append(all, source.Errorf(at(i+100), "denied", "never"))
		}
		other := d
		other.Field = fmt.Sprintf("spec.unknown%d", i)
		all = append(all, other)
	}
	for most, want := range map[int]string{
		source.FewPlaces: `m.yaml:1:1: error[denied]: Pod/a/p0: spec.containers[0].image: no
    p.yaml:1: policy p
    say please
    the same in 8 more places:
    m.yaml:2:1: Pod/a/p1: spec.containers[1].image
    m.yaml:3:1: Pod/a/p2: spec.containers[2].image
    and 6 more`,
		len(all): `m.yaml:9:1: Pod/a/p8: spec.containers[8].image`,
	} {
		folded := source.Fold(all, most)
		if got := folded[0].String(); !strings.HasSuffix(got, want) {
			t.Errorf("of %d places:\n%s\nwant:\n%s", most, got, want)
		}
		if len(folded) != 1+3+9 {
			t.Errorf("%d diagnostics, expected 13", len(folded))
		}
	}
	if all[0].Count != 0 || all[0].Also != nil {
		t.Error("the argument has changed")
	}
}

// TestFoldPlace shows that the same message about few objects that come from one place becomes one, also if the
// server repeats their names.
func TestFoldPlace(t *testing.T) {
	denied := func(line int, name string) source.Diagnostic {
		d := source.Errorf(source.Position{File: "base.yaml", Line: line, Column: 1}, "denied", "deployments.apps %q is forbidden: no", name)
		d.Subject = "apps/Deployment/shop/" + name
		return d
	}
	got := source.Fold([]source.Diagnostic{denied(1, "a-web"), denied(9, "db"), denied(1, "b-web")}, source.FewPlaces)
	if want := `base.yaml:1:1: error[denied]: apps/Deployment/shop/a-web: deployments.apps "a-web" is forbidden: no
    the same in 1 more place:
    base.yaml:1:1: apps/Deployment/shop/b-web`; len(got) != 2 || got[0].String() != want || got[1].Count != 0 {
		t.Errorf("got %v", got)
	}
	many := source.Fold([]source.Diagnostic{denied(1, "a"), denied(2, "b"), denied(3, "c"), denied(4, "d")}, source.FewPlaces)
	if len(many) != 1 || many[0].Count != 4 {
		t.Errorf("got %v", many)
	}
	var nowhere source.Diagnostic
	if got := source.Fold([]source.Diagnostic{nowhere, nowhere}, source.FewPlaces); len(got) != 2 {
		t.Errorf("messages without a place are folded: %v", got)
	}
}

// TestFoldNames shows that messages which differ only in names become one if they are many, that each place has the names
// that it does not share with the first, and that a few keep their own.
func TestFoldNames(t *testing.T) {
	twice := func(line int, name string) source.Diagnostic {
		at, other := source.Position{File: "b.yaml", Line: line}, source.Position{File: "a.yaml", Line: line}
		return source.Errorf(at, "twice", "%s %s is defined twice; the other one is at %s", source.Name("Policy"), source.Name(name), other).
			With("rename " + name)
	}
	all := []source.Diagnostic{twice(1, "a"), twice(2, "b"), twice(3, "c"), twice(3, "d")}
	got := source.Fold(all, len(all))
	if want := `b.yaml:1: error[twice]: Policy a is defined twice; the other one is at a.yaml:1
    rename a
    the same in 3 more places:
    b.yaml:2: b, a.yaml:2
    b.yaml:3: c, a.yaml:3
    b.yaml:3: d, a.yaml:3`; len(got) != 1 || got[0].String() != want {
		t.Errorf("got %v", got)
	}
	if got := source.Fold(all[1:], len(all)); len(got) != 3 {
		t.Errorf("a few are folded: %v", got)
	}
	values := make([]source.Diagnostic, 4)
	for i := range values {
		values[i] = source.Errorf(source.Position{File: "b.yaml", Line: i + 1}, "value", "the value is %d%s", i, "x")
	}
	if got := source.Fold(values, len(all)); len(got) != 4 {
		t.Errorf("messages with other values are folded: %v", got)
	}
}

// TestFoldNotes shows that notes about manifests become one whatever their fields; a line of a policy has a note of its own.
func TestFoldNotes(t *testing.T) {
	var all []source.Diagnostic
	for i, field := range []string{"spec.a", "spec.b", "metadata.labels", "status"} {
		d := source.Notef(source.Position{File: "m.yaml", Line: i + 1}, "not-stored", "the server drops this value")
		d.Subject, d.Field = "Pod/a/b", field
		all = append(all, d)
	}
	if got := source.Fold(all, len(all)); len(got) != 1 || got[0].Also[2].String() != "m.yaml:4: Pod/a/b: status" {
		t.Errorf("got %v", got)
	}
	for i := range all {
		all[i].Excerpt = "line"
	}
	if got := source.Fold(all, len(all)); len(got) != 4 {
		t.Errorf("got %v", got)
	}
}
