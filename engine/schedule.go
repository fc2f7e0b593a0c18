package engine

import (
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/source"
)

// schedule sorts the jobs into the order in which they begin: CustomResourceDefinitions first,
// because they define the kinds of other objects; then namespaces and objects that programs look
// up; then the rest. The reads of a policy depend on the object, so no order is always right. A job
// that needs another job runs it or waits for it: see need.
func (r *run) schedule() (definitions, others []*job) {
	var first, rest []*job
	for _, j := range r.jobs {
		switch kind := j.document.Kind(); {
		case kind == definitionKind:
			definitions = append(definitions, j)
		case r.policies.reads[kind]:
			first = append(first, j)
		default:
			rest = append(rest, j)
		}
	}
	return definitions, append(first, rest...)
}

// runOnce runs a job unless it is running or done.
func (r *run) runOnce(j *job) {
	r.lock.Lock()
	mine := j.state == waiting
	if mine {
		j.state = running
	}
	r.lock.Unlock()
	if mine {
		r.runJob(j)
	}
}

// runJob runs a job that the caller has marked as running.
func (r *run) runJob(j *job) {
	if r.ctx.Err() == nil && !j.failed() {
		r.admitJob(j)
	}
	r.lock.Lock()
	j.state = done
	close(j.done)
	r.finished++
	for _, o := range r.observers {
		if o.progress != nil {
			o.progress(r.finished, len(r.jobs))
		}
	}
	r.lock.Unlock()
}

// need waits for a job whose result the asker needs, and runs it if it has not begun. The blockade
// is nil if the job has a result.
func (r *run) need(asker, j *job) *blockade {
	r.lock.Lock()
	defer r.lock.Unlock()
	if j.state != done {
		if cycle := cycleOf(asker, j); cycle != nil {
			return block(cycle)
		}
		asker.awaits = j
		mine := j.state == waiting
		j.state = running
		r.lock.Unlock()
		if mine {
			r.runJob(j)
		} else {
			<-j.done
		}
		r.lock.Lock()
		asker.awaits = nil
	}
	switch {
	case asker.blocked != nil:
		return asker.blocked // both are in a cycle
	case r.ctx.Err() != nil:
		return &blockade{}
	case j.failed():
		return j.blockade()
	}
	return nil
}

// cycleOf returns the cycle of jobs, each of which needs the next, that exists once asker needs j.
// It returns nil if there is no cycle. The cycle begins with the job that is first in the input, so
// that the result does not depend on timing.
func cycleOf(asker, j *job) []*job {
	cycle := []*job{asker}
	for ; j != asker; j = j.awaits {
		if j == nil {
			return nil
		}
		cycle = append(cycle, j)
	}
	first := 0
	for i, member := range cycle {
		if member.index < cycle[first].index {
			first = i
		}
	}
	return append(cycle[first:len(cycle):len(cycle)], cycle[:first]...)
}

// cycleCode is the code of a blockade that is a cycle.
const cycleCode = "context-cycle"

// block blocks the members of a cycle.
func block(cycle []*job) *blockade {
	var names []string
	for _, member := range cycle {
		names = append(names, member.result.ID)
	}
	b := &blockade{
		code: cycleCode, at: cycle[0].document.At(nil), object: names[0],
		problem: fmt.Sprintf("is needed as context to mutate itself (%s)", strings.Join(append(names, names[0]), " needs ")),
		advice:  "give the object with the option context, or exclude it from the policy",
	}
	for _, member := range cycle {
		member.blocked = b
	}
	return b
}

// definitions are the jobs of CustomResourceDefinitions among the manifests, by the kind that they
// define.
type definitions map[gvk.Kind]*job

// add adds the kind that a definition defines.
func (d definitions) add(j *job) {
	d[gvk.Kind{Group: j.document.TextAt("spec", "group"), Kind: j.document.TextAt("spec", "names", "kind")}] = j
}

// of returns the definition of a kind; nil if it is missing.
func (d definitions) of(kind gvk.Kind) *job { return d[gvk.Kind{Group: kind.Group, Kind: kind.Kind}] }

// redefine updates the schemas after policies have changed a CustomResourceDefinition.
func (r *run) redefine(j *job, edited map[string]any) {
	r.lock.Lock()
	defer r.lock.Unlock()
	schemas := r.schemas.Clone()
	j.diagnostics = append(j.diagnostics, define(schemas, j.document, edited)...)
	r.schemas = schemas
}

// currentSchemas returns the schemas with all changes of policies to definitions so far.
func (r *run) currentSchemas() *schema.Registry {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.schemas
}

// tellBlocked reports every blockade once, with the number of jobs that it blocks.
func (r *run) tellBlocked() []source.Diagnostic {
	var causes []*blockade
	jobs := map[*blockade][]*job{}
	for _, j := range r.jobs {
		if b := j.blocked; b != nil && b.code != "" {
			if jobs[b] == nil {
				causes = append(causes, b)
			}
			jobs[b] = append(jobs[b], j)
		}
	}
	var diagnostics []source.Diagnostic
	for _, b := range causes {
		first := jobs[b][0]
		d := source.Errorf(b.at, b.code, "%s", b.message(len(jobs[b])-1)).With(b.advice)
		if !b.at.IsKnown() {
			d.At = first.document.At(nil)
		}
		if b.code != cycleCode {
			d.Subject = first.result.ID
		}
		diagnostics = append(diagnostics, d)
	}
	return diagnostics
}
