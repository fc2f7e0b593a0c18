package report

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
)

// converter converts results of the engine to what may be shown of them.
type converter struct{ redactor *redact.Redactor }

// manifest converts a manifest of the engine.
func (c converter) manifest(from *engine.Manifest) Manifest {
	own := redact.HiddenIn(from.Document)
	to := Manifest{ID: c.redactor.Name(from.ID), At: from.Document.At(nil), Origin: from.Document.At(nil)}
	if from.Maker != nil {
		to.MadeOf = c.redactor.Name(from.Maker.ID)
	}
	to.Kind, to.Name = c.redactor.Name(from.Document.Kind().Kind), c.redactor.Name(strings.TrimPrefix(from.Namespace+"/"+from.Document.Name(), "/"))
	if group := from.Document.Kind().Group; group != "" {
		to.Kind = c.redactor.Name(group) + "/" + to.Kind
	}
	if to.ID == "" { // a plain document
		to.ID, to.Name = to.At.String(), to.At.String()
	}
	to.Edits = c.edits(own, from)
	for _, dropped := range from.Changes {
		if dropped.Disposition == engine.Dropped {
			to.Dropped = append(to.Dropped, c.step(own, dropped))
		}
	}
	to.NotApplied = slices.Grow(to.NotApplied, len(from.NotApplied))
	for _, n := range from.NotApplied {
		to.NotApplied = append(to.NotApplied, c.notApplied(n))
	}
	for _, o := range from.Objections {
		to.Objections = append(to.Objections, c.objection(o))
	}
	for _, a := range from.Audit {
		if c.redactor != nil {
			a.Value = a.Shown
		}
		to.Audit = append(to.Audit, policy.Annotation{Key: c.redactor.Name(a.Key), Value: c.redactor.Text(a.Value)})
	}
	return to
}

// edits converts the edits of a manifest. own says what of the manifest is hidden.
func (c converter) edits(own redact.Hidden, from *engine.Manifest) []Edit {
	all := from.All()
	edits := slices.Grow([]Edit(nil), len(from.Edits))
	for _, e := range from.Edits {
		hidden, sensitive := own, isSensitive(e, all)
		if sensitive {
			hidden = redact.Everything
		}
		edit := c.edit(hidden, e.Change)
		edit.At, edit.source, edit.result, edit.sensitive = e.At, e.Source, e.Result, sensitive
		edit.Causes = slices.Grow([]Step(nil), len(e.Causes))
		for _, i := range e.Causes {
			edit.Causes = append(edit.Causes, c.step(own, all[i]))
		}
		edits = append(edits, edit)
	}
	return edits
}

// isSensitive reports whether a cause of an edit is a policy that has read sensitive values. all
// are all changes to the manifest.
func isSensitive(e engine.Edit, all []engine.Change) bool {
	return slices.ContainsFunc(e.Causes, func(i int) bool { return all[i].Sensitive })
}

// hiddenIn returns, by index, the hidden paths of documents before and after the policies: documents without a
// kind, which may be meant as Secrets, and what policies wrote that have read sensitive values.
func hiddenIn(documents []*manifest.Document, manifests []*engine.Manifest, index map[*manifest.Document]int) (before, after map[int]redact.Hidden) {
	before, after = map[int]redact.Hidden{}, map[int]redact.Hidden{}
	for document, d := range documents {
		i, ok := index[d]
		if isPlain := ok && manifests[i].ID == ""; d.Kind().Kind == "" && !isPlain {
			before[document], after[document] = redact.Everything, redact.Everything
		}
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
			after[document] = func(path change.Path) bool {
				return slices.ContainsFunc(paths, func(p change.Path) bool { return path.HasPrefix(p) })
			}
		}
	}
	return before, after
}

// Hidden returns, by index, the paths of the output of a run that are hidden in documents.
func Hidden(documents []*manifest.Document, outcome *engine.Outcome) map[int]redact.Hidden {
	_, after := hiddenIn(documents, outcome.Manifests, Run{Outcome: outcome}.index())
	return after
}

// edit converts a change to a manifest.
func (c converter) edit(hidden redact.Hidden, from change.Change) Edit {
	path := c.redactor.Path(from.Path)
	old, value := c.pair(hidden, from)
	edit := Edit{Op: from.Op, Path: c.redactor.Text(from.Path.String()), Pointer: path.Pointer(), Old: old, New: value, path: from.Path, last: lastOf(path)}
	if from.Op == change.Move {
		edit.From = path[:len(path)-1].Index(from.From).Pointer()
	}
	return edit
}

// step converts a step of a policy. hidden are the paths that are hidden in the object.
func (c converter) step(hidden redact.Hidden, from engine.Change) Step {
	if from.Sensitive {
		hidden = redact.Everything
	}
	old, value := c.pair(hidden, from.Change)
	by := c.names(from.By)
	return Step{
		Disposition: from.Disposition, Policy: by.Policy, Binding: by.Binding, Param: by.Param, Rule: by.Rule, Plugin: by.Plugin, Kind: by.Kind, At: from.At, Pass: from.Pass,
		Op: from.Op, Path: c.redactor.Text(from.Path.String()), Old: old, New: value, last: lastOf(c.redactor.Path(from.Path)),
	}
}

// lastOf returns the last element of a path, or an empty key for the path of a whole object.
func lastOf(path change.Path) change.Element {
	if len(path) == 0 {
		return change.Key("")
	}
	return path[len(path)-1]
}

// names returns the names of the author of a change.
func (c converter) names(id policy.ID) policy.ID {
	if id.Kind == policy.WebhookKind {
		return policy.ID{Kind: id.Kind, Policy: c.redactor.Name(id.Policy), Rule: c.redactor.Name(id.Rule)}
	}
	return policy.ID{Policy: c.redactor.Name(id.Policy), Binding: c.redactor.Name(id.Binding), Param: c.redactor.Name(id.Param), Rule: c.redactor.Name(id.Part()), Plugin: id.Plugin}
}

// pair returns the values of a change.
func (c converter) pair(hidden redact.Hidden, from change.Change) (any, any) {
	return c.redactor.Value(hidden, from.Path, from.Old, from.New, " (before)"), c.redactor.Value(hidden, from.Path, from.New, from.Old, " (after)")
}

func (c converter) notApplied(n policy.NotApplied) NotApplied {
	by := c.names(n.ID)
	return NotApplied{Policy: by.Policy, Binding: by.Binding, Param: by.Param, Rule: by.Rule, Kind: by.Kind, At: n.At, Reason: c.redactor.Reason(n.Reason)}
}
