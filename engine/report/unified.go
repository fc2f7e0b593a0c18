package report

import (
	"io"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
)

// The colours of a terminal.
const (
	bold    = "\x1b[1m"
	red     = "\x1b[31m"
	green   = "\x1b[32m"
	yellow  = "\x1b[33m"
	cyan    = "\x1b[36m"
	dim     = "\x1b[2m"
	noColor = "\x1b[0m"
)

// paint colours a text without its line break, if it is to be coloured. A terminal sees
// no other control characters.
func paint(text, with string, colored bool) string {
	text = source.Printable(text)
	if !colored || text == "" {
		return text
	}
	body := strings.TrimSuffix(text, "\n")
	return with + body + noColor + text[len(body):]
}

func splitLines(text string) []string { return slices.Collect(strings.Lines(text)) }

// Unified writes the difference of every file as a unified diff.
func Unified(w io.Writer, r *Report, colored bool) {
	colors := map[byte]string{'-': red, '+': green, '@': cyan}
	for _, f := range r.Files {
		for i, l := range splitLines(Diff(f.Name+"\twritten", f.Name+"\tadmitted", f.Before, f.After)) {
			switch color := colors[l[0]]; {
			case i < 2:
				l = paint(l, bold, colored)
			case color != "":
				l = paint(l, color, colored)
			}
			io.WriteString(w, l)
		}
	}
}
