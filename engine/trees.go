package engine

import (
	"fmt"

	"github.com/preadmit/preadmit/engine/celenv"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/mutationtree"
	"github.com/preadmit/preadmit/engine/secret"
	"github.com/preadmit/preadmit/engine/source"
)

// compileTrees compiles the mutation trees in documents that the language claims, and
// those of the option; the program is nil if there are none.
func (s *Set) compileTrees(documents []*manifest.Document) (*mutationtree.Program, []source.Diagnostic) {
	var policies []*manifest.Document
	for _, d := range documents {
		if mutationtree.Claims(d.Kind()) {
			policies = append(policies, d)
		}
	}
	if len(policies)+len(s.settings.Trees) == 0 {
		return nil, nil
	}
	return mutationtree.Compile(policies, s.settings.Trees, celenv.New(s.settings.minor))
}

// plant lets mutation trees change a target as it is written. What they make of it is
// the manifest for all that follows.
func (r *run) plant(t *target) {
	if r.trees == nil {
		return
	}
	written := t.raw
	for step := range r.trees.Steps(r.ctx, t.raw) {
		var err error
		switch {
		case step.NotApplied != nil:
			t.NotApplied = append(t.NotApplied, *step.NotApplied)
			continue
		case step.Failure != nil:
			err, step.At = step.Failure.Err, step.Failure.At
			if secret.Is(t.raw) || !r.settings.Plain && t.Document.Kind().Kind == "" {
				err = fmt.Errorf("%s: an expression failed; what it says is left out, as it may hold a value of a Secret", step.ID)
			}
		default:
			if err = checkPlanted(t.raw, step.Object, r.settings.Plain); err == nil {
				err = limit.Object(written, step.Object)
			}
		}
		if err != nil {
			d, _ := limited(source.Errorf(step.At, "tree-failed", "%v", err), err)
			if !r.settings.Plain {
				d.Subject = r.placeAs(t.Document.Kind(), t.Document.Namespace(), t.Document.Name(), r.schemas).id()
			}
			r.report(d)
			return
		}
		for _, c := range change.Diff(t.raw, step.Object, r.schemas.Lookup(t.Document.Kind()).Type()) {
			t.Tree = append(t.Tree, Change{Change: c, By: step.ID, At: step.At, Fate: Written})
		}
		t.raw = step.Object
	}
}

// checkPlanted reports what a tree must not do to a Kubernetes object.
func checkPlanted(before, after map[string]any, plain bool) error {
	for _, key := range []string{"apiVersion", "kind"} {
		if !plain && !change.Equal(before[key], after[key]) {
			return fmt.Errorf("a mutation tree must not change the %s of an object", key)
		}
	}
	return nil
}

// checkPlain reports policies that are given for plain documents, which they are not
// about.
func (s *Set) checkPlain(policies []*manifest.Stream) []source.Diagnostic {
	var diagnostics []source.Diagnostic
	for _, stream := range policies {
		for _, d := range stream.Documents() {
			if s.settings.Plain && s.language(d.Kind()) >= 0 {
				diagnostics = append(diagnostics, source.Errorf(d.At(nil), "policy-for-plain", "a %s is about Kubernetes objects, not about plain documents", d.Kind().Kind).
					With("leave it out, or leave out the option plain"))
			}
		}
	}
	return diagnostics
}

// runPlain lets mutation trees change documents that are no Kubernetes objects.
func (r *run) runPlain(t *target) {
	r.outcome.Manifests = append(r.outcome.Manifests, t.Manifest)
	r.plant(t)
	r.replayTrees(t)
	t.edited = t.raw
}
