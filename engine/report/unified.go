package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	return tint(source.Printable(text), with, colored)
}

// tint colours a text without its line break, if it is to be coloured.
func tint(text, with string, colored bool) string {
	if !colored || text == "" || with == "" {
		return text
	}
	body := strings.TrimSuffix(text, "\n")
	return with + body + noColor + text[len(body):]
}

// splitLines are the lines of a text with their line breaks.
func splitLines(text string) []string {
	return slices.AppendSeq(make([]string, 0, strings.Count(text, "\n")+1), strings.Lines(text))
}

// Style says how a diff is written.
type Style struct {
	// Colored says that it has colours, Terminal that a person sees it: what a terminal
	// would obey is escaped. Anything else gets the very bytes, so that patch and git can
	// carry the diff out.
	Colored, Terminal bool
}

// line is a line as it is written, in a colour.
func (s Style) line(text, color string) string {
	if s.Terminal {
		if body, ok := strings.CutSuffix(text, "\r\n"); ok {
			text = body + "\n"
		}
		text = source.Printable(text)
	}
	return tint(text, color, s.Colored)
}

// lineColors are the colours of lines by their first characters.
var lineColors = map[byte]string{'-': red, '+': green, '@': cyan, leftOut: dim}

// Unified writes the difference of every file as a unified diff in the form of git.
func Unified(w io.Writer, r *Report, style Style) {
	for _, f := range r.Files {
		if f.Before == f.After {
			continue
		}
		for _, l := range f.header() {
			io.WriteString(w, style.line(l, bold))
		}
		for _, h := range f.hunks() {
			for _, l := range splitLines(h.text) {
				io.WriteString(w, style.line(l, lineColors[l[0]]))
			}
		}
	}
}

// header are the lines of a diff that name the file.
func (f *File) header() []string {
	from, to := fileNames(f.Name)
	fromState, toState := "written", "admitted"
	if f.against {
		fromState, toState = "before", "after"
	}
	return []string{"--- " + from + "\t" + fromState + "\n", "+++ " + to + "\t" + toState + "\n"}
}

// fileNames are the names of a file in a diff, before and after. Those of files in the
// working directory have the prefixes that git and patch -p1 take off; others could not be
// found without their first part.
func fileNames(name string) (from, to string) {
	if name == "-" || !filepath.IsLocal(filepath.FromSlash(name)) {
		return quoteName(name), quoteName(name)
	}
	return quoteName("a/" + name), quoteName("b/" + name)
}

// quoteName writes a name as git does where it has characters that would end it.
func quoteName(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '"' || r == '\\' || r == utf8.RuneError }) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
