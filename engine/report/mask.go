package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/secret"
)

// mask hides the values of Secrets in reports, and all data of Secrets whatever the values. A mask
// without secrets hides nothing.
type mask struct{ secrets *secret.Mask }

// text hides the values in a text.
func (m mask) text(text string) string {
	if m.secrets == nil {
		return text
	}
	return m.secrets.Text(text)
}

// hidden reports whether a path of an object leads to a sensitive value. It is nil if no path does.
type hidden func(path change.Path) bool

// of returns the paths that are hidden in a document: the data of a Secret.
func of(d *manifest.Document) hidden {
	if isSecret(d) {
		return isData
	}
	return nil
}

func everything(change.Path) bool { return true }

// hidesNothing reports whether an object has nothing to hide.
func (m mask) hidesNothing(hidden hidden) bool {
	return m.secrets == nil || m.secrets.IsEmpty() && hidden == nil
}

// hidesNothingIn reports whether documents have nothing to hide.
func (m mask) hidesNothingIn(documents []*manifest.Document) bool {
	return m.secrets == nil || m.secrets.IsEmpty() && !slices.ContainsFunc(documents, isSecret)
}

// isSecret reports whether a document is a Secret, or is probably meant to be one.
func isSecret(d *manifest.Document) bool {
	kind := d.Kind().Kind
	return (kind == "" || secret.IsKind(kind)) && secret.Is(d.Object())
}

// value hides the sensitive values in value, which is at path in its object. It hides the whole
// value if the path is hidden. The mask has the suffix where value differs from other, its
// counterpart.
func (m mask) value(hidden hidden, path change.Path, value, other any, suffix string) any {
	if m.hidesNothing(hidden) {
		return value
	}
	switch v := value.(type) {
	case nil, bool:
		return value
	case map[string]any:
		masked := make(map[string]any, len(v))
		otherMap, _ := other.(map[string]any)
		for key, item := range v {
			masked[m.text(key)] = m.value(hidden, path.Key(key), item, otherMap[key], suffix)
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
			masked[i] = m.value(hidden, path.Index(i), item, counterpart, suffix)
		}
		return masked
	}
	if hidden != nil && hidden(path) || m.secrets.Holds(fmt.Sprint(value)) {
		if suffix != "" && other != nil && !change.Equal(value, other) {
			return secret.Masked + suffix
		}
		return secret.Masked
	}
	return value
}

// isData reports whether a path in a Secret leads to its data.
func isData(path change.Path) bool {
	if len(path) == 0 {
		return false
	}
	return !secret.IsOpen(path[0].Key) || len(path) >= 3 && path[1].Key == "annotations" && path[2].Key == secret.LastApplied
}

// manifests hides the values in a text of manifests, and the comments of Secrets. other is the
// counterpart of the text, or nil. hides has further hidden paths by index of the document.
func (m mask) manifests(name, text string, other *string, suffix string, hides map[int]hidden) string {
	if m.secrets == nil {
		return text
	}
	read, _ := manifest.Reread(name, []byte(text))
	if len(hides) == 0 && m.hidesNothingIn(read.Documents()) {
		return text
	}
	var counterparts []*manifest.Document
	if other != nil {
		counterpart, _ := manifest.Reread(name, []byte(*other))
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
		hidden := of(d)
		if hidden == nil {
			hidden = hides[i]
		}
		masked := m.value(hidden, nil, object, counterpart, suffix).(map[string]any)
		if err := d.Set(masked, nil); err != nil {
			return secret.Masked + "\n"
		}
	}
	if text = m.text(string(read.Bytes())); secrets {
		text = hideComments(text)
	}
	return text
}

// manifest converts a manifest of the engine, and hides its values.
func (m mask) manifest(from *engine.Manifest) Manifest {
	own := of(from.Document)
	to := Manifest{ID: m.text(from.ID), At: from.Document.At(nil)}
	if from.Maker != nil {
		to.MadeOf = m.text(from.Maker.ID)
	}
	to.Kind, to.Name = from.Document.Kind().Kind, m.text(strings.TrimPrefix(from.Namespace+"/"+from.Document.Name(), "/"))
	if group := from.Document.Kind().Group; group != "" {
		to.Kind = group + "/" + to.Kind
	}
	if to.ID == "" { // a plain document
		to.ID, to.Name = to.At.String(), to.At.String()
	}
	step := func(c engine.Change) Step {
		hidden := own
		if c.Sensitive {
			hidden = everything
		}
		old, value := m.pair(hidden, c.Path, c.Old, c.New)
		return Step{
			Disposition: c.Disposition, Policy: c.By.Policy, Binding: c.By.Binding, Param: m.text(c.By.Param), Rule: c.By.Part(), Plugin: c.By.Plugin, At: c.At, Pass: c.Pass,
			Op: c.Op, Path: m.text(c.Path.String()), Old: old, New: value,
		}
	}
	all := from.All()
	to.Edits = slices.Grow(to.Edits, len(from.Edits))
	for _, e := range from.Edits {
		hidden, sensitive := own, isSensitive(e, all)
		if sensitive {
			hidden = everything
		}
		old, value := m.pair(hidden, e.Path, e.Old, e.New)
		edit := Edit{
			Op: e.Op, Path: m.text(e.Path.String()), Pointer: m.text(e.Path.Pointer()), Old: old, New: value,
			At: e.At, source: e.Source, result: e.Result, sensitive: sensitive, last: m.last(e.Path),
			Causes: slices.Grow([]Step(nil), len(e.Causes)),
		}
		if e.Op == change.Move {
			edit.From = m.text(e.Path[:len(e.Path)-1].Index(e.From).Pointer())
		}
		for _, i := range e.Causes {
			edit.Causes = append(edit.Causes, step(all[i]))
		}
		to.Edits = append(to.Edits, edit)
	}
	for _, c := range from.Changes {
		if c.Disposition == engine.Dropped {
			to.Dropped = append(to.Dropped, step(c))
		}
	}
	to.NotApplied = slices.Grow(to.NotApplied, len(from.NotApplied))
	for _, n := range from.NotApplied {
		to.NotApplied = append(to.NotApplied, m.notApplied(n))
	}
	for _, a := range from.Audit {
		to.Audit = append(to.Audit, policy.Annotation{Key: a.Key, Value: m.text(a.Value)})
	}
	return to
}

// isSensitive reports whether a cause of an edit is a policy that has read sensitive values. all
// are all changes to the manifest.
func isSensitive(e engine.Edit, all []engine.Change) bool {
	return slices.ContainsFunc(e.Causes, func(i int) bool { return all[i].Sensitive })
}

// hiddenIn returns, by index of the document, the paths of the output that were written by policies
// that have read sensitive values.
func hiddenIn(s *manifest.Stream, manifests []*engine.Manifest, index map[*manifest.Document]int) map[int]hidden {
	hides := map[int]hidden{}
	for document, d := range s.Documents() {
		i, ok := index[d]
		if !ok || !manifests[i].Sensitive {
			continue
		}
		var paths []change.Path
		for _, e := range manifests[i].Edits {
			if isSensitive(e, manifests[i].All()) {
				paths = append(paths, e.Result)
			}
		}
		if len(paths) > 0 {
			hides[document] = func(path change.Path) bool {
				return slices.ContainsFunc(paths, func(p change.Path) bool { return path.HasPrefix(p) })
			}
		}
	}
	return hides
}

// last returns the last element of a path, with secrets hidden.
func (m mask) last(path change.Path) change.Element {
	if len(path) == 0 {
		return change.Key("")
	}
	last := path[len(path)-1]
	last.Key = m.text(last.Key)
	return last
}

func (m mask) pair(hidden hidden, path change.Path, old, value any) (any, any) {
	return m.value(hidden, path, old, value, " (before)"), m.value(hidden, path, value, old, " (after)")
}

func (m mask) notApplied(n policy.NotApplied) NotApplied {
	return NotApplied{Policy: n.ID.Policy, Binding: n.ID.Binding, Param: m.text(n.ID.Param), Rule: n.ID.Part(), At: n.At, Reason: m.text(n.Reason.String())}
}
