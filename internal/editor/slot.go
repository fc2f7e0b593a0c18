package editor

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// slot is a place in YAML where a key or a value is being typed, in block style or in flow style.
type slot struct {
	kind gvk.Kind
	// path leads to the mapping of the key, or to the value. The items of a list are at its path.
	path []string
	// word is what has been typed, and quote the quote with which it begins, or "".
	word, quote string
	// isKey says that it can only be a key.
	isKey bool
	// closing ends the collections in flow style that are open.
	closing string
}

var (
	// opened matches a line up to the cursor: dashes of list items, a key, and a value.
	opened = lazyregexp.New(`^( *(?:- +)*)(?:([A-Za-z0-9_./-]+): +)?(.*)$`)
	// scalar matches the beginning of a value that is on one line.
	scalar = lazyregexp.New(`^(["']?)([\w./*-]*)$`)
)

// slotAt returns the slot at the cursor.
func (l *lines) slotAt() (slot, bool) {
	match := opened().FindStringSubmatch(l.before)
	if match == nil {
		return slot{}, false
	}
	prefix, name, rest := match[1], match[2], match[3]
	above, ok := l.keyBelow(prefix)
	if !ok {
		return slot{}, false
	}
	s := slot{kind: above.kind, path: above.path}
	if name != "" {
		s.path = append(s.path, name)
	}
	if rest != "" && strings.Contains("{[", rest[:1]) {
		return s, s.enter(rest)
	}
	if name == "" && !strings.Contains(prefix, "-") {
		return slot{}, false
	}
	typed := scalar().FindStringSubmatch(rest)
	if typed == nil {
		return slot{}, false
	}
	s.quote, s.word = typed[1], typed[2]
	return s, true
}

// collection is a mapping or a list in flow style that is open.
type collection struct {
	closing string
	// key is the key of the mapping whose value is being typed.
	key string
}

// enter reads a value in flow style up to the cursor.
func (s *slot) enter(text string) bool {
	var open []collection
	token := ""
	for i := 0; i < len(text); i++ {
		char := text[i : i+1]
		switch {
		case char == `"` || char == "'":
			end := strings.Index(text[i+1:], char)
			if end < 0 {
				s.quote, token, i = char, text[i+1:], len(text)
				break
			}
			token = text[i+1 : i+1+end]
			i += end + 1
		case char == "{" || char == "[":
			open, token = append(open, collection{closing: map[string]string{"{": "}", "[": "]"}[char]}), ""
		case len(open) == 0:
			return false // after the value
		case char == "}" || char == "]":
			open, token = open[:len(open)-1], ""
		case char == ",":
			open[len(open)-1].key, token = "", ""
		case char == ":" && (i+1 == len(text) || text[i+1] == ' '):
			open[len(open)-1].key, token = token, ""
		case char != " ":
			token += char
		}
	}
	s.word = token
	return strings.HasSuffix(text, token) && s.locate(open) // after a space there must be a comma
}

// locate finds the path of what is being typed in collections in flow style.
func (s *slot) locate(open []collection) bool {
	if len(open) == 0 {
		return false
	}
	for _, c := range slices.Backward(open) {
		s.closing += c.closing
	}
	for _, c := range open {
		if c.key != "" {
			s.path = append(s.path, c.key)
		}
	}
	last := open[len(open)-1]
	s.isKey = last.closing == "}" && last.key == ""
	return true
}

// cursorMark is a text that nobody writes.
const cursorMark = "preadmit-cursor"

// around returns the mappings that the value of a slot is in, the outermost first, as far as its document
// can be read.
func (l *lines) around(s slot) []map[string]any {
	before := strings.TrimSuffix(l.before, s.quote+s.word)
	return trail(l.read(before+cursorMark+s.closing), cursorMark)
}

// trail returns the mappings that a text is in, the outermost first; nil if there is no such text.
func trail(in any, text string) []map[string]any {
	switch in := in.(type) {
	case string:
		if strings.Contains(in, text) {
			return []map[string]any{}
		}
	case map[string]any:
		for name, field := range in {
			if found := trail(field, text); found != nil {
				return append([]map[string]any{in}, found...)
			}
			if strings.Contains(name, text) {
				return []map[string]any{in}
			}
		}
	case []any:
		for _, item := range in {
			if found := trail(item, text); found != nil {
				return found
			}
		}
	}
	return nil
}

// maxMistakes is how many lines with mistakes are left out.
const maxMistakes = 10

// read reads the document at the cursor, with another text for the line of the cursor. It leaves lines
// out that cannot be read.
func (l *lines) read(here string) map[string]any {
	own := slices.Clone(l.all[l.begin:l.end])
	if l.line < l.end { // the cursor may be on a separator
		own[l.line-l.begin] = here
	}
	for _, d := range readable(own).Documents() {
		return d.Object()
	}
	return nil
}

// Documents returns the documents of a text as far as it can be read: without the lines of mistakes, as of what is being
// typed.
func Documents(text string) []*manifest.Document {
	return readable(strings.Split(text, "\n")).Documents()
}

// readable reads a text in lines. It leaves lines out that cannot be read.
func readable(lines []string) *manifest.Stream {
	for range maxMistakes {
		stream, problems := manifest.Read("text", []byte(strings.Join(lines, "\n")))
		if len(problems) == 0 || problems[0].At.Line < 1 || problems[0].At.Line > len(lines) {
			return stream
		}
		lines[problems[0].At.Line-1] = ""
	}
	stream, _ := manifest.Read("", nil) // other text is empty
	return stream
}
