package report

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/source"
)

// column is a column of the table of policies.
type column struct {
	title string
	of    func(*MatrixPolicy) int
}

// columns returns the columns of the table: of the actions that are rare, only those that occur.
func (m *Matrix) columns() []column {
	count := func(action engine.Action) func(*MatrixPolicy) int {
		return func(p *MatrixPolicy) int { return p.Counts[action] }
	}
	all := []column{{"matched", (*MatrixPolicy).Matched}, {"changed", count(engine.Changed)}, {"denied", count(engine.Denied)}}
	for _, action := range []engine.Action{engine.Warned, engine.Audited, engine.Accepted} {
		if of := count(action); slices.ContainsFunc(m.Policies, func(p MatrixPolicy) bool { return of(&p) > 0 }) {
			all = append(all, column{action.String(), of})
		}
	}
	return append(all, column{"left alone", (*MatrixPolicy).LeftAlone})
}

// headline counts the policies and the objects.
func (m *Matrix) headline() string {
	idle, untouched, unknown := 0, 0, 0
	for i := range m.Policies {
		if m.Policies[i].Matched() == 0 {
			idle++
		}
	}
	for _, o := range m.Objects {
		switch {
		case o.Unknown:
			unknown++
		case len(o.Cells) == 0:
			untouched++
		}
	}
	text := plural(len(m.Policies), "policy", "policies")
	if idle > 0 {
		text += ", " + plural(idle, "of which matches nothing", "of which match nothing")
	}
	text += "; " + plural(len(m.Objects), "object", "objects")
	if untouched > 0 {
		text += fmt.Sprintf(", %d of which no policy matches", untouched)
	}
	if unknown > 0 {
		text += ", " + plural(unknown, "of which has errors", "of which have errors")
	}
	return text + AsKyverno(m.KyvernoVersion)
}

// few returns the first of the texts and the number of the others. All are returned if the matrix is
// verbose.
func (m *Matrix) few(texts []string) ([]string, int) {
	if n := source.FewPlaces; !m.Verbose && len(texts) > n {
		return texts[:n], len(texts) - n
	}
	return texts, 0
}

// listed returns texts as one text.
func (m *Matrix) listed(texts []string) string {
	shown, more := m.few(texts)
	text := strings.Join(shown, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// MatrixText writes a matrix for people: the policies in a table, those that match nothing, why the
// others left objects alone, and the objects with their policies.
func MatrixText(w io.Writer, m *Matrix) {
	table, columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0), m.columns()
	io.WriteString(table, "policy")
	for _, c := range columns {
		fmt.Fprintf(table, "\t%s", c.title)
	}
	io.WriteString(table, "\n")
	for i := range m.Policies {
		p := &m.Policies[i]
		io.WriteString(table, p.Name)
		for _, c := range columns {
			fmt.Fprintf(table, "\t%d", c.of(p))
		}
		io.WriteString(table, "\n")
	}
	table.Flush()
	for i := range m.Policies {
		m.policyText(w, &m.Policies[i])
	}
	if len(m.Objects) > 0 {
		io.WriteString(w, "\n")
	}
	for i := range m.Objects {
		o := &m.Objects[i]
		fmt.Fprintf(w, "%s%s\n    %s\n", o.ID, at(o.At), m.told(o))
	}
	fmt.Fprintf(w, "\n%s\n", m.headline())
}

// policyText writes why a policy matched nothing or left objects alone.
func (m *Matrix) policyText(w io.Writer, p *MatrixPolicy) {
	switch {
	case p.Nothing != "":
		fmt.Fprintf(w, "\n%s matches nothing%s\n    %s\n", p.Name, at(p.At), p.Nothing)
	case len(p.Reasons) > 0:
		fmt.Fprintf(w, "\n%s leaves %s alone%s\n", p.Name, plural(p.LeftAlone(), "object", "objects"), at(p.At))
	}
	m.listReasons(w, p.Reasons)
	for _, rule := range p.Idle {
		fmt.Fprintf(w, "\n%s of %s matches nothing%s\n    %s\n", rule.Name, p.Name, at(rule.At), rule.Nothing)
		m.listReasons(w, rule.Reasons)
	}
}

// listReasons writes reasons with their objects.
func (m *Matrix) listReasons(w io.Writer, reasons []Reason) {
	for i, r := range reasons {
		if i == source.FewPlaces && !m.Verbose {
			fmt.Fprintf(w, "    and for %d more reasons\n", len(reasons)-i)
			break
		}
		fmt.Fprintf(w, "    %d: %s\n        %s\n", len(r.Objects), r.Text, m.listed(r.Objects))
	}
}

// told says in a line what the policies did to an object.
func (m *Matrix) told(o *MatrixObject) string {
	switch {
	case o.Unknown:
		return "not evaluated: see the error"
	case len(o.Cells) == 0:
		return "no policy matches it"
	}
	cells := slices.Clone(o.Cells)
	slices.SortStableFunc(cells, func(a, b Cell) int { return cmp.Compare(b.Action, a.Action) })
	var parts []string
	for len(cells) > 0 {
		var names []string
		for _, c := range cells {
			if c.Action == cells[0].Action {
				names = append(names, m.Policies[c.Policy].Name)
			}
		}
		text := strings.Join(names, ", ")
		if _, alone := leftAlone[cells[0].Action]; alone {
			text = m.listed(names)
		}
		parts = append(parts, cells[0].said()+" by "+text)
		cells = cells[len(names):]
	}
	return strings.Join(parts, "; ")
}

// said returns what a policy did, as a participle.
func (c Cell) said() string {
	if _, alone := leftAlone[c.Action]; alone {
		return "left alone (" + c.Action.String() + ")"
	}
	return c.Action.String()
}

// MatrixMarkdown writes a matrix as a comment for a pull request. Parts that would make the comment too
// long for GitHub are only counted.
func MatrixMarkdown(w io.Writer, m *Matrix) {
	var b strings.Builder
	columns := m.columns()
	fmt.Fprintf(&b, "**preadmit**: %s\n\n| policy |", m.headline())
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c.title)
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(columns)) + "\n")
	var parts []string
	for i := range m.Policies {
		p := &m.Policies[i]
		row := "| " + markdownCell(p.Name) + " |"
		for _, c := range columns {
			row += " " + strconv.Itoa(c.of(p)) + " |"
		}
		parts = append(parts, row+"\n")
	}
	var messages strings.Builder
	markdownMessages(&messages, m.Diagnostics)
	parts = append(parts, messages.String())
	for i := range m.Policies {
		var text strings.Builder
		m.policyText(&text, &m.Policies[i])
		for paragraph := range strings.SplitSeq(text.String(), "\n\n") {
			if title, rest, _ := strings.Cut(strings.Trim(paragraph, "\n"), "\n"); title != "" {
				parts = append(parts, markdownDetails(title, rest+"\n"))
			}
		}
	}
	for i := range m.Objects {
		o := &m.Objects[i]
		parts = append(parts, markdownDetails(o.ID+": "+m.told(o), m.reasonsText(o)))
	}
	markdownParts(&b, parts, "preadmit report")
	io.WriteString(w, b.String())
}

// reasonsText lists why policies left an object alone.
func (m *Matrix) reasonsText(o *MatrixObject) string {
	var b strings.Builder
	for _, c := range o.Cells {
		for _, reason := range c.Reasons {
			fmt.Fprintf(&b, "%s: %s\n", m.Policies[c.Policy].Name, reason)
		}
	}
	return b.String()
}

// markdownCell returns a text as code in a table.
func markdownCell(text string) string {
	return markdownCode(strings.ReplaceAll(text, "|", `\|`))
}

// markdownDetails returns a title, with a text that is folded below it.
func markdownDetails(title, text string) string {
	if text == "" {
		return "\n- " + markdownCode(title) + "\n"
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fmt.Sprintf("\n<details><summary><code>%s</code></summary>\n\n%stext\n%s%s\n\n</details>\n", html.EscapeString(title), fence, text, fence)
}
