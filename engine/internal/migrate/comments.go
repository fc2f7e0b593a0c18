package migrate

import (
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// remarks are the comments in the text of a policy, by what they are about.
type remarks struct {
	lines []string
	// first is the number of the first line in the stream.
	first int
}

func remarksOf(d *manifest.Document) *remarks {
	before, _ := d.Text()
	r := &remarks{lines: strings.Split(before, "\n")}
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

// head are the comments before a key of the document's root, from the one before it.
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

// block is the text below a key of the document's root, with its comments.
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

// sections are the keys of a rule that its comments are sorted by.
var sections = []string{"name", "match", "exclude", "context", "preconditions", "mutate"}

// rule are the comments of the rule at a path, by the key that they are about or are
// below; "" for those above it.
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
			return found // what is before the next rule is about that
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

// keyIndent is the column of what a line has first, dashes of lists aside.
func keyIndent(line string) int { return len(line) - len(strings.TrimLeft(line, " -")) }

// commentIn is the comment in a line, without what is before it.
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
