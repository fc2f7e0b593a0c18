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
