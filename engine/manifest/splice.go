package manifest

import (
	"slices"
	"strings"
	"unsafe"
)

// A splice replaces the text from start to end.
type splice struct {
	start, end int
	text       string
	// line means that the text consists of whole lines, which must not continue another line.
	line bool
	// tidy means that blank lines below are dropped. A block scalar above would include them.
	tidy bool
}

// applySplices returns text from start to end with the splices applied.
func applySplices(text string, start, end int, splices []splice, lineBreak string) string {
	out := make([]byte, 0, end-start+64*len(splices))
	out = appendSpliced(out, text, start, end, splices, lineBreak)
	return unsafe.String(unsafe.SliceData(out), len(out))
}

// appendSpliced appends text from start to end with the splices applied. Of two splices at the same
// position, the earlier one in the list comes first.
func appendSpliced(out []byte, text string, start, end int, splices []splice, lineBreak string) []byte {
	sorted := slices.Clone(splices)
	slices.SortStableFunc(sorted, func(a, b splice) int { return a.start - b.start })
	first := len(out)
	atLine := func() bool { return len(out) == first || out[len(out)-1] == '\n' }
	at := start
	for i, sp := range sorted {
		if sp.start > at {
			out = append(out, text[at:sp.start]...)
		}
		if sp.line && sp.text != "" && !atLine() {
			out = append(out, lineBreak...)
		}
		out = append(out, sp.text...)
		at = max(at, sp.end)
		if sp.tidy && atLine() && (i+1 == len(sorted) || sorted[i+1].start > at) {
			at = min(skipBlankLines(text, at), end)
		}
	}
	if at < end {
		out = append(out, text[at:end]...)
	}
	return out
}

// skipBlankLines returns the end of the blank lines that start at i.
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
