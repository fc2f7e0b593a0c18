package report

import (
	"fmt"
	"io"
	"strings"
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

// paint colours a text without its line break, if it is to be coloured.
func paint(text, with string, colored bool) string {
	if !colored || text == "" {
		return text
	}
	body := strings.TrimSuffix(text, "\n")
	return with + body + noColor + text[len(body):]
}

// Unified writes the difference of every file as a unified diff.
func Unified(w io.Writer, r *Report, colored bool) {
	for _, f := range r.Files {
		parts := hunks(compare(f.Before, f.After))
		if len(parts) == 0 {
			continue
		}
		io.WriteString(w, paint("--- "+f.Name+"\twritten\n", bold, colored)+paint("+++ "+f.Name+"\tadmitted\n", bold, colored))
		for _, lines := range parts {
			fmt.Fprint(w, paint(fmt.Sprintf("@@ -%s +%s @@\n",
				span(lines, func(l line) int { return l.before }), span(lines, func(l line) int { return l.after })), cyan, colored))
			for _, l := range lines {
				text := " " + l.text
				switch {
				case l.after == 0:
					text = paint("-"+l.text, red, colored)
				case l.before == 0:
					text = paint("+"+l.text, green, colored)
				}
				io.WriteString(w, text)
				if !strings.HasSuffix(text, "\n") {
					io.WriteString(w, "\n\\ No newline at end of file\n")
				}
			}
		}
	}
}
