package tfprovider

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// message is a diagnostic for users. Its text may be shown.
type message struct {
	severity source.Severity
	// at is the attribute or argument that it is about; empty if there is no such attribute.
	at path.Path
	// code is the code of a source.Diagnostic, title the kind of message.
	code, title, detail string
}

// summary returns the first line of the message.
func (m message) summary() string { return m.title + " [" + m.code + "]" }

// text returns the whole message as one text. Terraform adds a full stop, which must not look like
// a part of a key in quotes.
func (m message) text() string {
	if m.detail != "" && strings.ContainsRune("\"?", rune(m.detail[len(m.detail)-1])) {
		return m.title + ": " + m.detail + " [" + m.code + "]"
	}
	return m.summary() + ": " + m.detail
}

// isInterruption reports whether a text is a message about an interruption.
func isInterruption(text string) bool { return strings.Contains(text, "[interrupted]") }

// titles are the titles of messages by code. Other codes get a title from the subject of the
// message.
var titles = map[string]string{
	"argument-invalid":       "Unexpected Argument",
	"context-cycle":          "Context Cycle",
	"denied":                 "Denied by Policy",
	"document-count":         "Invalid Manifest",
	"empty-stream":           "No Manifests",
	"internal":               "Internal Error",
	"interrupted":            "Interrupted",
	"limit-input-size":       "Input Too Large",
	"manifest-defined-twice": "Duplicate Manifest",
	"no-policies":            "No Policies",
	codeVacant:               "No Policies",
	"not-idempotent":         "Policies Not Idempotent",
	"openapi-invalid":        "Invalid OpenAPI Document",
	"option-unknown":         "Invalid Option",
	"option-value":           "Invalid Option",
	"path-unreadable":        "Unreadable File",
	"secret-exposed":         "Secret in Clear Text",
}

// add adds diagnostics, each only once: errors in policies are found twice if there are policies
// among the manifests.
func (a *admission) add(diagnostics ...source.Diagnostic) {
	for _, d := range source.Fold(diagnostics, source.FewPlaces) {
		if d.Severity == source.Info {
			continue
		}
		at, kind := a.origin(d.At.File)
		if d.Code == "option-value" { // the table of options checks all others
			for _, o := range []string{"kubernetes-version", "admission-plugins"} {
				if attribute := strings.ReplaceAll(o, "-", "_"); strings.HasPrefix(d.Printed(), "option "+o+":") {
					at = path.Root(attribute)
					d = d.Saying(source.Messagef("%s", strings.Replace(d.Printed(), o, attribute, 1)))
				}
			}
		}
		m := message{severity: d.Severity, at: at, code: d.Code, title: titles[d.Code], detail: a.detail(d)}
		switch {
		case m.title != "":
		case d.Severity == source.Warning:
			m.title = kind + " Warning"
		default:
			m.title = "Invalid " + kind
		}
		if text := m.text(); !a.reported[text] {
			a.reported[text] = true
			a.problems = append(a.problems, m)
		}
	}
}

// origin returns the attribute or argument of a text, and what it contains.
func (a *admission) origin(name string) (path.Path, string) {
	if a.origins == nil {
		a.indexOrigins()
	}
	if found, ok := a.origins[name]; ok {
		return found.at, found.kind
	}
	return path.Empty(), "Policy"
}

// origin is where a text was given, and what it contains.
type origin struct {
	at   path.Path
	kind string
}

// indexOrigins notes by name where each text was given.
func (a *admission) indexOrigins() {
	a.origins = map[string]origin{}
	c := a.config
	for role, kind := range kinds {
		for _, t := range slices.Concat(c.texts[role], c.sensitive[role]) {
			if _, ok := a.origins[t.name]; !ok {
				a.origins[t.name] = origin{t.at, kind}
			}
		}
	}
}

// kinds describe the documents of each role in titles.
var kinds = [settings.Roles]string{
	settings.Manifests: "Manifest", settings.Policies: "Policy", settings.Context: "Context", settings.Old: "Old Object",
	settings.OpenAPI: "OpenAPI Document", settings.Values: "Values", settings.UserInfo: "User Info", settings.WebhookAnswers: "Webhook Answers",
}

// detail returns the text of a diagnostic.
func (a *admission) detail(d source.Diagnostic) string {
	var b strings.Builder
	if where := a.where(d.At); where != "" {
		b.WriteString(where + ": ")
	}
	for _, name := range []string{d.Subject, d.Field} {
		if name != "" {
			b.WriteString(source.Printable(name) + ": ")
		}
	}
	b.WriteString(d.Printed())
	for _, p := range d.Related {
		fmt.Fprintf(&b, "\n\n%s: %s", a.where(p.At), source.Printable(p.Name))
	}
	for _, f := range d.Facts {
		f.At.File = a.where(f.At)
		f.At.Line = 0
		b.WriteString("\n\n" + f.String())
	}
	for _, extra := range []string{d.Advice, d.Excerpt} {
		if extra != "" {
			b.WriteString("\n\n" + source.PrintableDetail(extra))
		}
	}
	for i, p := range d.Also {
		d.Also[i].At.File = a.where(p.At)
		d.Also[i].At.Line = 0
	}
	if others := d.Others(); others != nil {
		b.WriteString("\n\n" + strings.Join(others, "\n"))
	}
	return b.String()
}

// where returns a position for users: "manifests[1], document 2, line 7, column 3".
func (a *admission) where(p source.Position) string {
	where := source.Printable(p.File)
	if p.Line == 0 {
		return where
	}
	if number := a.documentNumber(p); number > 0 {
		where += fmt.Sprintf(", document %d", number)
	}
	where += fmt.Sprintf(", line %d", p.Line)
	if p.Column > 0 {
		where += fmt.Sprintf(", column %d", p.Column)
	}
	return where
}

// documentNumber counts the documents of a manifest up to a position. It returns 0 for positions
// outside of manifests.
func (a *admission) documentNumber(p source.Position) int {
	for _, t := range a.texts() {
		if t.name == p.File {
			return documentAt(t.data, p.Line)
		}
	}
	return 0
}

// documentAt counts the documents with content of a stream up to a line.
func documentAt(stream string, number int) int {
	count, content := 0, false
	for line := range strings.Lines(stream) {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "---") && strings.Trim(text, "-") == "" || strings.HasPrefix(line, "--- "):
			content = false
		case text != "" && text[0] != '#' && !content:
			content = true
			count++
		}
		if number--; number == 0 {
			break
		}
	}
	return max(count, 1)
}

// errorf returns an error message of the provider.
func errorf(at path.Path, code, format string, args ...any) message {
	return message{source.Error, at, code, titles[code], source.Messagef(format, args...).Printable()}
}

// report adds the messages to diagnostics.
func (a *admission) report(diagnostics *diag.Diagnostics) {
	for _, m := range a.problems {
		m.report(diagnostics)
	}
}

func (m message) report(diagnostics *diag.Diagnostics) {
	var d diag.Diagnostic
	if m.severity == source.Warning {
		d = diag.NewWarningDiagnostic(m.summary(), m.detail)
	} else {
		d = diag.NewErrorDiagnostic(m.summary(), m.detail)
	}
	if len(m.at.Steps()) > 0 {
		d = diag.WithPath(m.at, d)
	}
	diagnostics.Append(d)
}

// warnings returns the texts of the warnings.
func (a *admission) warnings() []string {
	found := []string{}
	for _, m := range a.problems {
		if m.severity == source.Warning {
			found = append(found, m.detail)
		}
	}
	return found
}
