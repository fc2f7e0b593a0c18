package engine

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
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

// learnWritten adds the sensitive texts that policies have written into the object of a job.
func (r *run) learnWritten(j *job) {
	j.result.Sensitive = isSensitive(j)
	events := j.tree
	if j.trace != nil {
		events = slices.Concat(events, j.trace.events)
	}
	for _, e := range events {
		if len(e.sensitive) > 0 {
			j.result.Sensitive = true
			r.lock.Lock()
			r.input.secrets.LearnTexts(e.sensitive)
			r.lock.Unlock()
		}
	}
}

// files are the files of policies and context.
type files struct {
	// sensitive are the names of files that must stay secret, open the texts of public policies.
	sensitive map[string]bool
	open      []string
}

func newFiles(policies, context []*manifest.Stream) files {
	f := files{sensitive: map[string]bool{}}
	for _, stream := range slices.Concat(policies, context) {
		if stream != nil && stream.Sensitive() {
			f.sensitive[stream.Name()] = true
		}
	}
	for _, stream := range policies {
		if stream != nil && !stream.Sensitive() {
			f.open = append(f.open, stream.Text())
		}
	}
	return f
}

// reveals returns the texts that policies added to an object and may have taken from hidden
// objects. It leaves out texts that are literally in a policy, and public texts of the objects,
// such as the name of a Secret.
func (f *files) reveals(before, after map[string]any, shape change.Shape, objects []map[string]any) []string {
	var open, found []string
	for _, object := range objects {
		open = append(open, redact.OpenTexts(object)...)
	}
	for _, c := range change.Diff(before, after, shape) {
		for _, text := range redact.Texts(c.New) {
			if !slices.Contains(open, text) && !slices.ContainsFunc(f.open, func(policies string) bool { return strings.Contains(policies, text) }) {
				found = append(found, text)
			}
		}
	}
	return found
}

// copies returns the texts that a policy has added to a Secret and that contain one of its values.
func (f *files) copies(before, after map[string]any, shape change.Shape) []string {
	if !redact.IsSecret(before) {
		return nil
	}
	own := []map[string]any{before}
	return slices.DeleteFunc(f.reveals(before, after, shape, own), func(text string) bool {
		return !redact.Scope{Objects: own}.Hides([]source.Span{{Text: text}})
	})
}

// decide removes from diagnostics what must not be shown. Of a sensitive file, only the position is
// shown.
func (f *files) decide(diagnostics []source.Diagnostic, secrets *redact.Redactor) []source.Diagnostic {
	for i := range diagnostics {
		if d := &diagnostics[i]; f.sensitive[d.At.File] {
			*d = redact.Scope{All: true}.Message(d.With(""))
			d.Excerpt = ""
		}
	}
	return secrets.Messages(diagnostics)
}
