package manifest

import (
	"slices"
	"strings"
)

// A splice replaces the text from start to end.
type splice struct {
	start, end int
	text       string
	// line says that the text is of whole lines, which must not continue another.
	line bool
}

// applySplices returns text from start to end with splices carried out. Of two at
// the same place the one that was made first goes first.
func applySplices(text string, start, end int, splices []splice, lineBreak string) string {
	sorted := slices.Clone(splices)
	slices.SortStableFunc(sorted, func(a, b splice) int { return a.start - b.start })
	var out strings.Builder
	out.Grow(end - start + 64*len(sorted))
	last := byte('\n')
	write := func(s string) {
		if s != "" {
			out.WriteString(s)
			last = s[len(s)-1]
		}
	}
	at := start
	for _, sp := range sorted {
		if sp.start > at {
			write(text[at:sp.start])
		}
		if sp.line && last != '\n' {
			write(lineBreak)
		}
		write(sp.text)
		at = max(at, sp.end)
	}
	if at < end {
		write(text[at:end])
	}
	return out.String()
}
