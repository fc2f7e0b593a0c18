package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/parallel"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/internal/unknown"
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
	if !s.settings.options.PerDirectory {
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
	if s.settings.options.Plain {
		parallel.Each(r.jobs, r.changePlain)
		return r.say()
	}
	definitions, others := r.schedule()
	parallel.Each(definitions, r.runOnce)
	parallel.Each(others, r.runOnce)
	if len(r.policies.followers) > 0 {
		for _, follower := range r.policies.followers {
			if r.failed() {
				break
			}
			for _, j := range r.follow(follower) {
				w := r.normalize(r.server.write(*j.written))
				j.written = &w
				r.hold(w)
			}
		}
		parallel.Each(r.jobs, r.concludeJob)
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
	set       *Set
	ctx       context.Context
	policies  policies
	server    server
	observers []Observer
	// watched means that an observer needs every manifest.
	watched bool
	// earlier gives a job its result of an earlier run; it is nil without such results. rules, times and
	// layout are computed when they are needed.
	earlier func(*job) bool
	// known are the policies of an earlier run, and kept what was made of documents.
	known  known
	kept   *policy.Kept
	rules  func() rules
	times  func() map[placed]int
	layout func() layout

	input       *input
	jobs        []*job
	old         map[identity]*manifest.Document
	definitions definitions
	snapshot    *snapshot.Snapshot
	// candidates are the documents of the objects in the snapshot.
	candidates map[identity]*candidates
	rulers     rulers

	lock sync.Mutex
	// schemas, finished (jobs) and diagnostics are guarded by lock while jobs run.
	schemas     *schema.Registry
	finished    int
	diagnostics []source.Diagnostic
}

// begin compiles the policies of the input, makes a job for every manifest, and adds all context to
// the snapshot.
func (s *Set) begin(ctx context.Context, in *input, observers []Observer) *run {
	r := &run{set: s, ctx: ctx, input: in, schemas: s.schemas, kept: policy.NewKept(ctx, s.kept), snapshot: &snapshot.Snapshot{}, definitions: definitions{}}
	r.observers = slices.Clone(observers)
	r.rules, r.times, r.layout = sync.OnceValue(r.findRules), sync.OnceValue(func() map[placed]int { return timesOf(r.jobs) }), sync.OnceValue(r.findLayout)
	r.compile()
	r.watch(observers)
	if len(in.manifests)+len(in.policies) == 0 && len(in.local) > 0 {
		r.tell(source.Warningf(in.local[0].At(nil), "no-objects", "the input has no objects for a cluster, only such for client programs, so nothing changes").
			With("in a kustomization, name preadmit under transformers; under generators, it does not see the resources"))
	}
	r.jobs = slices.Grow(r.jobs, len(in.manifests))
	for i, d := range in.manifests {
		r.jobs = append(r.jobs, &job{index: i, document: d, result: &Manifest{Document: d}, done: make(chan struct{})})
	}
	if r.invalid() || s.settings.options.Plain {
		return r
	}
	if len(r.policies.trees) > 0 {
		parallel.Each(r.jobs, func(j *job) {
			j.loaded = r.load(j)
			r.applyTrees(j.loaded)
		})
	}
	unusable := r.define()
	for _, j := range r.jobs {
		j.diagnostics = append(j.diagnostics, r.set.checkIdentity(j.document, j.loaded)...)
		r.locate(j)
		r.tellUnusable(j, unusable[j])
	}
	r.tellPolicies()
	r.tellNames()
	r.findOld()
	r.index(in.local)
	return r
}

// policies are the policies of a run: those of the set and those among the manifests.
type policies struct {
	// programs are all policies. trees run before admission, and followers change other objects
	// after it. The server has the others.
	programs, trees []policy.Program
	followers       []policy.Follower
	// reads are the kinds of objects that the programs look up.
	reads    map[gvk.Kind]bool
	problems []source.Diagnostic
}

// compile compiles the policies among the manifests together with the policies of the set, and
// gives those that run at admission to the server.
func (r *run) compile() {
	s := r.set
	r.policies = s.policiesWith(slices.Concat(r.input.policies, s.configuration(r.input.local), s.configuration(r.input.manifests)), isPartial(r.observers) && !r.tolerates(), r.kept)
	if len(r.policies.programs) == 0 && !source.HasErrors(r.policies.problems) {
		r.tell(source.Warningf(source.Position{}, source.CodeNoPolicies, "no policy was given, so nothing changes").
			With("give policies with -p, policyPaths or policies, or among the manifests"))
	}
	r.server.defaulting, r.server.files = s.settings.defaulting(), s.files
	documents := slices.Concat(s.policies, s.context, r.input.manifests)
	r.server.webhooks = unpredicted(documents, r.policies.programs, s.settings.answerer)
	r.tell(s.settings.answerer.recorded.Without(documents)...)
	for _, program := range r.policies.programs {
		switch point := program.Hook().Point; {
		case point == policy.BeforeAdmission:
			r.policies.trees = append(r.policies.trees, program)
		case point != policy.Validating || s.settings.options.Validation != ValidationOff:
			r.server.programs = append(r.server.programs, program)
		}
		if follower := program.Existing(); follower != nil {
			r.policies.followers = append(r.policies.followers, follower)
		}
	}
	if s.settings.options.NonIdempotent != NonIdempotentSkip {
		r.observers = append([]Observer{replays}, r.observers...)
	}
}

// runsOnlyGiven reports whether the policies of the input do not run because some have errors.
func (r *run) runsOnlyGiven() bool {
	return isPartial(r.observers) && !r.tolerates() && source.HasErrors(r.policies.problems)
}

// policiesWith compiles further policies together with those of the set. If they have errors, a
// partial run goes on with the policies of the set.
func (s *Set) policiesWith(added []*manifest.Document, partial bool, kept *policy.Kept) policies {
	own := policies{programs: s.programs, reads: s.readKinds(), problems: s.problems}
	if len(added) == 0 {
		return own
	}
	programs, diagnostics := s.compile(slices.Concat(s.policies, s.configuration(s.context), added), kept)
	problems := slices.Concat(s.refused, diagnostics)
	if source.HasErrors(diagnostics) && partial {
		own.problems = problems
		return own
	}
	return policies{programs: programs, reads: readKinds(programs), problems: problems}
}

// watch prepares the server for observers.
func (r *run) watch(observers []Observer) {
	r.watched = slices.ContainsFunc(observers, func(o Observer) bool { return o.admit != nil || o.conclude != nil })
	r.server.keepsReason = policy.IsByOperation // see tellUpdates
	if r.watched {
		r.server.keepsReason = always
	}
	for _, o := range observers {
		if o.unknown != nil {
			r.ctx = unknown.With(r.ctx, o.unknown)
			r.server.judging = unknown.Judging(r.ctx)
		}
		if o.decorate != nil {
			r.server.programs = o.decorate(r.server.programs)
		}
		if o.tries != nil {
			r.server.tries = o.tries
		}
		if o.shuffled != nil {
			r.server.shuffled = o.shuffled
		}
		if o.earlier != nil {
			r.earlier = o.earlier(r)
		}
	}
}

// define adds the kinds of the CustomResourceDefinitions in the input, in their original form. The
// kinds decide whether other objects are namespaced. It returns the problems of definitions that define
// nothing.
func (r *run) define() (unusable map[*job][]source.Diagnostic) {
	var local []*manifest.Document
	for _, d := range r.input.local {
		if d.Kind() == definitionKind {
			local = append(local, d)
		}
	}
	all, documents := []*job{}, local
	for _, j := range r.jobs {
		if j.document.Kind() == definitionKind {
			all, documents = append(all, j), append(documents, j.document)
			r.definitions.add(j)
		}
	}
	if len(documents) == 0 {
		return nil
	}
	kept := r.kept
	if len(r.policies.trees) > 0 {
		kept = nil // they have changed the documents
	}
	now := policy.Keep(kept, schemasFrom{r.set.options, r.schemas}, documents, func() defined {
		now := defineAll(r.schemas.Clone(), local)
		for _, j := range all {
			j.loaded = r.load(j)
			now.problems = append(now.problems, define(now.schemas, j.document, j.loaded.raw))
		}
		return now
	})
	r.schemas = now.schemas
	r.tell(slices.Concat(now.problems[:len(local)]...)...)
	unusable = map[*job][]source.Diagnostic{}
	for i, j := range all {
		unusable[j] = now.problems[len(local)+i]
	}
	return unusable
}

// tellUnusable reports the problems of a definition in the words of the server, if it refuses the
// definition.
func (r *run) tellUnusable(j *job, problems []source.Diagnostic) {
	if len(problems) > 0 && r.set.settings.options.Validation == ValidationDeny {
		if j.loaded == nil {
			j.loaded = r.load(j)
		}
		_, err := r.set.settings.validation.Check(r.ctx, j.place.kind, j.loaded.raw, nil)
		if err != nil {
			refusal := j.deny(policy.Failure{Status: "Invalid", Err: err})
			refusal.At = problems[0].At
			problems = []source.Diagnostic{refusal}
		}
	}
	j.diagnostics = append(j.diagnostics, problems...)
}

// locate finds the place of the object of a job.
func (r *run) locate(j *job) {
	namespace, name := j.document.Namespace(), j.document.Name()
	var tree []event
	if l := j.loaded; l != nil {
		namespace, name, tree = textAt(l.raw, "metadata", "namespace"), textAt(l.raw, "metadata", "name"), l.tree
	}
	j.place = r.set.placeAs(j.document.Kind(), namespace, name, r.currentSchemas())
	j.result.ID, j.result.Namespace = j.place.id(), j.place.namespace
	for _, e := range tree {
		for _, text := range e.sensitive.texts { // a tree has computed the name from the data of a Secret
			j.result.ID = strings.ReplaceAll(j.result.ID, text, redact.Mask)
		}
	}
}

// invalid reports whether the run has an error that prevents the admission of all manifests.
func (r *run) invalid() bool {
	if isPartial(r.observers) {
		return false
	}
	if source.HasErrors(r.policies.problems) && !r.tolerates() {
		return true
	}
	return source.HasErrors(r.diagnostics) || slices.ContainsFunc(r.jobs, func(j *job) bool { return source.HasErrors(j.diagnostics) })
}

// failed reports whether any job has failed.
func (r *run) failed() bool {
	return r.ctx.Err() != nil || slices.ContainsFunc(r.jobs, (*job).failed)
}

// exists reports whether an observer has marked the object of a job as existing.
func (r *run) exists(j *job) bool {
	return slices.ContainsFunc(r.observers, func(o Observer) bool { return o.existing[j.document] })
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
	if r.earlier != nil && r.earlier(j) {
		return
	}
	if r.isUntouched(j) {
		if !r.acceptsSurely(j) {
			r.validateAlone(j)
		}
		r.conclude(unadmitted(&loaded{job: j}))
		return
	}
	memo := memos.Get().(*change.Memo)
	defer forget(memo)
	a := r.admit(r.load(j), memo)
	reader := a.request.Snapshot
	w := *unwritten(a)
	if !j.failed() {
		w = r.complete(r.normalize(r.server.write(w)))
		r.observe(&w)
	}
	a.read = reader.Sensitive()
	j.result.DependsOnOthers = reader.Asked() || a.trace != nil && a.trace.before != nil && r.currentSchemas().Lookup(j.place.kind.Kind) == nil
	j.spoilt(reader.Err())
	if !j.failed() {
		r.hold(w)
	}
	if len(r.policies.followers) == 0 {
		r.conclude(&w)
		return
	}
	a.request.Memo, j.written = nil, &w
}

// observe shows an admitted job to the observers, unless it has failed.
func (r *run) observe(w *written) {
	for _, o := range r.observers {
		if o.admit != nil && !w.job.failed() {
			o.admit(r, w)
		}
	}
}

// reader returns a reader of the snapshot for a job.
func (r *run) reader(j *job) *snapshot.Reader {
	reader := r.snapshot.Reader(j)
	j.readers = append(j.readers, reader)
	return reader
}

// load returns the manifest of a job, which an earlier stage may have read.
func (r *run) load(j *job) *loaded {
	l := j.loaded
	if l == nil {
		l = j.load(r.set.settings.options.Plain)
		if r.set.settings.options.OmitNulls {
			l.omitNulls(j.place.kind)
		}
		return l
	}
	j.loaded = nil // only the result of the next stage keeps it
	return l
}

// hold keeps the result of a job for policies that look it up, and for objects whose kind it
// defines.
func (r *run) hold(w written) {
	if r.isRead(w.job) {
		w.job.held = &held{w.loaded.raw, w.edited}
	}
	if w.job.document.Kind() == definitionKind && !change.Equal(w.edited, w.loaded.raw) {
		r.redefine(w.job, w.edited)
	}
}

// admit sends a manifest through the server.
func (r *run) admit(l *loaded, memo *change.Memo) *admitted {
	j := l.job
	a := &admitted{job: j, loaded: l, request: r.requestFor(l, memo, r.reader(j))}
	a.request.Warn = a.warn
	switch {
	case r.exists(j):
		a.trace = r.server.trace(nil)
	case !r.decodes(l, memo):
		a.tellWarnings()
		return a
	case !r.server.covers(a.request):
		a.trace = r.server.planned(a.request)
		r.validateUntouched(a)
	default:
		r.admitView(a)
	}
	r.tellUpdates(a)
	return a
}

// admitView sends the admission view of a manifest through the server.
func (r *run) admitView(a *admitted) {
	j, request := a.job, a.request
	view, err := r.server.defaulting.view(request.Memo, j.place, a.loaded.raw)
	if err != nil {
		a.tell(j.refusal("manifest-invalid", "", err)...)
		return
	}
	request.Object = view
	a.trace = r.server.admit(j.place, request, a.loaded.raw, nil)
	if j.spoilt(request.Snapshot.Err()) {
		return
	}
	a.read = request.Snapshot.Sensitive()
	if err := a.misplaced(); err != nil && len(a.trace.failures) == 0 {
		a.trace.reject(policy.Failure{ID: a.trace.first().by, At: a.trace.first().at, Err: err})
	}
	if len(a.trace.failures) == 0 {
		r.server.validate(j.place, *request, a.trace)
	}
	a.read = request.Snapshot.Sensitive()
	a.trace.redact(a.scope(nil))
	for _, f := range a.trace.failures {
		a.tell(j.deny(f))
	}
	for _, f := range a.trace.ignored {
		a.warnIgnored(f)
	}
	r.tellValidation(a)
	a.tellUnwritable()
}

// validateAlone decodes and validates a manifest that policies leave alone.
func (r *run) validateAlone(j *job) {
	a := &admitted{job: j, loaded: r.load(j), trace: r.server.trace(nil)}
	if a.request = r.requestFor(a.loaded, nil, nil); r.decodes(a.loaded, nil) {
		r.validateUntouched(a)
	} else {
		a.tellWarnings()
	}
}

// validateUntouched validates a manifest that no policy matches.
func (r *run) validateUntouched(a *admitted) {
	p := a.job.place
	probe := r.server.trace(nil)
	if admission.InheritsLabels(p.kind) || !r.server.checkMetadata(p, a.request, a.loaded.raw, probe) {
		view, err := r.server.defaulting.view(nil, p, a.loaded.raw) // a server adds a label to namespaces
		if err != nil {
			a.tell(a.job.refusal("manifest-invalid", "", err)...)
			return
		}
		a.trace.before, a.trace.after = view, view // the message says what they have in the fields
		r.server.checkMetadata(p, a.request, view, a.trace)
	}
	r.tellValidation(a)
}

// misplaced returns the error of a server if policies have moved the object to another namespace,
// have removed its name, or have set its resourceVersion.
func (a *admitted) misplaced() error {
	if !a.trace.changed() {
		return nil
	}
	p := a.job.place
	if namespace, given := change.Keys("metadata", "namespace").Get(a.trace.after); given && p.kind.Namespaced && namespace != p.namespace {
		return errors.New("the namespace of the provided object does not match the namespace sent on the request")
	}
	if textAt(a.trace.after, "metadata", "name") == "" && textAt(a.trace.after, "metadata", "generateName") == "" {
		return fmt.Errorf("%s \"\" is invalid: metadata.name: Required value: name or generateName is required", strings.TrimSuffix(a.job.place.kind.Kind.Kind+"."+a.job.place.kind.Group, "."))
	}
	if version := textAt(a.trace.after, "metadata", "resourceVersion"); version != "" && version != textAt(a.trace.before, "metadata", "resourceVersion") && a.request.Operation == policy.Create && !a.request.DryRun {
		return errors.New("resourceVersion should not be set on objects to be created")
	}
	return nil
}

// tellUnwritable warns of fields that a server keeps if policies set them, but no manifest can have.
func (a *admitted) tellUnwritable() {
	for _, path := range admission.Unwritable {
		for _, e := range a.trace.events {
			before, _ := path.Get(e.before)
			if value, _ := path.Get(e.written); !e.drops && value != nil && value != before {
				a.tell(source.Warningf(source.Position{}, "value-not-written", "%s sets %s, which a server keeps, but no manifest can have", e.by, path).
					Naming(e.at, e.by.String()).With("remove the field from the policy"))
				break
			}
		}
	}
}

// isUntouched reports whether a job cannot change, judged without its object: no policy may match
// it, and neither policies nor observers need the object. Then it gets no view.
func (r *run) isUntouched(j *job) bool {
	settings := &r.set.settings
	if r.watched || j.loaded != nil || policy.Operation(settings.options.Operation) == policy.Update || len(r.policies.followers) > 0 || settings.options.Normalize || settings.options.WriteNamespace || settings.options.OmitNulls || r.isRead(j) {
		return false
	}
	request := r.requestFor(&loaded{job: j}, nil, nil)
	update := *request
	update.Operation = policy.Update // see tellUpdates
	return !r.server.covers(request) && !r.server.covers(&update)
}

// requestFor returns the request for a manifest.
func (r *run) requestFor(l *loaded, memo *change.Memo, reader *snapshot.Reader) *policy.Request {
	settings, j := &r.set.settings, l.job
	request := &policy.Request{
		Context: r.ctx, Kind: j.place.kind, Name: j.place.name, Namespace: j.place.ofRequest(),
		Operation: settings.options.Operation, DryRun: settings.options.DryRun, User: settings.options.User,
		Memo: memo, Object: l.raw, Written: l.original, Schemas: r.currentSchemas(), Snapshot: reader, Secrets: r.input.given,
	}
	if j.made != nil {
		request.Operation, request.DryRun, request.User = policy.Create, false, j.made.user()
	}
	if request.Operation == policy.Update {
		request.OldObject = r.oldObject(l, memo)
	}
	return request
}

// oldObject returns the object that an update replaces.
func (r *run) oldObject(l *loaded, memo *change.Memo) map[string]any {
	d := r.old[l.job.place.unversioned()]
	if d == nil {
		return nil
	}
	view, err := r.server.defaulting.held(memo, r.set.placeOf(d, r.currentSchemas()), d.Object())
	if err != nil {
		l.tell(source.Errorf(d.At(nil), "manifest-invalid", "the object before the update: %v", err))
	}
	return view
}

// concludeJob finishes a job when all other jobs are admitted.
func (r *run) concludeJob(j *job) {
	w := j.written
	j.written = nil // its memory is free afterwards
	if w == nil && j.loaded != nil {
		w = unadmitted(r.load(j))
	}
	if w == nil {
		w = unadmitted(&loaded{job: j})
	}
	r.conclude(w)
}

// conclude finishes a job when nothing can change its object again.
func (r *run) conclude(w *written) {
	for _, o := range r.observers {
		if o.conclude != nil {
			o.conclude(r, w)
		}
	}
	if !w.job.failed() {
		w.commit()
	}
	if w.loaded.isSensitive() {
		r.learn(w)
	}
	r.learnWritten(w)
	for _, o := range r.observers {
		if o.keep != nil {
			o.keep(r, w)
		}
	}
	w.job.document.Release()
}

// learn adds to the mask the values that were written into a sensitive object.
func (r *run) learn(w *written) {
	r.lock.Lock()
	defer r.lock.Unlock()
	events := slices.Clone(w.loaded.tree)
	if trace := w.admitted.trace; trace != nil {
		r.input.secrets.LearnAll(trace.before)
		r.input.secrets.LearnAll(trace.after)
		events = append(events, trace.events...)
	}
	for _, e := range events {
		r.input.secrets.LearnAll(e.written)
	}
	r.input.secrets.LearnAll(w.edited)
}

// learnWritten adds the sensitive texts that policies have written into an object.
func (r *run) learnWritten(w *written) {
	w.job.result.Sensitive = w.loaded.isSensitive()
	r.learnTexts(w.job, w.loaded.tree)
	if w.admitted.trace != nil {
		r.learnTexts(w.job, w.admitted.trace.events)
	}
}

func (r *run) learnTexts(j *job, events []event) {
	for i := range events { // events are large
		if sensitive := &events[i].sensitive; sensitive.hides() {
			j.result.Sensitive = true
			r.lock.Lock()
			r.input.secrets.LearnTexts(sensitive.texts)
			r.lock.Unlock()
		}
	}
}

// changePlain runs mutation trees on a document that is not a Kubernetes object.
func (r *run) changePlain(j *job) {
	l := r.load(j)
	r.applyTrees(l)
	w := unadmitted(l)
	r.observe(w)
	r.conclude(w)
}
