package engine

import (
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// loaded is a manifest before admission.
type loaded struct {
	job *job
	// original is the manifest without the annotations of clients, which are in hidden. raw is the
	// original after the mutation trees.
	original, hidden, raw map[string]any
	tree                  []event
	// omitted are the nulls that the client does not send (option OmitNulls).
	omitted []change.Change
	// untouched are the reasons that trees were not applied.
	untouched []policy.NotApplied
	// warnings are those of the server when it decodes the manifest.
	warnings []Warning
}

// load reads the manifest of a job.
func (j *job) load(plain bool) *loaded {
	l := &loaded{job: j, raw: j.document.Object()}
	if !plain {
		l.hidden = j.document.HideClientAnnotations(l.raw)
	}
	l.original = l.raw
	return l
}

// isSensitive reports whether the manifest must stay secret.
func (l *loaded) isSensitive() bool {
	return redact.IsSecret(l.raw) || l.job.document.Stream().Sensitive()
}

// scope returns the sensitive objects that a message about the manifest may quote.
func (l *loaded) scope() redact.Scope {
	scope := redact.Scope{All: l.job.document.Stream().Sensitive()}
	if redact.IsSecret(l.raw) {
		scope.Objects = []*redact.Objects{redact.NewObjects(l.raw)}
	}
	return scope
}

// tell adds diagnostics about the manifest.
func (l *loaded) tell(diagnostics ...source.Diagnostic) {
	l.job.locate(nil, diagnostics)
	l.job.tell(l.scope(), diagnostics...)
}

// admitted is a loaded manifest with the answer of the server.
type admitted struct {
	job    *job
	loaded *loaded
	// request is the request that sent the object to the server. Its Memo has facts about the
	// objects of the job; it is set only while the job runs.
	request *policy.Request
	// trace is nil if the server did not get the request.
	trace *trace
	// read are the sensitive objects that policies have read for the job.
	read []*redact.Objects
	// objections are what validation says, if an observer asks.
	objections []Objection
	// sample is the object as a sample for other orders of the policies; nil if they have one order.
	sample *sample
}

// memos are memos that no job uses.
var memos = sync.Pool{New: func() any { return new(change.Memo) }}

// forget releases a memo.
func forget(memo *change.Memo) {
	memo.Reset()
	memos.Put(memo)
}

// scope returns the sensitive objects that a message about the object may quote: its own, further
// ones and those that policies have read.
func (a *admitted) scope(further []*redact.Objects) redact.Scope {
	scope := a.loaded.scope()
	own := scope.Objects
	if len(own) > 0 && a.trace != nil {
		own = append(own, redact.NewObjects(a.trace.before, a.trace.after))
	}
	if a.trace != nil {
		var computed []string // an error about the object may quote them
		for _, e := range a.trace.events {
			computed = append(computed, e.sensitive.texts...)
		}
		if len(computed) > 0 {
			own = append(own, redact.NewObjects(map[string]any{"data": change.List(computed)}))
		}
	}
	scope.Objects = slices.Concat(further, a.read, own)
	return scope
}

// tell adds diagnostics about the object. Their fields are those of the object after admission.
func (a *admitted) tell(diagnostics ...source.Diagnostic) {
	var changes []change.Change
	if a.trace != nil && slices.ContainsFunc(diagnostics, func(d source.Diagnostic) bool { return !d.At.IsKnown() && strings.Contains(d.Field, "[") }) {
		shape := a.job.place.kind.Type()
		changes = change.Diff(a.loaded.original, a.loaded.raw, shape)
		changes = append(changes, change.Diff(a.trace.before, a.trace.after, shape)...)
	}
	a.job.locate(changes, diagnostics)
	a.job.tell(a.scope(nil), diagnostics...)
}

// warn adds a diagnostic about policies, which is the same for all jobs, or about the object if it has no position.
func (a *admitted) warn(d source.Diagnostic) {
	if !d.At.IsKnown() {
		a.tell(d)
		return
	}
	a.job.diagnostics = append(a.job.diagnostics, a.scope(nil).Message(d))
}

// warnIgnored warns about a failure that failurePolicy Ignore has ignored.
func (a *admitted) warnIgnored(f policy.Failure) {
	a.tell(source.Warningf(source.Position{}, "failure-ignored", "%s failed, and was ignored as its failurePolicy says: %v", f.ID, f.Err).Naming(f.At, f.ID.String()))
}

// written is an admitted manifest with the changes of the policies.
type written struct {
	job      *job
	loaded   *loaded
	admitted *admitted
	// edited is the raw manifest with the changes.
	edited map[string]any
	// dropped are, for every event of the trace that is transferred to the manifest, the values that
	// a policy wrote and the server drops.
	dropped [][]change.Change
	// pinned are the defaults that were written as well, normalized the changes of the options
	// Normalize, WriteNamespace and OmitNulls.
	pinned, normalized []change.Change
}

// unwritten returns the result of an admission that has changed nothing yet.
func unwritten(a *admitted) *written {
	return &written{job: a.job, loaded: a.loaded, admitted: a, edited: a.loaded.raw}
}

// unadmitted returns the result for a manifest that does not reach the server.
func unadmitted(l *loaded) *written {
	return unwritten(&admitted{job: l.job, loaded: l})
}
