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
