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
	markdownMessages(&b, r.fold(r.Diagnostics))
	kinds, authors := r.changedBy()
	markdownTable(&b, r.authorTitle("policy"), authors)
	markdownTable(&b, "kind", kinds)
	var parts []markdownPart
	for _, f := range r.Files {
		if f.Before != f.After {
			parts = append(parts, f.markdown(r.Full)...)
		}
	}
	var texts []string
	for _, same := range alike(parts) {
		texts = append(texts, markdownAlike(same))
	}
	markdownParts(&b, texts, "preadmit diff")
	io.WriteString(w, b.String())
}

// markdownPart is one folded part of the diff of a file.
type markdownPart struct {
	file *File
	hunk hunkText
}

// alike joins the parts with the same lines by the same authors, in the order of the first of each.
func alike(parts []markdownPart) (joined [][]markdownPart) {
	index := map[string]int{}
	for _, p := range parts {
		key := strings.Join(p.hunk.authors, ", ") + "\n"
		for line := range strings.Lines(p.hunk.text) {
			if line[0] == '+' || line[0] == '-' {
				key += line
			}
		}
		i, known := index[key]
		if !known {
			i = len(joined)
			index[key], joined = i, append(joined, nil)
		}
		joined[i] = append(joined[i], p)
	}
	return joined
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
	left, before := 0, b.Len()
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
	if b.Len() > before {
		b.WriteString("\n")
	}
	if left > 0 {
		fmt.Fprintf(b, "\n%d more messages are left out\n", left)
	}
}

// markdown returns the diff of a file in parts. Consecutive hunks of the same objects are
// one part, with all lines of the file if full is true.
func (f *File) markdown(full bool) (parts []markdownPart) {
	for _, h := range f.hunks(full) {
		if last := len(parts) - 1; last >= 0 && slices.Equal(parts[last].hunk.objects, h.objects) {
			parts[last].hunk.join(&h)
			continue
		}
		parts = append(parts, markdownPart{f, h})
	}
	return parts
}

// join adds another hunk of the same objects.
func (a *hunkText) join(h *hunkText) {
	a.text, a.added, a.removed = a.text+h.text, a.added+h.added, a.removed+h.removed
	for _, by := range h.authors {
		if !slices.Contains(a.authors, by) {
			a.authors = append(a.authors, by)
		}
	}
	for _, at := range h.policies {
		if !slices.Contains(a.policies, at) {
			a.policies = append(a.policies, at)
		}
	}
}

// mostAlike is how many objects with the same changes a comment names.
const mostAlike = 20

// markdownAlike returns a folded part of a comment: the first of parts with the same changes, and the objects of the
// others.
func markdownAlike(same []markdownPart) string {
	p := same[0]
	fence := "```"
	for strings.Contains(p.hunk.text, fence) {
		fence += "`"
	}
	by := ""
	if len(p.hunk.authors) > 0 {
		by = " by " + strings.Join(p.hunk.authors, ", ")
	}
	if n := len(same) - 1; n > 0 {
		by += ", the same in " + plural(n, "more place", "more places")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary><code>%s</code> +%d −%d%s</summary>\n\n%s%sdiff\n%s%s%s\n",
		html.EscapeString(p.title()), p.hunk.added, p.hunk.removed, html.EscapeString(by),
		p.where(), fence, strings.Join(p.file.header(), ""), source.PrintableLines(strings.ReplaceAll(p.hunk.text, "\r\n", "\n")), fence)
	for i, other := range same[1:] {
		if i == mostAlike {
			fmt.Fprintf(&b, "\n- and %d more", len(same)-1-i)
			break
		}
		fmt.Fprintf(&b, "\n- %s %s", markdownCode(other.title()), other.at())
	}
	if len(same) > 1 {
		b.WriteString("\n")
	}
	return b.String() + "\n</details>\n"
}

// title names the objects of the part, or its file.
func (p *markdownPart) title() string {
	if len(p.hunk.objects) > 0 {
		return strings.Join(p.hunk.objects, ", ")
	}
	return source.Printable(p.file.Name)
}

// where says on a line where the objects and the policies are that change them.
func (p *markdownPart) where() string {
	text := p.at()
	if by := markdownPlaces(p.hunk.policies); by != "" {
		text += ", by " + by
	}
	if text == "" {
		return ""
	}
	return text + "\n\n"
}

// at says where the objects are.
func (p *markdownPart) at() string {
	if places := markdownPlaces(p.hunk.places); places != "" {
		return "at " + places
	}
	return ""
}

// markdownPlaces lists the first positions.
func markdownPlaces(places []source.Position) string {
	var names []string
	for _, at := range places {
		if at.IsKnown() && len(names) < source.FewPlaces {
			names = append(names, markdownCode(at.String()))
		}
	}
	return strings.Join(names, ", ")
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
