package engine

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/secret"
	"github.com/preadmit/preadmit/engine/source"
)

// confidants are the policies that have read sensitive objects in one admission. Everything that
// they write after that may contain sensitive values, even in a changed form.
type confidants struct {
	reader   *snapshot.Reader
	files    files
	policies map[string]bool
	// current is the running policy, and seen the number of sensitive objects that policies had
	// read when it began.
	current string
	seen    int
}

func newConfidants(reader *snapshot.Reader, f files) *confidants {
	return &confidants{reader: reader, files: f, policies: map[string]bool{}}
}

// confided returns the number of sensitive objects that the policies of the admission have read.
func (c *confidants) confided() int {
	if c.reader == nil {
		return 0
	}
	return len(c.reader.Confided())
}

// planned records who read sensitive objects during planning: the policies with a param, or else
// all.
func (c *confidants) planned(plan policy.Plan) {
	if c.confided() == c.seen {
		return
	}
	withParam := slices.ContainsFunc(plan.Invocations, func(i policy.Invocation) bool { return i.ID().Param != "" })
	for _, invocation := range plan.Invocations {
		if id := invocation.ID(); !withParam || id.Param != "" {
			c.policies[id.Policy] = true
		}
	}
	c.seen = c.confided()
}

// meet records that an invocation begins.
func (c *confidants) meet(id policy.ID) { c.current, c.seen = id.Policy, c.confided() }

// told returns the texts that a step has put into an object and that may be sensitive, because its
// policy has read sensitive objects.
func (c *confidants) told(before map[string]any, step policy.Step, kind *schema.Kind) []string {
	if c.confided() > c.seen {
		c.policies[c.current] = true
	}
	if !c.policies[c.current] && !c.files.sensitive[step.At.File] {
		return nil
	}
	return c.files.reveals(before, step.Object, kind, c.reader.Confided())
}

// confide runs when nothing changes any more. If policies have read sensitive objects for a job, it
// hides the texts that they wrote, wherever the texts occur.
func (r *run) confide(j *job) {
	j.result.Sensitive = isSensitive(j)
	if j.trace == nil {
		return
	}
	for _, e := range j.trace.events {
		if len(e.told) > 0 {
			j.result.Sensitive = true
			r.lock.Lock()
			r.input.secrets.LearnTexts(e.told)
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
func (f *files) reveals(before, after map[string]any, kind *schema.Kind, objects []map[string]any) []string {
	var open, found []string
	for _, object := range objects {
		open = append(open, secret.OpenTexts(object)...)
	}
	for _, c := range change.Diff(before, after, kind.Type()) {
		for _, text := range secret.Texts(c.New) {
			if !slices.Contains(open, text) && !slices.ContainsFunc(f.open, func(policies string) bool { return strings.Contains(policies, text) }) {
				found = append(found, text)
			}
		}
	}
	return found
}

// withhold removes the quotes of sensitive files from diagnostics.
func (f *files) withhold(diagnostics []source.Diagnostic) {
	for i := range diagnostics {
		if d := &diagnostics[i]; f.sensitive[d.At.File] {
			d.Message, d.Advice, d.Excerpt = "the message is left out because the file is sensitive", "", ""
		}
	}
}
