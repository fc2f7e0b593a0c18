package engine

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/secret"
	"github.com/preadmit/preadmit/engine/source"
)

// job is a manifest on its way through the stages. Each stage fills in what is its own.
type job struct {
	// index is the place among the manifests.
	index    int
	document *manifest.Document
	result   *Manifest

	// schedule
	place
	state state
	// done is closed when the job is.
	done chan struct{}
	// awaits is the job whose result this one needs at the moment; nil for none.
	awaits *job
	// blocked is why the job cannot be carried out although nothing is wrong with it.
	blocked *blockade
	// blocks is the blockade of those that need this one, if it failed.
	blocks *blockade

	// load, applyTrees
	// written is the manifest without the annotations of clients, which are hidden; raw is
	// that as mutation trees leave it.
	written, hidden, raw map[string]any
	tree                 []event
	// untouched are why trees left the manifest alone.
	untouched []policy.NotApplied

	// admit
	// memo knows what has been found out about the objects of the job while it is carried
	// out; nil before and after.
	memo *change.Memo
	// request is the one that sends the object to the server.
	request *policy.Request
	trace   *trace

	// confided are the objects that policies looked at for the job and that must not be
	// shown.
	confided []map[string]any

	// write
	// edited is raw with what policies wrote.
	edited map[string]any
	edits  []written
	pinned []change.Change

	// normalize
	normalized []change.Change

	// makePods
	// made is how a controller made the object; nil if somebody wrote it. stored is what the
	// server holds of it, if controllers are about it.
	made   *made
	stored map[string]any

	// say
	diagnostics []source.Diagnostic
	denied      bool
}

// state is how far a job is.
type state int

const (
	waiting state = iota
	running
	done
)

// failed reports whether there is no result, and never will be.
func (j *job) failed() bool {
	return j.denied || j.blocked != nil || source.HasErrors(j.diagnostics)
}

// load reads the manifest.
func (j *job) load(plain bool) {
	if j.raw != nil {
		return // trees have changed it
	}
	j.raw = j.document.Object()
	if !plain {
		j.hidden = manifest.HideClientAnnotations(j.raw)
	}
	j.written = j.raw
}

// memos are those that no job needs at the moment.
var memos = sync.Pool{New: func() any { return new(change.Memo) }}

// forget lets go of the memo.
func (j *job) forget() {
	j.memo.Reset()
	memos.Put(j.memo)
	j.memo = nil
}

// tell notes a diagnostic about the job. What policies say of a Secret is left out if it
// would show any of its values, however short.
func (j *job) tell(d source.Diagnostic) {
	d.Subject, d.Message = cmp.Or(d.Subject, j.result.ID), j.discreet(d.Message)
	j.diagnostics = append(j.diagnostics, d)
}

// internal notes a fault of ours.
func (j *job) internal(format string, args ...any) {
	j.tell(source.Errorf(j.document.At(nil), "internal", format, args...).
		With("this is a defect of preadmit: please report it with the manifest and the policies"))
}

const leftOut = "what there is to say is left out, as it would show a value of the Secret"

// discreet is a message about a job, or a substitute if it shows a value of a Secret: of its
// own, or of one that policies have looked at.
func (j *job) discreet(text string) string {
	if isSensitive(j) && (secret.HoldsAny(text, j.raw) || j.trace != nil && secret.HoldsAny(text, j.trace.before, j.trace.after)) ||
		secret.HoldsAny(text, j.confided...) {
		return leftOut
	}
	return text
}

// release lets go of what only the stages look at, but for the object before and after.
func (j *job) release() {
	j.written, j.hidden, j.tree, j.untouched, j.trace, j.edits, j.pinned, j.normalized, j.request, j.confided = nil, nil, nil, nil, nil, nil, nil, nil, nil, nil
}

// blockade keeps jobs from being carried out: what they need cannot be had.
type blockade struct {
	code, advice string
	// object is what is needed; problem is a clause about it.
	object, problem string
	// at is where the cause is; the first job that is blocked if it is not known.
	at source.Position
}

// Error implements error.
func (b *blockade) Error() string { return b.message(0) }

// message says what is wrong for one job and a number of others.
func (b *blockade) message(others int) string {
	switch {
	case b.code == cycleCode:
		return b.object + " " + b.problem
	case others > 0:
		return fmt.Sprintf("%s, which policies look up for this manifest and %d more, %s", b.object, others, b.problem)
	}
	return fmt.Sprintf("%s, which policies look up for this manifest, %s", b.object, b.problem)
}

// blockade is why those that need a failed job cannot be carried out. The caller holds
// the lock of the run.
func (j *job) blockade() *blockade {
	if j.blocks == nil {
		j.blocks = &blockade{
			code: "context-failed", object: j.result.ID, problem: "was not admitted",
			advice: "correct that one first: there is an error about it",
		}
	}
	return j.blocks
}
