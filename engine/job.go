package engine

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// job is a manifest on its way through the stages. Each stage fills in its group of fields.
type job struct {
	// index is the index among the manifests.
	index    int
	document *manifest.Document
	result   *Manifest

	// schedule
	place
	state state
	// done is closed when the job is done.
	done chan struct{}
	// awaits is the job that this job waits for, or nil.
	awaits *job
	// blocked is the reason that the job cannot run although its manifest has no error.
	blocked *blockade
	// blocks is the blockade of jobs that need this job, if it failed.
	blocks *blockade

	// load, applyTrees
	// written is the manifest without the annotations of clients, which are in hidden. raw is
	// written after the mutation trees.
	written, hidden, raw map[string]any
	tree                 []event
	// untouched are the reasons that trees were not applied.
	untouched []policy.NotApplied

	// admit
	// memo has facts about the objects of the job. It is set only while the job runs.
	memo *change.Memo
	// request is the request that sends the object to the server.
	request *policy.Request
	trace   *trace

	// read are the sensitive objects that policies have read for the job.
	read []map[string]any

	// write
	// edited is raw with the changes of the policies.
	edited map[string]any
	edits  []written
	pinned []change.Change

	// normalize
	normalized []change.Change

	// makePods
	// made says how a controller made the object; it is nil for other objects. stored is the object
	// in the server, if controllers act on it.
	made   *made
	stored map[string]any

	// say
	diagnostics []source.Diagnostic
	denied      bool
}

// state is the progress of a job.
type state int

const (
	waiting state = iota
	running
	done
)

// failed reports whether the job has no result and will not get one.
func (j *job) failed() bool {
	return j.denied || j.blocked != nil || source.HasErrors(j.diagnostics)
}

// load reads the manifest.
func (j *job) load(plain bool) {
	if j.raw != nil {
		return // trees have already changed it
	}
	j.raw = j.document.Object()
	if !plain {
		j.hidden = j.document.HideClientAnnotations(j.raw)
	}
	j.written = j.raw
}

// memos are memos that no job uses.
var memos = sync.Pool{New: func() any { return new(change.Memo) }}

// forget releases the memo.
func (j *job) forget() {
	j.memo.Reset()
	memos.Put(j.memo)
	j.memo = nil
}

// tell adds a diagnostic about the job, without what it must not show of sensitive objects.
func (j *job) tell(d source.Diagnostic) {
	d.Subject = cmp.Or(d.Subject, j.result.ID)
	j.warn(d)
}

// warn adds a diagnostic about policies, which is the same for all jobs.
func (j *job) warn(d source.Diagnostic) {
	j.diagnostics = append(j.diagnostics, j.scope(nil).Message(d))
}

// scope returns the sensitive objects that a message about the job may quote: its own, further ones
// and those that policies have read.
func (j *job) scope(further []map[string]any) redact.Scope {
	scope := redact.Scope{Objects: slices.Concat(further, j.read), All: j.document.Stream().Sensitive()}
	if redact.IsSecret(j.raw) {
		scope.Objects = append(scope.Objects, j.raw)
		if j.trace != nil {
			scope.Objects = append(scope.Objects, j.trace.before, j.trace.after)
		}
	}
	return scope
}

// internal reports a defect of preadmit.
func (j *job) internal(format string, args ...any) {
	j.tell(source.Errorf(j.document.At(nil), "internal", format, args...).
		With("this is a defect of preadmit: please report it with the manifest and the policies"))
}

// release frees everything that only the stages need, except the object before and after.
func (j *job) release() {
	j.written, j.hidden, j.tree, j.untouched, j.trace, j.edits, j.pinned, j.normalized, j.request, j.read = nil, nil, nil, nil, nil, nil, nil, nil, nil, nil
}

// blockade is the reason that jobs cannot run: an object that they need is not available.
type blockade struct {
	code, advice string
	// object is the name of the needed object; problem is a clause about it.
	object, problem string
	// at is the position of the cause, or if it is unknown of the first blocked job.
	at source.Position
}

// Error implements error.
func (b *blockade) Error() string { return b.message(0) }

// message returns the message for one job and a number of others.
func (b *blockade) message(others int) string {
	switch {
	case b.code == cycleCode:
		return b.object + " " + b.problem
	case others > 0:
		return fmt.Sprintf("%s, which policies look up for this manifest and %d more, %s", b.object, others, b.problem)
	}
	return fmt.Sprintf("%s, which policies look up for this manifest, %s", b.object, b.problem)
}

// blockade returns the blockade of the jobs that need a failed job. The caller holds the lock of
// the run.
func (j *job) blockade() *blockade {
	if j.blocks == nil {
		j.blocks = &blockade{
			code: "context-failed", object: j.result.ID, problem: "was not admitted",
			advice: "correct that manifest first; it has its own error",
		}
	}
	return j.blocks
}
