package policydoc

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

const document = `apiVersion: example.com/v1
kind: Rules
metadata: {name: Some}
spec:
  list: x
  texts: [a, 1]
  text: 2
  known: {other: 1}
  rule: "1 +"
`

func reader(t *testing.T, text string) *Reader {
	t.Helper()
	stream, problems := manifest.Read("p.yaml", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return New(stream.Documents()[0])
}

func (r *Reader) lines() string {
	var all []string
	for _, p := range r.Problems {
		line := fmt.Sprintf("%d:%d %s %s %s %s: %s", p.At.Line, p.At.Column, p.Severity, p.Code, p.Subject, p.Field, p.Message)
		if p.Advice != "" {
			line += " (" + p.Advice + ")"
		}
		if p.Excerpt == "" {
			line += " without an excerpt"
		}
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

// TestReader checks that each problem of a document is reported at its position.
func TestReader(t *testing.T) {
	r := reader(t, document)
	spec := r.Root.At("spec")
	r.Name()
	r.List(spec.At("list"))
	r.Strings(spec.At("texts"))
	r.String(spec.At("text"))
	r.Fields(spec.At("known"), []string{"one", "two"})
	r.Fields(spec.At("list"), nil)
	r.Fields(spec.At("missing"), nil)
	r.Required(spec.At("missing"), "it is needed")
	r.Required(spec.At("missing"), "")
	r.Unsupported(spec.At("list"), "a", "b")
	r.Note(spec.At("list"), source.Warning, "some-code", "note", "advice")
	r.Matched(spec.At("known"), []match.Problem{{Path: change.Keys("other"), Text: "text"}, {Text: "text", Field: "own"}})
	r.Compiled(spec.At("rule"), &celenv.CompileError{Text: "ERROR\n | 1 +", Offset: 3})
	r.Compiled(spec.At("rule"), errors.New("fault"))
	r.Compiled(spec.At("rule"), nil)
	want := `3:18 error policy-invalid Rules Some metadata.name: Invalid value: "Some": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*') (use lower case: some)
5:9 error policy-invalid Rules Some spec.list: expected a list
6:14 error policy-invalid Rules Some spec.texts[1]: expected a string (quote the value)
7:9 error policy-invalid Rules Some spec.text: expected a string (quote the value)
8:18 error policy-field-unknown Rules Some spec.known.other: unknown field "other" (expected one, two)
5:9 error policy-invalid Rules Some spec.list: expected a map
5:3 error policy-invalid Rules Some spec.missing: the field is required
5:3 error policy-invalid Rules Some spec.missing: Required value: it is needed
5:3 error policy-invalid Rules Some spec.missing: Required value
5:9 error policy-invalid Rules Some spec.list: Unsupported value: "x": supported values: "a", "b"
5:9 warning some-code Rules Some spec.list: note (advice)
8:18 error policy-invalid Rules Some spec.known.other: text
8:10 error policy-invalid Rules Some spec.known.own: text
9:13 error expression-invalid Rules Some spec.rule: Invalid value: ERROR
 | 1 + without an excerpt
9:10 error expression-invalid Rules Some spec.rule: Internal error: fault`
	if got := r.lines(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for path, sound := range map[string]bool{"known": false, "missing": false, "nothing": true} {
		if r.IsSound(spec.At(path)) != sound {
			t.Errorf("IsSound(%s) is not %t", path, sound)
		}
	}
}

// TestValues checks that lines with values are not quoted, and that errors in them have the code
// of values.
func TestValues(t *testing.T) {
	r := reader(t, document)
	r.Values = true
	r.List(r.Root.At("spec", "list"))
	r.Note(r.Root.At("spec", "list"), source.Warning, "some-code", "note", "")
	want := "5:9 error values-invalid Rules Some spec.list: expected a list without an excerpt\n5:9 warning some-code Rules Some spec.list: note without an excerpt"
	if got := r.lines(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestNoName checks the messages about a document without a name.
func TestNoName(t *testing.T) {
	r := reader(t, "apiVersion: v1\nkind: Rules\nmetadata: {labels: {}}\n")
	if name := r.Name(); name != "" || r.lines() != "3:11 error policy-invalid Rules metadata.name: Required value: name or generateName is required" {
		t.Errorf("%q: %s", name, r.lines())
	}
}
