package report

import (
	"encoding/json"
	"io"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// JSON writes the report as an object with the fields manifests, diagnostics and kyvernoVersion. Empty fields are
// omitted. The edits of a manifest are operations of a JSON Patch: op, from, path (the pointer) and
// value (the new value).
func JSON(w io.Writer, r *Report) {
	out := jsonReport{Manifests: []jsonManifest{}, Diagnostics: diagnosticsJSON(r.fold(r.Diagnostics)), Changed: r.Changed(), KyvernoVersion: r.KyvernoVersion}
	for _, m := range r.Manifests {
		out.Manifests = append(out.Manifests, jsonOf(m))
	}
	writeJSON(w, out)
}

func diagnosticsJSON(all []source.Diagnostic) []jsonDiagnostic {
	out := []jsonDiagnostic{}
	for _, d := range all {
		out = append(out, jsonDiagnosticOf(d))
	}
	return out
}

func writeJSON(w io.Writer, value any) {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(value) // only an error of w is possible, which the owner of w handles
}

type jsonReport struct {
	Manifests   []jsonManifest   `json:"manifests"`
	Changed     int              `json:"changed"`
	Diagnostics []jsonDiagnostic `json:"diagnostics"`
	// KyvernoVersion is the version of Kyverno as which its policies ran.
	KyvernoVersion string `json:"kyvernoVersion,omitempty"`
}

type jsonManifest struct {
	ID     string `json:"id"`
	MadeOf string `json:"madeOf,omitempty"`
	// Presence is "added" or "removed" if the object is in only one of two states of a repository.
	Presence string     `json:"presence,omitempty"`
	At       *jsonPlace `json:"at,omitempty"`
	// RenderedIn is the directory of the application in which the object was rendered.
	RenderedIn string           `json:"renderedIn,omitempty"`
	Edits      []jsonEdit       `json:"edits"`
	Dropped    []jsonStep       `json:"dropped,omitempty"`
	NotApplied []jsonNotApplied `json:"notApplied,omitempty"`
	// Objections are refusals, warnings and audit annotations with the values that rules have read.
	Objections []jsonObjection `json:"objections,omitempty"`
	// AuditAnnotations are what validating policies add to the audit event of the request.
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
}

type jsonPlace struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

type jsonChange struct {
	Op   change.Op `json:"op"`
	Path string    `json:"path"`
	Old  any       `json:"old,omitempty"`
	New  any       `json:"new,omitempty"`
}

type jsonEdit struct {
	jsonChange
	Pointer string `json:"pointer"`
	From    string `json:"from,omitempty"`

	At     *jsonPlace `json:"at,omitempty"`
	Causes []jsonStep `json:"causes"`
	// Reasons are only between two states of a repository.
	Reasons []string `json:"reasons,omitempty"`
}

type jsonName struct {
	Policy  string `json:"policy,omitempty"`
	Binding string `json:"binding,omitempty"`
	Param   string `json:"param,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Plugin  string `json:"plugin,omitempty"`
	Kind    string `json:"kind,omitempty"`
}

type jsonStep struct {
	jsonName
	Disposition string     `json:"disposition"`
	At          *jsonPlace `json:"at,omitempty"`
	Pass        int        `json:"pass,omitempty"`
	jsonChange
}

type jsonNotApplied struct {
	jsonName
	At     *jsonPlace `json:"at,omitempty"`
	Reason string     `json:"reason"`
}

type jsonDiagnostic struct {
	Severity string     `json:"severity"`
	Code     string     `json:"code"`
	Message  string     `json:"message"`
	Advice   string     `json:"advice,omitempty"`
	Subject  string     `json:"subject,omitempty"`
	Field    string     `json:"field,omitempty"`
	At       *jsonPlace `json:"at,omitempty"`
	// Related are further places, such as the rule that denies the manifest.
	Related []jsonNamedPlace `json:"related,omitempty"`
	// Facts are the expression of a rule, and the values that it has read.
	Facts []jsonFact `json:"facts,omitempty"`
	// Count is the number of places of which the same is said, and Also are the next of them.
	Count int              `json:"count,omitempty"`
	Also  []jsonNamedPlace `json:"also,omitempty"`
}

type jsonNamedPlace struct {
	Name string     `json:"name,omitempty"`
	At   *jsonPlace `json:"at,omitempty"`
}

func jsonDiagnosticOf(d source.Diagnostic) jsonDiagnostic {
	return jsonDiagnostic{d.Severity.String(), d.Code, d.Message, d.Advice, d.Subject, d.Field, place(d.At), namedPlaces(d.Related), jsonFacts(d.Facts), d.Count, namedPlaces(d.Also)}
}

// jsonFact is an expression or a value. Value is missing if the value is absent; a value that is hidden, or
// too long, is a text.
type jsonFact struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value,omitempty"`
	By    string          `json:"by,omitempty"`
	At    *jsonPlace      `json:"at,omitempty"`
}

func jsonFacts(facts []source.Fact) (out []jsonFact) {
	for _, f := range facts {
		one := jsonFact{Name: f.Name, Value: json.RawMessage(f.Value), By: f.By, At: place(f.At)}
		if f.Value != "" && !json.Valid(one.Value) {
			one.Value = manifest.JSON(f.Value)
		}
		out = append(out, one)
	}
	return out
}

func namedPlaces(places []source.Place) (out []jsonNamedPlace) {
	for _, p := range places {
		out = append(out, jsonNamedPlace{p.Name, place(p.At)})
	}
	return out
}

func place(p source.Position) *jsonPlace {
	if !p.IsKnown() {
		return nil
	}
	return &jsonPlace{p.File, p.Line, p.Column}
}

func jsonOf(m Manifest) jsonManifest {
	out := jsonManifest{ID: m.ID, MadeOf: m.MadeOf, Presence: string(m.presence), At: place(m.At), Edits: []jsonEdit{}}
	for _, p := range m.rendered() {
		out.RenderedIn = p.At.File
	}
	for _, e := range m.Edits {
		edit := jsonEdit{jsonChange: jsonChange{e.Op, e.Path, e.Old, e.New}, Pointer: e.Pointer, From: e.From, At: place(e.At), Causes: []jsonStep{}, Reasons: e.Reasons}
		for _, s := range e.Causes {
			edit.Causes = append(edit.Causes, jsonStepOf(s))
		}
		out.Edits = append(out.Edits, edit)
	}
	for _, s := range m.Dropped {
		out.Dropped = append(out.Dropped, jsonStepOf(s))
	}
	for _, n := range m.NotApplied {
		out.NotApplied = append(out.NotApplied, jsonNotApplied{jsonName{n.Policy, n.Binding, n.Param, n.Rule, "", n.Kind}, place(n.At), n.Reason})
	}
	out.Objections = jsonObjections(m.Objections)
	for _, a := range m.Audit {
		if out.AuditAnnotations == nil {
			out.AuditAnnotations = map[string]string{}
		}
		out.AuditAnnotations[a.Key] = a.Value
	}
	return out
}

func jsonStepOf(s Step) jsonStep {
	return jsonStep{jsonName{s.Policy, s.Binding, s.Param, s.Rule, s.Plugin, s.Kind}, string(s.Disposition), place(s.At), s.Pass, jsonChange{s.Op, s.Path, s.Old, s.New}}
}
