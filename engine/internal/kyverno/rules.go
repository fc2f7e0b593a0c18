package kyverno

import (
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Rule is a mutate rule of a policy that has been checked, for who says it in another
// language: one that the user wrote, or that Kyverno generates for pod controllers.
type Rule struct {
	Document *manifest.Document
	// Policy is the name of the policy; Namespace that of a Policy, empty for a
	// ClusterPolicy.
	Policy, Namespace string
	Name              string
	// Root is the rule. That of a generated one has the path of the rule that it was
	// generated from.
	Root policy.Node
	// Generated says that the rule is for pod controllers, and nobody wrote it.
	Generated bool
	// Ignore says that errors do not deny requests, First that of the rules of the policy
	// only the first that changes an object counts.
	Ignore, First bool
}

// Rules reads the mutate rules of a policy in the order in which they run.
func (l *Language) Rules(d *manifest.Document) ([]Rule, []source.Diagnostic) {
	r := newReader(d)
	if !r.checkVersion() {
		return nil, r.Problems
	}
	definition := r.definition(l.namespace)
	if source.HasErrors(r.Problems) {
		return nil, r.Problems
	}
	var rules []Rule
	for _, written := range definition.rules {
		rules = append(rules, Rule{
			Document: d, Policy: definition.name, Namespace: definition.namespace, Name: written.name, Root: written.root,
			Generated: written.name != written.root.At("name").Text() || !definition.wrote(written.name),
			Ignore:    definition.ignore, First: definition.one,
		})
	}
	return rules, nil
}

// wrote reports whether the user wrote a rule of that name.
func (d *definition) wrote(name string) bool {
	for _, written := range d.written {
		if written == name {
			return true
		}
	}
	return false
}

// At is the position of a part of the rule in its file.
func (r Rule) At(path change.Path) source.Position { return r.Document.At(path) }

// IsPolicy reports whether documents of a kind have rules.
func IsPolicy(kind gvk.Kind) bool {
	return kind.Group == group && (kind.Kind == "ClusterPolicy" || kind.Kind == "Policy")
}

// IsException reports whether documents of a kind are exceptions from rules.
func IsException(kind gvk.Kind) bool { return kind.Group == group && kind.Kind == "PolicyException" }

// KindPattern is what an entry of kinds selects; each part may have wildcards.
type KindPattern struct{ Group, Version, Kind, Subresource string }

// ParseKind reads an entry of kinds in a match block that has been checked.
func ParseKind(text string) KindPattern {
	s, _ := parseKind(text)
	return KindPattern{s.group, s.version, s.kind, s.sub}
}

// Anchor is what the brackets around a key of a patch, and the sign before them, say.
type Anchor string

// The anchors of patches and patterns.
const (
	NoAnchor  = Anchor(noAnchor)
	Condition = Anchor(conditionAnchor)
	Global    = Anchor(globalAnchor)
	Add       = Anchor(addAnchor)
	Equality  = Anchor(equalityAnchor)
	Negation  = Anchor(negationAnchor)
	Existence = Anchor(existenceAnchor)
)

// ParseAnchor splits a key like "+(name)" into its anchor and the bare key.
func ParseAnchor(key string) (Anchor, string) {
	a, bare := parseAnchor(key)
	return Anchor(a), bare
}

// HasAnchors reports whether a key anywhere in a value has an anchor.
func HasAnchors(value any) bool { return hasAnchors(value) }

// HasGlobalAnchors reports whether a key anywhere in a value has the anchor <( ).
func HasGlobalAnchors(value any) bool {
	return hasAnchor(value, func(a anchor) bool { return a == globalAnchor })
}

// Compares splits the operator off a pattern of a scalar: >=, <=, >, <, ! , - and !- for
// ranges; empty for equality.
func Compares(pattern string) (operator, operand string) { return splitOperator(pattern) }

// ReadJSONPatch reads a JSON Patch that is a list, or the text of one, as it is written.
func ReadJSONPatch(value any) ([]any, error) {
	if text, ok := value.(string); ok {
		parsed, err := manifest.Value(text)
		if err != nil {
			return nil, err
		}
		value = parsed
	}
	list, _ := value.([]any)
	return list, nil
}
