// Package mutationtree implements kyverno-json's mutation trees: YAML patterns that describe how
// a document should look. They were proposed for kyverno-json (Kyverno Design Proposal
// "Mutations in kyverno-json", 2024-02); the rules below complete the proposal. A tree changes a
// document as it is written, whether it is a Kubernetes manifest or other JSON or YAML.
//
// M(v, t) is the result of applying a tree t to a value v:
//
//	a map in t merges into v, key by key; if v is not a map, {} replaces it first
//	  key: null    removes the key, unless its value is null already
//	  [key]: t     replaces the value by t, in which null is an ordinary value
//	  \key\: t     is the literal key
//	a list in t replaces v, without merging items
//	a scalar in t replaces v
//	"(expression)", "(jp; expression)" or "(cel; expression)" is the result of the expression
//	  for the old value v: a map merges, null removes
//	"\text\" is the literal text
//
// Expressions see the document before the tree; they do not see the changes of other
// expressions. Several trees run one after another. Bindings are $payload (the document before
// the tree), $policy, $rule, and the context of the rule.
//
// Laws, where esc(x) puts backslashes around everything in x that looks like syntax:
//
//	M(x, {}) = x
//	M(x, esc(x)) = x
//	M(M(x, t), t) = M(x, t) for a tree t without expressions
//
// The files in order: language.go (from documents to a program), policy.go (reading documents),
// rule.go (rules on a document), assertion.go (match and exclude), tree.go (M), expression.go
// and bindings.go, jmespath.go, counting.go, number.go, check.go (mistakes), idle.go (rules
// that change nothing).
package mutationtree

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// PolicyKind is the kind of the documents with rules.
var PolicyKind = gvk.Kind{Group: "json.preadmit.dev", Version: "v1alpha1", Kind: "MutatingPolicy"}

// compiler compiles one document.
type compiler struct {
	document *manifest.Document
	cel      *celenv.Env
	subject  string
	problems []source.Diagnostic
}

func (c *compiler) fail(at change.Path, message, advice string) {
	c.report(c.document.At(at), at, "policy-invalid", message, source.Advice{Text: advice})
}

// failIn reports an error in an expression, at a byte offset of the string at a path.
func (c *compiler) failIn(at change.Path, offset int, message string, mend source.Mend) {
	c.add(at, c.document.Mended(source.Errorf(c.document.In(at, offset), "expression-invalid", "%s", message), at, mend))
}

func (c *compiler) report(position source.Position, at change.Path, code, message string, advice source.Advice) {
	c.add(at, source.Errorf(position, code, "%s", message).Advised(advice))
}

// add adds a problem about the value at a path.
func (c *compiler) add(at change.Path, d source.Diagnostic) {
	d.Subject, d.Field = c.subject, at.String()
	c.problems = append(c.problems, d)
}

// unknown reports an unknown field.
func (c *compiler) unknown(at change.Path, advice source.Advice) {
	c.add(at, source.Errorf(c.document.At(at), "policy-field-unknown", "unknown field").AdvisedAt(c.document.Key(at), advice))
}

// object returns the map at a path, and reports unknown keys.
func (c *compiler) object(value any, at change.Path, known ...string) map[string]any {
	object, ok := value.(map[string]any)
	if !ok {
		c.fail(at, "expected a map", "")
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, key) {
			advice := source.Expected("expected "+strings.Join(known, ", "), key, known)
			if key == "assert" {
				advice = source.Advice{Text: "a MutatingPolicy has mutate in its place", Old: key, New: "mutate"}
			}
			c.unknown(at.Key(key), advice)
		}
	}
	return object
}

func (c *compiler) list(object map[string]any, key string, at change.Path) []any {
	list, ok := object[key].([]any)
	if !ok && object[key] != nil {
		c.fail(at.Key(key), "expected a list", "")
	}
	return list
}

// language reads the default language of expressions. kyverno-json calls the field engine up to
// v0.0.3, and compiler since.
func (c *compiler) language(object map[string]any, at change.Path, outer string) string {
	for _, key := range []string{"compiler", "engine"} {
		switch value := object[key]; value {
		case nil:
		case languageJP, languageCEL:
			outer = value.(string)
		default:
			c.fail(at.Key(key), "unknown expression language", "expected jp or cel")
		}
	}
	return outer
}

// policy reads a document with rules.
func (c *compiler) policy() []rule {
	d := c.document
	if d.Kind() != PolicyKind {
		at := change.Keys("kind")
		advice := source.Advice{Text: fmt.Sprintf("expected apiVersion: %s, kind: %s", PolicyKind.APIVersion(), PolicyKind.Kind)}
		if d.Kind().Kind == PolicyKind.Kind {
			advice.Old, advice.New = d.Kind().APIVersion(), PolicyKind.APIVersion()
		}
		text := fmt.Sprintf("there is no %s of %s", d.Kind().Kind, d.Kind().APIVersion())
		c.add(at, source.Errorf(c.document.At(at), "policy-kind-unknown", "%s", text).
			AdvisedAt(c.document.At(change.Keys("apiVersion")), advice))
		return nil
	}
	root := c.object(d.Object(), nil, "apiVersion", "kind", "metadata", "spec")
	if d.Name() == "" {
		c.fail(change.Keys("metadata", "name"), "a policy needs a name", "")
	}
	at := change.Keys("spec")
	spec := c.object(root["spec"], at, "compiler", "engine", "rules")
	language := c.language(spec, at, languageJP)
	list := c.list(spec, "rules", at)
	if len(list) == 0 && spec != nil {
		c.fail(at.Key("rules"), "a policy needs rules", "")
	}
	var rules []rule
	for i, value := range list {
		r := c.rule(value, language, at.Key("rules").Index(i))
		r.policy, r.index = d.Name(), i
		rules = append(rules, r)
	}
	return rules
}

func (c *compiler) rule(value any, language string, at change.Path) rule {
	object := c.object(value, at, "name", "compiler", "engine", "context", "match", "exclude", "mutate")
	r := rule{document: c.document, at: c.document.At(at), object: object}
	if object == nil {
		return r
	}
	language = c.language(object, at, language)
	r.name, _ = object["name"].(string)
	if r.name == "" {
		c.fail(at.Key("name"), "a rule needs a name", "")
	}
	for i, entry := range c.list(object, "context", at) {
		r.context = append(r.context, c.contextEntry(entry, language, at.Key("context").Index(i)))
	}
	r.match = c.match(object, "match", language, at)
	r.exclude = c.match(object, "exclude", language, at)
	r.trees = c.mutate(object, language, at.Key("mutate"))
	return r
}

// mutate reads a tree or a list of trees.
func (c *compiler) mutate(object map[string]any, language string, at change.Path) []tree {
	switch value := object["mutate"].(type) {
	case map[string]any:
		return []tree{c.parseTree(value, language, at)}
	case []any:
		var trees []tree
		for i, item := range value {
			if _, ok := item.(map[string]any); !ok {
				c.fail(at.Index(i), "a mutation tree must be a map", "")
			}
			trees = append(trees, c.parseTree(item, language, at.Index(i)))
		}
		return trees
	default:
		c.fail(at, "expected a mutation tree, or a list of them", "a mutation tree is a map")
		return nil
	}
}

func (c *compiler) contextEntry(value any, language string, at change.Path) contextEntry {
	object := c.object(value, at, "name", "compiler", "engine", "variable")
	language = c.language(object, at, language)
	name, _ := object["name"].(string)
	if name == "" {
		c.fail(at.Key("name"), "a binding needs a name", "")
	}
	return contextEntry{name, c.parseTree(object["variable"], language, at.Key("variable"))}
}

// match reads a match or exclude block; nil if it is missing.
func (c *compiler) match(object map[string]any, key, language string, at change.Path) *match {
	if object[key] == nil {
		return nil
	}
	at = at.Key(key)
	block := c.object(object[key], at, "compiler", "engine", "any", "all")
	language = c.language(block, at, language)
	m := &match{}
	for i, value := range c.list(block, "any", at) {
		m.any = append(m.any, c.parseAssertion(value, language, at.Key("any").Index(i)))
	}
	for i, value := range c.list(block, "all", at) {
		m.all = append(m.all, c.parseAssertion(value, language, at.Key("all").Index(i)))
	}
	if block != nil && len(m.any)+len(m.all) == 0 {
		c.fail(at, "the block is empty", "give any or all, each a list of assertion trees")
	}
	return m
}
