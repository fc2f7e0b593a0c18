package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
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
	Name    string
	Changes int
	Lines   []htmlLine
}

// htmlLine is a line of a manifest, before and after.
type htmlLine struct {
	Text          string
	Before, After int
	// Edit is what the line belongs to if it has changed. Its name stands in the first of
	// Span lines.
	Edit *Edit
	Span int
	// Shown says that the change is one to tell of, Far that there is none near the line.
	Shown, Far bool
}

type htmlSource struct {
	Name  string
	Used  bool
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
		if file := htmlFileOf(f, r.Field); file.Changes > 0 || r.Field == "" {
			p.Files = append(p.Files, file)
		}
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
			out.Used = out.Used || used[id]
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
	b.WriteString(strings.Replace(htmlHead, "SCRIPT", scriptHash(), 1))
	b.write(`<header><h1>What the policies change</h1><span>%s of %s manifests change`, strconv.Itoa(r.Changed()), strconv.Itoa(r.Total))
	if r.Field != "" {
		b.write(` in <code>%s</code>`, r.Field)
	}
	b.write("</span>\n<div class=\"tools\"><label>Policy <select id=\"policy\"><option value=\"\">all</option>")
	for _, policy := range p.Policies {
		b.write(`<option>%s</option>`, policy)
	}
	checked := ""
	if r.Field != "" {
		checked = " checked"
	}
	b.WriteString(`</select></label>
<label><input type="checkbox" id="only"` + checked + `> changes only</label>
<span><button type="button" id="previous" title="key p">Previous</button> <button type="button" id="next" title="key n">Next</button> change</span></div></header>
<main><div>
`)
	for _, d := range r.Diagnostics {
		b.write(`<p class="%[1]s"><b>%[1]s</b> [%[5]s] %[2]s %[3]s <span class="soft">%[4]s</span></p>`, d.Severity.String(), d.At.String(), d.Message, d.Advice, d.Code)
	}
	b.WriteByte('\n')
	for _, f := range p.Files {
		b.file(f)
	}
	b.notApplied(r.Manifests)
	b.write("\n</div><div class=\"policies\">\n")
	for _, s := range p.Sources {
		b.source(s)
	}
	b.write("\n</div></main>\n")
	b.WriteString(htmlFoot)
}

// scriptHash is what the policy of the page for its content lets run: its own script, and
// no other, whatever markup a manifest may have.
func scriptHash() string {
	_, script, _ := strings.Cut(htmlFoot, "<script>")
	script, _, _ = strings.Cut(script, "</script>")
	sum := sha256.Sum256([]byte(script))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// fold begins a part of the page that can be folded.
func (b *htmlWriter) fold(open bool, name, note string) {
	state := ""
	if open {
		state = " open"
	}
	b.WriteString(`<details class="file"` + state + `>`)
	b.write("<summary><h2>%s</h2> <span class=\"soft\">%s</span></summary><table>\n", name, note)
}

func (b *htmlWriter) file(f htmlFile) {
	note := fmt.Sprintf("%d changes", f.Changes)
	switch f.Changes {
	case 0:
		note = "nothing changes"
	case 1:
		note = "1 change"
	}
	b.fold(f.Changes > 0, f.Name, note)
	for i, l := range f.Lines {
		if l.Far && (i == 0 || !f.Lines[i-1].Far) {
			n := 1
			for i+n < len(f.Lines) && f.Lines[i+n].Far {
				n++
			}
			b.write("<tr class=\"gap\"><td colspan=\"5\">⋯ %s lines</td></tr>\n", strconv.Itoa(n))
		}
		b.line(l)
	}
	b.write("</table></details>\n")
}

func (b *htmlWriter) line(l htmlLine) {
	var classes []string
	add := func(condition bool, class string) {
		if condition {
			classes = append(classes, class)
		}
	}
	add(l.Before == 0, "add")
	add(l.After == 0, "del")
	add(l.changed() && !l.Shown, "other")
	add(l.Shown && l.Span > 0, "first")
	add(l.Far, "far")
	b.write(`<tr class="%s"`, strings.Join(classes, " "))
	if l.Shown {
		b.write(` data-policies="%s"`, strings.Join(l.policies(), "\n"))
	}
	b.write(`><td class="n">%s</td><td class="n">%s</td><td class="s"></td><td>%s</td>`, number(l.Before), number(l.After), l.Text)
	switch {
	case !l.Shown:
		b.write("<td></td>")
	case l.Span > 0:
		b.write(`<td class="by" rowspan="%s"><code class="soft">%s</code>`, strconv.Itoa(l.Span), l.Edit.Path)
		for _, s := range l.Edit.Causes {
			b.cause(s)
		}
		b.write("</td>")
	}
	b.write("</tr>\n")
}

// cause names what made a change, and leads to it.
func (b *htmlWriter) cause(s Step) {
	if s.Policy == "" {
		b.write(`<div>%s</div>`, s.by())
		return
	}
	b.write(`<div><a href="%s"><b>%s</b></a> <span class="soft">`, (&url.URL{Fragment: s.anchor()}).String(), s.Policy)
	rest := s
	rest.Policy = ""
	if s.Binding == s.Policy {
		rest.Binding = ""
	}
	b.write("%s", strings.TrimLeft(strings.TrimPrefix(name(rest.Policy, rest.Binding, rest.Param, rest.Rule), "policy "), ", "))
	if s.Pass > 1 {
		b.write(" (reinvoked)")
	}
	b.write("</span></div>")
}

func (b *htmlWriter) notApplied(manifests []Manifest) {
	if !slices.ContainsFunc(manifests, func(m Manifest) bool { return len(m.NotApplied) > 0 }) {
		return
	}
	b.write("\n<h3>Not applied</h3>")
	for _, m := range manifests {
		if len(m.NotApplied) == 0 {
			continue
		}
		b.write(`<details><summary>%s <span class="soft">(%s)</span></summary><ul>`, m.ID, strconv.Itoa(len(m.NotApplied)))
		for _, n := range m.NotApplied {
			b.write(`<li data-policies="%s">%s: <span class="soft">%s</span></li>`, n.Policy, n.name(), n.Reason)
		}
		b.write(`</ul></details>`)
	}
}

func (b *htmlWriter) source(s htmlSource) {
	note := ""
	if !s.Used {
		note = "changes nothing"
	}
	b.fold(s.Used, s.Name, note)
	for _, l := range s.Lines {
		b.write(`<tr id="%s"`, l.ID)
		if l.Used {
			b.write(` class="used"`)
		}
		b.write("><td class=\"n\">%s</td><td>%s</td></tr>\n", strconv.Itoa(l.Number), l.Text)
	}
	b.write("</table></details>\n")
}

// anchor names the line of the rule in the page.
func (s Step) anchor() string { return s.At.File + ":" + strconv.Itoa(s.At.Line) }

func (l htmlLine) changed() bool { return l.Before == 0 || l.After == 0 }

// policies are those that made the change of a line.
func (l htmlLine) policies() []string {
	var names []string
	for _, s := range l.Edit.Causes {
		names = append(names, s.Policy)
	}
	return names
}

// htmlFileOf makes the lines of a file. Changes that have nothing to do with the field,
// if there is one, are not told of.
func htmlFileOf(f File, field string) htmlFile {
	out := htmlFile{Name: f.Name}
	edits := map[*Edit]bool{}
	for _, l := range compare(f.Before, f.After) {
		h := htmlLine{Text: strings.TrimRight(l.text, "\r\n"), Before: l.before, After: l.after}
		marks, at := f.after, l.after
		if l.after == 0 {
			marks, at = f.before, l.before
		}
		if h.changed() {
			if m, ok := editAt(marks, at); ok {
				h.Edit, h.Shown = m.edit, field == "" || related(field, m.edit.Path)
			}
		}
		if h.Shown {
			edits[h.Edit] = true
		}
		out.Lines = append(out.Lines, h)
	}
	out.Changes = len(edits)
	out.span()
	out.findFar()
	return out
}

// span joins the lines of one edit that follow each other.
func (f *htmlFile) span() {
	for i := 0; i < len(f.Lines); {
		n := 1
		for i+n < len(f.Lines) && f.Lines[i].Shown && f.Lines[i+n].Edit == f.Lines[i].Edit {
			n++
		}
		f.Lines[i].Span = n
		i += n
	}
}

// findFar finds the lines that have no change near them.
func (f *htmlFile) findFar() {
	last := -diffContext - 1
	for i := range f.Lines {
		if f.Lines[i].Shown {
			last = i
		}
		f.Lines[i].Far = i-last > diffContext
	}
	last = len(f.Lines) + diffContext
	for i := len(f.Lines) - 1; i >= 0; i-- {
		if f.Lines[i].Shown {
			last = i
		}
		f.Lines[i].Far = f.Lines[i].Far && last-i > diffContext
	}
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
