// Package wildcard matches texts against patterns as Kyverno does: `*` stands for any
// text, `?` for one character, and nothing is special besides.
package wildcard

import "strings"

// Match reports whether the pattern describes the whole text. It takes time in
// proportion to the product of their lengths at worst.
func Match(pattern, text string) bool {
	if !Has(pattern) {
		return pattern == text
	}
	p, t := []rune(pattern), []rune(text)
	// star is the place after the last star, from the place in the text that it has
	// been tried up to.
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
func Has(text string) bool { return strings.ContainsAny(text, "*?") }
