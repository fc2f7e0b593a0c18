package migrate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// remarks finds the comments in the text of a policy.
type remarks struct {
	// marked are the lines of the text. x replaces each # in a string, which begins no comment, and each quote.
	marked []string
	// first is the number of the first line in the stream.
	first int
}

func remarksOf(d *manifest.Document) *remarks {
	before, _ := d.Text()
	r := &remarks{marked: strings.Split(before, "\n")}
	at := slices.IndexFunc(r.marked, func(line string) bool {
		return !isBlank(line) && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "%")
	})
	r.first = d.At(nil).Line - at
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

// sections are the keys of a rule by which its comments are grouped.
var sections = []string{"name", "match", "exclude", "context", "preconditions", "mutate"}

// rule returns the comments of a rule, by the section that they belong to; "" has the comments above the rule.
func (r *remarks) rule(d *manifest.Document, rule policy.Node) map[string][]string {
	at := d.At(rule.Path)
	start := at.Line - r.first
	found := map[string][]string{}
	if start < 0 || start >= len(r.marked) {
		return found
	}
	begins := map[int]string{}
	for _, key := range sections {
		if rule.Has(key) {
			begins[d.Key(rule.At(key).Path).Line-r.first] = key
		}
	}
	above := start
	for above > 0 && isBlank(r.marked[above-1]) {
		above--
	}
	for _, line := range r.marked[above:start] {
		found[""] = append(found[""], commentIn(line)...)
	}
	section := ""
	var pending []string
	for i, line := range r.marked[start:] {
		if isBlank(line) {
			pending = append(pending, commentIn(line)...)
			continue
		}
		if i > 0 && len(line)-len(strings.TrimLeft(line, " ")) < at.Column-1 {
			return found // comments before the next rule belong to that rule
		}
		section = cmp.Or(begins[start+i], section)
		found[section] = append(append(found[section], pending...), commentIn(line)...)
		pending = nil
	}
	found[section] = append(found[section], pending...)
	return found
}

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
