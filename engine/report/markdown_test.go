package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestMarkdownIsBounded checks that a comment is never longer than GitHub accepts, and counts the
// parts that are left out.
func TestMarkdownIsBounded(t *testing.T) {
	r := &Report{}
	for i := range 1000 {
		r.Files = append(r.Files, File{Name: fmt.Sprintf("%d.yaml", i), Before: strings.Repeat("a\n", 10), After: strings.Repeat(fmt.Sprintf("ä%03d\n", i), 8)})
	}
	var b strings.Builder
	Markdown(&b, r)
	if n := utf8.RuneCountInString(b.String()); n > 65536 || n < 50000 {
		t.Errorf("the comment has %d characters", n)
	}
	shown := strings.Count(b.String(), "<details>")
	if want := fmt.Sprintf("%d more parts are left out", 1000-shown); !strings.Contains(b.String(), want) {
		t.Errorf("%d parts are shown, but the comment does not say %q", shown, want)
	}
}

// TestMarkdownEscapes checks that no text of a manifest becomes markup in the comment.
func TestMarkdownEscapes(t *testing.T) {
	m := &Manifest{Kind: "ConfigMap", Name: "<b>|`x"}
	e := &Edit{Causes: []Step{{Policy: "a|`b"}}}
	m.Edits = []Edit{*e}
	r := &Report{Manifests: []Manifest{*m}, Files: []File{{Name: "a.yaml", Before: "a\n", After: "```\n</details>\n", after: []mark{{1, e, m}}}}}
	var b strings.Builder
	Markdown(&b, r)
	for _, want := range []string{"<code>ConfigMap &lt;b&gt;|`x</code>", "| `` a\\|`b `` |", "````diff\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
