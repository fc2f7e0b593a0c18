package report

import (
	"fmt"
	"io"

	"github.com/preadmit/preadmit/engine/source"
)

// Findings are a report as a list of messages with positions, which is what the
// formats of code scanners and CI systems hold: the diagnostics, and for every edit a
// warning with code "mutation" at its place in the manifest.
func Findings(r *Report) []source.Diagnostic {
	findings := append([]source.Diagnostic{}, r.Diagnostics...)
	for _, m := range r.Manifests {
		for _, e := range m.Edits {
			message := change1(e.Op, e.Path, e.Old, e.New, false)
			advice := ""
			for _, s := range e.Causes {
				advice += fmt.Sprintf("by %s%s\n", s.by(), at(s.At))
			}
			findings = append(findings, source.Diagnostic{
				At: e.At, Severity: source.Warning, Code: "mutation", Subject: m.ID, Message: message, Advice: trimEnd(advice),
			})
		}
	}
	source.Sort(findings)
	return findings
}

func trimEnd(text string) string {
	if text == "" {
		return ""
	}
	return text[:len(text)-1]
}

// FindingsJSON writes findings as JSON.
func FindingsJSON(w io.Writer, findings []source.Diagnostic) {
	out := []jsonDiagnostic{}
	for _, d := range findings {
		out = append(out, jsonDiagnostic{d.Severity.String(), d.Code, d.Message, d.Advice, d.Subject, d.Field, place(d.At)})
	}
	writeJSON(w, map[string]any{"findings": out})
}
