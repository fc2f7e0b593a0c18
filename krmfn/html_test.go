package krmfn

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
)

// tagOf matches the tags of a page with their attributes.
var tagOf = regexp.MustCompile(`<(/?[a-zA-Z!][a-zA-Z0-9]*)((?:[^"'>]|"[^"]*"|'[^']*')*)>`)

// TestHostilePage shows that markup in manifests, policies and file names stays text, and that the
// page makes no requests and runs only its own script.
func TestHostilePage(t *testing.T) {
	dir := tree(t, hostile)
	for _, command := range [][]string{{"explain"}, {"explain", "--field", "metadata"}, {"report"}} {
		var stdout, stderr bytes.Buffer
		p := &Process{Args: append(command, "-o", "html", "-p", "policy.txt", "-p", "wider.txt", "m"), Dir: dir, Stdout: &stdout, Stderr: &stderr}
		if status := Main(context.Background(), p); status != exitDone {
			t.Fatalf("status %d\n%s", status, &stderr)
		}
		page := stdout.String()
		if strings.Contains(page, "hunter2") {
			t.Error("the page shows a Secret")
		}
		head, rest, _ := strings.Cut(page, "</style>")
		content, _, _ := strings.Cut(rest, "<script>\n")
		if !strings.Contains(head, `content="default-src 'none';`) || strings.Contains(head, "SCRIPT") || strings.Contains(head, "TITLE") {
			t.Errorf("the page may ask for something:\n%s", head)
		}
		for _, tag := range tagOf.FindAllStringSubmatch(content, -1) {
			name, attributes := strings.TrimPrefix(tag[1], "/"), tag[2]
			if !strings.Contains(" a b body br button code details div h1 h2 h3 head header input label li main option p select span summary table td th tr ul ", " "+name+" ") {
				t.Errorf("tag %s%s", name, attributes)
			}
			if strings.Contains(attributes, "href") && !strings.HasPrefix(attributes, ` href="#`) || strings.Contains(attributes, "src=") {
				t.Errorf("tag %s%s leads out", name, attributes)
			}
		}
		wants := []string{"a b%25#?:ü&#39;&#34;&lt;&amp;&gt;.yaml"}
		if command[0] == "explain" {
			wants = append(wants, "&lt;b&gt;&amp;amp;", "]]&gt;")
		}
		for _, want := range wants {
			if !strings.Contains(content, want) {
				t.Errorf("%s is not in the page", want)
			}
		}
	}
}
