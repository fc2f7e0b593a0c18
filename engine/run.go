package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/schema"
	"github.com/preadmit/preadmit/engine/secret"
	"github.com/preadmit/preadmit/engine/snapshot"
	"github.com/preadmit/preadmit/engine/source"
)

// run is the state of one Set.Run.
type run struct {
	*Set
	ctx context.Context
	compiled
	schemas  *schema.Registry
	snapshot *snapshot.Snapshot
	targets  []*target
	outcome  Outcome
	// local are documents for tools, which give context.
	local []*manifest.Document
	// secrets hides the values of the Secrets of the input; nil until it is needed.
	secrets *secret.Mask
	// warned are the texts of the warnings given, each once.
	warned map[string]bool
	stack  []*target
	// checking says that mistakes and conflicts of policies are looked for.
	checking bool
	stats    map[policy.ID]*Stat
}

// target is a manifest to run policies on. Each is run once, when its turn comes or
// when another one needs it as context.
type target struct {
	*Manifest
	place
	state  state
	hidden map[string]any // the annotations of clients
	raw    map[string]any // the manifest without them, as mutation trees leave it
	edited map[string]any // raw with what policies wrote
	// context is its mutated form, once another one has asked for it.
	context func() (map[string]any, error)
}

type state int

const (
	waiting state = iota
	running
	done
)

// Run runs the policies of the set, and those in the manifests, on the manifests.
// Their documents are edited in place if the Outcome did not fail. observe is told
// after every manifest how many are done; it may be nil.
func (s *Set) Run(ctx context.Context, manifests []*manifest.Stream, observe func(done, total int)) *Outcome {
	return s.newRun(ctx).all(manifests, observe)
}

func (s *Set) newRun(ctx context.Context) *run {
	return &run{
		Set: s, ctx: ctx, compiled: s.compiled, schemas: s.schemas.Clone(),
		snapshot: &snapshot.Snapshot{}, warned: map[string]bool{}, stats: map[policy.ID]*Stat{},
	}
}

// all runs everything.
func (r *run) all(manifests []*manifest.Stream, observe func(done, total int)) *Outcome {
	r.prepare(r.sortDocuments(manifests))
	if !r.outcome.Invalid {
		for i, t := range r.targets {
			r.finish(t)
			if observe != nil {
				observe(i+1, len(r.targets))
			}
		}
	}
	if err := r.ctx.Err(); err != nil {
		r.report(source.Errorf(source.Position{}, "interrupted", "the run did not finish: %v", err))
	}
	if !r.outcome.Failed() {
		r.follow()
	}
	if !r.outcome.Failed() {
		r.edit()
	}
	source.Sort(r.outcome.Diagnostics)
	r.outcome.Stats = r.allStats()
	return &r.outcome
}

// prepare compiles the policies of the stream, and makes a target of every manifest
// and context of everything.
func (r *run) prepare(docs sorted) {
	if len(docs.policies) > 0 {
		all, diagnostics := r.compile(append(r.policies[:len(r.policies):len(r.policies)], docs.policies...))
		r.report(diagnostics...)
		r.compiled = all
	} else {
		r.report(r.warnings...)
	}
	if len(r.programs) == 0 && r.trees == nil {
		r.report(source.Warningf(source.Position{}, "no-policies", "there is no policy, so nothing changes").
			With("give policies with the option policies, or among the manifests"))
	}
	r.targets, r.local = docs.targets, docs.local
	if r.settings.Plain || r.outcome.Invalid {
		return
	}
	for _, d := range docs.local {
		r.report(addDefinition(r.schemas, d, d.Object())...)
	}
	for _, t := range r.targets {
		r.plant(t)
		r.report(t.checkIdentity()...)
	}
	if r.outcome.Invalid {
		return
	}
	// CustomResourceDefinitions come first: what they define decides where the
	// others belong.
	for _, t := range r.targets {
		if t.Document.Kind() == definitionKind {
			r.locate(t)
			r.finish(t)
			r.report(addDefinition(r.schemas, t.Document, t.edited)...)
		}
	}
	for _, t := range r.targets {
		if t.state == waiting {
			r.locate(t)
		}
	}
	r.takeSnapshot(docs.local)
}

// locate finds out where a target belongs.
func (r *run) locate(t *target) {
	t.place = r.placeAs(t.Document.Kind(), textAt(t.raw, "metadata", "namespace"), textAt(t.raw, "metadata", "name"), r.schemas)
	t.ID, t.Namespace = t.id(), t.namespace
	r.replayTrees(t)
	r.outcome.Manifests = append(r.outcome.Manifests, t.Manifest)
}

// takeSnapshot puts all context into the snapshot. What the manifests define wins
// over what was given.
func (r *run) takeSnapshot(local []*manifest.Document) {
	for _, documents := range [][]*manifest.Document{r.context, local} {
		for _, d := range documents {
			p := r.placeOf(d, r.schemas)
			r.snapshot.Put(p.kind.Kind, p.namespace, p.name, sync.OnceValues(func() (map[string]any, error) {
				return r.view(p, d.Object())
			}))
		}
	}
	for _, t := range r.targets {
		r.snapshot.Put(t.kind.Kind, t.namespace, t.name, func() (map[string]any, error) { return r.mutated(t) })
	}
}

// mutated returns a target in its mutated form, for policies on another one.
func (r *run) mutated(t *target) (map[string]any, error) {
	if t.state == running {
		var names []string
		for _, other := range r.stack {
			names = append(names, other.ID)
		}
		err := fmt.Errorf("%s is needed as context to mutate itself (%s)", t.ID, strings.Join(append(names, t.ID), " needs "))
		r.report(source.Errorf(t.Document.At(nil), "context-cycle", "%v", err).
			With("give the object that is meant as context with the option context, or keep the policy from matching it"))
		return nil, err
	}
	r.finish(t)
	if r.outcome.Failed() {
		return nil, fmt.Errorf("%s, which is needed as context, was not admitted", t.ID)
	}
	if t.context == nil {
		t.context = sync.OnceValues(func() (map[string]any, error) { return r.view(t.place, t.edited) })
	}
	return t.context()
}

// finish runs a target unless it has been.
func (r *run) finish(t *target) {
	if t.state != waiting || r.ctx.Err() != nil {
		return
	}
	t.state = running
	r.stack = append(r.stack, t)
	asked := r.snapshot.Asked()
	if r.settings.Plain {
		r.runPlain(t)
	} else {
		r.admit(t)
	}
	t.Consulted = r.snapshot.Asked() > asked || t.Before != nil && r.schemas.Lookup(t.kind.Kind) == nil
	r.stack = r.stack[:len(r.stack)-1]
	t.state = done
	r.forget(t)
}

// forget lets go of what only reports are made of, if nobody wants them. The views of a
// Secret say what messages must not.
func (r *run) forget(t *target) {
	if r.settings.Lean && !r.follows() && !secret.Is(t.raw) {
		t.Before, t.After, t.Changes, t.NotApplied = nil, nil, nil, nil
	}
}

// edit writes the results into the documents.
func (r *run) edit() {
	for _, t := range r.targets {
		if len(t.Tree) == 0 && change.Equal(t.edited, t.raw) {
			continue
		}
		if !r.settings.Lean {
			t.attribute()
		}
		manifest.RestoreClientAnnotations(t.edited, t.hidden)
		if err := t.Document.Set(t.edited, t.kind.Type()); err != nil {
			r.internal(t, "the result cannot be written into the manifest: %v", err)
		}
	}
}

// report adds diagnostics, warnings about the same thing with the same text once. None
// shows a value of a Secret.
func (r *run) report(diagnostics ...source.Diagnostic) {
	for _, d := range diagnostics {
		d.Message, d.Advice = r.hide(d.Message), r.hide(d.Advice)
		if d.Severity == source.Error {
			r.outcome.Invalid = true
		} else if r.warned[d.Code+d.Subject+d.Message] {
			continue
		}
		r.warned[d.Code+d.Subject+d.Message] = true
		r.outcome.Diagnostics = append(r.outcome.Diagnostics, d)
	}
}

// about reports a diagnostic about a target.
func (r *run) about(t *target, d source.Diagnostic) {
	d.Subject, d.Message = t.ID, t.discreet(d.Message)
	r.report(d)
}

// internal reports a fault of ours.
func (r *run) internal(t *target, format string, args ...any) {
	r.about(t, source.Errorf(t.Document.At(nil), "internal", format, args...).
		With("this is a defect of preadmit: please report it with the manifest and the policies"))
}
