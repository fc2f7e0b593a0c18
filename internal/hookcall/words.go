package hookcall

import (
	"errors"
	"fmt"
	"strings"
)

// splitWords splits a command line into words, as a shell does: at blanks that are not in quotes, without
// the quotes. A backslash quotes the next character, in double quotes only a double quote and a backslash.
// Nothing is expanded.
func splitWords(line string) (words []string, err error) {
	var word strings.Builder
	inWord := false
	var quote rune // the open quote, or 0
	escaped := false
	opened := 0 // where the quote is, from 1
	for i, r := range []rune(line) {
		switch {
		case escaped:
			if quote != 0 && r != '"' && r != '\\' {
				word.WriteRune('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, inWord, opened = r, true, i+1
		case quote == 0 && strings.ContainsRune(" \t\r\n", r) && !inWord: // one more blank
		case quote == 0 && strings.ContainsRune(" \t\r\n", r):
			words, inWord = append(words, word.String()), false
			word.Reset()
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("the quote %c is not closed (character %d after exec:)", quote, opened)
	case escaped:
		return nil, errors.New("nothing follows the backslash at the end")
	case inWord:
		words = append(words, word.String())
	}
	return words, nil
}
