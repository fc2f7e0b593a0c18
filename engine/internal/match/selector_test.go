package match

import (
	"testing"

	apilabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// TestRequirements compares requirements with those of apimachinery: the labels that meet them,
// and their text.
func TestRequirements(t *testing.T) {
	operators := map[string]selection.Operator{
		"=": selection.Equals, "In": selection.In, "NotIn": selection.NotIn, "Exists": selection.Exists, "DoesNotExist": selection.DoesNotExist,
	}
	for _, ours := range []requirement{
		{"app", "=", []string{"web"}},
		{"app", "=", []string{""}},
		{"app", "In", []string{"web"}},
		{"app", "In", []string{"web", "db", "cache"}},
		{"app", "In", []string{"", "b"}},
		{"app", "NotIn", []string{"web"}},
		{"app", "NotIn", []string{"web", "db"}},
		{"app", "Exists", nil},
		{"app", "DoesNotExist", nil},
	} {
		theirs, err := apilabels.NewRequirement(ours.key, operators[ours.operator], ours.values)
		if err != nil {
			t.Fatal(err)
		}
		if ours.String() != theirs.String() {
			t.Errorf("%v is written %q, apimachinery writes %q", ours, &ours, theirs)
		}
		for _, set := range []map[string]string{nil, {"app": ""}, {"app": "web"}, {"app": "db"}, {"app": "other"}, {"tier": "web"}} {
			if got, want := ours.isMet(labelsIn(set)), theirs.Matches(apilabels.Set(set)); got != want {
				t.Errorf("%v meets %q: %t, apimachinery says %t", set, theirs, got, want)
			}
		}
	}
}
