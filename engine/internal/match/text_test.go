package match

import (
	"testing"

	apilabels "k8s.io/apimachinery/pkg/labels"
)

// selectorTexts are valid and invalid selectors in the syntax of URLs.
var selectorTexts = []string{
	"", " ", "a=b", "a==b", "a!=b", "a = b , c != d", "a", "!a", "! a", "a,b", "a,!b", "a in (x,y)", "a in ( x , y )", "a in(x)", "a notin (x)",
	"a in ()", "a in (,x)", "a=", "a!=", "example.com/a=b", "a=b,", ",a", "a=b=c", "a in x", "a in (x", "(a)", "a b", "!a=b", "a=(b)", "in=a", "notin", "in in (in)",
	"a=b c", "=a", "a in (x y)", "a in (x),b", "UPPER=x", "a/b/c=d", "-a", "a=-b",
}

// TestSelectorText compares with apimachinery's parser.
func TestSelectorText(t *testing.T) {
	for _, text := range selectorTexts {
		compareSelectors(t, text)
		if _, err := ParseSelectorText(text); err != nil {
			if theirs, err := apilabels.Parse(text); err == nil {
				t.Errorf("%q is refused; apimachinery takes it for %s", text, theirs)
			}
		}
	}
}

// FuzzSelectorText checks that apimachinery accepts every accepted text, and that both selectors
// select the same.
func FuzzSelectorText(f *testing.F) {
	for _, text := range selectorTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { compareSelectors(t, text) })
}

func compareSelectors(t *testing.T, text string) {
	t.Helper()
	ours, err := ParseSelectorText(text)
	theirs, theirErr := apilabels.Parse(text)
	if err == nil && theirErr != nil {
		t.Fatalf("%q: apimachinery says %v", text, theirErr)
	}
	if err != nil {
		return
	}
	for _, set := range []map[string]string{{}, {"a": "b"}, {"a": "x"}, {"a": "y", "b": "c"}, {"a": ""}, {"c": "d"}, {"example.com/a": "b"}, {"in": "in"}} {
		if got, want := ours.Matches(set), theirs.Matches(apilabels.Set(set)); got != want {
			t.Errorf("%q selects %v: %t, apimachinery says %t", text, set, got, want)
		}
	}
}
