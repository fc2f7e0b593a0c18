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

// Place is the position of the cursor: a line and a column, both from 1, in characters.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// Completion is the list of fields for a position.
type Completion struct {
	Fields []Field `json:"fields"`
}

// Field is a field with its type.
type Field struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// complete lists the fields that can be added at a position.
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

// key is the position of a key of a mapping.
type key struct {
	kind     gvk.Kind
	path     []string
	siblings []string
}

// Lines of YAML in block style.
var (
	// entry matches a line with a key: dashes of list items, the key, and the text after the colon.
	entry = regexp.MustCompile(`^( *(?:- +)*)([A-Za-z0-9_./-]+|"[^"]*"|'[^']*') *:(?: +(.*))?$`)
	// typed matches a key without a colon.
	typed = regexp.MustCompile(`^( *(?:- +)*)[A-Za-z]*$`)
	// named matches the fields at the top of a document that identify its kind.
	named = regexp.MustCompile(`(?m)^(apiVersion|kind): *["']?([^\s"'#]+)`)
)

// keyAt finds by indentation which key is being typed, because a parser cannot read incomplete text.
// It supports only block style, which is usual for Kubernetes manifests.
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

// documentAround returns the lines of the document that contains a line.
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

// walk goes up from a key to its parent keys.
type walk struct {
	// column is the column of the key and its siblings.
	column int
	// limit is the maximum column of the parent key. List items may start at the same column as
	// the key of the list.
	limit  int
	isList bool
	// path has the parent keys, the nearest first.
	path, siblings []string
}

// up goes over a line. It returns false if there cannot be a key at the start of the walk.
func (w *walk) up(line string) bool {
	match := entry.FindStringSubmatch(line)
	if match == nil {
		return true // an item without a key, text, or an empty line
	}
	at, name, value := len(match[1]), strings.Trim(match[2], `"'`), match[3]
	switch {
	case at < w.limit || w.isList && at == w.limit && !strings.Contains(match[1], "-"):
		if value != "" && !strings.HasPrefix(value, "#") {
			return false // text with several lines, or a mistake
		}
		w.path = append(w.path, name)
		w.limit, w.isList = at, false
	case at == w.column && len(w.path) == 0 && !w.isList:
		w.siblings = append(w.siblings, name)
	}
	w.leave(match[1])
	return true
}

// leave leaves the list items that begin on a line.
func (w *walk) leave(prefix string) {
	for dash := strings.LastIndex(prefix, "-"); dash >= 0; dash = strings.LastIndex(prefix[:dash], "-") {
		if dash < w.limit {
			w.limit, w.isList = dash, true
		}
	}
}

// below returns the siblings of a key on the following lines.
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
