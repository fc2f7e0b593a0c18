package editor

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
)

// State is what is known about a workspace. It does not change. The zero State knows nothing.
type State struct {
	// Schemas are the kinds and their fields.
	Schemas *engine.Schemas

	// streams are all files, and outcome is that of the run; nil before the first one. What follows is made of
	// them when someone asks.
	streams  []*manifest.Stream
	outcome  *engine.Outcome
	listed   sync.Once
	list     []Object
	reported sync.Once
	// report and matrix say what the policies do.
	report *report.Report
	matrix *report.Matrix
	// views are the manifests as policies see them.
	viewed    sync.Once
	views     []view
	redactor  *redact.Redactor
	lock      sync.Mutex
	functions map[string][]engine.Function
}

// Object is a document in a file.
type Object struct {
	Kind            gvk.Kind
	Name, Namespace string
	// At is the start of the document, and NameAt the position of its name.
	At, NameAt source.Position
	// IsPolicy says that the document belongs to a policy language.
	IsPolicy bool
	// Policy is the policy that a binding names, and PolicyAt the place where it does.
	Policy   string
	PolicyAt source.Position

	document *manifest.Document
}

func (o Object) name() string      { return o.Name }
func (o Object) namespace() string { return o.Namespace }

// view is a manifest as policies see it.
type view struct {
	id     string
	kind   gvk.Kind
	object map[string]any
	// by are the policies that match it.
	by []string
}

// NewState returns the state of a workspace: its files, and the outcome of a run with the observers
// Explain, Views and Judge, which may be nil.
func NewState(schemas *engine.Schemas, streams []*manifest.Stream, outcome *engine.Outcome) *State {
	s := &State{Schemas: schemas, streams: streams, outcome: outcome}
	if outcome != nil {
		s.redactor = outcome.Secrets
	}
	return s
}

// Unread returns the state of a workspace whose files are not read yet. It knows the built-in kinds.
func Unread() *State { return NewState(engine.NewSchemas(nil, engine.Options{}), nil, nil) }

// Objects returns the documents of all files.
func (s *State) Objects() []Object {
	s.listed.Do(func() {
		for _, stream := range s.streams {
			for _, d := range stream.Documents() {
				s.list = append(s.list, ObjectOf(d))
			}
		}
	})
	return s.list
}

// reports returns what the policies do; nil before the first run.
func (s *State) reports() (*report.Report, *report.Matrix) {
	s.reported.Do(func() {
		if s.outcome != nil {
			s.report = report.New(s.outcome, nil, nil, s.outcome.Secrets)
			s.matrix = report.NewMatrix(s.outcome, nil, s.outcome.Secrets)
		}
	})
	return s.report, s.matrix
}

// seen returns the manifests as policies see them.
func (s *State) seen() []view {
	s.viewed.Do(func() {
		if s.outcome == nil {
			return
		}
		for _, m := range s.outcome.Manifests {
			if m.Sensitive || m.Before == nil || redact.IsSecretKind(m.Document.Kind().Kind) {
				continue
			}
			v := view{id: m.ID, kind: m.Document.Kind(), object: m.Before}
			for _, verdict := range m.Verdicts {
				v.by = append(v.by, verdict.By.Policy)
			}
			s.views = append(s.views, v)
		}
	})
	return s.views
}

// ObjectOf describes a document.
func ObjectOf(d *manifest.Document) Object {
	name, bound := change.Keys("metadata", "name"), change.Keys("spec", "policyName")
	o := Object{Kind: d.Kind(), Name: d.Name(), Namespace: d.Namespace(), At: d.At(nil), NameAt: d.At(name), IsPolicy: engine.IsPolicy(d.Kind()), document: d}
	if o.Policy = d.TextAt("spec", "policyName"); o.Policy != "" {
		o.PolicyAt = d.At(bound)
	}
	return o
}

// celFunctions returns the functions of expressions in policies of a group.
func (s *State) celFunctions(group string) []engine.Function {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.functions == nil {
		s.functions = map[string][]engine.Function{}
	}
	if s.functions[group] == nil {
		s.functions[group] = s.Schemas.Functions(group)
	}
	return s.functions[group]
}

// maxValue is how many bytes of a value are shown.
const maxValue = 200

// show returns a value of a manifest as it may be shown.
func (s *State) show(value any) string {
	data, err := json.Marshal(s.masked(value))
	if err != nil {
		return ""
	}
	text := source.Printable(string(data))
	if len(text) > maxValue {
		text = strings.ToValidUTF8(text[:maxValue], "") + "…"
	}
	return text
}

// masked returns a value without the values of Secrets.
func (s *State) masked(value any) any {
	switch v := value.(type) {
	case string:
		return s.redactor.Text(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = s.masked(item)
		}
		return list
	case map[string]any:
		fields := map[string]any{}
		for key, field := range v {
			fields[s.redactor.Text(key)] = s.masked(field)
		}
		return fields
	}
	return value
}

// paramKind returns the kind of the params of a policy.
func (o *Object) paramKind() gvk.Kind {
	return gvk.Parse(o.document.TextAt("spec", "paramKind", "apiVersion"), o.document.TextAt("spec", "paramKind", "kind"))
}

// objects returns the documents of some kinds of the workspace that may be shown, with a name unless that
// is "". Secrets are not among them.
func (s *State) objects(kinds []gvk.Kind, name string) []Object {
	var found []Object
	for _, o := range s.Objects() {
		hidden := redact.IsSecretKind(o.Kind.Kind) || o.document.Stream().Sensitive() || o.document.Stream().Private()
		if slices.Contains(kinds, o.Kind) && !hidden && (name == "" || name == o.Name) {
			found = append(found, o)
		}
	}
	return found
}
