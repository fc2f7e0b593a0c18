package migrate

import (
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// remarks finds the comments in the text of a policy.
type remarks struct {
	lines []string
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
	return r
}

func isBlank(line string) bool {
	trimmed := strings.TrimSpace(line)
	return trimmed == "" || trimmed[0] == '#'
}

// head returns the comments before the first key of the document.
func (r *remarks) head() []string {
	var found []string
	for _, line := range r.lines {
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

// block returns the text of a key at the root of the document, with its comments.
func (r *remarks) block(key string) []string {
	for i, line := range r.lines {
		if !strings.HasPrefix(line, key+":") {
			continue
		}
		end := i + 1
		for end < len(r.lines) && (isBlank(r.lines[end]) || strings.HasPrefix(r.lines[end], " ")) {
			end++
		}
		for end > i+1 && isBlank(r.lines[end-1]) {
			end--
		}
		return r.lines[i:end]
	}
	return nil
}

// sections are the keys of a rule by which its comments are grouped.
var sections = []string{"name", "match", "exclude", "context", "preconditions", "mutate"}

// rule returns the comments of the rule at a path, by the section that they belong to; "" has
// the comments above the rule.
func (r *remarks) rule(d *manifest.Document, path change.Path) map[string][]string {
	start := d.At(path).Line - r.first
	found := map[string][]string{}
	if start < 0 || start >= len(r.lines) {
		return found
	}
	above := start
	for above > 0 && isBlank(r.lines[above-1]) {
		above--
	}
	for _, line := range r.lines[above:start] {
		found[""] = append(found[""], commentIn(line)...)
	}
	indent := keyIndent(r.lines[start])
	dash := strings.IndexByte(r.lines[start], '-')
	section := ""
	var pending []string
	for i := start; i < len(r.lines); i++ {
		line := r.lines[i]
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
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' && (i == 0 || line[i-1] == ' ' || line[i-1] == '[' || line[i-1] == '{'):
			quote = c
		case c == '#' && (i == 0 || line[i-1] == ' '):
			return []string{strings.TrimRight(line[i:], " \r")}
		}
	}
	return nil
}
