package engine

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/builtin"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/internal/snapshot"
	"github.com/preadmit/preadmit/engine/internal/workload"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Results are the manifests of runs. A later run does not admit a manifest again if everything that
// decides about it is as it was: the options, the definitions of kinds, the documents that configure
// languages, the policies and bindings that may match it, and what these have looked up for it, such as
// params and namespaces. The zero value is empty. A nil pointer keeps nothing.
type Results struct {
	lock sync.Mutex
	kept map[resultKey]*kept
	// made are the objects that controllers make from kept manifests, directly and indirectly.
	made map[*Manifest][]*Manifest
	// times counts how often a file has an object.
	times map[placed]int
	// layout are the places of the documents of the runs.
	layout layout
	known  known
	// parts is what was made of documents, in the sets and in their runs.
	parts []*policy.Kept
}

// earlier returns what a later run takes over of what was made of documents; nil if nothing is to be kept.
func (k *Results) earlier() *policy.Kept {
	if k == nil {
		return nil
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	if len(k.parts) != 1 {
		k.parts = []*policy.Kept{policy.Merged(k.parts...)} // after the runs, whose observers keep something until they end
	}
	return k.parts[0]
}

// Compile is the function Compile, and takes over what was made of the same policies in the earlier runs.
func (k *Results) Compile(policies, context []*manifest.Stream, options Options) (*Set, []source.Diagnostic) {
	return compileAll(policies, context, options, k.earlier())
}

// CompileSound is the function CompileSound, and takes over what was made of the same policies in the earlier
// runs.
func (k *Results) CompileSound(policies, context []*manifest.Stream, options Options) (*Set, []source.Diagnostic) {
	return compileSound(policies, context, options, k.earlier())
}

// known are the policies of a run by their digests, and for its manifests which of the policies may match
// them.
type known struct {
	all      digest
	policies map[digest]decisive
	matching map[placed][]digest
}

// placed is an object in a file.
type placed struct {
	file, namespace, name string
	kind                  gvk.Kind
}

// resultKey is everything that decides about a manifest besides other objects. value is the manifest.
type resultKey struct {
	object       placed
	rules, value digest
}

// kept is the result of a job, and what a later run needs to take it over.
type kept struct {
	key         resultKey
	result      *Manifest
	diagnostics []source.Diagnostic
	denied      bool
	held        *held
	// definition is that of the kind if it is a manifest, and answers are what policies have looked up.
	definition *held
	answers    []answer
	// written is what observers need that look at all objects of a run.
	written *written
}

// answer is what a snapshot answers to a query.
type answer struct {
	query snapshot.Query
	// given are documents that are no manifests, or names.
	given digest
	jobs  []*held
}

// Keep keeps the results of runs for Reuse. With called webhooks, or policies that change other objects,
// it keeps none.
func (k *Results) Keep() Observer {
	if k == nil {
		return Observer{}
	}
	return Observer{keep: note, ended: k.keep}
}

// Remember is Keep for Restore, which needs more memory.
func (k *Results) Remember() Observer {
	return Observer{keep: remember, ended: k.keep}
}

// Reuse takes the kept results over: such a Manifest only has Same, and no diagnostics.
func (k *Results) Reuse() Observer {
	if k == nil {
		return Observer{}
	}
	return Observer{ended: k.addMade, earlier: func(r *run) func(*job) bool {
		return func(j *job) bool { return k.reuse(r, j) }
	}}
}

// Restore takes the results over that Remember has kept of a run with the same observers, with their
// diagnostics, as if the manifests had been admitted again. It does not edit the documents, and leaves out
// why policies do not match a manifest. Sensitive manifests are admitted again.
func (k *Results) Restore() Observer {
	if k == nil {
		return Observer{}
	}
	return Observer{earlier: func(r *run) func(*job) bool {
		r.known = k.known
		move := newMove(k.layout, r.layout()) // before a job edits a document
		return func(j *job) bool { return k.restore(r, j, move) }
	}}
}

// note notes the result of a job before its document is released.
func note(r *run, w *written) {
	j := w.job
	if j.made != nil {
		return
	}
	j.kept = &kept{key: r.resultKey(j), result: j.result, held: j.held}
}

// remember notes all that is needed to restore the result of a job.
func remember(r *run, w *written) {
	note(r, w)
	if k := w.job.kept; k != nil {
		k.diagnostics, k.denied, k.held, k.written = slices.Clone(w.job.diagnostics), w.job.denied, &held{w.loaded.raw, w.edited}, w.kept()
	}
}

// keep keeps the results of a run that has ended. The objects that controllers make follow their owner.
func (k *Results) keep(r *run, _ *Outcome) []source.Diagnostic {
	if r.ctx.Err() != nil {
		return nil
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	k.parts = append(k.parts, r.set.kept, r.kept)
	if !r.isRepeatable() {
		return nil
	}
	if k.kept == nil {
		k.kept, k.made, k.times, k.layout = make(map[resultKey]*kept, len(r.jobs)), map[*Manifest][]*Manifest{}, make(map[placed]int, len(r.jobs)), layout{}
	}
	for object, n := range r.times() {
		k.times[object] += n
	}
	maps.Copy(k.layout, r.layout())
	k.known = r.knowing()
	var root *job
	for _, j := range r.jobs {
		if j.kept != nil && r.completeKept(j) {
			root, k.kept[j.kept.key] = j, j.kept
		} else if j.made == nil {
			root = nil
		} else if root != nil {
			k.made[root.result] = append(k.made[root.result], j.result)
			if j.result.DependsOnOthers || j.blocked != nil {
				delete(k.kept, root.kept.key)
			}
		}
	}
	return nil
}

// completeKept adds to what is kept of a job what it has looked up. It returns false if a later run could
// not find out whether that has changed.
func (r *run) completeKept(j *job) bool {
	if j.blocked != nil || j.document.Kind() == definitionKind {
		return false
	}
	if definition := r.definitions.of(j.document.Kind()); definition != nil {
		j.kept.definition = definition.held
	}
	if w := j.kept.written; w != nil {
		w.admitted.detach()
	}
	for _, reader := range j.readers {
		for _, query := range reader.Queries() {
			a, ok := r.answer(query)
			if !ok || len(reader.Sensitive()) > 0 {
				return false
			}
			j.kept.answers = append(j.kept.answers, a)
		}
	}
	return true
}

// answer returns the answer to a query after all jobs that it concerns. It returns false if the answer
// depends on more.
func (r *run) answer(query snapshot.Query) (answer, bool) {
	a, w := answer{query: query}, rulesWriter{sha256.New()}
	switch query.Scope {
	case snapshot.AllKinds:
		return a, false
	case snapshot.NamesOfKind:
		for _, name := range r.snapshot.Names(query.Kind, query.Namespace) {
			w.say([]byte(name))
		}
	case snapshot.OneObject:
		c := r.candidates[identity{query.Kind, query.Namespace, query.Name}]
		if c == nil {
			break
		}
		if len(c.given) > 0 && len(c.jobs) > 0 { // a run tells if they differ
			return a, false
		}
		w.write(c.given[:c.local], r.digestOf)
		w.write(c.given[c.local:], r.digestOf)
		for _, j := range c.jobs {
			if j.held == nil {
				return a, false
			}
			a.jobs = append(a.jobs, j.held)
		}
	}
	a.given = w.digest()
	return a, true
}

// equals reports whether policies see the same.
func (a answer) equals(other answer) bool {
	return a.given == other.given && slices.EqualFunc(a.jobs, other.jobs, (*held).equals)
}

func (h *held) equals(other *held) bool {
	if h == nil || other == nil {
		return h == other
	}
	return change.Equal(h.raw, other.raw) && change.Equal(h.edited, other.edited)
}

// isRepeatable reports whether a run of the same input surely has the same results, object by object.
func (r *run) isRepeatable() bool {
	return len(r.policies.followers) == 0 && r.set.settings.options.Webhooks == nil
}

// timesOf counts how often files have an object.
func timesOf(jobs []*job) map[placed]int {
	times := make(map[placed]int, len(jobs))
	for _, j := range jobs {
		if j.made == nil {
			times[placedAt(j.document)]++
		}
	}
	return times
}

func placedAt(d *manifest.Document) placed {
	return placed{d.Stream().Name(), d.Namespace(), d.Name(), d.Kind()}
}

// find returns what is kept of a job if nothing has changed that decides about it; nil otherwise.
func (k *Results) find(r *run, j *job) *kept {
	if j.made != nil || len(k.kept) == 0 || !r.isRepeatable() {
		return nil
	}
	if object := placedAt(j.document); k.times[object] != 1 || r.times()[object] != 1 {
		return nil
	}
	found := k.kept[r.resultKey(j)]
	if found == nil || found.held == nil && r.isRead(j) {
		return nil
	}
	if definition := r.definitions.of(j.document.Kind()); (definition == nil) != (found.definition == nil) || definition != nil && !definition.held.equals(found.definition) {
		return nil
	}
	for _, was := range found.answers {
		if !r.answersAgain(j, was) {
			return nil
		}
	}
	return found
}

// answersAgain reports whether the snapshot gives a job the same answer as an earlier one. It runs the
// jobs that the answer needs.
func (r *run) answersAgain(j *job, was answer) bool {
	if c := r.candidates[identity{was.query.Kind, was.query.Namespace, was.query.Name}]; c != nil && was.query.Scope == snapshot.OneObject {
		for _, other := range c.jobs {
			if r.need(j, other) != nil {
				return false
			}
		}
	}
	is, ok := r.answer(was.query)
	return ok && was.equals(is)
}

// reuse says that a job has the same result as an earlier one.
func (k *Results) reuse(r *run, j *job) bool {
	found := k.find(r, j)
	if found == nil {
		return false
	}
	j.result.Same, j.result.Sensitive, j.result.DependsOnOthers = found.result, found.result.Sensitive, found.result.DependsOnOthers
	if r.isRead(j) {
		j.held = found.held
	}
	j.document.Release()
	return true
}

// restore gives a job the result of an earlier one.
func (k *Results) restore(r *run, j *job, move move) bool {
	found := k.find(r, j)
	if found == nil || found.result.Sensitive {
		return false
	}
	now, ok := move.kept(found, j)
	if !ok {
		return false
	}
	*j.result, j.diagnostics, j.denied, j.kept = *now.result, slices.Clone(now.diagnostics), now.denied, now
	now.result = j.result
	if r.isRead(j) && !j.failed() {
		j.held = now.held
	}
	w := now.written.in(r, j)
	now.written.admitted.know(w.admitted.sample)
	for _, o := range r.observers {
		if o.reuse != nil {
			o.reuse(r, w)
		}
	}
	j.document.Release()
	return true
}

// kept returns what observers of a later run need: without the programs and the run.
func (w *written) kept() *written {
	loaded := &loaded{original: w.loaded.original, raw: w.loaded.raw}
	a := &admitted{loaded: loaded}
	a.know(w.admitted.sample)
	if t := w.admitted.trace; t != nil {
		a.trace = t.kept()
	}
	return &written{loaded: loaded, admitted: a, edited: w.edited}
}

func (t *trace) kept() *trace {
	only := &trace{before: t.before, after: t.after, ignored: t.ignored, shuffled: t.shuffled, events: slices.Clone(t.events)}
	for i := range only.events {
		only.events[i].program = nil
	}
	if t.tries != nil {
		only.tries = &tries{list: slices.DeleteFunc(slices.Clone(t.tries.list), func(one try) bool { return one.result == unmatched })}
	}
	return only
}

// know lets what is kept of an admission know what is found out about a sample.
func (a *admitted) know(s *sample) { a.sample = s }

// detach drops from what is kept of an admission the run.
func (a *admitted) detach() {
	if a.sample != nil {
		a.sample = &sample{behavior: a.sample.behavior, form: a.sample.form, tried: a.sample.tried}
	}
}

// in returns what is kept of an admission as that of a job of a run.
func (w *written) in(r *run, j *job) *written {
	loaded, a := *w.loaded, *w.admitted
	loaded.job = j
	a.job, a.loaded = j, &loaded
	a.request = r.requestFor(&loaded, nil, r.reader(j))
	a.request.Warn = a.warn
	if a.sample != nil {
		one := *a.sample
		one.object, a.sample = &a, &one
	}
	return &written{job: j, loaded: &loaded, admitted: &a, edited: w.edited}
}

// addMade adds to an outcome what controllers have made from the manifests that were taken over.
func (k *Results) addMade(_ *run, outcome *Outcome) []source.Diagnostic {
	var all []*Manifest
	for _, m := range outcome.Manifests {
		all = append(all, m)
		if m.Same == nil {
			continue
		}
		makers := map[*Manifest]*Manifest{m.Same: m}
		for _, was := range k.made[m.Same] {
			is := &Manifest{Document: was.Document, ID: was.ID, Namespace: was.Namespace, Sensitive: was.Sensitive, Maker: makers[was.Maker], Same: was}
			makers[was], all = is, append(all, is)
		}
	}
	outcome.Manifests = all
	return nil
}

// resultKey returns what decides about a job.
func (r *run) resultKey(j *job) resultKey {
	if j.key == nil {
		object := placedAt(j.document)
		j.matching = r.matching(object, sync.OnceValue(func() []*policy.Request { return r.requestsOf(j) }))
		j.key = &resultKey{object, r.rules().about(j.matching), r.digestOf(j.document)}
	}
	return *j.key
}

// digestOf is the function digestOf, and keeps the digest.
func (r *run) digestOf(d *manifest.Document) digest {
	return policy.Keep(r.kept, "json", []*manifest.Document{d}, func() digest { return digestOf(d) })
}

// matching returns the policies that decide about an object for which there may be requests, in order. It asks
// only those that an earlier run did not have.
func (r *run) matching(object placed, requests func() []*policy.Request) []digest {
	all, matched := r.rules(), []int{}
	asked := all.policies
	if known, isKnown := r.known.matching[object]; isKnown && r.known.all == all.all {
		for _, d := range known {
			if i, isStill := all.at[d]; isStill {
				matched = append(matched, i)
			}
		}
		asked = all.added
	}
	for _, d := range asked {
		if d.mayMatch(requests()) {
			matched = append(matched, all.at[d.digest])
		}
	}
	slices.Sort(matched)
	matching := make([]digest, len(matched))
	for i, at := range matched {
		matching[i] = all.policies[at].digest
	}
	return matching
}

// knowing returns what a later run may know.
func (r *run) knowing() known {
	all := r.rules()
	now := known{all.all, make(map[digest]decisive, len(all.policies)), make(map[placed][]digest, len(r.jobs))}
	for _, d := range all.policies {
		now.policies[d.digest] = d
	}
	times := r.times()
	for _, j := range r.jobs {
		if j.key != nil && times[j.key.object] == 1 {
			now.matching[j.key.object] = j.matching
		}
	}
	return now
}

// requestsOf returns the request for a job, without its object, and those for what controllers make from
// it. It returns nil if policies may match more than the requests say.
func (r *run) requestsOf(j *job) []*policy.Request {
	if len(r.policies.trees) > 0 || r.set.settings.options.Operation != policy.Create {
		return nil
	}
	own := r.requestFor(&loaded{job: j}, nil, nil)
	update := *own
	update.Operation = policy.Update // see tellUpdates
	requests := []*policy.Request{own, &update}
	if workload.Controls(j.place.kind.Kind) {
		for _, kind := range []gvk.Kind{{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, {Group: "batch", Version: "v1", Kind: "Job"}, podKind} {
			made := *own
			made.Kind, made.Name = r.currentSchemas().Lookup(kind), ""
			requests = append(requests, &made)
		}
	}
	return requests
}

// rules are what decides about manifests that do not depend on others: a digest of what decides about all
// of them, and policies that decide about those that they may match.
type rules struct {
	all      digest
	policies []decisive
	// at are the indexes of the policies, and added those that an earlier run did not have.
	at    map[digest]int
	added []decisive
}

// decisive is a policy with its bindings, or policies that decide together.
type decisive struct {
	// programs are nil if the policy may match any object.
	programs []policy.Program
	digest   digest
}

// about returns a digest of the rules that decide about an object that some policies may match.
func (all rules) about(matching []digest) digest {
	w := rulesWriter{sha256.New()}
	w.say(all.all[:])
	for _, d := range matching {
		w.say(d[:])
	}
	return w.digest()
}

// mayMatch reports whether a policy decides about an object of these requests. Without requests, the
// answer is yes.
func (d decisive) mayMatch(requests []*policy.Request) bool {
	return d.programs == nil || requests == nil ||
		slices.ContainsFunc(d.programs, func(p policy.Program) bool { return slices.ContainsFunc(requests, p.Covers) })
}

// findRules returns the rules of a run: those of its set, with the manifests that decide about others.
func (r *run) findRules() rules {
	s := r.set
	w, options := rulesWriter{sha256.New()}, s.rules()
	w.say(options[:])
	w.say(fmt.Append(nil, r.runsOnlyGiven()))
	definitions := slices.DeleteFunc(slices.Clone(r.input.manifests), func(d *manifest.Document) bool {
		return d.Kind() != definitionKind && d.Kind() != webhookKind
	})
	policies := map[owner][]*manifest.Document{}
	for _, documents := range [][]*manifest.Document{s.given, r.input.policies, r.input.local, s.configuration(r.input.manifests), definitions} {
		w.write(slices.DeleteFunc(slices.Clone(documents), func(d *manifest.Document) bool {
			if s.isOnlyLookedUp(d) {
				return true // an answer has it
			}
			isPolicy := s.isPolicy(d.Kind()) && d.Kind() != webhookKind
			if isPolicy {
				by := s.ownerOf(d)
				policies[by] = append(policies[by], d)
			}
			return isPolicy
		}), r.digestOf)
	}
	all := rules{all: w.digest(), policies: r.decisive(policies), at: map[digest]int{}}
	for i, d := range all.policies {
		all.at[d.digest] = i
		if _, isOld := r.known.policies[d.digest]; !isOld {
			all.added = append(all.added, d)
		}
	}
	return all
}

// isOnlyLookedUp reports whether a document that is no manifest decides about manifests only if policies
// look it up.
func (s *Set) isOnlyLookedUp(d *manifest.Document) bool {
	switch kind := d.Kind(); {
	case kind == definitionKind, kind.Group == webhookKind.Group, isLocal(d), given.IsContext(kind), kind == ClusterKind:
		return false
	}
	return len(s.owners(d)) == 0 && !builtin.IsConfig(d.Kind())
}

// owner identifies policies that decide together: a policy with its bindings, or all mutators of
// Gatekeeper, which may disable each other.
type owner struct {
	language int
	name     string
}

// ownerOf returns the owner of a policy, or of a binding.
func (s *Set) ownerOf(d *manifest.Document) owner {
	by := owner{language: s.language(d.Kind())}
	if _, together := s.languages[by.language].(policy.Configured); together {
		return by
	}
	if by.name = d.TextAt("spec", "policyName"); by.name == "" {
		by.name = d.Namespace() + "/" + d.Name()
	} else {
		by.name = "/" + by.name
	}
	return by
}

// decisive returns the policies of owners, in order, with the programs of those that are known. Documents
// that are no policy by themselves, such as exceptions, may decide about any object.
func (r *run) decisive(policies map[owner][]*manifest.Document) (all []decisive) {
	owners := slices.SortedFunc(maps.Keys(policies), func(a, b owner) int {
		return cmp.Or(cmp.Compare(a.language, b.language), cmp.Compare(a.name, b.name))
	})
	for _, by := range owners {
		documents := policies[by]
		w := rulesWriter{sha256.New()}
		w.write(documents, r.digestOf)
		one, isKnown := r.known.policies[w.digest()]
		if isKnown {
			all = append(all, one)
			continue
		}
		one.digest = w.digest()
		if programs, problems := r.set.languages[by.language].Compile(documents, r.kept); source.HasErrors(problems) || len(programs) > 0 {
			one.programs = append([]policy.Program{}, programs...) // those without errors run
		}
		all = append(all, one)
	}
	return all
}
