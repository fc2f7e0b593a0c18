package engine

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/parallel"
	"github.com/preadmit/preadmit/engine/internal/workload"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Pods runs Kubernetes' controllers on the manifests, down to the Pods. The objects that they make
// are admitted as well, each as a request of its controller's service account, and are among the
// Manifests of the Outcome.
func Pods() Observer {
	c := &controllers{stored: map[*job]map[string]any{}}
	return Observer{conclude: c.store, finish: c.makePods}
}

// Running returns the objects that run in the cluster: the objects that controllers have made, each
// with a comment that names its owner, and the Pods of the input. The run must have the observer
// Pods.
func (o *Outcome) Running() []*manifest.Stream {
	var running []*manifest.Stream
	for _, m := range o.Manifests {
		switch {
		case m.Maker != nil:
			running = append(running, m.Document.Stream())
		case m.Runs():
			_, text := m.Document.Text()
			pod, _ := manifest.Read(m.Document.At(nil).File, bytes.TrimPrefix([]byte(text), []byte("---\n"))) // never fails
			running = append(running, pod)
		}
	}
	return running
}

// Runs reports whether the object runs in the cluster: a controller has made it, or it is a Pod.
func (m *Manifest) Runs() bool {
	kind := m.Document.Kind()
	return m.Maker != nil || kind.Group == "" && kind.Kind == podKind.Kind
}

// made says how a controller made an object.
type made struct {
	by    workload.Made
	owner *job
}

// user returns the service account of the controller as the user of its requests.
func (m *made) user() policy.User {
	return policy.User{
		Name: "system:serviceaccount:kube-system:" + m.by.Account, UID: workload.UID,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
		Extra:  map[string][]string{"authentication.kubernetes.io/credential-id": {"JTI=" + workload.UID}},
	}
}

// at returns the position of the origin of the value at a path, in the manifest that the object was
// made from.
func (m *made) at(path change.Path) source.Position {
	return m.owner.document.At(append(m.by.From[:len(m.by.From):len(m.by.From)], path...))
}

// complete adds API defaults to the values that policies wrote into an object of a controller,
// because such objects have all defaults.
func (r *run) complete(w written) written {
	if w.job.made == nil || w.job.failed() || change.Equal(w.edited, w.loaded.raw) {
		return w
	}
	view, err := r.server.defaulting.view(w.admitted.request.Memo, w.job.place, w.edited)
	if err != nil {
		w.admitted.tell(w.job.defect("the stored object is not valid: %v", err))
		return w
	}
	w.edited = view
	return w
}

// controllers are the controllers of a run.
type controllers struct {
	lock sync.Mutex
	// stored are the objects in the server on which controllers act.
	stored map[*job]map[string]any
}

// store computes the object in the server for a job that cannot change again.
func (c *controllers) store(r *run, w *written) {
	j := w.job
	kind := j.place.kind
	if j.failed() || j.made == nil && !workload.Controls(kind.Kind) {
		return
	}
	view, err := r.server.defaulting.view(nil, j.place, w.edited)
	if err != nil {
		w.admitted.tell(j.refusal("manifest-invalid", "", err)...)
		return
	}
	stored := workload.Stored(kind.Kind, view)
	if j.made != nil {
		stored = j.made.by.Stored(view)
	}
	c.lock.Lock()
	c.stored[j] = stored
	c.lock.Unlock()
	if j.made != nil {
		c.tellEndless(r, w.admitted, stored)
	}
}

// makePods runs the controllers until they make no more objects. The objects that a controller
// makes follow their owner.
func (c *controllers) makePods(r *run) {
	if r.invalid() {
		return
	}
	roots, children := r.jobs, map[*job][]*job{}
	for generation := roots; len(generation) > 0; {
		var next []*job
		for _, j := range generation {
			children[j] = c.control(r, j)
			next = append(next, children[j]...)
		}
		r.jobs = append(r.jobs[:len(r.jobs):len(r.jobs)], next...)
		parallel.Each(next, r.runOnce)
		if len(r.policies.followers) > 0 {
			parallel.Each(next, r.concludeJob)
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
func (c *controllers) control(r *run, j *job) []*job {
	kind, stored := j.place.kind, c.stored[j]
	if j.failed() || stored == nil || !workload.Controls(kind.Kind) {
		return nil
	}
	if path, err := workload.Invalid(kind.Kind, stored); err != nil {
		d := j.deny(policy.Failure{Err: err})
		d.At = j.document.At(path)
		(&loaded{job: j}).tell(d)
		return nil
	}
	var jobs []*job
	for _, m := range workload.Make(kind.Kind, stored, r.set.settings.minor) {
		if made := r.jobFor(&made{m, j}); made != nil {
			jobs = append(jobs, made)
		}
	}
	return jobs
}

// jobFor returns the job of an object that a controller has made. The document is written from
// scratch, because it has no comments or layout to keep.
func (r *run) jobFor(m *made) *job {
	owner, kind, object := m.owner, m.by.Kind, m.by.Object
	p := r.set.placeAs(kind, textAt(object, "metadata", "namespace"), textAt(object, "metadata", "name"), r.currentSchemas())
	view, err := r.server.defaulting.view(nil, p, object)
	if err != nil {
		(&loaded{job: owner}).tell(owner.refusal("manifest-invalid", fmt.Sprintf("the %s that is made from it: ", kind.Kind), err)...)
		return nil
	}
	named := p
	named.name = workload.Name(view)
	file := owner.document.At(nil).File
	stream := manifest.Made(file+"#"+named.id(), "made from "+owner.result.ID, m.by.Stored(view), m.at)
	if owner.document.Stream().Sensitive() {
		stream.MarkSensitive()
	}
	d := stream.Documents()[0]
	j := &job{
		document: d, result: &Manifest{Document: d, ID: named.id(), Namespace: p.namespace, Maker: owner.result}, done: make(chan struct{}),
		place: p, made: m,
	}
	j.loaded = &loaded{job: j, original: view, raw: view}
	return j
}

// tellEndless warns if policies have changed an object in such a way that its controller keeps
// making new ones.
func (c *controllers) tellEndless(r *run, a *admitted, stored map[string]any) {
	owner, kind := a.job.made.owner, a.job.place.kind
	c.lock.Lock()
	parent := c.stored[owner]
	c.lock.Unlock()
	path, why := workload.Endless(owner.place.kind.Kind, parent, kind.Kind, stored, r.set.settings.minor)
	if why == "" || a.trace == nil {
		return
	}
	for _, e := range a.trace.events {
		if change.NewPathIndex(change.Diff(e.before, e.written, kind.Type())).Overlaps(path) {
			d := source.Warningf(source.Position{}, "controller-endless", "%s changes an object that the controller of %s made: %s", e.by, source.Name(owner.result.ID), why).
				Naming(e.at, e.by.String()).With("a cluster creates such objects in an endless loop: change " + owner.place.kind.Kind.Kind + "s instead, or leave the field alone")
			d.Field = path.String()
			a.tell(d)
			return
		}
	}
}
