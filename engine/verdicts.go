package engine

import (
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Verdict says what a policy, or an admission plug-in, did to an object.
type Verdict struct {
	// By is the ID of the whole policy, or of the plug-in.
	By     policy.ID
	Action Action
	// Because are the reasons of its rules, if it was Skipped or Failed. There may be none.
	Because []policy.NotApplied
}

// Action is what a policy did to an object, through all of its bindings and rules together: the last
// of these actions that is true.
type Action int

// The actions.
const (
	// Skipped means that the policy matches the object, and that conditions were false.
	Skipped Action = iota
	// Unchanged means that a mutating policy ran, and that the object was as the policy wants it.
	Unchanged
	// Accepted means that the policy validated the object, and had nothing to say.
	Accepted
	// Failed means that the policy failed, and that a cluster ignores it, or that preadmit cannot
	// evaluate it.
	Failed
	// Audited means that it wrote annotations of the audit event.
	Audited
	// Warned means that it warned the user.
	Warned
	// Changed means that it changed the object. A later policy may have reverted the change.
	Changed
	// Denied means that a cluster refuses the object because of the policy.
	Denied
)

// Account describes a policy of a run.
type Account struct {
	ID policy.ID
	// At is the position of the policy.
	At source.Position
	// Point tells policies that validate from those that change objects.
	Point policy.Point
	// Selects are the kinds and resources of the objects that the policy may match.
	Selects []policy.Selected
	// Unknown says which of them no cluster serves, with the most similar one; "" if all exist or may
	// exist.
	Unknown string
	// Near are the manifests of the kinds that the policy selects, if it matches none of the run.
	Near []*Manifest
	// Nearest says what exists that is the most similar to a label or a name that the policy selects and that
	// does not exist.
	Nearest string
	// Idle are the rules that match none, if rules have their own match blocks, and the bindings that match
	// none of the objects that the policy matches.
	Idle []IdleRule
}

// IdleRule is a rule or a binding that matches no manifest.
type IdleRule struct {
	// Name is the name of the rule in its policy, or "binding" with the name of the binding. Rules are the
	// IDs of what a cluster runs for it.
	Name  string
	Rules []policy.ID
	At    source.Position
	// Selects, Unknown, Near and Nearest are those of the rule, as in Account.
	Selects []policy.Selected
	Unknown string
	Near    []*Manifest
	Nearest string
}

// IsBinding reports whether it is a binding.
func (i IdleRule) IsBinding() bool { return len(i.Rules) == 1 && i.Rules[0].Rule == "" }

// actionNames are the names of the actions.
var actionNames = map[Action]string{
	Skipped: "skipped", Accepted: "accepted", Unchanged: "unchanged", Failed: "failed", Audited: "audited", Warned: "warned", Changed: "changed", Denied: "denied",
}

// String implements fmt.Stringer.
func (a Action) String() string { return actionNames[a] }

// Judge fills in the Verdicts of every Manifest, and the Policies of the Outcome. It must follow
// Explain.
func Judge() Observer {
	rules := matchedRules{}
	note := func(r *run, w *written) {
		if t := w.admitted.trace; t != nil {
			r.lock.Lock()
			rules.add(t.tries)
			r.lock.Unlock()
		}
	}
	return Observer{
		tries: newTries, reuse: note,
		conclude: func(r *run, w *written) {
			w.job.result.Verdicts = r.verdicts(w)
			note(r, w)
		},
		ended: func(r *run, outcome *Outcome) []source.Diagnostic {
			outcome.Policies = r.accounts(rules)
			clear(rules)
			return nil
		},
	}
}

// matchedRules says of the rules and the bindings that have been compared with objects whether they match any.
type matchedRules map[policy.ID]bool

func (m matchedRules) add(t *tries) {
	for _, try := range t.all() {
		for _, id := range []policy.ID{try.id.OfRule(), try.id.OfBinding()} {
			if id != id.OfPolicy() {
				m[id] = m[id] || try.result != unmatched
			}
		}
	}
}

// idle reports whether the rules of a part have been compared with objects, and match none.
func (m matchedRules) idle(rules []policy.ID) bool {
	return len(rules) > 0 && !slices.ContainsFunc(rules, func(id policy.ID) bool {
		matched, compared := m[id]
		return matched || !compared
	})
}

// whole returns the ID of the policy or plug-in of a rule.
func whole(id policy.ID) policy.ID {
	if id.Plugin != "" {
		return policy.ID{Plugin: id.Plugin}
	}
	return id.OfPolicy()
}

// verdicts returns what each policy did to the object of a job, in the order in which they ran.
func (r *run) verdicts(w *written) []Verdict {
	var all verdicts
	for _, c := range w.job.result.All() {
		if c.Disposition == Written && c.By != (policy.ID{}) {
			all.add(c.By, Changed)
		}
	}
	for _, e := range w.loaded.tree {
		all.add(e.by, Unchanged)
	}
	t := w.admitted.trace
	if t == nil {
		return all.list
	}
	all.addTrace(t)
	all.because(t)
	denial := Denied
	if !w.job.denied && len(t.refusals) == 0 {
		denial = Failed
	}
	return all.said(denial)
}

// verdicts collects the actions of policies on one object.
type verdicts struct {
	list  []Verdict
	index map[policy.ID]int
}

// add adds an action of a rule. The strongest action of its policy remains.
func (v *verdicts) add(id policy.ID, action Action) {
	by := whole(id)
	i, ok := v.index[by]
	if !ok {
		if v.index == nil {
			v.index = map[policy.ID]int{}
		}
		i = len(v.list)
		v.index[by] = i
		v.list = append(v.list, Verdict{By: by, Action: action})
	}
	v.list[i].Action = max(v.list[i].Action, action)
}

// addTrace adds the actions that a trace has recorded.
func (v *verdicts) addTrace(t *trace) {
	for _, try := range t.tries.all() {
		switch try.result {
		case applied:
			v.add(try.id, Unchanged)
		case skipped:
			v.add(try.id, Skipped)
		case failed:
			v.add(try.id, Failed)
		}
	}
	for _, said := range t.tries.verdicts() {
		v.add(said.By, said.Action)
	}
	for _, w := range t.warnings {
		v.add(w.By, Warned)
	}
	for _, f := range slices.Concat(t.failures, t.refusals) {
		v.add(f.ID, Denied)
	}
}

// because adds the reasons of policies that left the object alone: of those of their rules that match it.
func (v *verdicts) because(t *trace) {
	matching := map[policy.ID]bool{}
	for _, try := range t.tries.all() {
		if try.result == skipped || try.result == failed {
			matching[try.id] = true
		}
	}
	for _, n := range t.untouched(func(fmt.Stringer) bool { return len(matching) > 0 }) {
		i, ok := v.index[whole(n.ID)]
		if ok && matching[n.ID] && (v.list[i].Action == Skipped || v.list[i].Action == Failed) {
			v.list[i].Because = append(v.list[i].Because, n)
		}
	}
}

// said returns the verdicts without plug-ins that had nothing to say and without the server itself.
// denial is what a denial is.
func (v *verdicts) said(denial Action) []Verdict {
	for i := range v.list {
		if v.list[i].Action == Denied {
			v.list[i].Action = denial
		}
	}
	return slices.DeleteFunc(v.list, func(one Verdict) bool {
		return one.By == (policy.ID{}) || one.By.Plugin != "" && one.Action <= Accepted
	})
}

// accounts returns the policies of a run, in the order in which they run.
func (r *run) accounts(rules matchedRules) []Account {
	var all []Account
	index := map[policy.ID]int{}
	selecting, bindings := r.selecting()
	find := func(program policy.Program, id policy.ID, at source.Position) *Account {
		i, ok := index[whole(id)]
		if !ok {
			i = len(all)
			index[whole(id)] = i
			all = append(all, Account{ID: whole(id), At: at, Point: program.Hook().Point})
			all[i].addBindings(bindings[whole(id)], rules, selecting)
		}
		return &all[i]
	}
	for _, program := range r.policies.programs {
		for _, part := range program.Parts() {
			a := find(program, part.Policy, part.At)
			if ids := rulesOf(part); rules.idle(ids) {
				a.Idle = append(a.Idle, IdleRule{Name: part.Name, Rules: ids, At: part.At})
			}
		}
		for _, s := range program.Selects() {
			if a := find(program, s.ID, s.At); s.Purpose == policy.ToMatch || s.Purpose == policy.ToBind {
				a.selects(s)
			}
		}
	}
	r.locatePolicies(all)
	r.explainIdle(all, selecting)
	return all
}

// addBindings adds the bindings that have been compared with objects, and match none.
func (a *Account) addBindings(bindings []policy.ID, rules matchedRules, selecting map[policy.ID]selecting) {
	for _, b := range bindings {
		if ids := []policy.ID{b}; rules.idle(ids) {
			a.Idle = append(a.Idle, IdleRule{Name: "binding " + b.Binding, Rules: ids, At: selecting[b].document.At(nil)})
		}
	}
}

// explainIdle says of policies, rules and bindings that match nothing what is similar to what they select.
func (r *run) explainIdle(all []Account, selecting map[policy.ID]selecting) {
	names := &names{schemas: r.schemas, kinds: sync.OnceValue(r.schemas.Kinds)}
	matched, namespaces := r.matched(), r.namespaces()
	for i := range all {
		a := &all[i]
		if !matched[a.ID] {
			a.Unknown = names.unknown(a.Selects)
			a.Near = r.selected(a.Selects)
			a.Nearest = nearest(selecting[a.ID].match(), namespaces, a.Near)
		}
		for n := range a.Idle {
			idle := &a.Idle[n]
			if idle.IsBinding() && len(idle.Selects) == 0 {
				idle.Selects = a.Selects
			}
			idle.Unknown, idle.Near = names.unknown(idle.Selects), r.selected(idle.Selects)
			if idle.IsBinding() {
				idle.Nearest = nearest(selecting[idle.Rules[0]].match(), namespaces, idle.Near)
			}
		}
	}
}

// selects adds what a rule or a binding of the policy selects.
func (a *Account) selects(s policy.Selected) {
	if s.Purpose == policy.ToMatch {
		a.Selects = append(a.Selects, s)
	}
	for i := range a.Idle {
		if idle := &a.Idle[i]; slices.Contains(idle.Rules, s.ID.OfRule()) || slices.Contains(idle.Rules, s.ID) {
			idle.Selects = append(idle.Selects, s)
		}
	}
}

// rulesOf returns the IDs of the rules of a part.
func rulesOf(part policy.Part) (ids []policy.ID) {
	for _, rule := range part.Rules {
		id := part.Policy.OfPolicy()
		id.Rule = rule
		ids = append(ids, id)
	}
	return ids
}

// matched returns the policies that match an object of the run.
func (r *run) matched() map[policy.ID]bool {
	matched := map[policy.ID]bool{}
	for _, j := range r.jobs {
		for _, v := range j.result.Verdicts {
			matched[v.By] = true
		}
	}
	return matched
}

// locatePolicies gives policies the positions of their documents, instead of positions in them.
func (r *run) locatePolicies(all []Account) {
	documents := map[string][]source.Position{}
	for _, d := range slices.Concat(r.set.policies, r.input.policies) {
		at := d.At(nil)
		documents[at.File] = append(documents[at.File], at)
	}
	for file := range documents {
		slices.SortFunc(documents[file], source.Position.Compare)
	}
	for i := range all {
		at := &all[i].At
		starts := documents[at.File]
		if n := sort.Search(len(starts), func(n int) bool { return starts[n].Compare(*at) > 0 }); n > 0 && at.IsKnown() {
			*at = starts[n-1]
		}
	}
}

// unknown describes the first of the selected names that does not exist; "" if all exist or may exist.
func (n *names) unknown(selected []policy.Selected) string {
	known := n.known(selected)
	for _, s := range selected {
		if known[anywhere(s)] {
			continue
		}
		if advice, _ := n.misspelt(s); advice != "" {
			return "there is no " + describeSelected(s) + "; " + advice
		}
	}
	return ""
}

// selected returns the manifests of selected kinds; all if a policy names none.
func (r *run) selected(by []policy.Selected) (found []*Manifest) {
	for _, j := range r.jobs {
		if j.place.kind != nil && (len(by) == 0 || slices.ContainsFunc(by, func(s policy.Selected) bool { return selects(s, j.place.kind) })) {
			found = append(found, j.result)
		}
	}
	return found
}

// mergeAccounts joins the accounts of the same policies in several runs.
func mergeAccounts(all []Account) (merged []Account) {
	index := map[policy.ID]int{}
	for _, a := range all {
		i, ok := index[a.ID]
		if !ok {
			index[a.ID] = len(merged)
			merged = append(merged, a)
			continue
		}
		merged[i].Near = append(merged[i].Near, a.Near...)
		merged[i].Idle = idleInBoth(merged[i].Idle, a.Idle)
	}
	return merged
}

// idleInBoth returns the rules that are idle in two runs.
func idleInBoth(first, second []IdleRule) (both []IdleRule) {
	for _, one := range first {
		if i := slices.IndexFunc(second, func(other IdleRule) bool { return other.Name == one.Name }); i >= 0 {
			one.Near = slices.Concat(one.Near, second[i].Near)
			both = append(both, one)
		}
	}
	return both
}
