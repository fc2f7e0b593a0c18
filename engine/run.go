package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// Run runs the policies of the set, and the policies among the manifests, on the manifests. It
// edits their documents in place, unless the Outcome has failed. Observers get more information
// about the run.
func (s *Set) Run(ctx context.Context, manifests []*manifest.Stream, observers ...Observer) *Outcome {
	s = s.orEmpty()
	if !s.settings.PerDirectory {
		return s.run(ctx, manifests, observers)
	}
	var outcomes []*Outcome
	for _, directory := range byDirectory(manifests) {
		outcomes = append(outcomes, s.run(ctx, directory, observers))
	}
	return merge(outcomes, isPartial(observers))
}

// run takes manifests that are evaluated together through all stages.
func (s *Set) run(ctx context.Context, manifests []*manifest.Stream, observers []Observer) *Outcome {
	r := s.begin(ctx, s.sort(manifests), observers)
	if r.invalid() {
		return r.say()
	}
	if s.settings.Plain {
		each(r.jobs, r.changePlain)
		return r.say()
	}
	definitions, others := r.schedule()
	each(definitions, r.runOnce)
	each(others, r.runOnce)
	if len(r.followers) > 0 {
		if !r.failed() {
			r.follow()
		}
		each(r.jobs, r.conclude)
	}
	for _, o := range r.observers {
		if o.finish != nil {
			o.finish(r)
		}
	}
	return r.say()
}

// run is the shared state of the stages of one Set.Run. No stage changes the findings of an earlier
// stage.
type run struct {
	set *Set
	ctx context.Context
	// programs are all policies. trees run before admission, and followers change other objects
	// after it. The server has the others.
	programs, trees []policy.Program
	followers       []policy.Follower
	server
	observers []Observer
	// watched means that an observer needs every manifest.
	watched bool
	reads   map[gvk.Kind]bool

	// compiled are the problems of the policies.
	compiled []source.Diagnostic

	input       *input
	jobs        []*job
	old         map[identity]*manifest.Document
	definitions definitions
	snapshot    *snapshot.Snapshot

	lock sync.Mutex
	// schemas, finished (jobs) and diagnostics are guarded by lock while jobs run.
	schemas     *schema.Registry
	finished    int
	diagnostics []source.Diagnostic
}

// begin compiles the policies of the input, makes a job for every manifest, and adds all context to
// the snapshot.
func (s *Set) begin(ctx context.Context, in *input, observers []Observer) *run {
	r := &run{set: s, ctx: ctx, input: in, programs: s.programs, schemas: s.schemas.Clone(), snapshot: &snapshot.Snapshot{}, definitions: definitions{}}
	r.observers = slices.Clone(observers)
	r.compile()
	r.watched = slices.ContainsFunc(observers, func(o Observer) bool { return o.admit != nil || o.conclude != nil })
	for _, o := range r.observers {
		if o.decorate != nil {
			r.server.programs = o.decorate(r.server.programs)
		}
		if o.tries != nil {
			r.server.tries = o.tries
		}
	}
	if len(in.manifests)+len(in.policies) == 0 && len(in.local) > 0 {
		r.tell(source.Warningf(in.local[0].At(nil), "no-objects", "the input has no objects for a cluster, only such for client programs, so nothing changes").
			With("in a kustomization, name preadmit under transformers; under generators, it does not see the resources"))
	}
	r.reads = readKinds(r.programs)
	for i, d := range in.manifests {
		r.jobs = append(r.jobs, &job{index: i, document: d, result: &Manifest{Document: d}, done: make(chan struct{})})
	}
	if r.invalid() || s.settings.Plain {
		return r
	}
	if len(r.trees) > 0 {
		each(r.jobs, r.applyTrees)
	}
	r.define()
	for _, j := range r.jobs {
		j.diagnostics = append(j.diagnostics, checkIdentity(j.document, j.raw)...)
		r.locate(j)
	}
	r.tellPolicies()
	r.tellNames()
	r.findOld()
	r.index(in.local)
	return r
}

// compile compiles the policies among the manifests together with the policies of the set.
func (r *run) compile() {
	s := r.set
	added := slices.Concat(r.input.policies, s.configuration(r.input.local), s.configuration(r.input.manifests))
	if len(added) > 0 {
		programs, diagnostics := s.compile(slices.Concat(s.policies, s.configuration(s.context), added))
		if !source.HasErrors(diagnostics) || !isPartial(r.observers) {
			r.programs = programs
		}
		r.compiled = slices.Concat(s.refused, diagnostics)
	} else {
		r.compiled = s.problems
	}
	if len(r.programs) == 0 && !source.HasErrors(r.compiled) {
		r.tell(source.Warningf(source.Position{}, "no-policies", "no policy was given, so nothing changes").
			With("give policies with the option policies, or among the manifests"))
	}
	r.server.defaulting, r.server.files = s.settings.defaulting(), s.files
	for _, program := range r.programs {
		switch point := program.Hook().Point; {
		case point == policy.BeforeAdmission:
			r.trees = append(r.trees, program)
		case point != policy.Validating || s.settings.Validation != ValidationOff:
			r.server.programs = append(r.server.programs, program)
		}
		if follower := program.Existing(); follower != nil {
			r.followers = append(r.followers, follower)
		}
	}
	if s.settings.NonIdempotent != NonIdempotentSkip {
		r.observers = append([]Observer{replays}, r.observers...)
	}
}

// define adds the kinds of the CustomResourceDefinitions in the input, in their original form. The
// kinds decide whether other objects are namespaced.
func (r *run) define() {
	for _, d := range r.input.local {
		if d.Kind() == definitionKind {
			r.tell(define(r.schemas, d, d.Object())...)
		}
	}
	for _, j := range r.jobs {
		if j.document.Kind() == definitionKind {
			j.load(false)
			j.diagnostics = append(j.diagnostics, define(r.schemas, j.document, j.raw)...)
			r.definitions.add(j)
		}
	}
}

// locate finds the place of the object of a job.
func (r *run) locate(j *job) {
	namespace, name := j.document.Namespace(), j.document.Name()
	if j.raw != nil {
		namespace, name = textAt(j.raw, "metadata", "namespace"), textAt(j.raw, "metadata", "name")
	}
	j.place = r.set.placeAs(j.document.Kind(), namespace, name, r.currentSchemas())
	j.result.ID, j.result.Namespace = j.id(), j.namespace
	for _, e := range j.tree {
		for _, text := range e.sensitive { // a tree has computed the name from the data of a Secret
			j.result.ID = strings.ReplaceAll(j.result.ID, text, redact.Mask)
		}
	}
}

// invalid reports whether the run has an error that prevents the admission of all manifests.
func (r *run) invalid() bool {
	if isPartial(r.observers) {
		return false
	}
	if source.HasErrors(r.compiled) && !r.tolerates() {
		return true
	}
	return source.HasErrors(r.diagnostics) || slices.ContainsFunc(r.jobs, func(j *job) bool { return source.HasErrors(j.diagnostics) })
}

// failed reports whether any job has failed.
func (r *run) failed() bool {
	return r.ctx.Err() != nil || slices.ContainsFunc(r.jobs, (*job).failed)
}

// tell adds diagnostics about the run.
func (r *run) tell(diagnostics ...source.Diagnostic) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.diagnostics = append(r.diagnostics, diagnostics...)
}

// admitJob runs one job through admission. It also concludes the job, unless policies may still
// change it after all other jobs are admitted.
func (r *run) admitJob(j *job) {
	if definition := r.definitions.of(j.document.Kind()); definition != nil && definition != j {
		if b := r.need(j, definition); b != nil {
			j.blocked = b
			return
		}
		r.locate(j)
	}
	if r.isUntouched(j) {
		r.conclude(j)
		return
	}
	j.load(false)
	j.memo = memos.Get().(*change.Memo)
	defer j.forget()
	j.edited = j.raw
	reader := r.snapshot.Reader(j)
	j.request = r.requestFor(j, reader)
	r.admitRequest(j, j.request)
	r.tellUpdates(j)
	if !j.failed() {
		r.write(j)
		r.normalize(j)
		r.complete(j)
		for _, o := range r.observers {
			o.admitted(r, j)
		}
	}
	j.read = reader.Sensitive()
	j.result.DependsOnOthers = reader.Asked() || j.trace != nil && j.trace.before != nil && r.currentSchemas().Lookup(j.kind.Kind) == nil
	j.spoilt(reader)
	if j.document.Kind() == definitionKind && !j.failed() && !change.Equal(j.edited, j.raw) {
		r.redefine(j)
	}
	if len(r.followers) == 0 {
		r.conclude(j)
	}
}

// admitRequest sends the request of a job through the server.
func (r *run) admitRequest(j *job, request *policy.Request) {
	if r.exists(j) {
		j.trace = r.server.trace(nil)
		return
	}
	if !r.covered(j, request) {
		return
	}
	view, err := r.defaulting.view(j.memo, j.place, j.raw)
	if err != nil {
		j.refuse("manifest-invalid", "", err)
		return
	}
	request.Object = view
	j.trace = r.server.admit(j.place, request, j.raw, nil)
	if j.spoilt(request.Snapshot) {
		return
	}
	j.read = request.Snapshot.Sensitive()
	if err := j.misplaced(); err != nil && len(j.trace.failures) == 0 {
		j.trace.reject(policy.Failure{At: j.trace.first(), Err: err})
	}
	if len(j.trace.failures) == 0 {
		r.server.validate(j.place, *request, j.trace)
	}
	j.read = request.Snapshot.Sensitive()
	j.trace.redact(j.scope(nil))
	for _, f := range j.trace.failures {
		j.deny(f)
	}
	for _, f := range j.trace.ignored {
		j.warnIgnored(f)
	}
	j.tellValidation(r.set.settings.Validation)
	j.tellUnwritable()
}

// misplaced returns the error of a server if policies have moved the object to another namespace,
// have removed its name, or have set its resourceVersion.
func (j *job) misplaced() error {
	if !j.trace.changed() {
		return nil
	}
	if namespace, given := change.Keys("metadata", "namespace").Get(j.trace.after); given && j.kind.Namespaced && namespace != j.namespace {
		return errors.New("the namespace of the provided object does not match the namespace sent on the request")
	}
	if textAt(j.trace.after, "metadata", "name") == "" && textAt(j.trace.after, "metadata", "generateName") == "" {
		return errors.New("metadata.name: Required value: name or generateName is required")
	}
	if version := textAt(j.trace.after, "metadata", "resourceVersion"); version != "" && version != textAt(j.trace.before, "metadata", "resourceVersion") && j.request.Operation == policy.Create && !j.request.DryRun {
		return errors.New("resourceVersion should not be set on objects to be created")
	}
	return nil
}

// tellUnwritable warns of fields that a server keeps if policies set them, but no manifest can have.
func (j *job) tellUnwritable() {
	for _, path := range admission.Unwritable {
		for _, e := range j.trace.events {
			before, _ := path.Get(e.before)
			if value, _ := path.Get(e.written); !e.drops && value != nil && value != before {
				j.tell(source.Warningf(e.at, "value-not-written", "%s sets %s, which a server keeps, but no manifest can have", e.by, path).
					With("remove the field from the policy"))
				break
			}
		}
	}
}

// covered reports whether any policy may match the request. Most manifests do not need an admission
// view because of this check.
func (r *run) covered(j *job, request *policy.Request) bool {
	for _, program := range r.server.programs {
		if program.Covers(request) {
			return true
		}
	}
	j.trace = r.server.trace(nil)
	for _, program := range r.server.programs {
		j.trace.planned(program.Hook(), program.Plan(request))
	}
	return false
}

// isUntouched reports whether a job cannot change, judged without its object: no policy may match
// it, and neither policies nor observers need the object. Then the object is not even built.
func (r *run) isUntouched(j *job) bool {
	settings := &r.set.settings
	if r.watched || j.raw != nil || policy.Operation(settings.Operation) == policy.Update || len(r.followers) > 0 || settings.Normalize || settings.WriteNamespace || r.isRead(j) {
		return false
	}
	request := r.requestFor(j, nil)
	update := *request
	update.Operation = policy.Update // see tellUpdates
	return !slices.ContainsFunc(r.server.programs, func(p policy.Program) bool { return p.Covers(request) || p.Covers(&update) })
}

// requestFor returns the request of a job.
func (r *run) requestFor(j *job, reader *snapshot.Reader) *policy.Request {
	settings := &r.set.settings
	request := &policy.Request{
		Context: r.ctx, Kind: j.kind, Name: j.name, Namespace: j.namespace,
		Operation: settings.Operation, DryRun: settings.DryRun, User: settings.User,
		Memo: j.memo, Object: j.raw, Schemas: r.currentSchemas(), Snapshot: reader, Warn: j.warn,
	}
	if j.kind.Kind == namespaceKind { // a request for a namespace is in that namespace
		request.Namespace = j.name
	}
	if j.made != nil {
		request.Operation, request.DryRun, request.User = policy.Create, false, j.made.user()
	}
	if request.Operation == policy.Update {
		request.OldObject = r.oldObject(j)
	}
	return request
}

// oldObject returns the object that an update replaces.
func (r *run) oldObject(j *job) map[string]any {
	d := r.old[j.unversioned()]
	if d == nil {
		return nil
	}
	view, err := r.defaulting.view(j.memo, r.set.placeOf(d, r.currentSchemas()), d.Object())
	if err != nil {
		j.tell(source.Errorf(d.At(nil), "manifest-invalid", "the object before the update: %v", err))
	}
	return view
}

// conclude finishes a job when nothing can change its object again.
func (r *run) conclude(j *job) {
	for _, o := range r.observers {
		o.concluded(r, j)
	}
	if !j.failed() {
		r.commit(j)
	}
	if isSensitive(j) {
		r.learn(j)
	}
	r.learnWritten(j)
	j.release()
	j.document.Release()
	if !r.isRead(j) {
		j.raw, j.edited = nil, nil
	}
}

// isSensitive reports whether the manifest of a job must stay secret.
func isSensitive(j *job) bool { return redact.IsSecret(j.raw) || j.document.Stream().Sensitive() }

// learn adds to the mask the values that were written into a sensitive object.
func (r *run) learn(j *job) {
	r.lock.Lock()
	defer r.lock.Unlock()
	events := slices.Clone(j.tree)
	if j.trace != nil {
		r.input.secrets.LearnAll(j.trace.before)
		r.input.secrets.LearnAll(j.trace.after)
		events = append(events, j.trace.events...)
	}
	for _, e := range events {
		r.input.secrets.LearnAll(e.written)
	}
	r.input.secrets.LearnAll(j.edited)
}

// changePlain runs mutation trees on a document that is not a Kubernetes object.
func (r *run) changePlain(j *job) {
	r.applyTrees(j)
	j.edited = j.raw
	for _, o := range r.observers {
		o.admitted(r, j)
	}
	r.conclude(j)
}
