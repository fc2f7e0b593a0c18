package kyverno

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Rule is a checked mutate rule, for conversion to another language. The user wrote it, or
// Kyverno generates it for pod controllers.
type Rule struct {
	Document *manifest.Document
	// Policy is the name of the policy. Namespace is the namespace of a Policy, "" for a
	// ClusterPolicy.
	Policy, Namespace string
	Name              string
	// Root is the rule. A generated rule has the path of the rule from which it was generated.
	Root policy.Node
	// Generated says that Kyverno generates the rule for pod controllers.
	Generated bool
	// Ignore says that errors do not deny requests. First says that only the first rule of the
	// policy that changes an object counts.
	Ignore, First bool
	compiled      *rule
}

// Substituted returns the parts of the rule outside its patch whose variables Kyverno replaces when it
// applies the patch, to no effect but errors. Entries of the context that the rule uses are not among them.
func (r Rule) Substituted() []policy.Node {
	return slices.DeleteFunc(slices.Clone(r.compiled.others), func(n policy.Node) bool {
		return n.Path.HasPrefix(r.compiled.context.Path) && r.compiled.uses(n.At("name").Text())
	})
}

// Deviations returns what Kyverno does not do as documented for objects of some types, when it
// runs the rule. What it does when it generates rules for pod controllers is in these rules, and
// Substituted has the parts whose variables it replaces.
func (r Rule) Deviations(types []*schema.Type) []Mark {
	return slices.DeleteFunc(r.compiled.deviations(types), func(m Mark) bool { return m.Means == allSubstituted })
}

// NumbersWhole is the deviation of a rule that depends on whether the numbers of the object are integers, at
// a path.
func NumbersWhole(path change.Path) Mark { return Mark{path, numbersWhole} }

// Rules reads the mutate rules of a policy in the order in which they run.
func (l *Language) Rules(d *manifest.Document) ([]Rule, []source.Diagnostic) {
	r := newReader(d)
	if !r.checkVersion() {
		return nil, r.doc.Problems
	}
	definition := r.definition(l.namespace)
	if source.HasErrors(r.doc.Problems) {
		return nil, r.doc.Problems
	}
	var rules []Rule
	for _, written := range definition.rules {
		rules = append(rules, Rule{
			Document: d, Policy: definition.name, Namespace: definition.namespace, Name: written.name, Root: written.root,
			Generated: written.generated, Ignore: definition.ignore, First: definition.one, compiled: written,
		})
	}
	return rules, nil
}

// At returns the position of a part of the rule in its file.
func (r Rule) At(path change.Path) source.Position { return r.Document.At(path) }

// IsPolicy reports whether documents of a kind have rules.
func IsPolicy(kind gvk.Kind) bool {
	return kind.Group == group && (kind.Kind == "ClusterPolicy" || kind.Kind == "Policy")
}

// IsException reports whether documents of a kind are policy exceptions.
func IsException(kind gvk.Kind) bool { return kind.Group == group && kind.Kind == "PolicyException" }

// HasGlobalAnchors reports whether a key anywhere in a value has the anchor <( ).
func HasGlobalAnchors(value any) bool {
	return hasAnchor(value, func(a Anchor) bool { return a == Global })
}

// Matches reports whether a value matches a pattern of a condition in a patch.
func Matches(value, pattern any) bool { return matchPattern(value, pattern, nil) == nil }

// ID returns the ID of the steps of the rule.
func (r Rule) ID() policy.ID { return r.compiled.id() }

// Kinds returns the kinds that the rule matches. all is false if it may match others, whose schemas are
// not known.
func (r Rule) Kinds(schemas *schema.Registry) (kinds []*schema.Kind, all bool) {
	kinds = r.compiled.patched(schemas)
	for _, b := range r.compiled.match.blocks() {
		for _, selector := range b.kinds {
			if !slices.ContainsFunc(kinds, func(k *schema.Kind) bool { return selector.matches(k.Kind) }) {
				return kinds, false
			}
		}
	}
	return kinds, true
}

// AsksOperation reports whether the operation of a request may decide whether the rule applies.
func (r Rule) AsksOperation() bool { return r.compiled.asksOperation }

// Alone returns a program that has only one rule.
func (l *Language) Alone(r Rule) policy.Program {
	d := *r.compiled.policy
	d.rules = []*rule{r.compiled}
	return l.programs([]*definition{&d}, nil)[0]
}

// Holds evaluates the operator of a condition.
func Holds(operator string, key, value any) bool { return operators[operator](key, value) }
