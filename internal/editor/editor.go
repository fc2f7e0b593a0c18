// Package editor answers the questions of editors about policies and manifests: what can be written at a
// place, what is there, and where it comes from. It knows texts and positions, and no protocol. The
// language server and the playground use it.
//
// The files in order: editor.go (words of a text), state.go (what is known about a workspace), yaml.go and
// slot.go (keys and values of incomplete text), complete.go, values.go, expression.go, literals.go and
// jmespath.go (what can be written), hover.go (what is there, and what policies do), diff.go (all that a policy
// changes), links.go (where things are defined and used), tokens.go (the parts of
// expressions), folds.go (blocks), refactor.go (changes that a
// user can choose), extract.go (variables out of expressions).
package editor

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// End returns the offset of the end of the word that begins at an offset of a text: of a string in
// quotes, of a name with the dot before it, or of a number. The word is on one line. Elsewhere it is one
// character, and nothing at the end of a line.
func End(text string, at int) int {
	line := text[at:]
	if n := strings.IndexAny(line, "\r\n"); n >= 0 {
		line = line[:n]
	}
	if line == "" {
		return at
	}
	if quote := line[0]; quote == '"' || quote == '\'' {
		if n := strings.IndexByte(line[1:], quote); n >= 0 {
			return at + n + 2
		}
		return at + len(strings.TrimRight(line, " \t"))
	}
	_, first := utf8.DecodeRuneInString(line)
	n := first
	for n < len(line) && (isWord(rune(line[0])) || line[0] == '.') {
		char, size := utf8.DecodeRuneInString(line[n:])
		if !isWord(char) {
			break
		}
		n += size
	}
	return at + n
}

// Word returns the offset of a name on the line of an offset of a text: its first occurrence at the offset or
// after it, or else the last one before it. A part of another name is no occurrence.
func Word(text string, near int, name string) (at int, ok bool) {
	start := strings.LastIndexAny(text[:near], "\r\n") + 1
	end := len(text)
	if n := strings.IndexAny(text[near:], "\r\n"); n >= 0 {
		end = near + n
	}
	for next := start; ; next++ {
		n := strings.Index(text[next:end], name)
		if n < 0 {
			return at, ok
		}
		next += n
		before, _ := utf8.DecodeLastRuneInString(text[start:next])
		after, _ := utf8.DecodeRuneInString(text[next+len(name) : end])
		if isWord(before) || isWord(after) {
			continue
		}
		if at, ok = next, true; at >= near {
			return at, ok
		}
	}
}

func isWord(char rune) bool {
	return char == '_' || char == '-' || unicode.IsLetter(char) || unicode.IsDigit(char)
}
