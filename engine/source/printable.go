package source

import (
	"fmt"
	"strings"
	"unicode"
)

// Printable escapes control characters, which text from the input may contain and a terminal would
// obey.
func Printable(text string) string {
	if !strings.ContainsFunc(text, isUnprintable) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isUnprintable(r) {
			fmt.Fprintf(&b, `\x%02x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isUnprintable(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
