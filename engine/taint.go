package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/unknown"
	"github.com/preadmit/preadmit/engine/policy"
)

// taint follows sensitive values through one admission. Everything that a policy writes after it has
// read a sensitive object may contain its values, even in a changed form.
type taint struct {
	request *policy.Request
	files   files
	// tainted are the policies that have read sensitive objects.
	tainted map[string]bool
	// current is the running policy, and seen how often policies had read sensitive objects when it
	// began.
	current string
	seen    int
	open    openTexts
}

func newTaint(request *policy.Request, f files) *taint {
	return &taint{request: request, files: f, tainted: map[string]bool{}}
}

// reads returns how often the policies of the admission have read sensitive objects.
func (t *taint) reads() int {
	if t.request.Snapshot == nil {
		return 0
	}
	return t.request.Snapshot.SensitiveReads()
}

// planned records who read sensitive objects during planning: the policies with a param, or else
// all.
func (t *taint) planned(plan policy.Plan) {
	if t.reads() == t.seen {
		return
	}
	withParam := slices.ContainsFunc(plan.Invocations, func(i policy.Invocation) bool { return i.ID().Param != "" })
	for _, invocation := range plan.Invocations {
		if id := invocation.ID(); !withParam || id.Param != "" {
			t.tainted[id.Policy] = true
		}
	}
	t.seen = t.reads()
}

// begin records that an invocation begins.
func (t *taint) begin(id policy.ID) {
	t.current, t.seen = id.Policy, t.reads()
	unknown.In(t.request.Context).Begin(id.Policy)
}

// texts returns the sensitive texts that a step has put into the object.
func (t *taint) texts(step policy.Step, shape change.Shape) revealed {
	if t.reads() > t.seen {
		t.tainted[t.current] = true
	}
	before := t.request.Object
	if !t.tainted[t.current] && !t.files.sensitive[step.At.File] {
		return t.files.copies(t.request.Written, before, step.Object, shape)
	}
	if t.request.Snapshot != nil {
		t.open.learn(t.request.Snapshot.Sensitive())
	}
	texts := t.files.reveals(before, step.Object, shape, &t.open)
	return revealed{texts: texts, inObject: texts}
}
