package report

import (
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/secret"
	"github.com/preadmit/preadmit/engine/source"
)

// Mask hides the values of Secrets in reports. The nil Mask hides nothing.
type Mask struct{ secrets *secret.Mask }

// NewMask makes a mask of the values of all Secrets in streams, and of those that a run
// has seen or made; the outcome may be nil. A mask learns nothing later.
func NewMask(outcome *engine.Outcome, streams []*manifest.Stream) *Mask {
	m := &Mask{&secret.Mask{}}
	for _, s := range streams {
		for _, d := range s.Documents() {
			if kind := d.Kind().Kind; kind == "" || secret.IsKind(kind) {
				m.secrets.Learn(d.Object())
			}
		}
	}
	if outcome != nil {
		m.learn(outcome)
	}
	return m
}

// learn adds the values that policies wrote into Secrets.
func (m *Mask) learn(outcome *engine.Outcome) {
	for _, x := range outcome.Manifests {
		m.secrets.Learn(x.Before)
		m.secrets.Learn(x.After)
		if secret.Is(x.Document.Object()) {
			for _, c := range x.All() {
				m.secrets.Learn(map[string]any{"apiVersion": "v1", "kind": "Secret", "data": collect(c.Path, c.Old), "stringData": collect(c.Path, c.New)})
			}
		}
	}
}

// collect is the data of a Secret as far as a change tells it: nothing if it is about
// something else.
func collect(path change.Path, value any) any {
	switch {
	case len(path) == 0 || path[0].Key != "data" && path[0].Key != "stringData":
		return nil
	case len(path) == 1:
		return value
	}
	return map[string]any{path[1].Key: value}
}

// Text hides the values in a text.
func (m *Mask) Text(text string) string {
	if m == nil {
		return text
	}
	return m.secrets.Text(text)
}

// holds reports whether a scalar contains a value.
func (m *Mask) holds(scalar any) bool {
	return m.secrets.Holds(fmt.Sprint(scalar))
}

// value hides the values in the value at a path of an object, wholly if it is data of a
// Secret. Where other, its counterpart, differs, the mask has a suffix.
func (m *Mask) value(isSecret bool, path change.Path, value, other any, suffix string) any {
	if m == nil {
		return value
	}
	switch v := value.(type) {
	case nil, bool:
		return value
	case map[string]any:
		masked := make(map[string]any, len(v))
		otherMap, _ := other.(map[string]any)
		for key, item := range v {
			masked[m.Text(key)] = m.value(isSecret, path.Key(key), item, otherMap[key], suffix)
		}
		return masked
	case []any:
		masked := make([]any, len(v))
		otherList, _ := other.([]any)
		for i, item := range v {
			var counterpart any
			if i < len(otherList) {
				counterpart = otherList[i]
			}
			masked[i] = m.value(isSecret, path.Index(i), item, counterpart, suffix)
		}
		return masked
	}
	if isSecret && isData(path) || m.holds(value) {
		if suffix != "" && other != nil && !change.Equal(value, other) {
			return secret.Masked + suffix
		}
		return secret.Masked
	}
	return value
}

// isData reports whether a path in a Secret leads to what nobody is to see.
func isData(path change.Path) bool {
	if len(path) == 0 {
		return false
	}
	return !secret.IsOpen(path[0].Key) || len(path) >= 3 && path[1].Key == "annotations" && path[2].Key == secret.LastApplied
}

// text hides the values in a text of manifests, and the comments of Secrets; other is its
// other text, if any.
func (m *Mask) text(name, text string, other *string, suffix string) string {
	if m == nil {
		return text
	}
	read, _ := manifest.Read(name, []byte(text))
	var counterparts []*manifest.Document
	if other != nil {
		counterpart, _ := manifest.Read(name, []byte(*other))
		counterparts = counterpart.Documents()
	}
	secrets := false
	for i, d := range read.Documents() {
		object := d.Object()
		var counterpart any
		if len(counterparts) == len(read.Documents()) {
			counterpart = counterparts[i].Object()
		}
		secrets = secrets || secret.Is(object)
		masked := m.value(secret.Is(object), nil, object, counterpart, suffix).(map[string]any)
		if err := d.Set(masked, nil); err != nil {
			return secret.Masked + "\n"
		}
	}
	if text = m.Text(string(read.Bytes())); secrets {
		text = hideComments(text)
	}
	return text
}

// manifest hides the values in what became of a manifest.
func (m *Mask) manifest(from *engine.Manifest) Manifest {
	isSecret := secret.Is(from.Document.Object())
	to := Manifest{ID: m.Text(from.ID), At: from.Document.At(nil)}
	if to.ID == "" { // a plain document
		to.ID = to.At.String()
	}
	step := func(c engine.Change) Step {
		old, value := m.pair(isSecret, c.Path, c.Old, c.New)
		return Step{
			Fate: c.Fate, Policy: c.By.Policy, Binding: c.By.Binding, Param: m.Text(c.By.Param), Rule: c.By.Rule, At: c.At, Pass: c.Pass,
			Op: c.Op, Path: m.Text(c.Path.String()), Old: old, New: value,
		}
	}
	all := from.All()
	for _, e := range from.Edits {
		old, value := m.pair(isSecret, e.Path, e.Old, e.New)
		edit := Edit{
			Op: e.Op, Path: m.Text(e.Path.String()), Pointer: m.Text(e.Path.Pointer()), Old: old, New: value,
			At: from.Document.At(e.Source), source: e.Source, result: e.Result, last: m.last(e.Path),
		}
		if e.Op == change.Move {
			edit.From = m.Text(e.Path[:len(e.Path)-1].Index(e.From).Pointer())
		}
		for _, i := range e.Causes {
			edit.Causes = append(edit.Causes, step(all[i]))
		}
		to.Edits = append(to.Edits, edit)
	}
	for _, c := range from.Changes {
		if c.Fate == engine.Dropped {
			to.Dropped = append(to.Dropped, step(c))
		}
	}
	for _, n := range from.NotApplied {
		to.NotApplied = append(to.NotApplied, m.notApplied(n))
	}
	return to
}

// last is the last element of a path.
func (m *Mask) last(path change.Path) change.Element {
	if len(path) == 0 {
		return change.Key("")
	}
	last := path[len(path)-1]
	last.Key = m.Text(last.Key)
	return last
}

func (m *Mask) pair(isSecret bool, path change.Path, old, value any) (any, any) {
	return m.value(isSecret, path, old, value, " (before)"), m.value(isSecret, path, value, old, " (after)")
}

func (m *Mask) notApplied(n policy.NotApplied) NotApplied {
	return NotApplied{Policy: n.ID.Policy, Binding: n.ID.Binding, Param: m.Text(n.ID.Param), Rule: n.ID.Rule, At: n.At, Reason: m.Text(n.Reason.String())}
}

// Diagnostics hides the values in messages.
func (m *Mask) Diagnostics(diagnostics []source.Diagnostic) []source.Diagnostic {
	masked := slices.Clone(diagnostics)
	for i := range masked {
		d := &masked[i]
		for _, text := range []*string{&d.Message, &d.Advice, &d.Subject, &d.Field, &d.Excerpt} {
			*text = m.Text(*text)
		}
	}
	return masked
}
