package report

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// What stands before and after the content of the page. It is not a template of
// html/template, because that keeps the linker from leaving out what is not used of all
// other packages: a third of the program, and some of its start-up.
var (
	//go:embed html_head.html
	htmlHead string
	//go:embed html_foot.html
	htmlFoot string
)

type htmlPage struct {
	Report   *Report
	Policies []string
	Files    []htmlFile
	Sources  []htmlSource
}

type htmlFile struct {
	Name  string
	Lines []htmlLine
}

type htmlLine struct {
	Class, Before, After, Text, Policies string
	By                                   []Step
}

type htmlSource struct {
	Name  string
	Lines []htmlSourceLine
}

type htmlSourceLine struct {
	ID, Text string
	Number   int
	Used     bool
}

// HTML writes the report as a page that needs nothing but a browser: the manifests with
// their changes and who made them, the policies beside them.
func HTML(w io.Writer, r *Report) error {
	p := htmlPage{Report: r}
	used := map[string]bool{}
	for _, f := range r.Files {
		p.Files = append(p.Files, htmlFileOf(f))
	}
	for _, m := range r.Manifests {
		for _, e := range m.Edits {
			for _, s := range e.Causes {
				used[s.anchor()] = true
				if s.Policy != "" && !slices.Contains(p.Policies, s.Policy) {
					p.Policies = append(p.Policies, s.Policy)
				}
			}
		}
	}
	slices.Sort(p.Policies)
	for _, text := range r.Policies {
		out := htmlSource{Name: text.Name}
		for i, l := range splitLines(text.Text) {
			id := text.Name + ":" + strconv.Itoa(i+1)
			out.Lines = append(out.Lines, htmlSourceLine{id, strings.TrimRight(l, "\r\n"), i + 1, used[id]})
		}
		p.Sources = append(p.Sources, out)
	}
	var b htmlWriter
	b.page(&p)
	_, err := io.WriteString(w, b.String())
	return err
}

// htmlWriter collects the text of the page.
type htmlWriter struct{ strings.Builder }

// write adds markup with texts in it, which are escaped.
func (b *htmlWriter) write(markup string, texts ...string) {
	escaped := make([]any, len(texts))
	for i, text := range texts {
		escaped[i] = html.EscapeString(text)
	}
	fmt.Fprintf(b, markup, escaped...)
}

func (b *htmlWriter) page(p *htmlPage) {
	r := p.Report
	b.WriteString(htmlHead)
	b.write(`<header><h1>What the policies change</h1><span>%s of %s manifests change`, strconv.Itoa(r.Changed()), strconv.Itoa(r.Total))
	if r.Field != "" {
		b.write(` in %s`, r.Field)
	}
	b.write("</span>\n<label>Policy <select id=\"policy\"><option value=\"\">all</option>")
	for _, policy := range p.Policies {
		b.write(`<option>%s</option>`, policy)
	}
	b.write("</select></label></header>\n<main><div>\n")
	for _, d := range r.Diagnostics {
		b.write(`<p class="%[1]s"><b>%[1]s</b> [%[5]s] %[2]s %[3]s <span class="soft">%[4]s</span></p>`, d.Severity.String(), d.At.String(), d.Message, d.Advice, d.Code)
	}
	b.WriteByte('\n')
	for _, f := range p.Files {
		b.file(f)
	}
	b.write("\n<h3>Not applied</h3>")
	for _, m := range r.Manifests {
		b.notApplied(m)
	}
	b.write("\n</div><div>\n")
	for _, s := range p.Sources {
		b.source(s)
	}
	b.write("\n</div></main>\n")
	b.WriteString(htmlFoot)
}

func (b *htmlWriter) file(f htmlFile) {
	b.write(`<section class="file"><h2>%s</h2><table>`, f.Name)
	for _, l := range f.Lines {
		b.write(`<tr class="%s"`, l.Class)
		if l.Class != "" {
			b.write(` data-policies="%s"`, l.Policies)
		}
		b.write(`><td class="n">%s</td><td class="n">%s</td><td>%s</td>`, l.Before, l.After, l.Text)
		if l.Class == "" {
			b.write("<td></td></tr>\n")
			continue
		}
		b.write(`<td class="by">`)
		for _, s := range l.By {
			b.write(`<a href="%s">%s</a><br>`, (&url.URL{Fragment: s.anchor()}).String(), s.by())
		}
		b.write("</td></tr>\n")
	}
	b.write(`</table></section>`)
}

func (b *htmlWriter) notApplied(m Manifest) {
	if len(m.NotApplied) == 0 {
		return
	}
	b.write(`<details><summary>%s <span class="soft">(%s)</span></summary><ul>`, m.ID, strconv.Itoa(len(m.NotApplied)))
	for _, n := range m.NotApplied {
		b.write(`<li>%s: <span class="soft">%s</span></li>`, n.name(), n.Reason)
	}
	b.write(`</ul></details>`)
}

func (b *htmlWriter) source(s htmlSource) {
	b.write(`<section class="file"><h2>%s</h2><table>`, s.Name)
	for _, l := range s.Lines {
		b.write(`<tr id="%s"`, l.ID)
		if l.Used {
			b.write(` class="used"`)
		}
		b.write("><td class=\"n\">%s</td><td>%s</td></tr>\n", strconv.Itoa(l.Number), l.Text)
	}
	b.write(`</table></section>`)
}

// anchor names the line of the rule in the page.
func (s Step) anchor() string { return s.At.File + ":" + strconv.Itoa(s.At.Line) }

func htmlFileOf(f File) htmlFile {
	out := htmlFile{Name: f.Name}
	var last *Edit
	for _, l := range compare(f.Before, f.After) {
		h := htmlLine{Text: strings.TrimRight(l.text, "\r\n"), Before: number(l.before), After: number(l.after)}
		marks, at := f.after, l.after
		switch {
		case l.before == 0:
			h.Class = "add"
		case l.after == 0:
			h.Class, marks, at = "del", f.before, l.before
		default:
			out.Lines, last = append(out.Lines, h), nil
			continue
		}
		if m, ok := editAt(marks, at); ok {
			edit := m.edit
			for _, s := range edit.Causes {
				h.Policies += " " + s.Policy
			}
			if edit != last {
				h.By, last = edit.Causes, edit
			}
		}
		out.Lines = append(out.Lines, h)
	}
	return out
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
