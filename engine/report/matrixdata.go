package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine"
)

type jsonMatrix struct {
	Policies       []jsonMatrixPolicy `json:"policies"`
	Objects        []jsonMatrixObject `json:"objects"`
	Diagnostics    []jsonDiagnostic   `json:"diagnostics"`
	KyvernoVersion string             `json:"kyvernoVersion,omitempty"`
}

type jsonMatrixPolicy struct {
	Policy  string     `json:"policy"`
	Kind    string     `json:"kind"`
	At      *jsonPlace `json:"at,omitempty"`
	Matched int        `json:"matched"`
	// Actions are the numbers of objects by what the policy did to them.
	Actions map[string]int `json:"actions"`
	// Reasons say why it left objects alone, or why it matched nothing.
	Reasons []jsonReason `json:"reasons,omitempty"`
	Nothing string       `json:"nothing,omitempty"`
	// Idle are the rules that matched nothing, if others did, and the bindings that did.
	Idle []jsonIdleRule `json:"idleRules,omitempty"`
}

type jsonIdleRule struct {
	Rule    string       `json:"rule"`
	At      *jsonPlace   `json:"at,omitempty"`
	Nothing string       `json:"nothing"`
	Reasons []jsonReason `json:"reasons,omitempty"`
}

type jsonReason struct {
	Reason  string   `json:"reason"`
	Objects []string `json:"objects"`
}

type jsonMatrixObject struct {
	ID       string     `json:"id"`
	MadeOf   string     `json:"madeOf,omitempty"`
	At       *jsonPlace `json:"at,omitempty"`
	Unknown  bool       `json:"unknown,omitempty"`
	Policies []jsonCell `json:"policies"`
	// Objections are refusals, warnings and audit annotations, as in the JSON of diff and explain.
	Objections []jsonObjection `json:"objections,omitempty"`
}

type jsonCell struct {
	Policy  string   `json:"policy"`
	Kind    string   `json:"kind"`
	Action  string   `json:"action"`
	Reasons []string `json:"reasons,omitempty"`
}

// MatrixJSON writes a matrix as an object with the fields policies, objects, diagnostics and
// kyvernoVersion.
func MatrixJSON(w io.Writer, m *Matrix) {
	out := jsonMatrix{Policies: []jsonMatrixPolicy{}, Objects: []jsonMatrixObject{}, Diagnostics: diagnosticsJSON(m.Diagnostics), KyvernoVersion: m.KyvernoVersion}
	for i := range m.Policies {
		p := &m.Policies[i]
		row := jsonMatrixPolicy{Policy: p.Policy, Kind: p.Kind, At: place(p.At), Matched: p.Matched(), Actions: map[string]int{}, Nothing: p.Nothing, Reasons: reasonsJSON(p.Reasons)}
		for action, n := range p.Counts {
			row.Actions[action.String()] = n
		}
		for _, r := range p.Idle {
			row.Idle = append(row.Idle, jsonIdleRule{r.Name, place(r.At), r.Nothing, reasonsJSON(r.Reasons)})
		}
		out.Policies = append(out.Policies, row)
	}
	for _, o := range m.Objects {
		row := jsonMatrixObject{ID: o.ID, MadeOf: o.MadeOf, At: place(o.At), Unknown: o.Unknown, Policies: []jsonCell{}, Objections: jsonObjections(o.Objections)}
		for _, c := range o.Cells {
			p := &m.Policies[c.Policy]
			row.Policies = append(row.Policies, jsonCell{p.Policy, p.Kind, c.Action.String(), c.Reasons})
		}
		out.Objects = append(out.Objects, row)
	}
	writeJSON(w, out)
}

func reasonsJSON(reasons []Reason) (out []jsonReason) {
	for _, r := range reasons {
		out = append(out, jsonReason{r.Text, r.Objects})
	}
	return out
}

// csvHeader are the columns of CSV.
var csvHeader = []string{"policy", "kind", "action", "object", "file", "line", "reasons"}

// MatrixCSV writes a line for each policy and each object that it matches, and one with the action
// "nothing" for each policy, and each rule of other policies, that matches nothing.
func MatrixCSV(w io.Writer, m *Matrix) {
	out := csv.NewWriter(w)
	write := func(fields ...string) {
		cells := make([]string, len(fields))
		for i, field := range fields {
			cells[i] = csvCell(field)
		}
		_ = out.Write(cells) // only an error of w is possible, which the owner of w handles
	}
	write(csvHeader...)
	for i := range m.Policies {
		p := &m.Policies[i]
		if p.Nothing != "" {
			write(p.Policy, p.Kind, "nothing", "", p.At.File, strconv.Itoa(p.At.Line), p.Nothing)
		}
		for _, rule := range p.Idle {
			write(p.Policy, p.Kind, "nothing", "", rule.At.File, strconv.Itoa(rule.At.Line), rule.Name+": "+rule.Nothing)
		}
	}
	for _, o := range m.Objects {
		for _, c := range o.Cells {
			p := &m.Policies[c.Policy]
			write(p.Policy, p.Kind, c.Action.String(), o.ID, o.At.File, strconv.Itoa(o.At.Line), strings.Join(c.Reasons, "; "))
		}
	}
	out.Flush()
}

// csvCell returns a text that no spreadsheet takes for a formula.
func csvCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}

// actions are all actions, the strongest first.
var actions = []engine.Action{
	engine.Denied, engine.Changed, engine.Warned, engine.Audited, engine.Failed, engine.Accepted, engine.Unchanged, engine.Skipped,
}
