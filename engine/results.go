package engine

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash"
	"maps"
	"slices"
	"sync"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/workload"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Results are the manifests of runs. A later run does not admit a manifest again if everything that
// decides about it is as it was. The zero value is empty. A nil pointer keeps nothing.
type Results struct {
	lock sync.Mutex
	// keys are those of jobs of runs that have not ended.
	keys map[*job]resultKey
	kept map[resultKey]*Manifest
	// made are the objects that controllers make from kept manifests, directly and indirectly.
	made map[*Manifest][]*Manifest
	// times counts how often a file has an object.
	times map[placed]int
}

// placed is an object in a file.
type placed struct {
	file, namespace, name string
	kind                  gvk.Kind
}

// resultKey is everything that decides about a manifest that does not depend on others. value is the
// manifest.
type resultKey struct {
	object       placed
	rules, value digest
}

type digest [sha256.Size]byte

// Keep keeps the results of runs. With called webhooks, or policies that change other objects, it
// keeps none.
func (k *Results) Keep() Observer {
	if k == nil {
		return Observer{}
	}
	return Observer{conclude: k.note, ended: k.keep}
}

// Reuse takes the kept results over: such a Manifest only has Same, and no diagnostics.
func (k *Results) Reuse() Observer {
	if k == nil {
		return Observer{}
	}
	return Observer{earlier: k, ended: k.addMade}
}

// note computes the key of a job before its document is released.
func (k *Results) note(r *run, w *written) {
	if w.job.made != nil {
		return
	}
	key := r.resultKey(w.job)
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.keys == nil {
		k.keys = map[*job]resultKey{}
	}
	k.keys[w.job] = key
}

// keep keeps the results of a run that has ended. The objects that controllers make follow their owner.
func (k *Results) keep(r *run, _ *Outcome) []source.Diagnostic {
	k.lock.Lock()
	defer k.lock.Unlock()
	keys := k.keys
	k.keys = nil
	if r.ctx.Err() != nil || !r.isRepeatable() {
		return nil
	}
	if k.kept == nil {
		k.kept, k.made, k.times = map[resultKey]*Manifest{}, map[*Manifest][]*Manifest{}, map[placed]int{}
	}
	for object, n := range timesOf(r.jobs) {
		k.times[object] += n
	}
	var root *job
	for _, j := range r.jobs {
		if key, noted := keys[j]; noted {
			root, k.kept[key] = j, j.result
		} else if j.made != nil {
			k.made[root.result] = append(k.made[root.result], j.result)
		}
		if root != nil && !r.isAlone(j) {
			delete(k.kept, keys[root])
		}
	}
	return nil
}

// isRepeatable reports whether a run of the same input surely has the same results, object by object.
func (r *run) isRepeatable() bool {
	return len(r.policies.followers) == 0 && r.set.settings.options.Webhooks == nil
}

// isAlone reports whether no other object has changed the result of a job.
func (r *run) isAlone(j *job) bool {
	definition := r.definitions.of(j.document.Kind())
	return !j.result.DependsOnOthers && j.blocked == nil && (definition == nil || r.isAlone(definition))
}

// timesOf counts how often files have an object.
func timesOf(jobs []*job) map[placed]int {
	times := map[placed]int{}
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

// takeOver gives a job its result of an earlier run, if nothing has changed that decides about it, and
// no policy may look it up.
func (r *run) takeOver(j *job) bool {
	if r.earlier == nil || j.made != nil || r.isRead(j) || !r.isRepeatable() {
		return false
	}
	if object := placedAt(j.document); r.earlier.times[object] != 1 || r.times()[object] != 1 {
		return false
	}
	j.result.Same = r.earlier.kept[r.resultKey(j)]
	if j.result.Same == nil {
		return false
	}
	j.result.Sensitive = j.result.Same.Sensitive
	j.document.Release()
	return true
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

func (r *run) resultKey(j *job) resultKey {
	return resultKey{placedAt(j.document), r.rules().about(r.requestsOf(j)), sha256.Sum256(j.document.JSON())}
}

// requestsOf returns the request for a job, without its object, and those for what controllers make from
// it. It returns nil if policies may match more than the requests say.
func (r *run) requestsOf(j *job) []*policy.Request {
	if len(r.policies.trees) > 0 || r.set.settings.options.Operation != policy.Create {
		return nil
	}
	own := r.requestFor(&loaded{job: j}, nil, nil)
	requests := []*policy.Request{own}
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
}

// decisive is a policy with its bindings, or policies that decide together.
type decisive struct {
	// programs are nil if the policy may match any object.
	programs []policy.Program
	digest   digest
}

// about returns a digest of the rules that decide about an object for which there are requests. Without
// requests all rules decide.
func (all rules) about(requests []*policy.Request) digest {
	w := rulesWriter{sha256.New()}
	w.say(all.all[:])
	for _, d := range all.policies {
		if d.programs == nil || requests == nil || slices.ContainsFunc(d.programs, func(p policy.Program) bool { return slices.ContainsFunc(requests, p.Covers) }) {
			w.say(d.digest[:])
		}
	}
	return w.digest()
}

// findRules returns a digest of the options.
func (s *Set) findRules() digest {
	w := rulesWriter{sha256.New()}
	options := s.settings.options
	for _, streams := range []*[]*manifest.Stream{&options.Trees, &options.Old, &options.Values, &options.UserInfo, &options.WebhookAnswers} {
		w.write(documentsOf(*streams))
		*streams = nil
	}
	for _, d := range options.OpenAPI {
		w.say(d.Data)
	}
	options.OpenAPI, options.Webhooks = nil, nil
	w.say(fmt.Appendf(nil, "%#v", options))
	return w.digest()
}

// findRules returns the rules of a run: those of its set, with the manifests that decide about others.
func (r *run) findRules() rules {
	s := r.set
	s.ruling.Do(func() { s.rules = s.findRules() })
	w := rulesWriter{sha256.New()}
	w.say(s.rules[:])
	definitions := slices.DeleteFunc(slices.Clone(r.input.manifests), func(d *manifest.Document) bool {
		return d.Kind() != definitionKind && d.Kind() != webhookKind
	})
	policies := map[owner][]*manifest.Document{}
	for _, documents := range [][]*manifest.Document{s.given, r.input.policies, r.input.local, s.configuration(r.input.manifests), definitions} {
		w.write(slices.DeleteFunc(slices.Clone(documents), func(d *manifest.Document) bool {
			isPolicy := s.isPolicy(d.Kind()) && d.Kind() != webhookKind
			if isPolicy {
				by := s.ownerOf(d)
				policies[by] = append(policies[by], d)
			}
			return isPolicy
		}))
	}
	return rules{w.digest(), s.decisive(policies)}
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
	if by.name = (policy.Node{Value: d.Object()}).At("spec", "policyName").Text(); by.name == "" {
		by.name = d.Namespace() + "/" + d.Name()
	} else {
		by.name = "/" + by.name
	}
	return by
}

// decisive returns the policies of owners, in order. Documents that are no policy by themselves, such as
// exceptions, may decide about any object.
func (s *Set) decisive(policies map[owner][]*manifest.Document) (all []decisive) {
	owners := slices.SortedFunc(maps.Keys(policies), func(a, b owner) int {
		return cmp.Or(cmp.Compare(a.language, b.language), cmp.Compare(a.name, b.name))
	})
	for _, by := range owners {
		documents := policies[by]
		w := rulesWriter{sha256.New()}
		w.write(documents)
		one := decisive{digest: w.digest()}
		if programs, problems := s.languages[by.language].Compile(documents); !source.HasErrors(problems) && len(programs) > 0 {
			one.programs = programs
		}
		all = append(all, one)
	}
	return all
}

// rulesWriter computes digests of rules.
type rulesWriter struct{ hash hash.Hash }

func (w rulesWriter) digest() digest { return digest(w.hash.Sum(nil)) }

// say adds data, with its length.
func (w rulesWriter) say(data []byte) {
	fmt.Fprintln(w.hash, len(data))
	w.hash.Write(data)
}

// write adds documents.
func (w rulesWriter) write(documents []*manifest.Document) {
	for _, d := range documents {
		w.say(fmt.Appendf(d.JSON(), "%v", d.Stream().Sensitive()))
		d.Release()
	}
	w.say([]byte("end"))
}
