// Package wildcard matches texts against patterns as Kyverno does: `*` matches any text, `?`
// matches one character, and other characters match themselves.
package wildcard

import "strings"

// Match reports whether the pattern matches the whole text. The time is at worst proportional to
// the product of their lengths.
func Match(pattern, text string) bool {
	switch {
	case pattern == "*":
		return true
	case !Has(pattern):
		return pattern == text
	}
	p, t := []rune(pattern), []rune(text)
	// star is the index after the last star of the pattern; from is where the rest of the text
	// was last tried.
	star, from := -1, 0
	i, j := 0, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			i++
			star, from = i, j
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star, from
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// Has reports whether a text has wildcards in it.
func Has(text string) bool {
	return strings.IndexByte(text, '*') >= 0 || strings.IndexByte(text, '?') >= 0
}
