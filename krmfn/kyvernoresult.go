package krmfn

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// kyvernoResult is an expected result of a test.
type kyvernoResult struct {
	policy, rule, kind, operation string
	// want is pass, skip, fail or error.
	want string
	// patched is the file with the expected objects. complete means that it must contain all
	// resources.
	patched  string
	complete bool
}

// result checks one expected result.
func (k *kyvernoTest) result(fields map[string]any, at change.Path) {
	text := func(key string) string { s, _ := fields[key].(string); return s }
	r := kyvernoResult{rule: text("rule"), kind: text("kind"), operation: text("operation"), want: text("result"), patched: text("patchedResources")}
	r.policy = text("policy")[strings.LastIndexByte(text("policy"), '/')+1:]
	if r.patched == "" {
		r.patched = text("patchedResource")
	}
	r.complete, _ = fields["failOnMissingResources"].(bool)
	switch known := k.knows(r); {
	case known == "":
		k.others = true
	case r.operation != "" && !slices.Contains([]string{"CREATE", "UPDATE"}, r.operation):
		k.tell(source.Errorf(k.document.At(at.Key("operation")), "test-field", "the operation of a result is %q; policies mutate only objects that are created or updated", r.operation).
			With("expected CREATE or UPDATE"))
	case known != r.policy:
		k.add(r.name(strings.Join(k.namesIn(fields), ", ")), known)
	default:
		k.judgeAll(r, k.namesIn(fields))
	}
}

// knows returns the name of the policy if the test has a policy with this name and the rule, "" if
// none of them mutates, and otherwise an error text.
func (k *kyvernoTest) knows(r kyvernoResult) string {
	named := matching(k.policies, func(d *manifest.Document) bool { return d.Name() == r.policy && !isBound(d) })
	mutating := matching(named, func(d *manifest.Document) bool {
		return slices.Contains(kyvernoOrder, d.Kind().Kind) && mutates(d, "")
	})
	hasRule := func(d *manifest.Document) bool {
		return slices.ContainsFunc(k.list(d.Object(), "spec", "rules"), func(rule item) bool {
			fields, _ := rule.value.(map[string]any)
			return isRuleNamed(r.rule, fields["name"])
		})
	}
	switch {
	case len(named) == 0:
		text := fmt.Sprintf("there is no policy %q among the policies of the test", r.policy)
		var known []string
		for _, d := range k.policies {
			known = append(known, d.Name())
		}
		if meant := source.Nearest(r.policy, known); meant != "" {
			text += "; did you mean " + meant + "?"
		}
		return text
	case len(mutating) == 0:
		return ""
	case slices.ContainsFunc(mutating, func(d *manifest.Document) bool { return r.rule == "" || !hasRules(d) || mutates(d, r.rule) }):
		return r.policy
	case slices.ContainsFunc(named, hasRule):
		return ""
	}
	return fmt.Sprintf("policy %q has no rule %q", r.policy, r.rule)
}

// matching returns the documents that a test selects.
func matching(documents []*manifest.Document, is func(*manifest.Document) bool) []*manifest.Document {
	return slices.DeleteFunc(slices.Clone(documents), func(d *manifest.Document) bool { return !is(d) })
}

// isBound reports whether a document is a binding or an exception, not a policy.
func isBound(d *manifest.Document) bool {
	return strings.HasSuffix(d.Kind().Kind, "Binding") || d.Kind().Kind == "PolicyException"
}

// name returns the name of the test case for a resource.
func (r kyvernoResult) name(resource string) string {
	parts := []string{r.policy, r.rule, r.operation, r.kind, resource}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// caseName returns the name of the test case for a resource and one policy: with the kind of the
// policy if the test has policies of several kinds with this name.
func (k *kyvernoTest) caseName(r kyvernoResult, d *manifest.Document, resource string) string {
	if slices.ContainsFunc(k.policies, func(other *manifest.Document) bool {
		return other.Name() == r.policy && other.Kind() != d.Kind() && !isBound(other)
	}) {
		r.policy += " (" + d.Kind().Kind + ")"
	}
	return r.name(resource)
}

// namesIn returns the names of the resources of a result.
func (k *kyvernoTest) namesIn(fields map[string]any) []string {
	names := stringsOf(fields["resources"])
	if name, ok := fields["resource"].(string); ok {
		names = append(names, name)
	}
	for _, item := range k.list(fields, "resourceSpecs") {
		spec, _ := item.value.(map[string]any)
		name, _ := spec["name"].(string)
		if namespace, _ := spec["namespace"].(string); namespace != "" {
			name = namespace + "/" + name
		}
		names = append(names, name)
	}
	return names
}

// judgeAll checks a result on the resources and targets that it names, or on all of them if it
// has no names.
func (k *kyvernoTest) judgeAll(r kyvernoResult, names []string) {
	for _, name := range names {
		resources, targets := k.chosen(r, func(d *manifest.Document) bool { return d.Name() == name || namespaceOf(d)+"/"+d.Name() == name })
		if len(resources)+len(targets) == 0 {
			k.add(r.name(name), fmt.Sprintf("there is no resource %q among the resources of the test", name))
		}
		for _, d := range resources {
			k.judge(r, d, name)
		}
		for _, d := range targets {
			if reasons := k.judgeTarget(r, d, name); reasons != nil {
				k.add(r.name(name), unreached(r, reasons))
			}
		}
	}
	if len(names) == 0 {
		k.judgeUnnamed(r)
	}
}

// judgeUnnamed checks a result without names of resources. It ignores targets that no policy
// changes.
func (k *kyvernoTest) judgeUnnamed(r kyvernoResult) {
	before := len(k.tester.cases)
	resources, targets := k.chosen(r, func(*manifest.Document) bool { return true })
	for _, d := range resources {
		k.judge(r, d, d.Name())
	}
	var reasons []string
	for _, d := range targets {
		reasons = append(reasons, k.judgeTarget(r, d, d.Name())...)
	}
	if len(k.tester.cases) == before {
		k.add(r.name(""), unreached(r, reasons))
	}
}

// unreached returns the error text for targets that no policy changes.
func unreached(r kyvernoResult, reasons []string) string {
	if r.want == "skip" {
		return ""
	}
	return "the policy changed no target when the resources of the test were admitted\n" + strings.Join(reasons, "")
}

// chosen returns the resources and targets of a result. Kyverno's command does not check the
// kind, so a kind that none of them has is ignored.
func (k *kyvernoTest) chosen(r kyvernoResult, about func(*manifest.Document) bool) (resources, targets []*manifest.Document) {
	resources, targets = matching(k.resources, about), matching(k.targets, about)
	if ofKind := func(d *manifest.Document) bool { return d.Kind().Kind == r.kind }; slices.ContainsFunc(slices.Concat(resources, targets), ofKind) {
		resources, targets = matching(resources, ofKind), matching(targets, ofKind)
	}
	return resources, targets
}

// judge checks a result on one resource, which the test calls label.
func (k *kyvernoTest) judge(r kyvernoResult, resource *manifest.Document, label string) {
	for _, run := range k.chain(kyvernoRequest{resource, r.operation}) {
		if run.policy.Name() != r.policy {
			continue
		}
		name := k.caseName(r, run.policy, label)
		verdicts := slices.DeleteFunc(run.verdicts(r.rule), func(v verdict) bool { return v.result == excludedResult })
		wrong := slices.IndexFunc(verdicts, func(v verdict) bool { return v.result != r.want && (r.want != "fail" || v.result != "error") })
		switch {
		case len(verdicts) == 0:
			k.add(name+", which the policy does not match", "")
		case wrong < 0 || !k.isExpected(r, run.object):
			k.compare(r, name, run, run.object)
		default:
			k.add(name, fmt.Sprintf("expected %s, but the result is %s\n%s", r.want, verdicts[wrong].result, verdicts[wrong].why))
		}
	}
}

// judgeTarget checks a result on an object that the policy should change when the resources
// are admitted. It returns the reasons if the policy does not change the object.
func (k *kyvernoTest) judgeTarget(r kyvernoResult, target *manifest.Document, label string) []string {
	reasons, reached := []string{""}, false
	for _, resource := range k.resources {
		for _, run := range k.chain(kyvernoRequest{resource, r.operation}) {
			m := run.target(target)
			switch {
			case run.policy.Name() != r.policy:
			case m == nil:
				reasons = append(reasons, problemsOf(run.testRun.run.diagnostics))
			case len(m.Changes) == 0:
				for _, about := range append(run.testRun.run.outcome.Manifests[:1:1], m) {
					for _, n := range about.NotApplied {
						reasons = append(reasons, about.ID+": "+run.testRun.run.secrets(&run.testRun.config).Reason(n.Reason)+"\n")
					}
				}
			default:
				reached = true
				k.compare(r, k.caseName(r, run.policy, label), run, written(run.targets[target]))
			}
		}
	}
	if reached {
		return nil
	}
	return reasons
}

// isExpected reports whether the result is about an object. If the result has a file with
// expected objects, it is only about the objects in that file, unless complete is set.
func (k *kyvernoTest) isExpected(r kyvernoResult, object map[string]any) bool {
	return r.patched == "" || r.complete || k.expected(r, object) != nil
}

// expected returns the expected form of an object; nil if the file does not have the object.
func (k *kyvernoTest) expected(r kyvernoResult, object map[string]any) map[string]any {
	for _, d := range k.read([]any{r.patched}) {
		if want := comparable(d.Object()); sameObject(want, comparable(object)) {
			return want
		}
	}
	return nil
}

// compare compares an object with the expected object. Like Kyverno, it ignores nulls, empty
// maps and lists, and the namespace "default".
func (k *kyvernoTest) compare(r kyvernoResult, name string, run *kyvernoRun, object map[string]any) {
	want, have := k.expected(r, object), comparable(object)
	switch {
	case r.patched == "" || want != nil && bytes.Equal(manifest.JSON(want), manifest.JSON(have)):
		k.add(name, "")
	case want != nil:
		k.add(name, run.testRun.difference(r.patched, string(manifest.YAML(want)), string(manifest.YAML(have))))
	case r.complete:
		k.add(name, fmt.Sprintf("the resource is not in %s", r.patched))
	default:
		k.add(name+", which is not in "+r.patched, "")
	}
}

// sameObject reports whether two objects have the same kind, namespace and name.
func sameObject(a, b map[string]any) bool {
	for _, path := range []change.Path{change.Keys("apiVersion"), change.Keys("kind"), change.Keys("metadata", "namespace"), change.Keys("metadata", "name")} {
		x, _ := path.Get(a)
		y, _ := path.Get(b)
		if x != y {
			return false
		}
	}
	return true
}

// comparable returns an object without the values that Kyverno's command ignores.
func comparable(object map[string]any) map[string]any {
	rest, _ := withoutEmpty(object).(map[string]any)
	if metadata, _ := rest["metadata"].(map[string]any); metadata["namespace"] == "default" {
		delete(metadata, "namespace")
	}
	return rest
}

// withoutEmpty returns a value without nulls and empty maps and lists; nil if nothing is left.
func withoutEmpty(value any) any {
	switch value := value.(type) {
	case map[string]any:
		rest := map[string]any{}
		for key, v := range value {
			if v = withoutEmpty(v); v != nil {
				rest[key] = v
			}
		}
		if len(rest) > 0 {
			return rest
		}
		return nil
	case []any:
		var rest []any
		for _, v := range value {
			if v = withoutEmpty(v); v != nil {
				rest = append(rest, v)
			}
		}
		if len(rest) > 0 {
			return rest
		}
		return nil
	}
	return value
}
