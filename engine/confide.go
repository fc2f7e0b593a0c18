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

// confidants are the policies that have read something sensitive, in one admission.
// All that they write from then on is taken to hold some of it, however it is changed.
type confidants struct {
	reader   *snapshot.Reader
	files    files
	policies map[string]bool
	// current is the policy that is running, and seen how many objects had been confided
	// when it began.
	current string
	seen    int
}

func newConfidants(reader *snapshot.Reader, f files) *confidants {
	return &confidants{reader: reader, files: f, policies: map[string]bool{}}
}

// confided is how many objects have been confided to the policies of the admission.
func (c *confidants) confided() int {
	if c.reader == nil {
		return 0
	}
	return len(c.reader.Confided())
}

// planned notes what was confided to a plan: to those with a param, or to all if none has.
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

// meet says that an invocation begins.
func (c *confidants) meet(id policy.ID) { c.current, c.seen = id.Policy, c.confided() }

// told returns what a step has put into an object that nobody may be meant to see, since
// its policy has looked at such things.
func (c *confidants) told(before map[string]any, step policy.Step, kind *schema.Kind) []string {
	if c.confided() > c.seen {
		c.policies[c.current] = true
	}
	if !c.policies[c.current] && !c.files.sensitive[step.At.File] {
		return nil
	}
	return c.files.reveals(before, step.Object, kind, c.reader.Confided())
}

// confide draws the conclusions from what policies have looked at for a job, when nothing
// will change any more: what they wrote is hidden, wherever it occurs.
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

// files are what policies and context were read from.
type files struct {
	// sensitive are the names of those that must stay secret, open the texts of policies
	// that everybody may.
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

// reveals returns the texts that policies added to an object and may have made of hidden
// objects. It leaves out texts that a policy spells out, and what anyone may see of the
// objects, such as the name of a Secret.
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

// withhold leaves out what diagnostics quote of sensitive files.
func (f *files) withhold(diagnostics []source.Diagnostic) {
	for i := range diagnostics {
		if d := &diagnostics[i]; f.sensitive[d.At.File] {
			d.Message, d.Advice, d.Excerpt = "what there is to say is left out, as the file is sensitive", "", ""
		}
	}
}
