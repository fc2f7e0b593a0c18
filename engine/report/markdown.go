package report

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
)

// mostMarkdown is the largest size of a comment in bytes. GitHub accepts 65,536 characters.
const mostMarkdown = 64000

// Markdown writes the report as a comment for a pull request: counts, errors, and the diff of every
// object, folded. Parts that would make the comment too long for GitHub are only counted.
func Markdown(w io.Writer, r *Report) {
	var b strings.Builder
	fmt.Fprintf(&b, "**preadmit**: %s%s\n", r.deniedFirst(), r.headline())
	kinds, authors := r.changedBy()
	markdownTable(&b, r.authorTitle("policy"), authors)
	markdownTable(&b, "kind", kinds)
	markdownMessages(&b, r.fold(r.Diagnostics))
	var parts []string
	for _, f := range r.Files {
		if f.Before != f.After {
			parts = append(parts, f.markdown(r.Full)...)
		}
	}
	markdownParts(&b, parts, "preadmit diff")
	io.WriteString(w, b.String())
}

// deniedFirst says how many manifests policies deny, before the headline; "" if none.
func (r *Report) deniedFirst() string {
	denied := map[string]bool{}
	for _, d := range r.Diagnostics {
		if d.Severity == source.Error && d.Code == source.CodeDenied {
			denied[d.Origin.String()+" "+d.Subject] = true
		}
	}
	if len(denied) == 0 {
		return ""
	}
	return plural(len(denied), "manifest", "manifests") + " denied; "
}

// markdownParts writes parts of a comment, as far as it has room for them, and counts the others. command
// prints them all.
func markdownParts(b *strings.Builder, parts []string, command string) {
	for i, part := range parts {
		if b.Len()+len(part) > mostMarkdown {
			fmt.Fprintf(b, "\n%d more parts are left out, as the comment would be too long: see the output of `%s`\n", len(parts)-i, command)
			return
		}
		b.WriteString(part)
	}
}

// markdownMessages writes errors and warnings as a list, as far as they leave half of the comment. The
// other lines of a message are a list below its first line.
func markdownMessages(b *strings.Builder, diagnostics []source.Diagnostic) {
	left := 0
	for _, d := range diagnostics {
		var lines []string
		for line := range strings.SplitSeq(d.String(), "\n") {
			if line = strings.TrimSpace(line); line != "" && line != "^" {
				lines = append(lines, markdownCode(line))
			}
		}
		switch text := strings.Join(lines, "\n  - "); {
		case d.Severity == source.Info:
		case left > 0 || b.Len()+len(text) > mostMarkdown/2:
			left++
		default:
			fmt.Fprintf(b, "\n- %s", text)
		}
	}
	if b.WriteString("\n"); left > 0 {
		fmt.Fprintf(b, "\n%d more messages are left out\n", left)
	}
}

// markdown returns the diff of a file in folded parts. Consecutive hunks of the same objects are
// one part, with all lines of the file if full is true.
func (f *File) markdown(full bool) []string {
	var parts []string
	var hunks []hunkText
	flush := func() {
		if len(hunks) == 0 {
			return
		}
		all := hunkText{objects: hunks[0].objects}
		for _, h := range hunks {
			all.text, all.added, all.removed = all.text+h.text, all.added+h.added, all.removed+h.removed
			for _, p := range h.authors {
				if !slices.Contains(all.authors, p) {
					all.authors = append(all.authors, p)
				}
			}
		}
		parts = append(parts, f.details(&all))
		hunks = nil
	}
	for _, h := range f.hunks(full) {
		if len(hunks) > 0 && strings.Join(hunks[0].objects, "\n") != strings.Join(h.objects, "\n") {
			flush()
		}
		hunks = append(hunks, h)
	}
	flush()
	return parts
}

// details returns one folded part of the diff of a file.
func (f *File) details(h *hunkText) string {
	fence := "```"
	for strings.Contains(h.text, fence) {
		fence += "`"
	}
	title := source.Printable(f.Name)
	if len(h.objects) > 0 {
		title = strings.Join(h.objects, ", ")
	}
	by := ""
	if len(h.authors) > 0 {
		by = " by " + strings.Join(h.authors, ", ")
	}
	return fmt.Sprintf("\n<details><summary><code>%s</code> +%d −%d%s</summary>\n\n%sdiff\n%s%s%s\n\n</details>\n",
		html.EscapeString(title), h.added, h.removed, html.EscapeString(by),
		fence, strings.Join(f.header(), ""), source.PrintableLines(strings.ReplaceAll(h.text, "\r\n", "\n")), fence)
}

// markdownTable writes counts as a table.
func markdownTable(b *strings.Builder, title string, counts []count) {
	if len(counts) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| %s | objects |\n|---|---:|\n", title)
	for _, c := range counts {
		fmt.Fprintf(b, "| %s | %d |\n", markdownCode(strings.ReplaceAll(c.name, "|", `\|`)), c.n)
	}
}

// markdownCode returns a text as inline code of Markdown.
func markdownCode(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		text = " " + text + " "
	}
	return fence + text + fence
}
