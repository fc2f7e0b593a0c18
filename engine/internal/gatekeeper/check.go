package gatekeeper

import (
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// checker finds mistakes in one mutator that Gatekeeper does not report.
type checker struct {
	mutator *mutator
	schemas *schema.Registry
	found   []source.Diagnostic
}

// Check implements policy.Program: it finds mistakes that Gatekeeper does not report. It leaves
// out conflicts, because every run warns of conflicts.
func (p *program) Check(schemas *schema.Registry, _ *policy.Kept) []source.Diagnostic {
	var found []source.Diagnostic
	for _, m := range p.mutators {
		c := &checker{mutator: m, schemas: schemas}
		c.checkMatch()
		c.checkTests()
		c.checkLocation()
		found = append(found, c.found...)
	}
	return append(found, p.checkOrders()...)
}

// warn adds a finding about a field of the spec.
func (c *checker) warn(at source.Position, code, advice, format string, args ...any) {
	c.warnAdvised(at, code, source.Advice{Text: advice}, format, args...)
}

func (c *checker) warnAdvised(at source.Position, code string, advice source.Advice, format string, args ...any) {
	d := source.Warningf(at, code, format, args...).Advised(advice)
	d.Subject, d.Excerpt = c.mutator.subject(), c.mutator.document.Excerpt(at)
	c.found = append(c.found, d)
}

func (c *checker) idle(at source.Position, advice, format string, args ...any) {
	c.warn(at, "never-applies", advice, "%s never applies: %s", c.mutator.key(), fmt.Sprintf(format, args...))
}

// known returns the kinds with a schema to which the mutator applies.
func (c *checker) known() []*schema.Kind {
	var kinds []*schema.Kind
	for _, k := range c.schemas.Kinds() {
		if slices.ContainsFunc(c.mutator.applyTo, func(a applyTo) bool { return a.covers(k.Kind, a.effective()[0]) }) && !k.Unknown {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// checkMatch looks for criteria that no object meets.
func (c *checker) checkMatch() {
	if c.mutator.match.generated {
		c.warnAdvised(c.mutator.criteria["source"], "never-applies", source.Advice{Text: "leave source out, or set it to Original", Old: "Generated", New: "Original"},
			"%s never applies: match.source is Generated, which selects only objects that ExpansionTemplates generate", c.mutator.key())
	}
	if included := c.mutator.match.namespaces; len(included) > 0 && !slices.ContainsFunc(included, func(n string) bool { return !anyWild(c.mutator.match.excluded, n) }) {
		c.idle(c.mutator.criteria["excludedNamespaces"], "remove a namespace from one of the lists", "match.excludedNamespaces has all of match.namespaces")
	}
	c.checkKindsMatch()
	c.checkOwnLabel()
}

// checkOwnLabel looks for a label that every selected object has already: an AssignMetadata changes
// no label that exists.
func (c *checker) checkOwnLabel() {
	selector := policy.NodeAt(c.mutator.document, "spec", "match", "labelSelector")
	if c.mutator.kind != assignMetadataKind || c.mutator.location[1].name != "labels" {
		return
	}
	label := c.mutator.location[2].name
	_, required := selector.At("matchLabels").Object()[label]
	required = required || slices.ContainsFunc(selector.At("matchExpressions").Items(), func(n policy.Node) bool {
		return n.At("key").Text() == label && (n.At("operator").Text() == "In" || n.At("operator").Text() == "Exists")
	})
	if required {
		c.idle(c.mutator.criteria["labelSelector"], "select by another label, or for its absence with the operator DoesNotExist",
			"match.labelSelector selects only objects that have the label %s, and an AssignMetadata does not change a label that exists", label)
	}
}

// checkKindsMatch compares the kinds of applyTo with the rest of match.
func (c *checker) checkKindsMatch() {
	kinds := c.known()
	if len(c.mutator.applyTo) == 0 || len(kinds) == 0 {
		return
	}
	none := func(fits func(*schema.Kind) bool) bool { return !slices.ContainsFunc(kinds, fits) }
	switch {
	case none(func(k *schema.Kind) bool { return c.mutator.match.selects(k.Kind) }):
		c.idle(c.mutator.criteria["kinds"], "an object must be in both", "match.kinds has none of the kinds of applyTo")
	case c.mutator.match.scope == "Cluster" && none(func(k *schema.Kind) bool { return !k.Namespaced || isNamespace(k.Kind) }):
		c.idle(c.mutator.criteria["scope"], "leave scope out", "match.scope is Cluster, and the objects of all kinds of applyTo are in namespaces")
	case c.mutator.match.scope == "Namespaced" && none(func(k *schema.Kind) bool { return k.Namespaced }):
		c.idle(c.mutator.criteria["scope"], "leave scope out", "match.scope is Namespaced, and no object of the kinds of applyTo is in a namespace")
	}
}

// checkTests looks for path tests that never hold.
func (c *checker) checkTests() {
	if c.mutator.kind == assignMetadataKind {
		return
	}
	forbidden := -1
	for depth := range c.mutator.location {
		test, ok := c.mutator.tests[depth]
		if !ok {
			continue
		}
		at := c.mutator.document.At(test.at.Path)
		switch {
		case test.condition == "":
			c.idle(at, "set condition to MustExist or MustNotExist", "%s has no condition", test)
		case test.condition == mustNotExist && c.mutator.location[depth].glob:
			c.idle(at, "test a field of the items", "%s requires that no item exists, but items always count as existing", test)
		case test.condition == mustExist && forbidden >= 0:
			c.idle(at, "remove one of the two tests", "%s requires a part of a value to exist, and %s requires the value not to exist", test, c.mutator.tests[forbidden])
		case test.condition == mustNotExist:
			forbidden = depth
			c.checkDefault(depth, test, at)
		}
	}
}

// checkDefault looks for a test that a field is missing although the API always sets the field.
func (c *checker) checkDefault(depth int, test pathTest, at source.Position) {
	var path change.Path
	for _, n := range c.mutator.location[:depth+1] {
		if n.list {
			path = path.Index(0)
		} else {
			path = path.Key(n.name)
		}
	}
	kinds := c.known()
	for _, kind := range kinds {
		value, set := admission.Defaulted(kind, path)
		if !set {
			return
		}
		if kind == kinds[len(kinds)-1] {
			c.warn(at, "condition-unreachable", "remove the test, or the mutator", "%s never holds: where the manifest has no %s, Gatekeeper sees the API's default, here %s",
				test, c.mutator.location[:depth+1], manifest.JSON(value))
		}
	}
}

// checkLocation checks the location, and what is written there, against the schemas of the
// kinds. A location that fits one kind may be meant for that kind only.
func (c *checker) checkLocation() {
	if c.mutator.kind == assignMetadataKind {
		c.checkMetadata()
		return
	}
	if first := c.mutator.location; len(first) > 0 && (first[0].name == "kind" || first[0].name == "apiVersion") {
		c.warn(c.mutator.node(0), "mutator-fails", "change another field", "an API server refuses a request if a webhook changed %s of the object", first[0].name)
		return
	}
	var first *misfit
	for _, kind := range c.known() {
		problem := c.misfit(kind)
		if problem == nil {
			return
		}
		if first == nil {
			first = problem
		}
	}
	if first != nil {
		c.warnAdvised(c.mutator.node(first.depth), first.code, first.advice, "%s", first.text)
	}
}

// checkMetadata looks for labels that an API server rejects.
func (c *checker) checkMetadata() {
	key, value := c.mutator.location[2].name, "x"
	if constant, ok := c.mutator.action.(*constant); ok && c.mutator.location[1].name == "labels" {
		value, _ = constant.value.(string)
	}
	if _, err := match.NewSelector(map[string]any{"matchLabels": map[string]any{key: value}}); err != nil {
		c.warn(c.mutator.node(2), "mutator-fails", "correct the key or the value", "an API server refuses the result: %v", err)
	}
}

// misfit describes where and why a location does not fit a kind.
type misfit struct {
	depth  int
	code   string
	advice source.Advice
	text   string
}

// misfit returns where the location does not fit a kind, nil if it fits.
func (c *checker) misfit(kind *schema.Kind) *misfit {
	of := kind.Type()
	for depth, n := range c.mutator.location {
		path := c.mutator.location[:depth+1].String()
		if of == nil || of.Scalar == schema.Untyped {
			return nil
		}
		if n.list {
			if of = of.ItemType(); of == nil {
				return &misfit{depth, "type-mismatch", source.Advice{Text: "end the location before, or name a field"}, fmt.Sprintf("%s of %s is no list", c.mutator.location[:depth], kind.Title())}
			}
			if bad := c.misfitKey(of, depth, kind); bad != nil {
				return bad
			}
			continue
		}
		switch {
		case of.IsList:
			return &misfit{depth, "type-mismatch", source.Advice{Text: "select its items with [key: value] or [key: *]"}, fmt.Sprintf("%s of %s is a list", c.mutator.location[:depth], kind.Title())}
		case of.Scalar != schema.NotScalar:
			return &misfit{depth, "type-mismatch", source.Advice{Text: "end the location before"}, fmt.Sprintf("%s of %s is a single value", c.mutator.location[:depth], kind.Title())}
		case of.Declared(n.name) == nil && (of.Preserve || of.Elem == nil && len(of.Fields) == 0):
			return nil
		}
		if why := admission.NotStored(kind, []string{""}, c.mutator.location[:depth+1].fields()); why != nil {
			return &misfit{depth, "field-not-stored", source.Advice{Text: "change another field"}, why.Text}
		}
		next := of.FieldType(n.name)
		if next == nil {
			return &misfit{depth, "field-undefined", source.Suggest(n.name, of.FieldNames()), fmt.Sprintf("%s has no field %s: an API server drops it", kind.Title(), path)}
		}
		of = next
	}
	return c.misfitValue(of, kind)
}

// misfitKey checks the key by which items are selected against its type.
func (c *checker) misfitKey(item *schema.Type, depth int, kind *schema.Kind) *misfit {
	n := c.mutator.location[depth]
	if item == nil || item.Scalar == schema.Untyped || item.Preserve {
		return nil
	}
	key := item.FieldType(n.name)
	list := c.mutator.location[:depth].String()
	if key == nil {
		return &misfit{depth, "field-undefined", source.Suggest(n.name, item.FieldNames()), fmt.Sprintf("the items of %s of %s have no field %s", list, kind.Title(), n.name)}
	}
	_, isText := n.key.(string)
	_, isInteger := n.key.(int64)
	if isText && key.Scalar == schema.Integer || isInteger && key.Scalar == schema.String {
		return &misfit{
			depth, "type-mismatch",
			source.Advice{Text: "write the key as the field has it: numbers without quotes, texts with letters or in quotes"},
			fmt.Sprintf("%s never equals %s of an item of %s of %s, which is of another type", n, n.name, list, kind.Title()),
		}
	}
	return nil
}

// misfitValue checks the written value against the type of the field.
func (c *checker) misfitValue(of *schema.Type, kind *schema.Kind) *misfit {
	depth := len(c.mutator.location) - 1
	if of == nil {
		return nil
	}
	parameters := policy.NodeAt(c.mutator.document, "spec", "parameters")
	var value any = "" // other actions write strings
	switch c.mutator.action.(type) {
	case *set:
		if !of.IsList && of.Scalar != schema.Untyped {
			return &misfit{depth, "type-mismatch", source.Advice{Text: "end the location with a list of values"}, fmt.Sprintf("%s of %s is no list", c.mutator.location, kind.Title())}
		}
		value = parameters.At("values", "fromList").Value
	case *constant:
		value = parameters.At("assign", "value").Value
	}
	if problems := of.Check(value); len(problems) > 0 {
		return &misfit{depth, problems[0].Code, source.Advice{}, fmt.Sprintf("what it writes does not fit %s of %s: %s", c.mutator.location, kind.Title(), problems[0].Text)}
	}
	return nil
}
