package engine

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/policy"
)

// taint follows sensitive values through one admission. Everything that a policy writes after it has
// read a sensitive object may contain its values, even in a changed form.
type taint struct {
	request *policy.Request
	files   files
	// tainted are the policies that have read sensitive objects.
	tainted map[string]bool
	// current is the running policy, and seen the number of sensitive objects that policies had
	// read when it began.
	current string
	seen    int
}

func newTaint(request *policy.Request, f files) *taint {
	return &taint{request: request, files: f, tainted: map[string]bool{}}
}

// read returns the sensitive objects that the policies of the admission have read.
func (t *taint) read() []map[string]any {
	if t.request.Snapshot == nil {
		return nil
	}
	return t.request.Snapshot.Sensitive()
}

// planned records who read sensitive objects during planning: the policies with a param, or else
// all.
func (t *taint) planned(plan policy.Plan) {
	if len(t.read()) == t.seen {
		return
	}
	withParam := slices.ContainsFunc(plan.Invocations, func(i policy.Invocation) bool { return i.ID().Param != "" })
	for _, invocation := range plan.Invocations {
		if id := invocation.ID(); !withParam || id.Param != "" {
			t.tainted[id.Policy] = true
		}
	}
	t.seen = len(t.read())
}

// begin records that an invocation begins.
func (t *taint) begin(id policy.ID) { t.current, t.seen = id.Policy, len(t.read()) }

// texts returns the sensitive texts that a step has put into the object.
func (t *taint) texts(step policy.Step, shape change.Shape) []string {
	if len(t.read()) > t.seen {
		t.tainted[t.current] = true
	}
	before := t.request.Object
	if !t.tainted[t.current] && !t.files.sensitive[step.At.File] {
		return t.files.copies(before, step.Object, shape)
	}
	return t.files.reveals(before, step.Object, shape, t.read())
}
