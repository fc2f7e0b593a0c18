package examples

import (
	"fmt"
	"html"
	"strings"
	"testing"
)

// capture is the picture of a terminal in the README, and its command.
const (
	capture        = "quickstart/diff.svg"
	captureCommand = "preadmit diff -p examples/quickstart/policies/team-label.yaml \\\n" +
		"    -c examples/quickstart/policies/namespaces.yaml examples/quickstart/manifests"
)

// TestCapture draws the output of the command; -update writes the picture.
func TestCapture(t *testing.T) {
	r := command(t, "..", "", "bash", "-c", "exec 2>&1\n"+captureCommand)
	if r.status != 1 {
		t.Fatalf("exit status %d\n%s", r.status, r.stdout)
	}
	got := svg("$ " + captureCommand + "\n" + r.stdout)
	if *update {
		write(t, capture, got)
	}
	if read(t, capture) != got {
		t.Errorf("%s is not what the command prints: run go test ./examples -run TestCapture -update", capture)
	}
	if !strings.Contains(read(t, readme), "examples/"+capture) {
		t.Errorf("README.md does not show %s", capture)
	}
}

// svg draws the text of a terminal, with the colours that git gives to a diff.
func svg(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n "), "\n")
	columns := 0
	for _, line := range lines {
		columns = max(columns, len([]rune(strings.ReplaceAll(line, "\t", " "))))
	}
	w, h := int(float64(columns)*letterWidth)+2*margin, len(lines)*lineHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img">`+"\n", w, h)
	fmt.Fprintf(&b, `<title>preadmit diff</title><rect width="%d" height="%d" rx="8" fill="#161b22"/>`+"\n", w, h)
	fmt.Fprintf(&b, `<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="13">`+"\n")
	for i, line := range lines {
		line = strings.ReplaceAll(line, "\t", " ")
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", margin, margin+lineHeight*(i+1)-5, colour(line), strings.ReplaceAll(html.EscapeString(line), " ", "\u00a0")) // viewers drop normal spaces blanks
	}
	return b.String() + "</g>\n</svg>\n"
}

func colour(line string) string {
	switch {
	case strings.HasPrefix(line, "$ "), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "    -c"):
		return "#ffffff"
	case strings.HasPrefix(line, "@@"):
		return "#79c0ff"
	case strings.HasPrefix(line, "+"):
		return "#7ee787"
	case strings.HasPrefix(line, "-"):
		return "#ffa198"
	}
	return "#c9d1d9"
}
