package kyverno

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// controllerKinds are the pod controllers that rules are generated for.
var controllerKinds = []struct{ name, selector string }{
	{"DaemonSet", "apps/v1/DaemonSet"},
	{"Deployment", "apps/v1/Deployment"},
	{"Job", "batch/v1/Job"},
	{"ReplicaSet", "apps/v1/ReplicaSet"},
	{"ReplicationController", "v1/ReplicationController"},
	{"StatefulSet", "apps/v1/StatefulSet"},
}

const (
	autogenAnnotation = "pod-policies.kyverno.io/autogen-controllers"
	cronJob           = "CronJob"
	autogenPrefix     = "autogen-"
	cronJobPrefix     = autogenPrefix + "cronjob-"
	allControllers    = "all"
	noControllers     = "none"
	maxRuleName       = 63
)

// controllersAnnotation is the place of the annotation that names the controllers.
var controllersAnnotation = change.Keys("metadata", "annotations", autogenAnnotation)

// autogen adds the generated rules for pod controllers to the rules of a policy.
func autogen(d *definition, spec policy.Node, written []*rule) []*rule {
	if !canAutogen(spec) {
		return written
	}
	controllers := []string{allControllers}
	annotation, _ := controllersAnnotation.Get(d.document.Object())
	if text, ok := annotation.(string); ok {
		controllers = strings.Split(text, ",") // blanks count
	}
	all := slices.Contains(controllers, allControllers)
	var selectors []any
	for _, c := range controllerKinds {
		if all || slices.Contains(controllers, c.name) {
			selectors = append(selectors, c.selector)
		}
	}
	withCronJobs := all || slices.ContainsFunc(controllers, func(name string) bool { return strings.Contains(name, cronJob) })
	var generated []*rule
	for _, r := range written {
		if strings.HasPrefix(r.name, autogenPrefix) || !selectsPods(r.root) {
			continue
		}
		if len(selectors) > 0 {
			generated = append(generated, r.generate(autogenPrefix, selectors, "spec", "template"))
		}
		if withCronJobs {
			generated = append(generated, r.generate(cronJobPrefix, []any{"batch/v1/CronJob"}, "spec", "jobTemplate", "spec", "template"))
		}
	}
	if len(generated) == 0 {
		return written
	}
	written = slices.DeleteFunc(slices.Clone(written), func(r *rule) bool { return strings.HasPrefix(r.name, autogenPrefix) })
	return append(written, generated...)
}

// checkAutogen reports the controllers of the annotation that do not exist.
func (d *definition) checkAutogen() []source.Diagnostic {
	r := newReader(d.document)
	value, _ := controllersAnnotation.Get(d.document.Object())
	text, _ := value.(string)
	known := []string{allControllers, noControllers, cronJob}
	for _, c := range controllerKinds {
		known = append(known, c.name)
	}
	offset := 0
	for _, name := range strings.Split(text, ",") {
		if text != "" && !slices.Contains(known, name) && !strings.Contains(name, cronJob) {
			advice := source.Suggest(name, known)
			if trimmed := strings.TrimSpace(name); slices.Contains(known, trimmed) {
				advice = source.Advice{Text: "remove the blanks, which Kyverno takes for a part of the name", Old: name, New: trimmed}
			}
			w := source.Warningf(d.document.In(controllersAnnotation, offset), "name-unknown", "Kyverno extends policies to no controller %q", name)
			r.doc.Report(w.Advised(advice), controllersAnnotation)
		}
		offset += len(name) + 1
	}
	return r.doc.Problems
}

// canAutogen reports whether rules for pod controllers are generated for a policy. One
// unsuitable rule prevents it for all rules.
func canAutogen(spec policy.Node) bool {
	needed := false
	for _, n := range spec.At("rules").Items() {
		patches := n.At("mutate").At("patchesJson6902").Given() || n.At("mutate").At("patches").Given()
		for _, entry := range n.At("mutate").At("foreach").Items() {
			patches = patches || entry.At("patchesJson6902").Given()
		}
		if patches || n.At("generate").Given() {
			return false
		}
		for _, resources := range resourcesOf(n.At("match"), n.At("exclude")) {
			kinds := resources.At("kinds").Texts()
			if count(resources, "name", "names", "selector", "annotations") > 0 || len(kinds) > 1 && slices.ContainsFunc(kinds, isPodKind) {
				return false
			}
			needed = needed || slices.ContainsFunc(kinds, func(kind string) bool { return kind == "Pod" || hasImages[kind] })
		}
	}
	return needed
}

// resourcesOf returns the resources of all blocks of filters.
func resourcesOf(filters ...policy.Node) (all []policy.Node) {
	for _, filter := range filters {
		for _, block := range append([]policy.Node{filter}, conditionsIn(filter)...) {
			all = append(all, block.At("resources"))
		}
	}
	return all
}

func isPodKind(text string) bool {
	s, ok := ParseKind(text)
	return ok && s.Kind == "Pod" && s.Subresource == ""
}

// selectsPods reports whether a rule matches pods. If its exclude block names kinds, it must
// name pods, too.
func selectsPods(root policy.Node) bool {
	kindsOf := func(filter policy.Node) (kinds []string) {
		for _, resources := range resourcesOf(filter) {
			kinds = append(kinds, resources.At("kinds").Texts()...)
		}
		return kinds
	}
	matched, excluded := kindsOf(root.At("match")), kindsOf(root.At("exclude"))
	return slices.ContainsFunc(matched, isPodKind) && (len(excluded) == 0 || slices.ContainsFunc(excluded, isPodKind))
}

// generate returns the rule for controllers with a pod template at a path. It replaces texts: see
// textReplaced.
func (r *rule) generate(prefix string, kinds []any, template ...string) *rule {
	root, _ := change.Clone(r.root.Value).(map[string]any)
	name := generatedName(prefix, r.name)
	root["name"] = name
	for _, key := range []string{"match", "exclude"} {
		if filter, ok := root[key].(map[string]any); ok {
			replaceKinds(filter, kinds, key == "match", prefix == cronJobPrefix)
		}
	}
	if m, ok := root["mutate"].(map[string]any); ok {
		delete(m, "targets")
		wrapPatches(m, template)
	}
	path := "request.object." + strings.Join(template, ".")
	old := "request.oldObject." + strings.Join(template, ".")
	replacer := strings.NewReplacer(
		"request.object.spec", path+".spec", "request.object.metadata", path+".metadata",
		"request.oldObject.spec", old+".spec", "request.oldObject.metadata", old+".metadata",
	)
	value := replaceTexts(root, replacer)
	generated := newRule(r.policy, name, policy.Node{Value: value, Path: r.root.Path})
	generated.generated = true
	return generated
}

// generatedName returns the name of the rule generated from another rule.
func generatedName(prefix, name string) string {
	name = prefix + name
	return name[:min(len(name), maxRuleName)]
}

// replaceKinds replaces pods by the controllers in a match or exclude block. If every is set, it
// replaces the kinds of every block, even if they are not pods.
func replaceKinds(filter map[string]any, kinds []any, required, every bool) {
	replaced := false
	for _, key := range []string{"any", "all"} {
		items, _ := filter[key].([]any)
		for _, item := range items {
			replaced = true
			block, _ := item.(map[string]any)
			resources, _ := block["resources"].(map[string]any)
			if resources != nil && (every || slices.ContainsFunc((policy.Node{Value: resources["kinds"]}).Texts(), isPodKind)) {
				resources["kinds"] = kinds
			}
		}
	}
	resources, _ := filter["resources"].(map[string]any)
	if !replaced && resources != nil && (required || resources["kinds"] != nil) {
		resources["kinds"] = kinds
	}
}

// wrapPatches converts patches of pods to patches of pod templates. It drops targets (see
// targetsDropped), the order of elements (orderDropped) and nested foreach, of which a patch
// remains that deletes the template (nestedForeachDropped).
func wrapPatches(m map[string]any, template []string) {
	for _, key := range []string{strategicPatch, "overlay"} {
		if patch, ok := m[key]; ok {
			m[key] = wrapped(patch, template)
		}
	}
	entries, _ := m["foreach"].([]any)
	for i, entry := range entries {
		before, _ := entry.(map[string]any)
		after := map[string]any{strategicPatch: wrapped(before[strategicPatch], template)}
		for _, key := range []string{"list", "context", "preconditions"} {
			if value, ok := before[key]; ok {
				after[key] = value
			}
		}
		entries[i] = after
	}
}

func wrapped(patch any, template []string) any {
	for _, part := range slices.Backward(template) {
		patch = map[string]any{part: patch}
	}
	return patch
}

// replaceTexts replaces in all strings of a value, including keys.
func replaceTexts(value any, replacer *strings.Replacer) any {
	switch value := value.(type) {
	case map[string]any:
		replaced := make(map[string]any, len(value))
		for key, member := range value {
			replaced[replacer.Replace(key)] = replaceTexts(member, replacer)
		}
		return replaced
	case []any:
		replaced := make([]any, len(value))
		for i, item := range value {
			replaced[i] = replaceTexts(item, replacer)
		}
		return replaced
	case string:
		return replacer.Replace(value)
	}
	return value
}
