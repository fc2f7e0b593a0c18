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

// TestPageHeadings shows that the name of an object is above its first line and the comments there. If that is
// far from a change, it is above the first change, too, for the page with fewer lines.
func TestPageHeadings(t *testing.T) {
	dir := tree(t, hostile)
	var b strings.Builder
	for _, name := range []string{"one", "two"} {
		b.WriteString("---\n# The pod " + name + ".\napiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\nspec:\n  containers:\n  - name: a\n    image: a\n    ports: [{containerPort: 80}]\n")
	}
	writeFile(t, dir+"/pods.yaml", b.String())
	writeFile(t, dir+"/pods-policy.yaml", strings.NewReplacer("ConfigMap", "Pod", "patchStrategicMerge: {metadata: {labels: {team: TEAM}}}", "patchesJson6902: \"- {op: replace, path: /spec/containers/0/image, value: b}\"").Replace(basePolicy))
	var stdout, stderr bytes.Buffer
	p := &Process{Args: []string{"explain", "-o", "html", "-p", "pods-policy.yaml", "pods.yaml"}, Dir: dir, Stdout: &stdout, Stderr: &stderr}
	if status := Main(context.Background(), p); status != exitDone {
		t.Fatalf("status %d\n%s", status, &stderr)
	}
	row := regexp.MustCompile(`<tr class="([^"]*)"[^>]*>(?:<td colspan="5">([^<]*)|.*?<td(?: colspan="2")?>([^<]*)</td>)`)
	var got []string
	page, _, _ := strings.Cut(stdout.String(), `<div class="policies">`)
	for _, line := range row.FindAllStringSubmatch(page, -1) {
		if text := line[2] + line[3]; strings.Contains(line[1], "object") || strings.HasPrefix(text, "#") {
			got = append(got, line[1]+": "+text)
		}
	}
	want := []string{"object far: Pod default/one", "far: # The pod one.", "object few: Pod default/one", "object: Pod default/two", ": # The pod two."}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
