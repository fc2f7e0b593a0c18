package manifest

import (
	"strings"
	"testing"
)

// TestBounds reads as many documents as allowed, and one more.
func TestBounds(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for name, of := range map[string]func(n int) string{
		"YAML": func(n int) string { return strings.Repeat("---\n"+object, n) + "---\n# the end\n" },
		"JSON": func(n int) string { return strings.Repeat(`{"apiVersion":"v1","kind":"ConfigMap"}`, n) + "\n" },
		"items": func(n int) string {
			return "apiVersion: v1\nkind: List\nitems:\n" + strings.Repeat("- {apiVersion: v1, kind: ConfigMap}\n", n)
		},
		"lists": func(n int) string {
			return strings.Repeat("---\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap}]\n", n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bounds := Bounds{Documents: 3}
			if stream, diagnostics := bounds.Read("-", []byte(of(3))); len(stream.Documents()) != 3 || len(diagnostics) > 0 {
				t.Errorf("%d documents, %v", len(stream.Documents()), diagnostics)
			}
			stream, diagnostics := bounds.Read("-", []byte(of(4)))
			if len(diagnostics) != 1 || diagnostics[0].Code != "limit-documents" || diagnostics[0].Message != "there are more than 3 documents" {
				t.Errorf("%d documents, %v", len(stream.Documents()), diagnostics)
			}
			if stream, diagnostics := Reread("-", []byte(of(4))); len(stream.Documents()) != 4 || len(diagnostics) > 0 {
				t.Errorf("without bounds: %d documents, %v", len(stream.Documents()), diagnostics)
			}
		})
	}
}
