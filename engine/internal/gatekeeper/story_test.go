package gatekeeper

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

var update = flag.Bool("update", false, "rewrite what the stories tell")

// TestStories runs the stories in testdata. Each story begins with a title, the mutators and the
// rest of the setup, one per line. The results follow:
//
//	# title
//	KIND NAME | location | parameters | other fields of the spec
//	object {…}             fields of the Widget in the request besides its kind and name
//	kind GROUP/VERSION KIND
//	namespace NAME {…}     with labels
//	provider NAME {…}      answers by their keys
//	config {…}             an entry of match of Gatekeeper's Config
//	webhook {…}            fields of the webhook in its configuration
//	user NAME, operation NAME
//	check                  checks the mutators, without a request
//	? a finding of the check
//	~ a warning
//	! an error
//	+ a mutator and its change
//	- a mutator that changes nothing, and why
//	= the object, without the fields that every Widget has
//
// The results were compared with Gatekeeper v3.23.1.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no stories (%v)", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, text := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
			s := readStory(t, text)
			told = append(told, strings.Join(append(s.lines, s.happens(t)...), "\n"))
		}
		got := strings.Join(told, "\n\n") + "\n"
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for i, text := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
			if told[i] != text {
				t.Errorf("%s: got (run with -update to accept it)\n%s\nwant\n%s", file, told[i], text)
			}
		}
	}
}

// story is a story of testdata.
type story struct {
	lines      []string
	checks     bool
	documents  []*manifest.Document
	object     map[string]any
	namespaces map[string]map[string]any
	request    policy.Request
}

// widget returns the default object of a story.
func widget() map[string]any {
	return map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": "shop"}}
}

func readStory(t *testing.T, text string) *story {
	t.Helper()
	s := &story{object: widget(), namespaces: map[string]map[string]any{}}
	s.request.Operation = policy.Create
	for line := range strings.SplitSeq(text, "\n") {
		if strings.ContainsAny(line[:1], "~!+-=?") {
			continue
		}
		s.lines = append(s.lines, line)
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "#":
		case "object":
			maps.Copy(s.object, flow(t, rest))
		case "kind":
			s.object["apiVersion"], s.object["kind"], _ = strings.Cut(rest, " ")
		case "namespace":
			name, labels, _ := strings.Cut(rest, " ")
			s.namespaces[name] = flow(t, labels)
		case "provider":
			name, answers, _ := strings.Cut(rest, " ")
			var items []any
			for key, value := range flow(t, answers) {
				items = append(items, map[string]any{"key": key, "value": value})
			}
			s.add(t, map[string]any{
				"apiVersion": responseKind.Group + "/v1beta1", "kind": responseKind.Kind, "metadata": map[string]any{"name": name},
				"response": map[string]any{"idempotent": true, "items": items},
			})
		case "response":
			s.add(t, flow(t, rest))
		case "config":
			s.add(t, map[string]any{
				"apiVersion": configKind.Group + "/v1alpha1", "kind": configKind.Kind, "metadata": map[string]any{"name": "config", "namespace": home},
				"spec": map[string]any{"match": []any{flow(t, rest)}},
			})
		case "webhook":
			webhook := flow(t, rest)
			webhook["name"] = webhookName
			s.add(t, map[string]any{
				"apiVersion": admissionGroup + "/v1", "kind": configurationKind.Kind, "metadata": map[string]any{"name": configuration},
				"webhooks": []any{webhook},
			})
		case "user":
			s.request.User.Name = rest
		case "check":
			s.checks = true
		case "operation":
			s.request.Operation = policy.Operation(rest)
		default:
			s.add(t, mutatorOf(t, line))
		}
	}
	return s
}

// flow parses a map that is written on one line.
func flow(t *testing.T, text string) map[string]any {
	t.Helper()
	value, err := manifest.Value(text)
	object, ok := value.(map[string]any)
	if !ok {
		t.Fatalf("%s: %v", text, err)
	}
	return object
}

// mutatorOf returns the document of a mutator that is written on one line.
func mutatorOf(t *testing.T, line string) map[string]any {
	t.Helper()
	parts := append(strings.Split(line, " | "), "", "")
	kind, name, _ := strings.Cut(parts[0], " ")
	spec := map[string]any{"location": parts[1], "parameters": flow(t, "{"+parts[2]+"}")}
	apiVersion := group + "/" + served[kind][0]
	if kind != assignMetadataKind {
		spec["applyTo"] = []any{flow(t, "{groups: [example.com], versions: [v1], kinds: [Widget]}")}
	}
	maps.Copy(spec, flow(t, "{"+parts[3]+"}"))
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}
}

func (s *story) add(t *testing.T, object map[string]any) {
	t.Helper()
	stream, diagnostics := manifest.Read("p.yaml", manifest.JSON(object))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	s.documents = append(s.documents, stream.Documents()...)
}

// happens returns the results of a story.
func (s *story) happens(t *testing.T) (lines []string) {
	tell := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	tellAll := func(diagnostics ...source.Diagnostic) {
		for _, d := range diagnostics {
			mark := "~"
			if d.Severity == source.Error {
				mark = "!"
			}
			tell("%s %s: %s", mark, d.Code, strings.ReplaceAll(d.Message, "\n", " "))
		}
	}
	programs, diagnostics := New().Compile(s.documents, nil)
	tellAll(diagnostics...)
	if source.HasErrors(diagnostics) {
		return lines
	}
	program := programs[0]
	r := s.requestFor(t)
	warned := map[string]bool{}
	r.Warn = func(d source.Diagnostic) {
		if !warned[d.Message] {
			warned[d.Message] = true
			tellAll(d)
		}
	}
	if s.checks {
		for _, d := range program.Check(r.Schemas, nil) {
			tell("? %d:%d %s: %s%s", d.At.Line, d.At.Column, d.Code, d.Message, strings.TrimSuffix(" ("+d.Advice+")", " ()"))
		}
		return lines
	}
	before := change.CloneObject(r.Object)
	plan := program.Plan(r)
	for _, n := range plan.NotApplied {
		tell("- %s: %s", n.ID.Policy, n.Reason)
	}
	for _, f := range plan.Failures {
		tell("! %v", f.Err)
	}
	object := r.Object
	for _, invocation := range plan.Invocations {
		for step := range invocation.Steps(r) {
			switch {
			case step.Failure != nil:
				tell("! %v", step.Failure.Err)
			case step.NotApplied != nil:
				tell("- %s: %s", step.ID.Policy, step.NotApplied.Reason)
			default:
				for _, c := range change.Diff(object, step.Object, nil) {
					tell("+ %s: %s", step.ID, c)
				}
				object = step.Object
			}
		}
	}
	if !change.Equal(before, r.Object) {
		t.Errorf("%s: the object is modified", s.lines[0])
	}
	if !change.Equal(object, before) {
		tell("= %s", manifest.JSON(s.short(object)))
	}
	return lines
}

// short returns an object without the fields that it had before.
func (s *story) short(object map[string]any) map[string]any {
	short := maps.Clone(object)
	maps.DeleteFunc(short, func(key string, value any) bool { return change.Equal(value, widget()[key]) })
	return short
}

func (s *story) requestFor(t *testing.T) *policy.Request {
	t.Helper()
	schemas := schema.Builtin().Clone()
	if problems := schemas.AddCRD(flow(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Widget, plural: widgets, singular: widget},
		versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`)); len(problems) > 0 {
		t.Fatal(problems)
	}
	shot := &snapshot.Snapshot{}
	for name, labels := range s.namespaces {
		shot.Put(namespaceKind, "", name, func(*snapshot.Reader) (map[string]any, error) {
			return map[string]any{"metadata": map[string]any{"name": name, "labels": labels}}, nil
		})
	}
	kind := gvk.Parse(s.object["apiVersion"].(string), s.object["kind"].(string))
	r := s.request
	r.Context, r.Object, r.Schemas, r.Snapshot = t.Context(), s.object, schemas, shot.Reader(nil)
	if r.Kind = schemas.Lookup(kind); r.Kind == nil {
		r.Kind = schemas.Unknown(kind)
	}
	r.Name, r.Namespace = textIn(s.object, "metadata", "name"), textIn(s.object, "metadata", "namespace")
	if isNamespace(kind) {
		r.Namespace = r.Name
	}
	return &r
}

// TestRefusedDocuments shows every error about a document, with its position.
func TestRefusedDocuments(t *testing.T) {
	text, err := os.ReadFile("testdata/refused/policies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	stream, diagnostics := manifest.Read("policies.yaml", text)
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	_, diagnostics = New().Compile(stream.Documents(), nil)
	source.Sort(diagnostics)
	var b strings.Builder
	told := map[string]bool{}
	for _, d := range diagnostics {
		b.WriteString(d.String() + "\n\n")
		told[d.Subject] = true
	}
	for _, d := range stream.Documents() {
		if subject := strings.TrimSpace(d.Kind().Kind + " " + d.Name()); !told[subject] {
			t.Errorf("%s: nothing is said of it", subject)
		}
	}
	const golden = "testdata/refused/golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || b.String() != string(want) {
		t.Errorf("got (run with -update to accept it)\n%s\nwant\n%s\n%v", b.String(), want, err)
	}
}

// TestOrderOfDocuments checks that the order of documents does not matter.
func TestOrderOfDocuments(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for text := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
			s := readStory(t, text)
			want := s.happens(t)
			slices.Reverse(s.documents)
			got := s.happens(t)
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: got\n%s\nwant\n%s", s.lines[0], strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}
