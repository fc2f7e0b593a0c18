package mapolicy

import (
	"slices"
	"strings"
)

// rewriting is an expression of a draft, rewritten to the form of servers.
type rewriting struct {
	text  string
	edits []edit
	// names are the identifiers in the expression.
	names []string
}

// edit replaces the bytes from start to end of the original.
type edit struct {
	start, end int
	text       string
}

// rewrite converts the literals of the proposals to those of servers:
//
//	JSONPatch[{op: …}]              [JSONPatch{op: …}]
//	Object.spec.containers.item{…}  Object.spec.containers{…}
//
// Such a type name cannot contain a field named item.
func rewrite(expression string) rewriting {
	tokens := tokenize(expression)
	r := rewriting{}
	for i, t := range tokens {
		if !t.isName {
			continue
		}
		r.names = append(r.names, t.text)
		isField := i > 0 && tokens[i-1].text == "."
		switch {
		case isField:
		case t.text == "JSONPatch" && follows(tokens, i, "[", "{"):
			r.edits = append(r.edits, patchEdits(tokens, i)...)
		case t.text == "Object":
			r.edits = append(r.edits, itemEdits(tokens, i)...)
		}
	}
	slices.SortStableFunc(r.edits, func(a, b edit) int { return a.start - b.start })
	var b strings.Builder
	done := 0
	for _, e := range r.edits {
		b.WriteString(expression[done:e.start] + e.text)
		done = e.end
	}
	r.text = b.String() + expression[done:]
	return r
}

// original converts an offset in the new text to the offset in the original.
func (r rewriting) original(offset int) int {
	for _, e := range r.edits {
		if offset < e.start {
			break
		}
		if offset < e.start+len(e.text) {
			return e.start
		}
		offset += e.end - e.start - len(e.text)
	}
	return offset
}

// uses reports whether a name is in the expression, outside of strings.
func (r rewriting) uses(name string) bool { return slices.Contains(r.names, name) }

// follows reports whether tokens with these texts follow the token at i.
func follows(tokens []token, i int, texts ...string) bool {
	for _, text := range texts {
		if i++; i >= len(tokens) || tokens[i].text != text {
			return false
		}
	}
	return true
}

// patchEdits convert JSONPatch[{…}, {…}], which starts at i, to [JSONPatch{…}, JSONPatch{…}],
// and remove quotes from names. They return no edits if a bracket is missing.
func patchEdits(tokens []token, i int) []edit {
	edits := []edit{{start: tokens[i].start, end: tokens[i+1].start}}
	depth := 0
	for k := i + 1; k < len(tokens); k++ {
		t := tokens[k]
		if depth == 1 && t.text == "{" {
			edits = append(edits, edit{t.start, t.start, "JSONPatch"})
		}
		if name := strings.Trim(t.text, `"'`); depth == 2 && t.isString && follows(tokens, k, ":") && slices.Contains([]string{"op", "path", "from", "value"}, name) {
			edits = append(edits, edit{t.start, t.start + len(t.text), name})
		}
		switch t.text {
		case "[", "{", "(":
			depth++
		case "]", "}", ")":
			depth--
		}
		if depth == 0 {
			return edits
		}
	}
	return nil
}

// itemEdits remove the parts named item from the type name of a literal that starts at i; they
// return no edits if there is no literal.
func itemEdits(tokens []token, i int) []edit {
	var edits []edit
	for ; i+2 < len(tokens) && tokens[i+1].text == "." && tokens[i+2].isName; i += 2 {
		if name := tokens[i+2]; name.text == "item" {
			edits = append(edits, edit{start: tokens[i+1].start, end: name.start + len(name.text)})
		}
	}
	if !follows(tokens, i, "{") {
		return nil
	}
	return edits
}

// token is a token of CEL. Space and comments are not tokens.
type token struct {
	text             string
	start            int
	isName, isString bool
}

func tokenize(expression string) []token {
	var tokens []token
	for i := 0; i < len(expression); {
		rest := expression[i:]
		size := 1
		switch {
		case strings.TrimLeft(rest[:1], " \t\r\n\f") == "":
			i++
			continue
		case strings.HasPrefix(rest, "//"):
			if size = strings.IndexByte(rest, '\n'); size < 0 {
				size = len(rest)
			}
			i += size
			continue
		}
		t := token{start: i}
		if size = stringSize(rest); size > 0 {
			t.isString = true
		} else if size = nameSize(rest); size > 0 {
			t.isName = true
		} else {
			size = 1
		}
		t.text = rest[:size]
		tokens = append(tokens, t)
		i += size
	}
	return tokens
}

func nameSize(text string) int {
	for i := range len(text) {
		c := text[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9' || i == 0) {
			return i
		}
	}
	return len(text)
}

// stringSize returns the size of the string literal at the start of a text, or 0.
func stringSize(text string) int {
	start := 0
	raw := false
	for start < len(text) && start < 2 && strings.ContainsRune("rRbB", rune(text[start])) {
		raw = raw || text[start] == 'r' || text[start] == 'R'
		start++
	}
	if start == len(text) || text[start] != '"' && text[start] != '\'' {
		return 0
	}
	quote := text[start : start+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text[start:], triple) {
		quote = triple
	}
	for i := start + len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\' && !raw:
			i++
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		}
	}
	return len(text)
}
