package migrate

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// remarks finds the comments in the text of a policy.
type remarks struct {
	// lines is the text. In marked, x replaces each # in a string, which begins no comment,
	// and each quote.
	lines, marked []string
	// first is the number of the first line in the stream.
	first int
	// metadata is the metadata of the document.
	metadata map[string]any
}

func remarksOf(d *manifest.Document) *remarks {
	before, _ := d.Text()
	r := &remarks{lines: strings.Split(before, "\n")}
	r.metadata, _ = d.Object()["metadata"].(map[string]any)
	at := 0
	for at < len(r.lines) && (isBlank(r.lines[at]) || strings.HasPrefix(r.lines[at], "---") || strings.HasPrefix(r.lines[at], "%")) {
		at++
	}
	r.first = d.At(nil).Line - at
	r.marked = slices.Clone(r.lines)
	r.mark(d, policy.Node{Value: d.Object()})
	return r
}

var inString = strings.NewReplacer("#", "x", `"`, "x", "'", "x")

// mark marks the lines of the strings in a value, after the first line of each.
func (r *remarks) mark(d *manifest.Document, n policy.Node) {
	for key := range n.Object() {
		r.mark(d, n.At(key))
	}
	for _, item := range n.Items() {
		r.mark(d, item)
	}
	text := n.Text()
	if !strings.Contains(text, "#") {
		return
	}
	last := d.In(n.Path, len(text)-1)
	for line := d.At(n.Path).Line + 1; line <= last.Line; line++ {
		i := line - r.first
		if i < 0 || i >= len(r.marked) {
			return
		}
		written := []rune(r.marked[i])
		inside := len(written)
		if line == last.Line {
			inside = min(last.Column+1, inside) // with the quote that ends it
		}
		r.marked[i] = inString.Replace(string(written[:inside])) + string(written[inside:])
	}
}

func isBlank(line string) bool {
	trimmed := strings.TrimSpace(line)
	return trimmed == "" || trimmed[0] == '#'
}

// head returns the comments before the first key of the document.
func (r *remarks) head() []string {
	var found []string
	for _, line := range r.marked {
		switch {
		case isBlank(line) || strings.HasPrefix(line, "---"):
		case strings.HasPrefix(line, "apiVersion:"), strings.HasPrefix(line, "kind:"):
		default:
			return found
		}
		found = append(found, commentIn(line)...)
	}
	return found
}

// block returns the text of a key at the root of the document, with its comments, and the same marked.
func (r *remarks) block(key string) (written, marked []string) {
	for i, line := range r.lines {
		if !strings.HasPrefix(line, key+":") {
			continue
		}
		end := i + 1
		for end < len(r.lines) && (isBlank(r.marked[end]) || strings.HasPrefix(r.lines[end], " ")) {
			end++
		}
		for end > i+1 && isBlank(r.marked[end-1]) {
			end--
		}
		return r.lines[i:end], r.marked[i:end]
	}
	return nil, nil
}

// sections are the keys of a rule by which its comments are grouped.
var sections = []string{"name", "match", "exclude", "context", "preconditions", "mutate"}

// rule returns the comments of the rule at a path, by the section that they belong to; "" has
// the comments above the rule.
func (r *remarks) rule(d *manifest.Document, path change.Path) map[string][]string {
	start := d.At(path).Line - r.first
	found := map[string][]string{}
	if start < 0 || start >= len(r.marked) {
		return found
	}
	above := start
	for above > 0 && isBlank(r.marked[above-1]) {
		above--
	}
	for _, line := range r.marked[above:start] {
		found[""] = append(found[""], commentIn(line)...)
	}
	indent := keyIndent(r.marked[start])
	dash := strings.IndexByte(r.marked[start], '-')
	section := ""
	var pending []string
	for i := start; i < len(r.marked); i++ {
		line := r.marked[i]
		if isBlank(line) {
			pending = append(pending, commentIn(line)...)
			continue
		}
		if i > start && (keyIndent(line) < indent || dash >= 0 && strings.IndexByte(line, '-') == dash && strings.TrimSpace(line[:dash]) == "") {
			return found // comments before the next rule belong to that rule
		}
		if keyIndent(line) == indent {
			for _, key := range sections {
				if strings.HasPrefix(strings.TrimLeft(line, " -"), key+":") {
					section = key
				}
			}
		}
		found[section] = append(found[section], pending...)
		pending = nil
		found[section] = append(found[section], commentIn(line)...)
	}
	found[section] = append(found[section], pending...)
	return found
}

// keyIndent returns the column of the first text in a line, not counting the dashes of lists.
func keyIndent(line string) int { return len(line) - len(strings.TrimLeft(line, " -")) }

// commentIn returns the comment at the end of a line.
func commentIn(line string) []string {
	var quote byte
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0:
			switch {
			case c == '\\' && quote == '"', c == quote && quote == '\'' && strings.HasPrefix(line[i+1:], "'"):
				i++
			case c == quote:
				quote = 0
			}
		case (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" \t[{,:", line[i-1]) >= 0):
			quote = c
		case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return []string{strings.TrimRight(line[i:], " \r")}
		}
	}
	return nil
}
