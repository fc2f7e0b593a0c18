package engine

import (
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// rulers are the documents that rule other objects without being policies: CustomResourceDefinitions by
// the kind that they define, and Namespaces by name. The first of several counts.
type rulers struct {
	once sync.Once
	// lock guards the documents, which several jobs may read.
	lock        sync.Mutex
	definitions map[gvk.Kind]*manifest.Document
	namespaces  map[string]*manifest.Document
}

// rulersOf returns the documents of the run that rule objects.
func (r *run) rulersOf() *rulers {
	all := &r.rulers
	all.once.Do(func() {
		all.definitions, all.namespaces = map[gvk.Kind]*manifest.Document{}, map[string]*manifest.Document{}
		for _, d := range slices.Concat(r.input.manifests, r.input.local, r.set.context) {
			defined := gvk.Kind{Group: d.TextAt("spec", "group"), Kind: d.TextAt("spec", "names", "kind")}
			switch d.Kind() {
			case definitionKind:
				if all.definitions[defined] == nil {
					all.definitions[defined] = d
				}
			case namespaceKind:
				if all.namespaces[d.Name()] == nil {
					all.namespaces[d.Name()] = d
				}
			}
		}
	})
	return all
}

// ruled adds to a diagnostic about a refusal where the rule is that refuses the object: in its
// CustomResourceDefinition, or as the label of its Namespace.
func (r *run) ruled(d source.Diagnostic, a *admitted, f policy.Failure) source.Diagnostic {
	if f.ID.Plugin == "PodSecurity" {
		return r.rulersOf().enforced(d, a.job.place.namespace)
	}
	for _, rule := range r.rulesOf(a.job.place.kind, f.Err) {
		if !slices.ContainsFunc(d.Related, func(p source.Place) bool { return p.At == rule.at }) {
			d = d.Naming(rule.at, rule.String())
		}
	}
	return d
}

// enforced adds to a diagnostic the label of a Namespace that says what its Pods may do.
func (all *rulers) enforced(d source.Diagnostic, namespace string) source.Diagnostic {
	all.lock.Lock()
	defer all.lock.Unlock()
	const label = "pod-security.kubernetes.io/enforce"
	n := all.namespaces[namespace]
	if n == nil || n.TextAt("metadata", "labels", label) == "" {
		return d
	}
	return d.Naming(n.At(change.Keys("metadata", "labels", label)), "Namespace "+namespace+", label "+label)
}

// definedRule is a part of a CustomResourceDefinition that refuses a field.
type definedRule struct {
	definition string
	at         source.Position
	// rule is an expression of x-kubernetes-validations about the value at scope, or "".
	rule  string
	scope change.Path
}

// String names the rule.
func (d definedRule) String() string {
	if d.rule == "" {
		return "CustomResourceDefinition " + d.definition
	}
	return "CustomResourceDefinition " + d.definition + ", rule " + strings.Join(strings.Fields(d.rule), " ")
}

// rulesOf returns the parts of the definition of a kind that an error about an object is about.
func (r *run) rulesOf(kind *schema.Kind, err error) (rules []definedRule) {
	fields := fieldsOf(err)
	if len(fields) == 0 || kind.Definition == nil {
		return nil
	}
	all := r.rulersOf()
	all.lock.Lock()
	defer all.lock.Unlock()
	d := all.definitions[gvk.Kind{Group: kind.Group, Kind: kind.Kind.Kind}]
	if d == nil {
		return nil
	}
	root := policy.Node{Value: d.Object()}
	for _, version := range root.At("spec", "versions").Items() {
		if version.At("name").Text() != kind.Version {
			continue
		}
		for _, field := range fields[:min(len(fields), mostFacts)] {
			node, rule, scope := ruleOf(version.At("schema", "openAPIV3Schema"), field, err.Error())
			rules = append(rules, definedRule{d.Name(), d.At(node.Path), rule, scope})
		}
	}
	return rules
}

// ruleOf returns the part of a schema that refuses a field with a text: a rule about the field or about a
// value around it, or else the schema of the field.
func ruleOf(s policy.Node, field change.Path, text string) (at policy.Node, rule string, scope change.Path) {
	nodes := []policy.Node{s}
	for _, e := range field {
		next := s.At("items")
		if !e.IsIndex() {
			if next = s.At("properties", e.Key); !next.Given() {
				next = s.At("additionalProperties")
			}
		}
		if !next.Given() {
			break
		}
		s, nodes = next, append(nodes, next)
	}
	for i, n := range slices.Backward(nodes) {
		for _, item := range n.At("x-kubernetes-validations").Items() {
			rule, message := item.At("rule").Text(), strings.TrimSpace(item.At("message").Text())
			if strings.Contains(text, "failed rule: "+strings.TrimSpace(rule)) || message != "" && strings.Contains(text, message) {
				return item, rule, field[:i]
			}
		}
	}
	rules := s.At("x-kubernetes-validations").Items()
	isOfSchema := strings.Contains(text, field.String()+" in body ") || !strings.Contains(text, field.String()+": Invalid value: ")
	if len(rules) == 1 && rules[0].Has("messageExpression") && !isOfSchema {
		return rules[0], rules[0].At("rule").Text(), field
	}
	return s, "", field
}

// reads returns the paths in an object that a rule reads, as far as its text shows them.
func (d definedRule) reads() (paths []change.Path) {
	x, err := expr.Parse(d.rule)
	if err != nil {
		return nil
	}
	for _, keys := range x.Fields("self") {
		if len(keys) > 0 {
			paths = append(paths, append(slices.Clip(d.scope), change.Keys(keys...)...))
		}
	}
	return paths
}
