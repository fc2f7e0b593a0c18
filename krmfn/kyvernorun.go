package krmfn

import (
	"cmp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// kyvernoRequest is an admission request. If the operation is empty, the values decide.
type kyvernoRequest struct {
	resource  *manifest.Document
	operation string
}

// kyvernoRun is the run of one policy on a resource and the targets.
type kyvernoRun struct {
	testRun *testRun
	policy  *manifest.Document
	// object is the resource after the policy.
	object map[string]any
	// targets are the targets of the test, each as a stream of this run.
	targets map[*manifest.Document]*manifest.Stream
}

// kyvernoOrder is the order in which Kyverno's command runs policies. ClusterPolicy and Policy
// are sorted as one kind.
var kyvernoOrder = []string{"ClusterPolicy", "Policy", policyKind, "MutatingPolicy", "NamespacedMutatingPolicy"}

// mutating returns the policies of the test that mutate, in the order in which they run.
func (k *kyvernoTest) mutating() []*manifest.Document {
	place := func(d *manifest.Document) int { return slices.Index(kyvernoOrder, d.Kind().Kind) }
	found := slices.DeleteFunc(slices.Clone(k.policies), func(d *manifest.Document) bool { return place(d) < 0 || !mutates(d, "") })
	slices.SortStableFunc(found, func(a, b *manifest.Document) int {
		return cmp.Compare(max(place(a), 1), max(place(b), 1)) // the first two kinds are sorted as one
	})
	return found
}

// hasRules reports whether a policy consists of rules with names.
func hasRules(d *manifest.Document) bool {
	return d.Kind().Kind == "ClusterPolicy" || d.Kind().Kind == "Policy"
}

// mutates reports whether a policy, or its rule with the given name, mutates.
func mutates(d *manifest.Document, rule string) bool {
	if !hasRules(d) {
		return isPolicyItself(d)
	}
	rules, _ := change.Keys("spec", "rules").Get(d.Object())
	list, _ := rules.([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		fields, _ := item.(map[string]any)
		return fields["mutate"] != nil && (rule == "" || isRuleNamed(rule, fields["name"]))
	})
}

// isRuleNamed reports whether name is the name of a rule, of a rule generated from it, or of
// the rule that it is generated from.
func isRuleNamed(name string, rule any) bool {
	for _, prefix := range []string{"", "autogen-", "autogen-cronjob-"} {
		if text, _ := rule.(string); text != "" && (prefix+name == text || prefix+text == name) {
			return true
		}
	}
	return false
}

// chain runs all policies on a resource, each on the output of the previous one.
func (k *kyvernoTest) chain(request kyvernoRequest) []*kyvernoRun {
	if runs, ok := k.chains[request]; ok {
		return runs
	}
	object := request.resource.Object()
	var runs []*kyvernoRun
	for _, d := range k.mutating() {
		r := k.run(d, request, object)
		object = r.object
		runs = append(runs, r)
	}
	for i := len(runs) - 1; i > 0 && isMutatingPolicy(runs[i].policy) && isMutatingPolicy(runs[i-1].policy); i-- {
		runs[i-1].object = runs[i].object // Kyverno's command compares the output of the last one
	}
	k.chains[request] = runs
	return runs
}

func isMutatingPolicy(d *manifest.Document) bool { return !hasRules(d) && d.Kind().Kind != policyKind }

// run runs one policy with its bindings and exceptions. object is the resource after the
// previous policies.
func (k *kyvernoTest) run(d *manifest.Document, request kyvernoRequest, object map[string]any) *kyvernoRun {
	r := &kyvernoRun{testRun: &testRun{}, policy: d, object: object, targets: map[*manifest.Document]*manifest.Stream{}}
	k.tester.given.apply(&r.testRun.config)
	o := &r.testRun.config.options.Engine
	o.Defaulting, o.NonIdempotent = cmp.Or(o.Defaulting, engine.DefaultingOff), cmp.Or(o.NonIdempotent, engine.NonIdempotentSkip)
	o.Operation = cmp.Or(policy.Operation(request.operation), o.Operation)
	r.testRun.manifests = []*manifest.Stream{streamOf(request.resource, nil, object)}
	if o.Operation == policy.Update {
		r.testRun.config.documents[settings.Old].add(inputs{inline: []*manifest.Stream{streamOf(request.resource, nil, object)}})
	}
	var targets []*manifest.Stream
	for _, target := range k.targets {
		s := alone(target)
		targets, r.targets[target] = append(targets, s), s
	}
	r.testRun.config.documents[settings.Values].add(k.values)
	r.testRun.config.documents[settings.UserInfo].add(k.userInfo)
	k.surround(r, request.resource)
	r.testRun.config.observers = append(r.testRun.config.observers, engine.Explain(), engine.Count(k.tester.process.Now), engine.Existing(targets))
	k.tester.evaluate(r.testRun, k.tester.process.files(&k.tester.config), append(r.testRun.manifests, targets...), d)
	if r.testRun.run.status() == exitDone {
		r.object = written(r.testRun.manifests[0])
	}
	return r
}

// written returns the object of a stream with one document, after edits.
func written(s *manifest.Stream) map[string]any {
	output, _ := manifest.Read("-", s.Bytes()) // preadmit wrote it, so it is valid
	return output.Documents()[0].Object()
}

// surround adds the policy with its bindings and exceptions to a run, and the other resources
// as context.
func (k *kyvernoTest) surround(r *kyvernoRun, resource *manifest.Document) {
	for _, d := range k.policies {
		bound, _ := change.Keys("spec", "policyName").Get(d.Object())
		if d == r.policy || engine.IsPolicy(d.Kind()) && !isPolicyItself(d) && (bound == r.policy.Name() || bound == nil) {
			r.testRun.config.documents[settings.Policies].add(inputs{inline: []*manifest.Stream{alone(d)}})
		}
	}
	for _, d := range slices.Concat(k.resources, k.context) {
		if d != resource {
			r.testRun.config.documents[settings.Context].add(inputs{inline: []*manifest.Stream{alone(d)}})
		}
	}
}

// alone returns a stream with one document.
func alone(d *manifest.Document) *manifest.Stream { return streamOf(d, nil, d.Object()) }

// verdict is the result of a policy or rule, in the terms of a kyverno-test.yaml, and its
// reason.
type verdict struct{ result, why string }

// kyvernoResults are the results in ascending order of precedence. A resource is excluded if
// the policy does not match it: Kyverno's command then passes the test, whatever it expects.
var kyvernoResults = []string{"", excludedResult, "skip", "pass", "error"}

const excludedResult = "excluded"

// or returns the verdict with the higher precedence.
func (v verdict) or(other verdict) verdict {
	if slices.Index(kyvernoResults, other.result) <= slices.Index(kyvernoResults, v.result) {
		return v
	}
	other.why = cmp.Or(other.why, v.why)
	return other
}

// verdicts returns the verdicts about the resource: one for each rule with the given name, or
// one for the policy.
func (r *kyvernoRun) verdicts(rule string) []verdict {
	if r.testRun.run.outcome == nil {
		return []verdict{{"error", problemsOf(r.testRun.run.diagnostics)}}
	}
	found := map[string]verdict{}
	var order []string
	add := func(name string, v verdict) {
		name, v = r.byRule(strings.TrimPrefix(name, "rule "), v)
		if _, ok := found[name]; !ok {
			order = append(order, name)
		}
		found[name] = found[name].or(v)
	}
	for i, m := range r.testRun.run.outcome.Manifests {
		for _, n := range m.NotApplied {
			if i == 0 {
				add(n.ID.Rule, r.skipped(n))
			}
		}
		for _, c := range m.Changes {
			add(c.By.Rule, verdict{result: "pass"})
		}
	}
	for _, s := range r.testRun.run.outcome.Stats {
		if s.Errors > 0 {
			add(s.Rule, verdict{"error", problemsOf(r.testRun.run.diagnostics)})
		} else if s.Applied > 0 {
			add(s.Rule, verdict{result: "pass"})
		}
	}
	var all []verdict
	for _, name := range order {
		if rule == "" || !hasRules(r.policy) || isRuleNamed(rule, name) {
			all = append(all, found[name])
		}
	}
	return all
}

// byRule returns the rule to which a verdict counts, "" in a policy without rules.
func (r *kyvernoRun) byRule(name string, v verdict) (string, verdict) {
	if hasRules(r.policy) {
		return name, v
	}
	if name != "" && v.result == "skip" {
		v.result = "pass" // the policy ran; only one of its mutations had nothing to change
	}
	return "", v
}

// skipped returns the verdict about a rule that was not applied to the resource.
func (r *kyvernoRun) skipped(n policy.NotApplied) verdict {
	v := verdict{"skip", r.testRun.run.secrets(&r.testRun.config).Reason(n.Reason)}
	if n.IsOutOfScope() {
		v.result = excludedResult
	} else if n.Passes() {
		v.result = "pass"
	}
	return v
}

// target returns the result for a target; nil if the run did not start.
func (r *kyvernoRun) target(d *manifest.Document) *engine.Manifest {
	if r.testRun.run.outcome == nil {
		return nil
	}
	i := slices.IndexFunc(r.testRun.run.outcome.Manifests, func(m *engine.Manifest) bool { return m.Document.Stream() == r.targets[d] })
	if i < 0 {
		return nil
	}
	return r.testRun.run.outcome.Manifests[i]
}

func problemsOf(diagnostics []source.Diagnostic) string {
	var b strings.Builder
	for _, d := range diagnostics {
		if d.Severity == source.Error {
			b.WriteString(d.String() + "\n")
		}
	}
	return b.String()
}
