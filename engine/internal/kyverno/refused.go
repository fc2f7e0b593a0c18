package kyverno

import (
	"regexp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// This file has the policies that Kyverno v1.19.0 refuses when they are created, so that no cluster
// has them: Validate in pkg/validation/policy, and in the types in api/kyverno/v1. The messages are
// Kyverno's. Whether kinds exist is not checked: Kyverno only warns. What Kyverno checks of rules
// that do not mutate is left out, but for match and exclude.

// refuse reports a part of a policy that Kyverno refuses, unless it has another error.
func (r *reader) refuse(n policy.Node, format string, args ...any) {
	r.refuseMeant(n, source.Mend{}, format, args...)
}

// refuseMeant is refuse for a text of which something else was probably meant.
func (r *reader) refuseMeant(n policy.Node, mend source.Mend, format string, args ...any) {
	if r.doc.IsRefused(n) {
		return
	}
	d := source.Errorf(r.doc.Document.At(n.Path), "policy-invalid", format, args...)
	mend.Advice = strings.TrimSpace(mend.Advice + " Kyverno 1.19.0 refuses the policy")
	r.doc.Report(r.doc.Document.Mended(d, n.Path, mend), n.Path)
}

// background reports whether the rules of a policy also run in the background.
func background(spec policy.Node) bool { return spec.At("background").Value != false }

// refused reports what Kyverno refuses in a policy besides its match blocks, preconditions and
// contexts. Policies with patches of versions before 1.6 are not held against v1.19.0.
func (r *reader) refused(d *definition, spec policy.Node) {
	if slices.ContainsFunc(d.rules, (*rule).isLegacy) {
		return
	}
	r.refusedSpec(spec)
	for _, n := range spec.At("rules").Items() {
		name := n.At("name").Text()
		for _, key := range []string{"match", "exclude"} {
			r.refusedFilter(n.At(key), name, key == "match", d.namespace != "", background(spec))
		}
		r.refusedKinds(n, background(spec))
		r.matchesNothing(n)
	}
	if background(spec) {
		r.userVariables(d, r.doc.Root)
	}
	for _, rule := range d.rules {
		if rule.generated && source.HasErrors(r.doc.Problems) {
			break // with the rules that the user wrote, generated rules have the same mistakes
		}
		r.refusedRule(rule)
		r.refusedConditions(rule.preconditions)
		r.refusedContext(rule.context)
		r.outsideForeach(rule.root)
		r.variables(rule, background(spec))
	}
}

// isLegacy reports whether a rule has a patch of versions before 1.6.
func (r *rule) isLegacy() bool {
	return r.mutation.Has("overlay") || r.mutation.Has("patches")
}

// refusedSpec checks fields of the policy.
func (r *reader) refusedSpec(spec policy.Node) {
	switch admission := spec.At("admission"); {
	case admission.Value != false:
	case !background(spec):
		r.refuse(admission, "disabling both admission and background processing is not allowed")
	default:
		r.refuse(admission, "disabling admission processing is only allowed with validation policies")
	}
	webhook := spec.At("webhookConfiguration")
	for _, timeout := range []policy.Node{spec.At("webhookTimeoutSeconds"), webhook.At("timeoutSeconds")} {
		if seconds, ok := timeout.Value.(int64); ok && (seconds < 1 || seconds > 30) {
			r.refuse(timeout, "Invalid value: %d: the timeout value must be between 1 and 30 seconds", seconds)
		}
	}
	for _, moved := range [][2]string{{"webhookTimeoutSeconds", "timeoutSeconds"}, {"failurePolicy", "failurePolicy"}} {
		if old := spec.At(moved[0]); old.Given() && webhook.Has(moved[1]) {
			r.refuse(old, "Forbidden: remove the deprecated field and use spec.webhookConfiguration.%s instead", moved[1])
		}
	}
	if old := spec.At("generateExistingOnPolicyUpdate"); old.Given() {
		r.refuse(old, "Forbidden: remove the deprecated field and use spec.generate[*].generateExisting instead")
	}
}

// refusedRule checks a rule that mutates, as the user wrote it or generated.
func (r *reader) refusedRule(w *rule) {
	n, m := w.root, w.mutation
	for _, other := range []string{"validate", "generate", "verifyImages"} {
		if n.Has(other) {
			r.refuse(n.At(other), "Multiple operations defined in the rule '%s', only one operation (mutate,validate,generate,verifyImages) is allowed per rule", w.name)
		}
	}
	for _, entry := range withEntries(m)[1:] {
		if !entry.Has("foreach") {
			continue
		}
		for _, key := range []string{"context", "preconditions"} {
			if entry.Has(key) {
				r.refuse(entry.At(key), "a nested foreach cannot contain other declarations")
			}
		}
	}
	labelled, _ := w.labelled()
	for _, n := range noTexts(labelled) {
		r.refuse(n, `labels and annotations supports only string values, "use double quotes around the non string values"`)
	}
	if n.Has("imageExtractors") {
		r.refuse(n.At("imageExtractors"), "Invalid rule spec for rule '%s', imageExtractors can only be defined for verifyImages rule", w.name)
	}
	if n.Has("celPreconditions") {
		r.refuse(n.At("celPreconditions"), "celPrecondition can only be used with validate.cel")
	}
	for _, target := range m.At("targets").Items() {
		if namespace := target.At("namespace"); w.policy.namespace != "" && namespace.Text() != "" && namespace.Text() != w.policy.namespace {
			r.refuse(namespace, "Invalid value: %q: This field can be ignored or should have value of the namespace where the policy is being created", namespace.Text())
		}
	}
	if existing := m.At("mutateExistingOnPolicyUpdate"); (existing.Value == true || w.policy.spec.At("mutateExistingOnPolicyUpdate").Value == true) && len(w.targets) == 0 && !w.generated {
		r.refuse(m, "mutate.targets has to be specified when mutateExistingOnPolicyUpdate is set")
	}
	r.refusedJSON(m.At("patchesJson6902"), w.name)
}

// refusedJSON checks the JSON Patch of a rule. Those of foreach are not checked like this.
func (r *reader) refusedJSON(patch policy.Node, rule string) {
	operations, err := parseJSONPatch(patch.Text())
	if patch.Given() && err == nil && slices.ContainsFunc(operations, func(o jsonpatch.Operation) bool { return hasVariables(o.Path) }) {
		r.refuse(patch, "policy contains invalid variables: rule %q should not have variables in patchesJSON6902 path section", rule)
	}
	if !patch.Given() || isFlowText(patch.Text()) {
		return
	}
	operations, err = parseJSONPatch(withoutVariables(patch.Text()))
	if err != nil {
		r.refuseMeant(patch, meantOperation(patch.Text()), "%v", err)
	}
	for i, o := range operations {
		if o.Op == "test" && o.NoValue {
			r.refuse(patch, "operation %d: missing value", i)
		}
	}
}

// anyValue is what Kyverno puts in place of variables to read a JSON Patch.
const anyValue = "kyvernojsonpatchvariable"

func withoutVariables(text string) string {
	return variablePattern().ReplaceAllString(text, "${1}"+anyValue)
}

// labelled returns the metadata in the patch whose labels and annotations Kyverno wants to be texts: that
// of the object, or that of its pod template. If there are both, Kyverno checks either: see randomRefusal.
func (r *rule) labelled() (checked, other policy.Node) {
	patch := r.mutation.At(strategicPatch)
	if entries := r.foreach.Items(); len(entries) > 0 {
		patch = entries[0].At(strategicPatch) // Kyverno looks at no other
	}
	metadata, template := patch.At("metadata"), patch.At("spec", "template", "metadata")
	if metadata.Object() == nil {
		return template, policy.Node{}
	}
	return metadata, template
}

// noTexts returns the labels and annotations that are no texts.
func noTexts(metadata policy.Node) (found []policy.Node) {
	for _, n := range slices.Concat(metadata.At("labels").Below(), metadata.At("annotations").Below()) {
		if _, isText := n.Value.(string); !isText {
			found = append(found, n)
		}
	}
	return found
}

// refusedFilter checks a match or exclude block.
func (r *reader) refusedFilter(n policy.Node, rule string, required, namespaced, background bool) {
	if path, found := firstVariable(n); found {
		r.refuse(policy.Node{Path: path}, "policy contains invalid variables: rule %q should not have variables in %s section", rule, n.Key())
	}
	if len(conditionsIn(n)) > 0 && len(n.At("resources").Object()) > 0 {
		r.refuse(n.At("resources"), "can't specify any/all together with %s resources", n.Key())
	}
	for _, b := range slices.Concat(Alternatives(n)...) {
		r.refusedUsers(b, background)
		r.refusedResources(b.At("resources"), namespaced)
		if required && len(b.At("resources").Object()) == 0 {
			r.refuse(b, "match resources not specified")
		}
	}
}

// refusedUsers checks the users in a block.
func (r *reader) refusedUsers(b policy.Node, background bool) {
	for _, key := range []string{"roles", "clusterRoles", "subjects"} {
		if users := b.At(key); background && len(users.Items()) > 0 {
			r.refuse(users, "only select variables are allowed in background mode. Set spec.background=false to disable background mode for this policy rule: invalid variable used at path: %s", strings.ReplaceAll(users.Path.String(), ".", "/"))
		}
	}
	for _, role := range b.At("roles").Items() {
		if strings.Count(role.Text(), ":") != 1 {
			r.refuse(role, "Invalid value: %q: Role is expected to be in namespace:name format", role.Text())
		}
	}
	for _, s := range b.At("subjects").Items() {
		kind := s.At("kind")
		switch {
		case kind.Text() == "":
			r.doc.Required(kind, "")
		case !slices.Contains([]string{"User", "Group", "ServiceAccount"}, kind.Text()):
			r.refuse(kind, "Invalid value: %q: kind must be 'User', 'Group', or 'ServiceAccount'", kind.Text())
		case kind.Text() == "ServiceAccount" && s.At("namespace").Text() == "":
			r.doc.Required(s.At("namespace"), "namespace is required when Kind is ServiceAccount")
		}
		if s.At("name").Text() == "" {
			r.doc.Required(s.At("name"), "")
		}
	}
}

// refusedResources checks the resources of a block.
func (r *reader) refusedResources(resources policy.Node, namespaced bool) {
	if resources.Has("name") && resources.Has("names") {
		r.refuse(resources, "Both name and names can not be specified together")
	}
	if namespaces := resources.At("namespaces"); namespaced && len(namespaces.Items()) > 0 {
		r.refuse(namespaces, "Forbidden: Filtering namespaces not allowed in namespaced policies")
	}
	if namespaced {
		r.clusterKinds(resources.At("kinds"))
	}
	selector := resources.At("selector")
	labels := selector.At("matchLabels")
	switch {
	case selector.Object() == nil || HasWildcards(selector):
	case len(labels.Object())+len(selector.At("matchExpressions").Items()) == 0:
		r.refuse(selector, "Invalid value: {}: The requirements are not specified in selector")
	default:
		_, problems := match.ParseSelector(map[string]any{"matchLabels": labels.Value})
		r.doc.Matched(selector, problems)
	}
}

// HasWildcards reports whether the labels of a label selector have wildcards, which Kubernetes does not know.
func HasWildcards(selector policy.Node) bool {
	for key, value := range selector.At("matchLabels").Object() {
		if text, _ := value.(string); wildcard.Has(key) || wildcard.Has(text) {
			return true
		}
	}
	return false
}

// refusedKinds checks the kinds of all blocks of a rule.
func (r *reader) refusedKinds(n policy.Node, background bool) {
	for _, resources := range resourcesOf(n.At("match"), n.At("exclude")) {
		kinds := resources.At("kinds")
		switch {
		case !slices.Contains(kinds.Texts(), "*"):
		case background:
			r.refuse(kinds, "wildcard policy not allowed in background mode. Set spec.background=false to disable background mode for this policy rule")
		case len(kinds.Items()) > 1:
			r.refuse(kinds, "wildcard policy can not deal with more than one kind")
		case !onlyMetadata(n.At("mutate")):
			r.refuse(kinds, "policy can only deal with the metadata field of the resource if the rule does not match any kind")
		}
	}
	for _, b := range slices.Concat(Alternatives(n.At("match"))...) {
		resources := b.At("resources")
		switch {
		case len(resources.Object()) == 0 || len(resources.At("kinds").Items()) > 0:
		case !onlyMetadata(n.At("mutate")):
			r.refuse(resources, "policy can only deal with the metadata field of the resource if the rule does not match any kind")
		default:
			r.refuse(resources, "at least one element must be specified in a kind block, the kind attribute is mandatory when working with the resources element")
		}
	}
}

// onlyMetadata reports whether the patches of a rule, besides those of foreach, change metadata
// only. Kyverno reads the JSON Patch as JSON, so it finds no operations in YAML.
func onlyMetadata(m policy.Node) bool {
	for key := range m.At(strategicPatch).Object() {
		if key != "metadata" {
			return false
		}
	}
	text := m.At("patchesJson6902").Text()
	if !strings.HasPrefix(strings.TrimSpace(text), "[") || isFlowText(text) {
		return true
	}
	operations, _ := parseJSONPatch(text)
	return !slices.ContainsFunc(operations, func(o jsonpatch.Operation) bool { return !strings.HasPrefix(o.Path, "/metadata") })
}

// operations are the values of the variable request.operation.
var operations = []string{"CREATE", "UPDATE", "DELETE", "CONNECT"}

// refusedConditions checks the preconditions of a rule. Those of foreach are not checked like this.
func (r *reader) refusedConditions(n policy.Node) {
	for _, item := range conditionsIn(n) {
		if !item.Has("key") || !item.Has("value") || !item.Has("operator") {
			r.refuse(item, "entered value of `key`, `value` or `operator` is missing or misspelled")
			continue
		}
		if strings.ReplaceAll(item.At("key").Text(), " ", "") != "{{request.operation}}" {
			continue
		}
		values := []policy.Node{item.At("value")}
		if _, isList := item.At("value").Value.([]any); isList {
			values = item.At("value").Items()
		}
		for _, v := range values {
			text, isText := v.Value.(string)
			isVariable := len(values) == 1 && strings.HasPrefix(text, "{{") && strings.HasSuffix(text, "}}")
			if !isText || !isVariable && !slices.Contains(operations, text) {
				mend := source.Mend{}
				if near := source.Nearest(text, operations); near != "" {
					mend = source.Meant(text, near).In(text, 0)
					mend.Advice += "."
				}
				r.refuseMeant(v, mend, "unknown value '%s' found under the 'value' field. Only the following values are allowed: [CREATE, UPDATE, DELETE, CONNECT]", jmespath.Text(v.Value))
			}
		}
	}
}

// predefined are the variables that no entry of a context may define.
var predefined = []string{"images", "request", "serviceAccountName", "serviceAccountNamespace", "element", "elementIndex"}

// refusedContext checks the context of a rule. Those of foreach and of targets are not checked like
// this.
func (r *reader) refusedContext(n policy.Node) {
	for _, item := range n.Items() {
		name := item.At("name")
		for _, known := range predefined {
			if name.Text() == known || strings.HasPrefix(name.Text(), known+".") {
				r.refuse(name, "entry name %s is invalid as it conflicts with a pre-defined variable %s", name.Text(), known)
			}
		}
		if c := item.At("configMap"); c.Given() {
			for _, key := range []string{"name", "namespace"} {
				if c.At(key).Text() == "" {
					r.refuse(c.At(key), "a %s is required for configMap context entry", key)
				}
			}
		}
		if v := item.At("variable"); v.Given() && v.At("jmesPath").Text() == "" {
			if !v.Has("value") {
				r.refuse(v, "a variable must define a value or a jmesPath expression")
			} else if v.Has("default") {
				r.refuse(v.At("default"), "a variable must define a default value only when a jmesPath expression is defined")
			}
		}
		if a := item.At("apiCall"); a.At("urlPath").Text() != "" && a.Has("service") {
			r.refuse(a, "a URLPath cannot be used for service API calls")
		}
	}
}

// The variables that a policy may use, with and without rules that run in the background, and with
// targets.
var (
	anyVariable        = lazyregexp.New(`request|serviceAccountName|serviceAccountNamespace|element|elementIndex|@|images|image|([a-z_0-9]+\()[^{}]`)
	backgroundVariable = lazyregexp.New(`request\.|element|elementIndex|@|images|images\.|image\.|([a-z_0-9]+\()[^{}]`)
	targetVariable     = lazyregexp.New(`request\.|serviceAccountName|serviceAccountNamespace|element|elementIndex|@|images|images\.|image\.|target\.|([a-z_0-9]+\()[^{}]`)
	backgroundTarget   = lazyregexp.New(`request\.|element|elementIndex|@|images|images\.|image\.|target\.|([a-z_0-9]+\()[^{}]`)
	userVariable       = lazyregexp.New(`[^\.](serviceAccountName|serviceAccountNamespace|request.userInfo|request.roles|request.clusterRoles)\b`)
)

// userVariables reports variables about the user in a policy that also runs in the background.
func (r *reader) userVariables(d *definition, n policy.Node) {
	if slices.ContainsFunc(d.rules, func(w *rule) bool { return len(w.targets) > 0 }) {
		return
	}
	walkTexts(n, func(n policy.Node, text string) {
		for _, m := range variablePattern().FindAllStringSubmatch(text, -1) {
			if userVariable().MatchString(m[2]) {
				r.refuse(n, "only select variables are allowed in background mode. Set spec.background=false to disable background mode for this policy rule: variable %s is not allowed", m[2])
			}
		}
	})
}

// variables reports variables that a rule does not have, and references to nothing.
func (r *reader) variables(w *rule, background bool) {
	patterns := entryPatterns(w.context)
	for _, n := range slices.Concat(w.mutation.At("foreach").Items(), w.targets) {
		patterns = append(patterns, entryPatterns(n.At("context"))...)
	}
	allowed, inside := anyVariable, targetVariable
	if background {
		allowed, inside = backgroundVariable, backgroundTarget
	}
	if len(w.targets) == 0 {
		inside = allowed
	}
	check := func(n policy.Node, allowed func() *regexp.Regexp) {
		walkTexts(n, func(n policy.Node, text string) { r.variablesOf(w, n, text, allowed, patterns) })
	}
	check(w.context, allowed)
	check(w.preconditions, allowed)
	for _, n := range w.mutation.Below() {
		if n.Key() != "targets" {
			check(n, inside)
		}
	}
	for _, n := range w.targets {
		for _, key := range []string{"apiVersion", "kind", "namespace", "name", "uid"} {
			check(n.At(key), allowed)
		}
	}
}

// entryPatterns returns patterns of the variables that entries of a context define.
func entryPatterns(n policy.Node) (patterns []string) {
	for _, item := range n.Items() {
		name := item.At("name").Text()
		if item.Has("configMap") {
			patterns = append(patterns, name+".data", name+".metadata", name+".data.*", name+".metadata.*")
		} else {
			patterns = append(patterns, name+"*")
		}
	}
	return patterns
}

// variablesOf checks one text. Kyverno takes null for the value of every variable.
func (r *reader) variablesOf(w *rule, n policy.Node, text string, allowed func() *regexp.Regexp, patterns []string) {
	if strings.Contains(text, "$(") {
		at := w.substitution(pathOfText(n, text))
		for _, m := range referencePattern().FindAllStringSubmatch(text, -1) {
			if _, err := at.resolve(strings.Trim(m[2], "$()")); err != nil {
				r.refuse(n, "policy contains invalid variables: variable substitution failed for rule %s: %v", w.name, err)
			}
		}
	}
	for range maxRounds {
		found := variablePattern().FindAllStringSubmatch(text, -1)
		if len(found) == 0 {
			return
		}
		for _, m := range found {
			variable := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(m[2][2:len(m[2])-2]), "-"))
			if !isDefined(strings.ReplaceAll(variable, `"`, ""), allowed, patterns) {
				r.refuseMeant(n, meant(n.Text(), m[2], allowed, patterns), "policy contains invalid variables: variable substitution failed for rule %s: variable %s must match regex \"%s\" or patterns %v", w.name, variable, allowed().String(), patterns)
				return
			}
			text = strings.Replace(text, m[2], "null", 1)
		}
	}
}

// meant returns the mend of a variable of a text, in its braces, whose name is near that of one that there is.
func meant(text, variable string, allowed func() *regexp.Regexp, patterns []string) source.Mend {
	known := slices.Concat(predefined, []string{"target"})
	for _, p := range patterns {
		known = append(known, p[:strings.IndexAny(p, ".*")])
	}
	at := strings.Index(text, variable)
	inner := strings.TrimLeft(strings.Trim(variable, "{}"), " \t\n-")
	n, err := jmespath.Parse(strings.TrimSpace(inner))
	if at < 0 || err != nil {
		return source.Mend{} // a value of another variable has been put into it
	}
	for _, root := range n.Roots() {
		near := source.Nearest(root.Name, known)
		if !strings.HasPrefix(inner[root.Offset:], root.Name) {
			continue // it is in quotes
		}
		after := source.Changed(inner, []source.Change{{From: root.Offset, To: root.Offset + len(root.Name), New: near}})
		if near != "" && !slices.Contains(known, root.Name) && isDefined(strings.TrimRight(after, "} \t\n"), allowed, patterns) {
			return source.Meant(root.Name, near).In(text, at+strings.Index(variable, inner)+root.Offset)
		}
	}
	return source.Mend{}
}

// pathOfText returns the path of a text that walkTexts visits, to which references in it are relative.
// That of a key is the path of its map.
func pathOfText(n policy.Node, text string) change.Path {
	if n.Value != any(text) {
		return n.Path[:len(n.Path)-1]
	}
	return n.Path
}

func isDefined(variable string, allowed func() *regexp.Regexp, patterns []string) bool {
	return allowed().MatchString(variable) || slices.ContainsFunc(patterns, func(p string) bool { return wildcard.Match(p, variable) })
}

// outsideForeach reports variables of foreach in other parts of a rule.
func (r *reader) outsideForeach(n policy.Node) {
	walkTexts(n, func(at policy.Node, text string) {
		if slices.ContainsFunc(at.Path[len(n.Path):], func(e change.Element) bool { return e.Key == "foreach" }) {
			return
		}
		for _, m := range variablePattern().FindAllStringSubmatch(text, -1) {
			variable := strings.TrimSpace(m[2][2 : len(m[2])-2])
			if strings.HasPrefix(variable, "element") {
				r.refuse(at, "variable '%s' present outside of foreach at path %s", variable, at.Path[len(n.Path):].Pointer())
			}
		}
	})
}

// firstVariable returns the path of the first text with a variable.
func firstVariable(n policy.Node) (path change.Path, found bool) {
	walkTexts(n, func(n policy.Node, text string) {
		if !found && strings.Contains(text, "{{") && hasVariables(text) {
			path, found = n.Path, true
		}
	})
	return path, found
}

// walkTexts calls a function for every text with a variable or a reference in a value, in order;
// for a key of a map with the node of its value.
func walkTexts(n policy.Node, visit func(n policy.Node, text string)) {
	for _, below := range n.Below() {
		if key := below.Key(); HasSubstitutions(key) {
			visit(below, key)
		}
		walkTexts(below, visit)
	}
	if text := n.Text(); HasSubstitutions(text) {
		visit(n, text)
	}
}
