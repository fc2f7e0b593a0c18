package report

import (
	_ "embed"
	"io"
	"strconv"
	"strings"
)

//go:embed matrix_foot.html
var matrixFoot string

// MatrixHTML writes a matrix as a page that needs only a browser: the policies with their counts and
// reasons, and a table of policies and objects that can be filtered.
func MatrixHTML(w io.Writer, m *Matrix) error {
	var b htmlWriter
	b.head("what each policy does", matrixFoot)
	b.write("<header><h1>What each policy does</h1><span>%s</span>\n", m.headline())
	b.write(`<div class="tools"><label>Search <input type="search" id="search" size="24"></label>` + "\n" + `<label>Policy <select id="policy"><option value="">all</option>`)
	for i := range m.Policies {
		b.write(`<option value="%s">%s</option>`, strconv.Itoa(i), m.Policies[i].Name)
	}
	b.write(`</select></label>` + "\n" + `<label>Action <select id="action"><option value="">all</option>`)
	for _, action := range actions {
		b.write(`<option>%s</option>`, action.String())
	}
	b.write("</select></label></div></header>\n<main class=\"wide\">\n")
	b.diagnostics(m.Diagnostics)
	b.matrixPolicies(m)
	b.matrixCells(m)
	b.write("</main>\n")
	b.WriteString(matrixFoot)
	_, err := io.WriteString(w, b.String())
	return err
}

// matrixPolicies writes the table of policies.
func (b *htmlWriter) matrixPolicies(m *Matrix) {
	columns := m.columns()
	b.write("<table><tr><th>policy</th>")
	for _, c := range columns {
		b.write("<th>%s</th>", c.title)
	}
	b.write("<th>why</th></tr>\n")
	for i := range m.Policies {
		p := &m.Policies[i]
		class := ""
		if p.Matched() == 0 {
			class = "idle"
		}
		b.write(`<tr class="%s"><td><a href="#cells" data-policy="%s">%s</a> <span class="soft">%s</span></td>`, class, strconv.Itoa(i), p.Name, p.At.String())
		for _, c := range columns {
			b.write(`<td class="n">%s</td>`, strconv.Itoa(c.of(p)))
		}
		b.write("<td>%s", p.Nothing)
		b.matrixReasons(p.Reasons)
		for _, rule := range p.Idle {
			b.write("<div>%s matches nothing: %s</div>", rule.Name, rule.Nothing)
			b.matrixReasons(rule.Reasons)
		}
		b.write("</td></tr>\n")
	}
	b.write("</table>\n")
}

// matrixReasons writes reasons with their objects.
func (b *htmlWriter) matrixReasons(reasons []Reason) {
	for _, r := range reasons {
		b.write(`<details><summary>%s: %s</summary><ul>`, strconv.Itoa(len(r.Objects)), r.Text)
		for _, id := range r.Objects {
			b.write("<li>%s</li>", id)
		}
		b.write("</ul></details>")
	}
}

// matrixCells writes a row for every object and every policy that matches it.
func (b *htmlWriter) matrixCells(m *Matrix) {
	n := 0
	for _, o := range m.Objects {
		n += max(1, len(o.Cells))
	}
	b.write(`<h3>Objects <span class="soft"><span id="shown">%[1]s</span> of %[1]s rows</span></h3><table id="cells"><tr><th>object</th><th>policy</th><th>action</th><th>why</th></tr>`+"\n", strconv.Itoa(n))
	for i := range m.Objects {
		o := &m.Objects[i]
		if len(o.Cells) == 0 {
			b.matrixCell(o, "", "", "", []string{m.told(o)})
		}
		for _, c := range o.Cells {
			b.matrixCell(o, strconv.Itoa(c.Policy), m.Policies[c.Policy].Name, c.Action.String(), c.Reasons)
		}
	}
	b.write("</table>\n")
}

// matrixCell writes what a policy, with its number and name, did to an object.
func (b *htmlWriter) matrixCell(o *MatrixObject, number, policy, action string, reasons []string) {
	why := strings.Join(reasons, "; ")
	b.write(`<tr class="%[3]s" data-policy="%[1]s" data-action="%[3]s" data-text="%[6]s"><td>%[4]s <span class="soft">%[7]s</span></td><td>%[2]s</td><td>%[3]s</td><td>%[5]s</td></tr>`+"\n",
		number, policy, action, o.ID, why, strings.ToLower(strings.Join([]string{o.ID, policy, action, why, o.At.File}, " ")), o.At.String())
}
