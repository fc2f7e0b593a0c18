package editor

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// key is a key of a mapping.
type key struct {
	kind     gvk.Kind
	path     []string
	siblings []string
	// word is what has been typed of it.
	word string
}

// Lines of YAML in block style.
var (
	// entry matches a line with a key: dashes of list items, the key, and the text after the colon.
	entry = lazyregexp.New(`^( *(?:- +)*)([A-Za-z0-9_./-]+|[+^<=X]?\([^()]*\)|"[^"]*"|'[^']*') *:(?: +(.*))?$`)
	// typed matches a key without a colon.
	typed = lazyregexp.New(`^( *(?:- +)*)((?:[+^<=X]?\()?[A-Za-z0-9]*)$`)
	// identity matches the fields at the top of a document that identify its kind.
	identity = lazyregexp.New(`(?m)^(apiVersion|kind): *["']?([^\s"'#]+)`)
)

// lines is a text in lines, with a line and the characters of it before the cursor.
type lines struct {
	all    []string
	line   int // from 0
	before string
	// begin and end are the document with the line.
	begin, end int
}

// byteOrderMark may begin a text.
const byteOrderMark = "\ufeff"

func linesAt(text string, at source.Position) (lines, bool) {
	all := strings.Split(text, "\n")
	if at.Line < 1 || at.Line > len(all) {
		return lines{}, false
	}
	before := all[at.Line-1]
	column := 1
	for offset := range before {
		if column == at.Column {
			before = before[:offset]
			break
		}
		column++
	}
	all[0] = strings.TrimPrefix(all[0], byteOrderMark)
	l := lines{all: all, line: at.Line - 1, before: strings.TrimPrefix(before, byteOrderMark)}
	l.begin, l.end = documentAround(all, l.line)
	return l, true
}

// keyAt finds by indentation which key is being typed, because a parser cannot read incomplete text.
// It supports only block style, which is usual for Kubernetes manifests.
func (l *lines) keyAt() (key, bool) {
	match := typed().FindStringSubmatch(l.before)
	if match == nil {
		return key{}, false
	}
	k, ok := l.keyBelow(match[1])
	k.word = match[2]
	return k, ok
}

// keyBelow finds the mapping of a key from what is before the key on its line.
func (l *lines) keyBelow(prefix string) (key, bool) {
	k := key{kind: kindOf(l.all[l.begin:l.end])}
	w := walk{column: len(prefix), limit: len(prefix)}
	w.leave(prefix)
	for i := l.line - 1; i >= l.begin; i-- {
		if !w.up(l.all[i]) {
			return key{}, false
		}
	}
	slices.Reverse(w.path)
	k.path, k.siblings = w.path, append(w.siblings, below(l.all[min(l.line+1, l.end):l.end], len(prefix))...)
	return k, true
}

// objects returns the documents of the text, without the line of the cursor.
func (l *lines) objects() []Object {
	all := slices.Clone(l.all)
	all[l.line] = ""
	stream, _ := manifest.Read("", []byte(strings.Join(all, "\n"))) // its problems are among the findings
	var objects []Object
	for _, d := range stream.Documents() {
		objects = append(objects, ObjectOf(d))
	}
	return objects
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
	for _, match := range identity().FindAllStringSubmatch(strings.Join(lines, "\n"), -1) {
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
	match := entry().FindStringSubmatch(line)
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
		match := entry().FindStringSubmatch(line)
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
