package report

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
)

//go:embed html.tmpl
var page string

var pageTemplate = template.Must(template.New("report").Parse(page))

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
				used[s.Anchor()] = true
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
	return pageTemplate.Execute(w, p)
}

// Anchor names the line of the rule in the page.
func (s Step) Anchor() string { return s.At.File + ":" + strconv.Itoa(s.At.Line) }

// Name names what made the step.
func (s Step) Name() string { return s.by() }

// Name names the policy.
func (n NotApplied) Name() string { return n.name() }

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
