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
	// ofRule says which lines belong to a rule.
	ofRule []bool
}

func remarksOf(d *manifest.Document) *remarks {
	before, _ := d.Text()
	r := &remarks{marked: strings.Split(before, "\n")}
	at := slices.IndexFunc(r.marked, func(line string) bool {
		return !isBlank(line) && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "%")
	})
	r.first, r.ofRule = d.At(nil).Line-at, make([]bool, len(r.marked))
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
	begins := r.begins(d, rule)
	above := start
	for above > 0 && isBlank(r.marked[above-1]) {
		above--
	}
	for _, line := range r.marked[above:start] {
		found[""] = append(found[""], commentIn(line)...)
	}
	section, end := "", start
	for i := start; i < len(r.marked); i++ {
		line := r.marked[i]
		if isBlank(line) {
			continue
		}
		if i > start && indentOf(line) < at.Column-1 {
			break // comments before the next rule belong to that rule
		}
		section = cmp.Or(begins[i], section)
		for ; end <= i; end++ {
			found[section] = append(found[section], commentIn(r.marked[end])...)
		}
	}
	if r.isEnd(end) {
		for ; end < len(r.marked); end++ {
			found[section] = append(found[section], commentIn(r.marked[end])...)
		}
	}
	for i := above; i < end; i++ {
		r.ofRule[i] = true
	}
	return found
}

// isEnd reports whether only comments follow from a line on.
func (r *remarks) isEnd(line int) bool {
	return !slices.ContainsFunc(r.marked[line:], func(l string) bool { return !isBlank(l) })
}

// begins returns the sections of a rule by the line where each begins.
func (r *remarks) begins(d *manifest.Document, rule policy.Node) map[int]string {
	begins := map[int]string{}
	for _, key := range sections {
		if rule.Has(key) {
			begins[d.Key(rule.At(key).Path).Line-r.first] = key
		}
	}
	return begins
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// spec returns the comments of the spec of a policy that belong to none of its rules.
func (r *remarks) spec(d *manifest.Document) (comments []string) {
	spec := policy.Node{Value: d.Object()}.At("spec")
	for _, rule := range spec.At("rules").Items() {
		r.rule(d, rule)
	}
	begin := d.Key(spec.Path).Line - r.first
	for i := max(begin, 0); i < len(r.marked); i++ {
		line := r.marked[i]
		if i > begin && !isBlank(line) && indentOf(line) == 0 {
			break
		}
		if !r.ofRule[i] {
			comments = append(comments, commentIn(line)...)
		}
	}
	return comments
}

// withoutEnd returns the text of a document without the comments at its end, if they belong to a rule.
func (r *remarks) withoutEnd(text string) string {
	end := len(r.marked)
	if !r.ofRule[end-1] {
		return text
	}
	for end > 0 && isBlank(r.marked[end-1]) {
		end--
	}
	comments := strings.TrimSpace(strings.Join(r.marked[end:], "\n"))
	return strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(text), comments), "\n") + "\n"
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
