package report

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
)

// Findings returns a report as a list of messages with positions, for the formats of code scanners
// and CI systems. The list has the diagnostics, and a warning with code "mutation" for every edit
// at its position in the manifest. Between two states of a repository, edits are notes with code
// "difference".
func Findings(r *Report) []source.Diagnostic {
	findings := append([]source.Diagnostic{}, r.Diagnostics...)
	for _, m := range r.Manifests {
		findings = append(findings, m.findings(r.Full)...)
	}
	source.Sort(findings)
	return r.fold(findings)
}

// fold joins findings that say the same of several places.
func (r *Report) fold(findings []source.Diagnostic) []source.Diagnostic {
	if r.Verbose {
		return source.Fold(findings, len(findings))
	}
	return source.Fold(findings, source.FewPlaces)
}

// findings returns the edits of a manifest as warnings, with whole values if full is true.
func (m *Manifest) findings(full bool) []source.Diagnostic {
	var findings []source.Diagnostic
	if m.presence != "" {
		findings = append(findings, source.Diagnostic{At: m.At, Severity: source.Info, Code: "difference", Subject: m.ID, Message: "the object is " + string(m.presence), Related: m.rendered()})
	}
	for _, e := range m.Edits {
		severity, code := source.Warning, "mutation"
		var causes []string
		if e.Reasons != nil {
			severity, code = source.Info, "difference"
			for _, reason := range e.Reasons {
				isCause := func(s Step) bool { return s.reason() == reason } // the causes have their positions
				if !slices.ContainsFunc(e.Causes, isCause) {
					causes = append(causes, "by "+reason)
				}
			}
		}
		for _, s := range e.Causes {
			causes = append(causes, "by "+s.by()+at(s.At))
		}
		findings = append(findings, source.Diagnostic{
			At: e.At, Severity: severity, Code: code, Subject: m.ID,
			Message: e.difference().oneLine(full, false), Advice: strings.Join(causes, "\n"), Related: m.rendered(),
		})
	}
	return findings
}

// inFile returns the position of a finding in a file: At, or the first related place if At is in
// standard input or unknown.
func inFile(d source.Diagnostic) source.Position {
	isFile := func(p source.Position) bool { return p.IsKnown() && p.File != "-" }
	if !isFile(d.At) {
		for _, p := range d.Related {
			if isFile(p.At) {
				return p.At
			}
		}
		return source.Position{}
	}
	return d.At
}

// about returns the indexes of the manifests that a diagnostic is about: the manifest that starts
// at its Origin, or else all manifests with its subject.
func (r *Report) about(d source.Diagnostic) []int {
	var found []int
	for i, m := range r.Manifests {
		switch {
		case m.ID != d.Subject:
		case m.Origin == d.Origin:
			return []int{i}
		default:
			found = append(found, i)
		}
	}
	return found
}

// failed returns the indexes of the manifests that were not admitted, which have errors.
func (r *Report) failed() map[int]bool {
	failed := map[int]bool{}
	for _, d := range r.Diagnostics {
		if d.Severity == source.Error {
			for _, i := range r.about(d) {
				failed[i] = true
			}
		}
	}
	return failed
}

// denied returns which of the failed manifests policies deny, and have no other error.
func (r *Report) denied(failed map[int]bool) map[int]bool {
	denied := maps.Clone(failed)
	for _, d := range r.Diagnostics {
		if d.Severity == source.Error && d.Code != source.CodeDenied {
			for _, i := range r.about(d) {
				delete(denied, i)
			}
		}
	}
	return denied
}

// FindingsJSON writes findings as JSON. kyvernoVersion is that of the outcome.
func FindingsJSON(w io.Writer, findings []source.Diagnostic, kyvernoVersion string) {
	writeJSON(w, struct {
		Findings       []jsonDiagnostic `json:"findings"`
		KyvernoVersion string           `json:"kyvernoVersion,omitempty"`
	}{diagnosticsJSON(findings), kyvernoVersion})
}
