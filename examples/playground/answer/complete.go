package answer

import (
	"regexp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// Place is where somebody types: a line and a column, both from 1, in characters.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// Completion is what fits where somebody types.
type Completion struct {
	Fields []Field `json:"fields"`
}

// Field is a field with what it holds.
type Field struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// complete lists the fields that fit at a place, without those that are there.
func (s *Session) complete(r *Request) Completion {
	completion := Completion{Fields: []Field{}}
	i := slices.IndexFunc(r.Files, func(f File) bool { return f.Name == r.At.File })
	if i < 0 {
		return completion
	}
	if key, ok := keyAt(r.Files[i].Text, r.At.Line, r.At.Column); ok {
		context := readAll(r.of("context"), manifest.Read, new([]source.Diagnostic))
		for _, field := range engine.Fields(context, r.options(), key.kind, key.path...) {
			if !slices.Contains(key.siblings, field.Name) {
				completion.Fields = append(completion.Fields, Field{field.Name, field.Type})
			}
		}
	}
	return completion
}

// key is where a key of a mapping is written.
type key struct {
	kind     gvk.Kind
	path     []string
	siblings []string
}

// Lines of YAML in block style.
var (
	// entry is a line with a key: dashes of list items, the key, what follows its colon.
	entry = regexp.MustCompile(`^( *(?:- +)*)([A-Za-z0-9_./-]+|"[^"]*"|'[^']*') *:(?: +(.*))?$`)
	// typed is a key before the colon is there.
	typed = regexp.MustCompile(`^( *(?:- +)*)[A-Za-z]*$`)
	// named is a field of the document itself that says what it is.
	named = regexp.MustCompile(`(?m)^(apiVersion|kind): *["']?([^\s"'#]+)`)
)

// keyAt finds out by indentation which key is being typed: a parser would need the text that
// is still missing. It knows block style only, as Kubernetes manifests have it.
func keyAt(text string, line, column int) (key, bool) {
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) {
		return key{}, false
	}
	here := []rune(lines[line-1])
	match := typed.FindStringSubmatch(string(here[:min(max(column-1, 0), len(here))]))
	if match == nil {
		return key{}, false
	}
	begin, end := documentAround(lines, line-1)
	k := key{kind: kindOf(lines[begin:end])}
	w := walk{column: len(match[1]), limit: len(match[1])}
	w.leave(match[1])
	for i := line - 2; i >= begin; i-- {
		if !w.up(lines[i]) {
			return key{}, false
		}
	}
	slices.Reverse(w.path)
	k.path, k.siblings = w.path, append(w.siblings, below(lines[line:end], len(match[1]))...)
	return k, true
}

// documentAround are the lines of the document that a line is in.
func documentAround(lines []string, line int) (begin, end int) {
	begin, end = line, line
	for begin > 0 && !strings.HasPrefix(lines[begin-1], "---") {
		begin--
	}
	for end < len(lines) && !strings.HasPrefix(lines[end], "---") {
		end++
	}
	return begin, max(end, line)
}

func kindOf(lines []string) gvk.Kind {
	values := map[string]string{}
	for _, match := range named.FindAllStringSubmatch(strings.Join(lines, "\n"), -1) {
		values[match[1]] = match[2]
	}
	return gvk.Parse(values["apiVersion"], values["kind"])
}

// walk goes up from a key to the keys that it is below.
type walk struct {
	// column is that of the key, and its siblings.
	column int
	// limit is the column that the next key above lies before, or at, where items of a list
	// may be as far to the left as the key of the list.
	limit  int
	isList bool
	// path has the keys above, the nearest first.
	path, siblings []string
}

// up goes over a line. It reports whether a key can be where the walk began.
func (w *walk) up(line string) bool {
	match := entry.FindStringSubmatch(line)
	if match == nil {
		return true // an item without a key, a text, nothing
	}
	at, name, value := len(match[1]), strings.Trim(match[2], `"'`), match[3]
	switch {
	case at < w.limit || w.isList && at == w.limit && !strings.Contains(match[1], "-"):
		if value != "" && !strings.HasPrefix(value, "#") {
			return false // a text of many lines, or a mistake
		}
		w.path = append(w.path, name)
		w.limit, w.isList = at, false
	case at == w.column && len(w.path) == 0 && !w.isList:
		w.siblings = append(w.siblings, name)
	}
	w.leave(match[1])
	return true
}

// leave goes out of the items of lists that begin on a line.
func (w *walk) leave(prefix string) {
	for dash := strings.LastIndex(prefix, "-"); dash >= 0; dash = strings.LastIndex(prefix[:dash], "-") {
		if dash < w.limit {
			w.limit, w.isList = dash, true
		}
	}
}

// below are the siblings of a key on the lines that follow it.
func below(lines []string, column int) []string {
	var siblings []string
	for _, line := range lines {
		match := entry.FindStringSubmatch(line)
		switch {
		case match == nil:
		case len(match[1]) < column || strings.Contains(match[1], "-") && strings.Index(match[1], "-") < column:
			return siblings
		case len(match[1]) == column:
			siblings = append(siblings, strings.Trim(match[2], `"'`))
		}
	}
	return siblings
}
