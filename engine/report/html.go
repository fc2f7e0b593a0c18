package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
)

// The page is not a template of html/template, because with that package the linker keeps unused
// code of all other packages: a third of the program, and some of its start-up time.
var (
	//go:embed html_head.html
	htmlHead string
	//go:embed html_foot.html
	htmlFoot string
)

type htmlPage struct {
	Report   *Report
	Policies []count
	Files    []htmlFile
	Sources  []htmlSource
}

type htmlFile struct {
	Name    string
	Changes int
	Lines   []htmlLine
}

// htmlLine is a line of a manifest, before or after the policies, or both.
type htmlLine struct {
	Text          string
	Before, After int
	// Edit is the edit that changed the line, or nil. The first of Span lines with the same edit
	// shows its causes.
	Edit *Edit
	Span int
	// Shown means that the change of the line is shown. Far means that no shown change is near
	// the line, and Gone that none is so near that the line is in the page at all.
	Shown, Far, Gone bool
	// Object is the name of the object that the line belongs to.
	Object   string
	manifest *Manifest
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

// HTML writes the report as a page that needs only a browser: the manifests with their changes and
// the causes of these, beside the policies.
func HTML(w io.Writer, r *Report) error {
	p := htmlPage{Report: r}
	used := map[string]bool{}
	told := map[string]bool{}
	for _, m := range r.Manifests {
		told[m.anchor()] = true
		for _, e := range m.Edits {
			for _, s := range e.Causes {
				used[s.anchor()] = true
			}
		}
	}
	for _, f := range r.Files {
		if f.Before == f.After {
			continue
		}
		if file := htmlFileOf(f, r.Full, func(m mark) bool { return told[m.manifest.anchor()] && related(r.Field, m.edit.Path) }); file.Changes > 0 {
			p.Files = append(p.Files, file)
		}
	}
	_, p.Policies = r.changedBy()
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

// write adds markup. The texts in it are escaped and printable.
func (b *htmlWriter) write(markup string, texts ...string) {
	escaped := make([]any, len(texts))
	for i, text := range texts {
		escaped[i] = html.EscapeString(source.PrintableLines(text))
	}
	fmt.Fprintf(b, markup, escaped...)
}

func (b *htmlWriter) page(p *htmlPage) {
	r := p.Report
	b.head("what the policies change", htmlFoot)
	b.write(`<header><h1>What the policies change</h1><span>%s of %s manifests change`, strconv.Itoa(r.Changed()), strconv.Itoa(r.Total))
	if r.Field != "" {
		b.write(` in <code>%s</code>`, r.Field)
	}
	b.write("%s", AsKyverno(r.KyvernoVersion))
	b.write("</span>\n<div class=\"tools\"><label>Policy <select id=\"policy\"><option value=\"\">all</option>")
	for _, policy := range p.Policies {
		b.write(`<option value="%s">%s (%s)</option>`, policy.name, policy.name, strconv.Itoa(policy.n))
	}
	b.WriteString(`</select></label>
<label>Object <input type="search" id="search" size="16"></label>
<label><input type="checkbox" id="only"> fewer lines</label>
<span><button type="button" id="previous" title="key p">Previous</button> <button type="button" id="next" title="key n">Next</button> change</span></div></header>
<main><div>
`)
	b.diagnostics(r.fold(r.Diagnostics))
	b.index(r.Manifests)
	for _, f := range p.Files {
		b.file(f)
	}
	b.write("\n</div><div class=\"policies\">\n")
	for _, s := range p.Sources {
		b.source(s)
	}
	b.write("\n</div></main>\n")
	b.WriteString(htmlFoot)
}

// head writes the head of a page with a title. foot is the end of the page, which has its script.
func (b *htmlWriter) head(title, foot string) {
	b.WriteString(strings.NewReplacer("SCRIPT", scriptHash(foot), "TITLE", "preadmit: "+title).Replace(htmlHead))
}

// diagnostics writes the messages of a run.
func (b *htmlWriter) diagnostics(all []source.Diagnostic) {
	for _, d := range all {
		b.write(`<p class="%[1]s"><b>%[1]s</b> [%[5]s] %[2]s %[3]s <span class="soft">%[4]s</span></p>`, d.Severity.String(), d.At.String(), d.Printed(), strings.Join(d.Details(), "; "), d.Code)
	}
	b.WriteByte('\n')
}

// scriptHash is the source of scripts in the Content-Security-Policy of a page with an end. It allows
// only the script of the page, so no markup in a manifest can run a script.
func scriptHash(foot string) string {
	_, script, _ := strings.Cut(foot, "<script>")
	script, _, _ = strings.Cut(script, "</script>")
	sum := sha256.Sum256([]byte(script))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// fold begins a foldable part of the page.
func (b *htmlWriter) fold(open bool, name, note string) {
	state := ""
	if open {
		state = " open"
	}
	b.WriteString(`<details class="file"` + state + `>`)
	b.write("<summary><h2>%s</h2> <span class=\"soft\">%s</span></summary><table>\n", name, note)
}

func (b *htmlWriter) file(f htmlFile) {
	b.fold(true, f.Name, changes(f.Changes))
	above := "" // the object whose name is above the lines that are near a change
	for i, l := range f.Lines {
		isGone := i > 0 && f.Lines[i-1].Gone
		switch {
		case l.Gone && !isGone:
			b.gap("gone", f.Lines[i:], func(l htmlLine) bool { return l.Gone })
		case l.Far && !l.Gone && (i == 0 || !f.Lines[i-1].Far || isGone):
			b.gap("gap", f.Lines[i:], func(l htmlLine) bool { return l.Far && !l.Gone })
		}
		if l.Gone {
			continue
		}
		switch {
		case i == 0 || isGone || f.Lines[i-1].Object != l.Object:
			above = b.object(l, above, "object")
		case !l.Far && above != l.Object:
			above = b.object(l, above, "object few")
		}
		b.line(l)
	}
	b.write("</table></details>\n")
}

// changes returns a number of changes as text.
func changes(n int) string {
	if n == 1 {
		return "1 change"
	}
	return fmt.Sprintf("%d changes", n)
}

// gap writes a row for the omitted lines at the beginning of lines.
func (b *htmlWriter) gap(class string, lines []htmlLine, out func(htmlLine) bool) {
	n := 1
	for n < len(lines) && out(lines[n]) {
		n++
	}
	b.write("<tr class=\"%s\"><td colspan=\"5\">⋯ %s lines</td></tr>\n", class, strconv.Itoa(n))
}

// object writes the name of the object to which a line and the next ones belong, as a row of a class. It returns
// the object whose name is then above the lines near a change; that was above.
func (b *htmlWriter) object(l htmlLine, above, class string) string {
	if l.Object == "" {
		return above
	}
	if l.Far {
		class += " far"
	} else {
		above = l.Object
	}
	b.write(`<tr class="%s" data-object="%s"><td colspan="5">%s</td></tr>`+"\n", class, strings.ToLower(l.Object), l.Object)
	return above
}

// index lists all objects: changed objects with links to their changes, and for each object why
// policies did not apply.
func (b *htmlWriter) index(manifests []Manifest) {
	b.WriteString("<details class=\"file\" id=\"index\"><summary><h2>Objects</h2>")
	b.write(` <span class="soft">%s</span></summary><ul>`+"\n", strconv.Itoa(len(manifests)))
	for _, changed := range []bool{true, false} {
		for _, m := range manifests {
			if (len(m.Edits) > 0) != changed {
				continue
			}
			b.write(`<li data-object="%s">`, strings.ToLower(m.object()))
			if changed {
				b.write(`<a href="#" data-to="%s">%s</a> <span class="soft">%s</span>`, m.anchor(), m.object(), changes(len(m.Edits)))
			} else {
				b.write(`%s <span class="soft">nothing changes</span>`, m.object())
			}
			b.objections(m)
			b.notApplied(m)
			b.audit(m)
			b.WriteString("</li>\n")
		}
	}
	b.WriteString("</ul></details>\n")
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
		b.write(` data-of="%s" data-policies="%s"`, l.manifest.anchor(), strings.Join(l.policies(), "\n"))
	}
	span := ""
	if !l.Shown {
		span = ` colspan="2"`
	}
	b.write(`><td class="n">%s</td><td class="n">%s</td><td class="s"></td><td`+span+`>%s</td>`, number(l.Before), number(l.After), l.Text)
	if l.Shown && l.Span > 0 {
		b.write(`<td class="by" rowspan="%s"><code class="soft">%s</code>`, strconv.Itoa(l.Span), l.Edit.Path)
		for _, s := range l.Edit.Causes {
			b.cause(s)
		}
		b.write("</td>")
	}
	b.write("</tr>\n")
}

// cause writes the name of the policy that made a change, with a link to its rule.
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

// notApplied writes why policies were not applied to an object.
func (b *htmlWriter) notApplied(m Manifest) {
	folded := fold(m.NotApplied)
	if len(folded) == 0 {
		return
	}
	b.write(`<details><summary class="soft">not applied: %s</summary><ul>`, strconv.Itoa(len(folded)))
	for _, n := range folded {
		b.write(`<li data-policies="%s">%s: <span class="soft">%s</span></li>`, n.Policy, n.name(), n.Reason)
	}
	b.WriteString(`</ul></details>`)
}

// audit writes the annotations of the audit event of an object.
func (b *htmlWriter) audit(m Manifest) {
	for _, a := range m.Audit {
		b.write(`<div class="soft">audit annotation %s: %s</div>`, a.Key, a.Value)
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

// anchor returns the id of the manifest in the page.
func (m *Manifest) anchor() string { return m.At.File + ":" + strconv.Itoa(m.At.Line) + ":" + m.ID }

// anchor returns the id of the line of the rule in the page.
func (s Step) anchor() string { return s.At.File + ":" + strconv.Itoa(s.At.Line) }

func (l htmlLine) changed() bool { return l.Before == 0 || l.After == 0 }

// policies returns the names of the policies that changed a line.
func (l htmlLine) policies() []string {
	var names []string
	for _, s := range l.Edit.Causes {
		names = append(names, s.Policy)
	}
	return names
}

// htmlFileOf returns the lines of a file, all of them if full is true. Only wanted changes are shown.
func htmlFileOf(f File, full bool, wanted func(mark) bool) htmlFile {
	out := htmlFile{Name: f.Name}
	edits := map[*Edit]bool{}
	object, objects := "", f.objects
	for _, l := range compare(f.Before, f.After) {
		for len(objects) > 0 && objects[0].line <= l.Before {
			object, objects = objects[0].name, objects[1:]
		}
		h := htmlLine{Text: strings.TrimRight(l.Text, "\r\n"), Before: l.Before, After: l.After, Object: object}
		if m, ok := f.markOf(l); ok {
			h.Edit, h.manifest, h.Shown = m.edit, m.manifest, wanted(m)
		}
		if h.Shown {
			edits[h.Edit] = true
		}
		out.Lines = append(out.Lines, h)
	}
	out.Changes = len(edits)
	out.span()
	out.findFar(full)
	return out
}

// span counts how many lines with the same edit follow each other.
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

// htmlContext is how many unchanged lines around a change the page has.
const htmlContext = 20

// findFar sets Far and Gone of all lines. No line is gone if full is true.
func (f *htmlFile) findFar(full bool) {
	distance := make([]int, len(f.Lines))
	last := -len(f.Lines) - htmlContext
	for i := range f.Lines {
		if f.Lines[i].Shown {
			last = i
		}
		distance[i] = i - last
	}
	last = 2*len(f.Lines) + htmlContext
	for i := len(f.Lines) - 1; i >= 0; i-- {
		if f.Lines[i].Shown {
			last = i
		}
		near := min(distance[i], last-i)
		f.Lines[i].Far, f.Lines[i].Gone = near > diffContext, !full && near > htmlContext
	}
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
