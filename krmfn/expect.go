package krmfn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// expectation is what a test expects of the objects with a name: values of fields, no change, or a
// denial, and what validating policies say besides.
type expectation struct {
	// object is KIND/NAME, which may contain the wildcards * and ?.
	object    string
	fields    []expectedField
	denied    string
	unchanged bool
	warnings  *expectedWarnings
	// annotations is nil if the test says nothing about annotations of the audit event.
	annotations expectedAnnotations
}

// expectedWarnings are parts of the warnings with which a server answers, one for each warning.
type expectedWarnings []string

// expectedAnnotations has a part of the value of each annotation of the audit event, by its key.
type expectedAnnotations map[string]string

// expectedField is a field and its expected value. A nil value means that the field must be
// absent.
type expectedField struct {
	path  change.Path
	value any
}

// expectationFields are the fields of an entry of spec.objects.
var expectationFields = []string{"object", "fields", "unchanged", "denied", "warnings", "auditAnnotations"}

// expectations reads spec.objects of a test.
func (f *functionConfig) expectations(value any) []expectation {
	var all []expectation
	settings.List(f, value, change.Keys("spec", "objects"), func(item any, at change.Path) {
		entry, ok := item.(map[string]any)
		if !ok {
			f.fail(at, "option-value", "expected a map with object, and fields, unchanged, denied, warnings or auditAnnotations", "")
			return
		}
		for name := range entry {
			if !slices.Contains(expectationFields, name) {
				f.unknown(at.Key(name), "unknown field", source.Suggest(name, expectationFields))
			}
		}
		all = append(all, f.expectation(entry, at))
	})
	if items, ok := value.([]any); ok && len(items) == 0 {
		f.fail(change.Keys("spec", "objects"), "option-value", "expected at least one object, because a test of none always passes", "")
	}
	return all
}

// expectation reads an entry of spec.objects.
func (f *functionConfig) expectation(entry map[string]any, at change.Path) expectation {
	var e expectation
	e.object, _ = entry["object"].(string)
	e.denied, _ = entry["denied"].(string)
	e.unchanged = entry["unchanged"] == true
	if fields, given := entry["fields"]; given {
		e.fields = f.expectedFields(fields, at.Key("fields"))
	}
	if texts, given := entry["warnings"]; given {
		e.warnings = f.expectedWarnings(texts, at.Key("warnings"))
	}
	if values, given := entry["auditAnnotations"]; given {
		e.annotations = f.expectedAnnotations(values, at.Key("auditAnnotations"))
	}
	if e.object == "" {
		f.fail(at, "option-value", "expected object: KIND/NAME, which may contain the wildcards * and ?", "")
	}
	given := 0
	for _, is := range []bool{len(e.fields) > 0, e.unchanged, e.denied != ""} {
		if is {
			given++
		}
	}
	if given > 1 || given == 0 && e.warnings == nil && e.annotations == nil {
		f.fail(at, "option-value", "expected one of fields (paths with values), unchanged: true, and denied (a part of the message), or warnings (a part of each), or auditAnnotations (keys with a part of the value)", "")
	}
	return e
}

// expectedWarnings reads a list of texts. It returns nil if the value is wrong.
func (f *functionConfig) expectedWarnings(value any, at change.Path) *expectedWarnings {
	items, ok := value.([]any)
	expected := expectedWarnings{}
	for _, item := range items {
		text, _ := item.(string)
		ok = ok && text != ""
		expected = append(expected, text)
	}
	if !ok {
		f.fail(at, "option-value", "expected a list of texts, each a part of one warning", "")
		return nil
	}
	return &expected
}

// expectedAnnotations reads a map of texts. It returns nil if the value is wrong.
func (f *functionConfig) expectedAnnotations(value any, at change.Path) expectedAnnotations {
	items, ok := value.(map[string]any)
	expected := expectedAnnotations{}
	for key, item := range items {
		text, _ := item.(string)
		ok = ok && text != ""
		expected[key] = text
	}
	if !ok {
		f.fail(at, "option-value", "expected a map of keys, such as POLICY/KEY, to texts, each a part of the value", "")
		return nil
	}
	return expected
}

// unmet returns the expected annotations that are missing or have another value, and the annotations that
// nobody expects.
func (e expectedAnnotations) unmet(said []policy.Annotation) (problems []string) {
	shown := map[string]string{}
	for _, a := range said {
		shown[a.Key] = a.Shown
	}
	keys := slices.Sorted(maps.Keys(shown))
	for _, key := range slices.Sorted(maps.Keys(e)) {
		value, there := shown[key]
		switch {
		case !there:
			problem := fmt.Sprintf("expected the audit annotation %s with %q", key, e[key])
			if advice := source.Suggest(key, keys).Text; advice != "" && len(keys) > 0 {
				problem += "; " + advice
			}
			problems = append(problems, problem)
		case !strings.Contains(value, e[key]):
			problems = append(problems, fmt.Sprintf("expected the audit annotation %s with %q, but got: %s", key, e[key], value))
		}
	}
	for _, key := range keys {
		if _, expected := e[key]; !expected {
			problems = append(problems, fmt.Sprintf("did not expect the audit annotation %s: %s", key, shown[key]))
		}
	}
	return problems
}

// unmet returns the expected texts that no warning has, and the warnings that no text expects.
func (e expectedWarnings) unmet(said []string) (problems []string) {
	for _, text := range e {
		i := slices.IndexFunc(said, func(warning string) bool { return strings.Contains(warning, text) })
		if i < 0 {
			problems = append(problems, fmt.Sprintf("expected a warning with %q", text))
			continue
		}
		said = slices.Delete(slices.Clone(said), i, i+1)
	}
	for _, warning := range said {
		problems = append(problems, "did not expect the warning: "+warning)
	}
	return problems
}

// warningsIn returns the warnings that a server sends with its answers to requests.
func warningsIn(diagnostics []source.Diagnostic) []string {
	var texts []string
	for _, d := range diagnostics {
		if d.Code == source.CodePolicyWarning || d.Code == source.CodeWouldBeDenied {
			texts = append(texts, d.Printed())
		}
	}
	return texts
}

func (f *functionConfig) expectedFields(value any, at change.Path) []expectedField {
	fields, ok := value.(map[string]any)
	if !ok {
		f.fail(at, "option-value", "expected a map of field paths, such as spec.template.spec.containers[0].image, to values", "")
		return nil
	}
	var all []expectedField
	for name, want := range fields {
		path, err := change.ParsePath(name)
		if err != nil {
			f.fail(at.Key(name), "option-value", err.Error(), "write it as spec.containers[0].image or metadata.labels[example.com/team]")
		}
		all = append(all, expectedField{path, want})
	}
	slices.SortFunc(all, func(a, b expectedField) int { return strings.Compare(a.path.String(), b.path.String()) })
	return all
}

// judgeObjects returns the expectations that are not met, and the other errors of the run.
func (r *testRun) judgeObjects(all []expectation) string {
	if r.run.outcome == nil {
		return problemsOf(r.run.diagnostics)
	}
	var b strings.Builder
	names, said := r.names(), r.run.bySubject()
	expected := map[string]bool{} // by ID: objects that must be denied
	for _, e := range all {
		called := report.Called(e.object, names)
		for _, i := range called {
			m := r.run.outcome.Manifests[i]
			if e.denied != "" {
				expected[m.ID] = true
			}
			for _, problem := range r.unmet(e, m, said[m.ID]) {
				fmt.Fprintf(&b, "%s: %s\n", m.ID, problem)
			}
		}
		if len(called) == 0 {
			fmt.Fprintf(&b, "no manifest has the name %s\n", e.object)
		}
	}
	others := slices.DeleteFunc(slices.Clone(r.run.diagnostics), func(d source.Diagnostic) bool {
		return isDenial(d) && expected[d.Subject] || d.Severity != source.Error
	})
	return b.String() + problemsOf(others)
}

// names returns the numbers of the manifests by the names that an expectation may use.
func (r *testRun) names() map[string][]int {
	names := map[string][]int{}
	for i, m := range r.run.outcome.Manifests {
		kind := m.Document.Kind()
		groupKind, name := strings.TrimPrefix(kind.Group+"/"+kind.Kind, "/"), strings.TrimPrefix(m.Namespace+"/"+m.Document.Name(), "/")
		for _, called := range report.NamesOf(m.ID, groupKind, name) {
			called = strings.ToLower(called)
			if numbers := names[called]; len(numbers) == 0 || numbers[len(numbers)-1] != i {
				names[called] = append(numbers, i)
			}
		}
	}
	return names
}

// bySubject returns the diagnostics of each object by its ID.
func (a *admission) bySubject() map[string][]source.Diagnostic {
	by := map[string][]source.Diagnostic{}
	for _, d := range a.diagnostics {
		by[d.Subject] = append(by[d.Subject], d)
	}
	return by
}

func isDenial(d source.Diagnostic) bool { return d.Code == source.CodeDenied }

// unmet returns how a manifest differs from an expectation. diagnostics are those of the manifest.
func (r *testRun) unmet(e expectation, m *engine.Manifest, diagnostics []source.Diagnostic) (problems []string) {
	var denials []string
	for _, d := range diagnostics {
		if isDenial(d) {
			denials = append(denials, d.Text())
		}
	}
	if e.warnings != nil {
		problems = e.warnings.unmet(warningsIn(diagnostics))
	}
	if e.annotations != nil {
		problems = append(problems, e.annotations.unmet(m.Audit)...)
	}
	said := strings.Join(denials, "\n")
	switch {
	case e.denied != "" && len(denials) == 0:
		return append(problems, fmt.Sprintf("expected a message with %q, but the policies did not deny it", e.denied))
	case e.denied != "" && !strings.Contains(said, e.denied):
		return append(problems, fmt.Sprintf("expected a message with %q, but got\n%s", e.denied, said))
	case len(denials) > 0:
		return problems // judgeObjects reports the denial
	case e.unchanged && m.Document.Changed():
		before, after := m.Document.Text()
		return append(problems, "expected no change, but got\n"+r.change(m, before, after))
	}
	return append(problems, r.unmetFields(e, m)...)
}

// change returns a diff of a manifest, without the values of Secrets.
func (r *testRun) change(m *engine.Manifest, before, after string) string {
	name := m.Document.At(nil).File
	f := report.Compare(name, before+"\n", after+"\n", report.Hidden([]*manifest.Document{m.Document}, r.run.outcome), r.run.secrets(&r.config))
	return strings.TrimRight(report.Diff(name+"\twritten", name+"\tadmitted", f.Before, f.After), "\n")
}

// unmetFields returns the fields of a manifest that do not have the expected values.
func (r *testRun) unmetFields(e expectation, m *engine.Manifest) (problems []string) {
	_, after := m.Document.Text()
	object, err := manifest.Value(after)
	if err != nil {
		return []string{fmt.Sprintf("the output cannot be parsed: %v", err)}
	}
	for _, f := range e.fields {
		got, there := f.path.Get(object)
		met := there == (f.value != nil) && change.Equal(got, f.value)
		switch {
		case !met && m.Sensitive && !r.config.options.ShowSecrets:
			problems = append(problems, fmt.Sprintf("%s is not as expected; the values are hidden, and --show-secrets shows them", f.path))
		case !met && f.value == nil:
			problems = append(problems, fmt.Sprintf("%s: expected no such field, but got %s", f.path, r.show(got)))
		case !met && !there:
			problems = append(problems, fmt.Sprintf("%s: expected %s, but the field is missing", f.path, r.show(f.value)))
		case !met:
			problems = append(problems, fmt.Sprintf("%s: expected %s, but got %s", f.path, r.show(f.value), r.show(got)))
		}
	}
	return problems
}

// show returns a value as JSON, without the values of Secrets.
func (r *testRun) show(value any) string {
	return r.run.secrets(&r.config).Text(string(manifest.JSON(value)))
}
