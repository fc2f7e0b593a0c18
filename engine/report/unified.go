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

// paint colours a text except its line break, if colored is true. It escapes the control characters
// of the text.
func paint(text, with string, colored bool) string {
	return tint(source.PrintableLines(text), with, colored)
}

// tint colours a text except its line break, if colored is true.
func tint(text, with string, colored bool) string {
	if !colored || text == "" || with == "" {
		return text
	}
	body := strings.TrimSuffix(text, "\n")
	return with + body + noColor + text[len(body):]
}

// splitLines returns the lines of a text with their line breaks.
func splitLines(text string) []string {
	return slices.AppendSeq(make([]string, 0, strings.Count(text, "\n")+1), strings.Lines(text))
}

// Style selects how a diff is written.
type Style struct {
	// Colored selects colours. Terminal means that a person reads the diff on a terminal: control
	// characters are escaped. Otherwise the diff has the exact bytes, so that patch and git can
	// apply it.
	Colored, Terminal bool
}

// line returns a line as it is written, in a colour.
func (s Style) line(text, color string) string {
	if s.Terminal {
		if body, ok := strings.CutSuffix(text, "\r\n"); ok {
			text = body + "\n"
		}
		text = source.PrintableLines(text)
	}
	return tint(text, color, s.Colored)
}

// lineColors are the colours of lines by their first character.
var lineColors = map[byte]string{'-': red, '+': green, '@': cyan, leftOut: dim}

// Unified writes a unified diff of every file, in the form of git.
func Unified(w io.Writer, r *Report, style Style) {
	for _, f := range r.Files {
		if f.Before == f.After {
			continue
		}
		for _, l := range f.header() {
			io.WriteString(w, style.line(l, bold))
		}
		for _, h := range f.hunks(r.Full) {
			for _, l := range splitLines(h.text) {
				io.WriteString(w, style.line(l, lineColors[l[0]]))
			}
		}
	}
}

// noFile is the name of a file that does not exist, in a diff.
const noFile = "/dev/null"

// header returns the lines of a diff that name the file.
func (f *File) header() []string {
	from, to := fileNames(f.Name)
	states := [2]string{"written", "admitted"}
	if f.states != nil {
		states = *f.states
		if f.Before == "" {
			from = noFile
		}
		if f.After == "" {
			to = noFile
		}
	}
	return []string{"--- " + from + "\t" + source.Printable(states[0]) + "\n", "+++ " + to + "\t" + source.Printable(states[1]) + "\n"}
}

// fileNames returns the names of a file in a diff, before and after. Names in the working directory
// get the prefixes that git and patch -p1 strip. Other names have no prefix, because patch could
// not find them without their first part.
func fileNames(name string) (from, to string) {
	if name == "-" || !filepath.IsLocal(filepath.FromSlash(name)) {
		return quoteName(name), quoteName(name)
	}
	return quoteName("a/" + name), quoteName("b/" + name)
}

// quoteName quotes a name as git does if the name has characters that would end it.
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
