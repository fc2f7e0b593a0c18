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
	// tidy says that blank lines below are dropped. A block scalar above them might
	// take them for its own.
	tidy bool
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
	for i, sp := range sorted {
		if sp.start > at {
			write(text[at:sp.start])
		}
		if sp.line && sp.text != "" && last != '\n' {
			write(lineBreak)
		}
		write(sp.text)
		at = max(at, sp.end)
		if sp.tidy && last == '\n' && (i+1 == len(sorted) || sorted[i+1].start > at) {
			at = min(skipBlankLines(text, at), end)
		}
	}
	if at < end {
		write(text[at:end])
	}
	return out.String()
}

// skipBlankLines returns where the blank lines end that start at i.
func skipBlankLines(text string, i int) int {
	for i < len(text) {
		end := lineEnd(text, i)
		if strings.Trim(text[i:end], " \r") != "" {
			break
		}
		i = min(end+1, len(text))
	}
	return i
}
