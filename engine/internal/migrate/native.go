package migrate

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/mutatingpolicy"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

const (
	celGroup      = "policies.kyverno.io"
	namespaceName = "kubernetes.io/metadata.name"
)

func isMutatingPolicy(kind gvk.Kind) bool {
	return kind.Group == celGroup && (kind.Kind == "MutatingPolicy" || kind.Kind == "NamespacedMutatingPolicy")
}

func isException(kind gvk.Kind) bool {
	return kind.Kind == "PolicyException" && (kind.Group == celGroup || kind.Group == "kyverno.io")
}

// bindingOf returns the binding of a policy. Without a binding, a policy does nothing.
func bindingOf(name string) string {
	return string(manifest.YAML(map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"policyName": name},
	}))
}

// fitServer reports the parts of a rule that API servers do not support.
func (c *converter) fitServer() error {
	if c.target != nil {
		return c.refuse(c.rule.Root.At("mutate", "targets").Path, "a MutatingAdmissionPolicy changes the object of the request only", "convert it --to MutatingPolicy")
	}
	for _, rule := range c.matched.rules {
		if slices.Contains(rule.operations, "DELETE") {
			return c.refuse(c.rule.Root.At("match").Path, "a MutatingAdmissionPolicy for DELETE", "leave the operation out, as there is no object to change")
		}
	}
	if namespace := c.rule.Namespace; namespace != "" {
		if c.matched.namespaces != nil {
			return c.refuse(c.rule.Root.At("match").Path, "a namespaceSelector in the policy of a namespace", "leave it out: the namespace is known")
		}
		c.matched.namespaces = map[string]any{"matchLabels": map[string]any{namespaceName: namespace}}
	}
	return nil
}

// ofKyverno are the libraries and functions of CEL that only Kyverno has.
var ofKyverno = []string{"base64", "globalContext", "http", "image", "json", "md5", "parseServiceAccount", "random", "regex", "resource", "sha1", "sha256", "time", "yaml"}

// supports reports functions that API servers do not have, if the policy is for them.
func (c *converter) supports(x expr.Expr) error {
	if !c.isNative {
		return nil
	}
	for part := range x.All() {
		function, target, _, _ := part.AsCall()
		library, _, _ := strings.Cut(function, ".")
		if variable, steps, isChain := target.AsChain(); isChain && len(steps) == 0 {
			library, function = variable, variable+"."+function
		}
		if slices.Contains(ofKyverno, library) {
			return noFormf("convert it --to MutatingPolicy", "API servers do not have the function %s of Kyverno", function)
		}
	}
	return nil
}

// about returns a converter that only reports about a document.
func about(d *manifest.Document) *converter { return &converter{rule: kyverno.Rule{Document: d}} }

// noException reports an exception from a converted policy.
func (m *Migration) noException(d *manifest.Document) ([]string, []source.Diagnostic) {
	c := about(d)
	_ = c.refuse(nil, "a MutatingAdmissionPolicy has no exceptions", "write the exception into the conditions of the policy")
	return []string{textOf(d)}, c.problems
}

// native converts a MutatingPolicy to a MutatingAdmissionPolicy, in place, so that comments
// stay.
func native(d *manifest.Document) ([]string, []source.Diagnostic) {
	c := about(d)
	c.isNative = true
	spec := policy.NodeAt(d, "spec")
	c.fitsServer(spec)
	if source.HasErrors(c.problems) {
		return nil, c.problems
	}
	object := d.Object()
	metadata, _ := object["metadata"].(map[string]any)
	fields, _ := object["spec"].(map[string]any)
	object["apiVersion"], object["kind"] = "admissionregistration.k8s.io/v1", string(MutatingAdmissionPolicy)
	delete(object, "status")
	for _, name := range []string{"evaluation", "autogen", "webhookConfiguration", "auditAnnotations"} {
		delete(fields, name)
	}
	if fields["reinvocationPolicy"] == nil {
		fields["reinvocationPolicy"] = "Never"
	}
	if d.Kind().Kind == "NamespacedMutatingPolicy" {
		constraints, _ := fields["matchConstraints"].(map[string]any)
		constraints["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{namespaceName: metadata["namespace"]}}
		delete(metadata, "namespace")
	}
	return []string{setIn(d, object), bindingOf(d.Name())}, c.problems
}

// fitsServer reports the parts of a policy that API servers do not support.
func (c *converter) fitsServer(spec policy.Node) {
	refuse := func(at policy.Node, why, advice string) { _ = c.refuse(at.Path, why, advice) }
	if len(spec.At("matchConstraints").Object()) == 0 {
		refuse(spec, "a policy without matchConstraints", "say which resources it is for")
	}
	is := func(at policy.Node) bool { value, _ := at.Value.(bool); return value }
	evaluation := spec.At("evaluation")
	if at := evaluation.At("mutateExisting", "enabled"); is(at) {
		refuse(at, "a MutatingAdmissionPolicy changes the object of the request only", "")
	}
	if at := evaluation.At("useServerSideApply"); is(at) {
		refuse(at, "an ApplyConfiguration of lists that merge as a whole, which API servers refuse", "write these with a JSONPatch")
	}
	if at := evaluation.At("admission", "enabled"); at.Given() && !is(at) {
		refuse(at, "the policy does nothing at admission", "leave it out")
	}
	if controllers := spec.At("autogen", "podControllers", "controllers"); mutatingpolicy.IsForPodsOnly(spec.At("matchConstraints")) && (!controllers.Given() || len(controllers.Items()) > 0) {
		refuse(spec.At("matchConstraints"), "the policy is carried over to pod controllers",
			"set autogen.podControllers.controllers to [], and write a policy for the controllers, if you need it")
	}
	if c.rule.Document.Kind().Kind == "NamespacedMutatingPolicy" && spec.At("matchConstraints", "namespaceSelector").Given() {
		refuse(spec.At("matchConstraints", "namespaceSelector"), "a namespaceSelector in the policy of a namespace", "leave it out: the namespace is known")
	}
	for _, part := range slices.Concat(spec.At("matchConditions").Items(), spec.At("variables").Items(), spec.At("mutations").Items()) {
		for _, at := range []policy.Node{part.At("expression"), part.At("jsonPatch", "expression"), part.At("applyConfiguration", "expression")} {
			x, _ := expr.Parse(at.Text()) // Kyverno refuses what is no CEL
			var none *noForm
			if errors.As(c.supports(x), &none) {
				refuse(at, none.why, "keep the MutatingPolicy, or write it with functions of Kubernetes")
			}
		}
	}
	for _, m := range reread(spec) {
		c.warn(m.Path, "it uses variables that read what earlier mutations may change: a server evaluates variables again for each mutation, Kyverno once",
			"read these values in the first mutation, or compare with --verify")
	}
}

// reread returns the mutations with variables that read what mutations before them may change.
func reread(spec policy.Node) (found []policy.Node) {
	variables := map[string]expr.Expr{}
	for _, v := range spec.At("variables").Items() {
		variables[v.At("name").Text()], _ = expr.Parse(v.At("expression").Text()) // Kyverno refuses what is no CEL
	}
	var written []effect
	for _, m := range spec.At("mutations").Items() {
		x, _ := expr.Parse(cmp.Or(m.At("jsonPatch", "expression").Text(), m.At("applyConfiguration", "expression").Text()))
		used := usedBy(x, variables, map[string]bool{})
		if areRead(written, used...) {
			found = append(found, m)
		}
		written = append(written, effectsOf(x)...)
	}
	return found
}

// usedBy returns the variables that an expression uses, and those that these use.
func usedBy(x expr.Expr, variables map[string]expr.Expr, seen map[string]bool) (used []expr.Expr) {
	if x.IsZero() {
		return nil
	}
	for _, field := range x.Fields("variables") {
		if name := strings.Join(field[:min(1, len(field))], ""); !seen[name] {
			seen[name] = true
			used = append(append(used, variables[name]), usedBy(variables[name], variables, seen)...)
		}
	}
	return used
}

// effectsOf returns the places that the patches in an expression write to: the whole object if the
// expression computes them.
func effectsOf(x expr.Expr) (all []effect) {
	for part := range x.All() {
		switch name, fields := part.AsStruct(); name {
		case "Object":
			all = append(all, placesOf(part, nil)...)
		case "JSONPatch":
			all = append(all, effect{at: pointerPlace(fields["path"])})
		}
	}
	if len(all) == 0 {
		all = []effect{{}}
	}
	return all
}

// placesOf returns the fields of an Object. A list counts as a whole.
func placesOf(x expr.Expr, at []string) (all []effect) {
	_, fields := x.AsStruct()
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		all = append(all, placesOf(fields[key], append(slices.Clip(at), key))...)
	}
	if len(fields) == 0 {
		all = append(all, effect{at: at})
	}
	return all
}

// pointerPlace returns the place of a JSON Pointer, as far as it begins with a constant.
func pointerPlace(x expr.Expr) []string {
	_, isWhole := x.Constant()
	for !x.IsZero() && len(x.Children()) > 0 {
		x = x.Children()[0]
	}
	constant, _ := x.Constant()
	text, _ := constant.(string)
	keys := jsonpatch.Keys(text)
	if !isWhole && len(keys) > 0 {
		keys = keys[:len(keys)-1] // the last key may go on
	}
	for i, key := range keys {
		if _, err := strconv.Atoi(key); err == nil || key == "-" {
			return keys[:i] // a list counts as a whole
		}
	}
	return keys
}
