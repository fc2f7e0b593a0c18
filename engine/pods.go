package engine

import (
	"bytes"
	"fmt"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/workload"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Pods runs Kubernetes' controllers on the manifests, down to the Pods. The objects that they make
// are admitted as well, each as a request of its controller's service account, and are among the
// Manifests of the Outcome.
func Pods() Observer {
	return Observer{
		conclude: func(r *run, j *job) {
			if j.failed() || j.made == nil && !workload.Controls(j.kind.Kind) {
				return
			}
			if r.hold(j); j.made != nil {
				r.tellEndless(j)
			}
		},
		finish: (*run).makePods,
	}
}

// Running returns the objects that run in the cluster: the objects that controllers have made, each
// with a comment that names its owner, and the Pods of the input. The run must have the observer
// Pods.
func (o *Outcome) Running() []*manifest.Stream {
	var running []*manifest.Stream
	for _, m := range o.Manifests {
		switch kind := m.Document.Kind(); {
		case m.Maker != nil:
			running = append(running, m.Document.Stream())
		case kind.Group == "" && kind.Kind == "Pod":
			_, text := m.Document.Text()
			pod, _ := manifest.Read(m.Document.At(nil).File, bytes.TrimPrefix([]byte(text), []byte("---\n"))) // never fails
			running = append(running, pod)
		}
	}
	return running
}

// made says how a controller made an object.
type made struct {
	workload.Made
	owner *job
}

// user returns the service account of the controller as the user of its requests.
func (m *made) user() policy.User {
	return policy.User{
		Name: "system:serviceaccount:kube-system:" + m.Account, UID: workload.UID,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
		Extra:  map[string][]string{"authentication.kubernetes.io/credential-id": {"JTI=" + workload.UID}},
	}
}

// at returns the position of the origin of the value at a path, in the manifest that the object was
// made from.
func (m *made) at(path change.Path) source.Position {
	return m.owner.document.At(append(m.From[:len(m.From):len(m.From)], path...))
}

// hold computes the object in the server for a job that cannot change again.
func (r *run) hold(j *job) {
	view, err := r.defaulting.view(nil, j.place, j.edited)
	if err != nil {
		j.refuse("manifest-invalid", "", err)
		return
	}
	if j.made != nil {
		j.stored = j.made.Stored(view)
	} else {
		j.stored = workload.Stored(j.kind.Kind, view)
	}
}

// complete adds API defaults to the values that policies wrote into an object of a controller,
// because such objects have all defaults.
func (r *run) complete(j *job) {
	if j.made == nil || j.failed() || change.Equal(j.edited, j.raw) {
		return
	}
	view, err := r.defaulting.view(j.memo, j.place, j.edited)
	if err != nil {
		j.internal("the stored object is not valid: %v", err)
		return
	}
	j.edited = view
}

// makePods runs the controllers until they make no more objects. The objects that a controller
// makes follow their owner.
func (r *run) makePods() {
	if r.invalid() {
		return
	}
	roots, children := r.jobs, map[*job][]*job{}
	for generation := roots; len(generation) > 0; {
		var next []*job
		for _, j := range generation {
			children[j] = r.control(j)
			next = append(next, children[j]...)
		}
		r.jobs = append(r.jobs[:len(r.jobs):len(r.jobs)], next...)
		each(next, r.runOnce)
		if len(r.followers) > 0 {
			each(next, r.conclude)
		}
		generation = next
	}
	var all []*job
	var add func(jobs []*job)
	add = func(jobs []*job) {
		for _, j := range jobs {
			all = append(all, j)
			add(children[j])
		}
	}
	add(roots)
	r.jobs = all
}

// control runs the controller of one job and returns the jobs of the objects that it makes.
func (r *run) control(j *job) []*job {
	if j.failed() || j.stored == nil || !workload.Controls(j.kind.Kind) {
		return nil
	}
	if path, err := workload.Invalid(j.kind.Kind, j.stored); err != nil {
		j.deny(policy.Failure{At: j.document.At(path), Err: err})
		return nil
	}
	var jobs []*job
	for _, m := range workload.Make(j.kind.Kind, j.stored, r.set.settings.minor) {
		if made := r.jobFor(&made{m, j}); made != nil {
			jobs = append(jobs, made)
		}
	}
	return jobs
}

// jobFor returns the job of an object that a controller has made. The document is written from
// scratch, because it has no comments or layout to keep.
func (r *run) jobFor(m *made) *job {
	owner := m.owner
	p := r.set.placeAs(m.Kind, textAt(m.Object, "metadata", "namespace"), textAt(m.Object, "metadata", "name"), r.currentSchemas())
	view, err := r.defaulting.view(nil, p, m.Object)
	if err != nil {
		owner.refuse("manifest-invalid", fmt.Sprintf("the %s that is made from it: ", m.Kind.Kind), err)
		return nil
	}
	named := p
	named.name = workload.Name(view)
	file := owner.document.At(nil).File
	stream := manifest.Made(file+"#"+named.id(), "made from "+owner.result.ID, m.Stored(view), m.at)
	if owner.document.Stream().Sensitive() {
		stream.MarkSensitive()
	}
	d := stream.Documents()[0]
	return &job{
		document: d, result: &Manifest{Document: d, ID: named.id(), Namespace: p.namespace, Maker: owner.result}, done: make(chan struct{}),
		place: p, made: m, raw: view, written: view,
	}
}

// tellEndless warns if policies have changed an object in such a way that its controller keeps
// making new ones.
func (r *run) tellEndless(j *job) {
	owner := j.made.owner
	path, why := workload.Endless(owner.kind.Kind, owner.stored, j.kind.Kind, j.stored, r.set.settings.minor)
	if why == "" || j.trace == nil {
		return
	}
	for _, e := range j.trace.events {
		if change.NewPathIndex(change.Diff(e.before, e.written, j.kind.Type())).Overlaps(path) {
			d := source.Warningf(e.at, "controller-endless", "%s changes an object that the controller of %s made: %s", e.by, source.Name(owner.result.ID), why).
				With("a cluster creates such objects in an endless loop: change " + owner.kind.Kind.Kind + "s instead, or leave the field alone")
			d.Field = path.String()
			j.tell(d)
			return
		}
	}
}
