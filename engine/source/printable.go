package source

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Printable returns a text on one line, without characters that a terminal would obey or that would
// hide others: everything that is not printable is escaped.
func Printable(text string) string { return escape(text, func(string) bool { return false }) }

// PrintableLines is Printable for a text that may have several lines of ours. It keeps line breaks
// and tabs.
func PrintableLines(text string) string {
	return escape(text, func(rest string) bool { return rest[0] == '\n' || rest[0] == '\t' })
}

// PrintableDetail is PrintableLines for a text that is printed in lines of its own. A text with a line
// that a CI system would obey has a bar before all of its lines.
func PrintableDetail(text string) string {
	text = PrintableLines(text)
	if !slices.ContainsFunc(strings.Split(text, "\n"), IsCommand) {
		return text
	}
	return "| " + strings.ReplaceAll(text, "\n", "\n| ")
}

// Printable returns the message as it is printed. Only line breaks of ours, and those before the lines
// with which CEL quotes an expression, remain.
func (m *Message) Printable() string {
	var b strings.Builder
	for _, s := range m.spans {
		switch s.Origin {
		case Ours:
			b.WriteString(s.Text)
		case Identity:
			b.WriteString(Printable(s.Text))
		default:
			b.WriteString(escape(s.Text, beginsExcerpt))
		}
	}
	return b.String()
}

// beginsExcerpt reports whether a line break is followed by a line in which CEL quotes an expression,
// or by the next error of CEL.
func beginsExcerpt(rest string) bool {
	return strings.HasPrefix(rest, "\n | ") || strings.HasPrefix(rest, "\nERROR: <input>:")
}

// escape escapes all characters that are not printable, unless keep accepts the text that begins with
// them.
func escape(text string, keep func(rest string) bool) string {
	if !strings.ContainsFunc(text, isUnprintable) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case !isUnprintable(r) || keep(text[i:]):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r > 0xff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\x%02x`, r)
		}
	}
	return b.String()
}

// IsCommand reports whether a CI system takes a line for a command: GitHub (::error::), Azure Pipelines
// (##[error], ##vso[task]) and TeamCity (##teamcity[message]). They ignore blanks before it.
func IsCommand(line string) bool {
	line = strings.TrimSpace(line)
	return slices.ContainsFunc([]string{"::", "##[", "##vso[", "##teamcity["}, func(begin string) bool { return strings.HasPrefix(line, begin) })
}

func isUnprintable(r rune) bool { return !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) }
