package dns

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// FuzzNames compares the rules with those of apimachinery.
func FuzzNames(f *testing.F) {
	for _, text := range []string{
		"", "a", "1", "-", "web", "Web", "a-b", "-a", "a-", "a.b", ".a", "a.", "a..b", "a_b", "1a", "é", "a\n", "a b",
		strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 127) + "a", strings.Repeat("é", 130),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, pair := range map[string][2]func(string) []string{
			"Label": {Label, validation.IsDNS1123Label}, "Subdomain": {Subdomain, validation.IsDNS1123Subdomain}, "Label1035": {Label1035, validation.IsDNS1035Label},
		} {
			if got, want := pair[0](text), pair[1](text); !slices.Equal(got, want) {
				t.Errorf("%s(%q) is %q, apimachinery says %q", name, text, got, want)
			}
		}
	})
}
