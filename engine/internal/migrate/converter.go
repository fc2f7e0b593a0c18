package migrate

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// converter converts one rule to one policy.
type converter struct {
	rule kyverno.Rule
	// name is the name of the policy.
	name    string
	schemas *schema.Registry
	// isNative says that the policy is for API servers, not for Kyverno.
	isNative bool
	matched  constraints
	// types are the types of the objects that the rule matches, one for each kind.
	types []*schema.Type
	// target selects the objects that the rule changes when another object triggers it; nil if it changes
	// that object.
	target    *converter
	variables []condition
	mutations []mutation
	// replacesAtomics says that an ApplyConfiguration has atomic lists.
	replacesAtomics bool
	// values are those that Kyverno computes besides those of the patch, and that may fail.
	values []code
	// needed are expressions that are evaluated although they may fail.
	needed []expr.Expr
	// read are the places that the conditions read, and then each mutation; nil until it is asked.
	read [][][]string
	// joined are other rules whose mutations are part of the policy.
	joined []*converter
	// at is the path of the part that is being converted, for warnings; patch is that of the
	// strategic merge patch.
	at, patch change.Path
	problems  []source.Diagnostic
}

// mutation is a mutation of a policy.
type mutation struct {
	patchType  string
	expression expr.Expr
	comment    string
	writes     []effect
}

// The patch types.
const (
	applyConfiguration = "ApplyConfiguration"
	jsonPatch          = "JSONPatch"
)

// convert converts the whole rule.
func (c *converter) convert() error {
	if err := c.constraints(); err != nil {
		return err
	}
	root := c.rule.Root
	if n := root.At("reportProperties"); kyverno.HasSubstitutions(n.Value) {
		return c.refuse(n.Path, "variables in reportProperties, which deny the object if they have no value", "leave them out")
	}
	mutate := root.At("mutate")
	s := &scope{rule: c, vars: map[string]code{}}
	c.at = root.At("preconditions").Path
	conditions, err := s.preconditions(root.At("preconditions"))
	unconditional := c.failed(root.At("preconditions").Path, err)
	conditions = slices.DeleteFunc(conditions, c.narrows)
	c.matched.conditions = append(c.matched.conditions, namedAll("precondition", conditions)...)
	if err := c.follow(s, mutate.At("targets")); err != nil {
		return err
	}
	if c.isNative {
		if err := c.fitServer(); err != nil {
			return err
		}
	}
	if c.target != nil {
		s = s.with("target", c.changed())
	}
	for _, d := range c.rule.Deviations(c.changed().types) {
		c.documented(d)
	}
	return errors.Join(unconditional, c.substituted(s), c.patches(s, mutate))
}

// substituted notes the values that Kyverno computes besides those of the patch, because an error in one
// fails the rule.
func (c *converter) substituted(s *scope) error {
	found, err := collect(c.rule.Substituted(), func(n policy.Node) ([]code, error) {
		values, err := s.failing(n.Value)
		return values, c.failed(n.Path, err)
	})
	c.values = slices.Concat(found...)
	return err
}

// patches converts the patch of a mutate block.
func (c *converter) patches(s *scope, n policy.Node) error {
	c.at = n.Path
	switch {
	case n.At("patchStrategicMerge").Given():
		return c.strategic(s, n.At("patchStrategicMerge"), nil)
	case n.At("patchesJson6902").Given():
		return c.operations(s, n.At("patchesJson6902"), nil)
	case n.At("foreach").Given():
		_, err := collect(n.At("foreach").Items(), func(entry policy.Node) (any, error) { return nil, c.foreach(s, entry) })
		return err
	}
	for _, key := range []string{"overlay", "patches"} {
		if old := n.At(key); old.Given() {
			return c.refuse(old.Path, key+" is a form from before Kyverno 1.6", "write it as patchStrategicMerge or patchesJson6902 first")
		}
	}
	return nil
}

// object returns the object of the request.
func (c *converter) object() code {
	if c.target != nil {
		return ofPath(&path{root: ofRequest("object")}, c.types)
	}
	return variableOf("object", c.types)
}

// changed returns the object that the rule changes.
func (c *converter) changed() code {
	if c.target != nil {
		return variableOf("object", c.target.types)
	}
	return c.object()
}

// written are the constraints for the object that the rule changes.
func (c *converter) written() *constraints {
	if c.target != nil {
		return &c.target.matched
	}
	return &c.matched
}

// variable adds a variable to the policy and returns its code.
func (c *converter) variable(name string, x expr.Expr) code {
	name = identifier(name)
	if !slices.ContainsFunc(c.variables, func(v condition) bool { return v.name == name }) {
		c.variables = append(c.variables, condition{name: name, x: x})
	}
	return code{x: expr.Ident("variables").Select(name)}
}

// identifier converts a name to a CEL identifier.
func identifier(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < 128 && expr.IsIdentifier("a"+string(r)) {
			return r
		}
		return '_'
	}, name)
	if !expr.IsIdentifier(name) {
		return "x" + name
	}
	return name
}

func sortedKeys(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }
