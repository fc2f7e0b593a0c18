package migrate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/policy"
)

// resourceRule is a resource rule of a policy.
type resourceRule struct {
	groups, versions, operations, resources []string
}

// constraints are the converted match blocks of a rule.
type constraints struct {
	rules                []resourceRule
	namespaces, selector map[string]any
	conditions           []condition
	// kinds are the known kinds that the rules select.
	kinds []*schema.Kind
}

// narrows narrows the operations of the resource rules, if a condition only tests the operation.
func (c *converter) narrows(condition expr.Expr) bool {
	read, operator, other, ok := condition.AsComparison()
	if !ok || !expr.Equal(read, ofRequest("operation")) {
		return false
	}
	items := []expr.Expr{other}
	if operator == "in" {
		items, ok = other.Items()
	}
	if !ok || operator != "in" && operator != "==" {
		return false
	}
	wanted := map[any]bool{}
	for _, item := range items {
		operation, _ := item.Constant()
		wanted[operation] = true
	}
	kept := slices.Clone(c.matched.rules)
	for i := range kept {
		kept[i].operations = slices.DeleteFunc(slices.Clone(kept[i].operations), func(o string) bool { return !wanted[o] })
		if len(kept[i].operations) == 0 {
			return false // a rule must have operations
		}
	}
	c.matched.rules = kept
	return len(kept) > 0
}

// constraints converts the match and exclude blocks of a rule.
func (c *converter) constraints() error {
	n := c.rule.Root.At("match")
	blocks, all := blocksOf(n)
	operations := map[string]bool{}
	for i, block := range blocks {
		if i > 0 && all {
			break // the other blocks become conditions
		}
		given := block.At("resources", "operations").Texts()
		if len(given) == 0 {
			given = []string{"CREATE", "UPDATE"}
		}
		for _, operation := range given {
			operations[operation] = true
		}
		for _, kind := range block.At("resources", "kinds").Items() {
			if err := c.selects(kind); err != nil {
				return err
			}
		}
	}
	if len(c.matched.rules) == 0 {
		return c.refuse(n.Path, "a match block without kinds", "name the kinds")
	}
	for i := range c.matched.rules {
		c.matched.rules[i].operations = slices.DeleteFunc([]string{"CREATE", "UPDATE", "DELETE", "CONNECT"}, func(o string) bool { return !operations[o] })
	}
	c.matched.rules = merged(c.matched.rules)
	return c.blockConditions(n, blocks, all)
}

// namespacesKnown reports a namespaceSelector for kinds that have no namespace. To Kyverno,
// these have no labels there, and a MutatingPolicy does not compare it.
func (c *converter) namespacesKnown(blocks []policy.Node) error {
	for _, kind := range c.matched.kinds {
		for _, block := range blocks {
			if n := block.At("resources", "namespaceSelector"); n.Given() && (kind.Kind.Kind == "*" || !kind.Namespaced && !kind.Unknown) {
				return c.refuse(n.Path, "a namespaceSelector for kinds without a namespace: "+kind.Kind.Kind, "write a rule for kinds with a namespace, and name them")
			}
		}
	}
	return nil
}

// blocksOf returns the blocks of a match or exclude block; all says that all of them must match.
func blocksOf(n policy.Node) (blocks []policy.Node, all bool) {
	if any := n.At("any").Items(); len(any) > 0 {
		return any, false
	}
	if items := n.At("all").Items(); len(items) > 0 {
		return items, true
	}
	return []policy.Node{n}, false
}

func (c *converter) blockConditions(n policy.Node, blocks []policy.Node, all bool) error {
	excluded := c.rule.Root.At("exclude")
	others, allOthers := blocksOf(excluded)
	if err := c.namespacesKnown(slices.Concat(blocks, others)); err != nil {
		return err
	}
	if len(blocks) == 1 || all {
		for i, block := range blocks {
			if i == 0 {
				c.selectors(block.At("resources"))
			}
			texts, err := c.block(block, i == 0)
			if err != nil {
				return err
			}
			c.matched.conditions = append(c.matched.conditions, texts...)
		}
	} else if hasMoreThanKinds(blocks) {
		x, err := c.blocks(blocks, false)
		if err != nil {
			return err
		}
		c.matched.conditions = append(c.matched.conditions, condition{name: "match", x: x})
	}
	if !excluded.Given() {
		return nil
	}
	return c.excludes(others, allOthers)
}

// excludes adds the condition that the blocks of an exclude do not match.
func (c *converter) excludes(others []policy.Node, allOthers bool) error {
	if slices.ContainsFunc(others, isEmptyBlock) { // such a block excludes nothing
		if others = slices.DeleteFunc(others, isEmptyBlock); allOthers || len(others) == 0 {
			return nil
		}
	}
	x, err := c.blocks(others, allOthers)
	if err != nil {
		return err
	}
	if !expr.Equal(x, expr.False) {
		c.matched.conditions = append(c.matched.conditions, condition{name: "exclude", x: expr.Not(x)})
	}
	return nil
}

// blocks returns the condition that one of several blocks matches, or all of them.
func (c *converter) blocks(blocks []policy.Node, all bool) (expr.Expr, error) {
	each, err := collect(blocks, func(block policy.Node) (expr.Expr, error) {
		conditions, err := c.block(block, false)
		return join(conditions), err
	})
	if all {
		return expr.And(each...), err
	}
	return expr.Or(each...), err
}

func isEmptyBlock(n policy.Node) bool { return len(n.At("resources").Object()) == 0 && !namesUsers(n) }

func namesUsers(n policy.Node) bool {
	return len(n.At("subjects").Items())+len(n.At("roles").Items())+len(n.At("clusterRoles").Items()) > 0
}

// hasMoreThanKinds reports whether any block has conditions besides its kinds.
func hasMoreThanKinds(blocks []policy.Node) bool {
	return slices.ContainsFunc(blocks, func(block policy.Node) bool {
		resources := block.At("resources")
		return len(resources.Object()) > 1 || !resources.Has("kinds") || namesUsers(block)
	})
}

func join(conditions []condition) expr.Expr { return expr.And(expressions(conditions)...) }

// selects adds the resources of an entry of kinds to the rules.
func (c *converter) selects(n policy.Node) error {
	p, _ := kyverno.ParseKind(n.Text())
	if p.Subresource != "" && p.Subresource != "*" {
		return c.refuse(n.Path, "a match on the subresource "+n.Text(), "write a policy for the subresource by hand")
	}
	if p.Kind == "*" {
		c.add(p.Group, p.Version, "*", c.schemas.Unknown(gvk.Kind{Kind: "*"}))
		return nil
	}
	found := false
	for _, kind := range c.schemas.Kinds() {
		if kind.Resource == "" || !wildcard.Match(p.Group, kind.Group) || !wildcard.Match(p.Version, kind.Version) || !wildcard.Match(p.Kind, kind.Kind.Kind) {
			continue
		}
		found = true
		c.add(kind.Group, kind.Version, kind.Resource, kind)
	}
	if found {
		return nil
	}
	if p.Group == "*" || wildcard.Has(p.Kind) || wildcard.Has(p.Group) {
		return c.refuse(n.Path, "the kind "+n.Text()+" is not known, so its group and resource are not known either",
			"give its CustomResourceDefinition with --context, or write group/version/Kind")
	}
	kind := gvk.Kind{Group: p.Group, Version: p.Version, Kind: p.Kind}
	resource := kind.Plural()
	c.warn(n.Path, fmt.Sprintf("the kind %s is not defined; its resource is assumed to be %q", n.Text(), resource), "give its CustomResourceDefinition with --context")
	c.add(p.Group, p.Version, resource, c.schemas.Unknown(kind))
	return nil
}

// add adds a kind to the kinds that the policy is for.
func (c *converter) add(group, version, resource string, kind *schema.Kind) {
	c.matched.rules = append(c.matched.rules, resourceRule{groups: []string{group}, versions: []string{version}, resources: []string{resource}})
	c.matched.kinds = append(c.matched.kinds, kind)
	c.types = append(c.types, kind.Type())
}

// merged merges rules that differ only in their resources.
func merged(rules []resourceRule) []resourceRule {
	var result []resourceRule
	for _, rule := range rules {
		i := slices.IndexFunc(result, func(other resourceRule) bool {
			return slices.Equal(other.groups, rule.groups) && slices.Equal(other.versions, rule.versions)
		})
		if i < 0 {
			result = append(result, rule)
			continue
		}
		for _, resource := range rule.resources {
			if !slices.Contains(result[i].resources, resource) {
				result[i].resources = append(result[i].resources, resource)
			}
		}
	}
	slices.SortStableFunc(result, func(a, b resourceRule) int { return cmp.Compare(a.groups[0], b.groups[0]) })
	return result
}

// selectors moves the selectors of a single block to the selectors of the policy.
func (c *converter) selectors(resources policy.Node) {
	if n := resources.At("selector"); n.Given() && !kyverno.HasWildcards(n) {
		c.matched.selector = n.Object()
	}
	if n := resources.At("namespaceSelector"); n.Given() && !kyverno.HasWildcards(n) {
		c.matched.namespaces = n.Object()
	}
}

// block returns the conditions of a block. selected says that its kinds and selectors are those of the
// policy.
func (c *converter) block(n policy.Node, selected bool) (all []condition, err error) {
	resources := n.At("resources")
	if !selected {
		all = append(all, condition{name: "kinds", x: c.kindsCondition(resources.At("kinds"))})
		if operations := resources.At("operations"); operations.Given() {
			all = append(all, condition{name: "operations", x: amongPatterns(ofRequest("operation"), operations.Texts())})
		}
	}
	all = append(all, c.identity(resources)...)
	isLeft := func(selector policy.Node) bool {
		return selector.Given() && (!selected || kyverno.HasWildcards(selector))
	}
	if selector := resources.At("selector"); isLeft(selector) {
		all = append(all, condition{name: "labels", x: c.labels(selector)})
	}
	if selector := resources.At("namespaceSelector"); isLeft(selector) {
		all = append(all, condition{name: "namespace-labels", x: c.namespaceSelector(selector)})
	}
	users, err := c.users(n)
	all = append(all, condition{name: "users", x: users})
	return slices.DeleteFunc(all, func(c condition) bool { return expr.Equal(c.x, expr.True) }), err
}

// identity returns the conditions of a block about names, namespaces and annotations.
func (c *converter) identity(resources policy.Node) (all []condition) {
	metadata := c.object().field("metadata")
	names := resources.At("names").Texts()
	if one := resources.At("name").Text(); one != "" {
		names = append(names, one)
	}
	name := metadata.field("name").orValue(metadata.field("generateName").orValue(literal("")))
	if len(names) > 0 {
		all = append(all, condition{name: "names", x: amongPatterns(name.x, names)})
	}
	if namespaces := resources.At("namespaces").Texts(); len(namespaces) > 0 {
		all = append(all, condition{name: "namespaces", x: amongPatterns(c.namespace(name), namespaces)})
	}
	for _, key := range sortedKeys(resources.At("annotations").Object()) {
		all = append(all, condition{name: "annotations", x: labeled(metadata.field("annotations"), key, resources.At("annotations", key).Text())})
	}
	return all
}

// namespaceSelector converts a selector of namespaces. It does not select Namespaces.
func (c *converter) namespaceSelector(selector policy.Node) expr.Expr {
	labels := expr.Ident("namespaceObject").Select("metadata").OptSelect("labels").OrValue(exprOf(keyed{}))
	return labelsMeet(selector, code{x: c.variable("namespaceLabels", labels).x, kind: object})
}

// labels converts a selector of the object.
func (c *converter) labels(selector policy.Node) expr.Expr {
	return labelsMeet(selector, c.object().field("metadata").field("labels"))
}

// amongPatterns returns a test whether a text matches one of several patterns.
func amongPatterns(x expr.Expr, patterns []string) expr.Expr {
	var items []any
	for _, p := range patterns {
		items = append(items, p)
	}
	test, _ := amongTexts(computed(x, text), items)
	return test
}

// namespace returns the namespace of the object; for a Namespace, its name.
func (c *converter) namespace(name code) expr.Expr {
	namespaced, namespaces := true, false
	for _, kind := range c.matched.kinds {
		namespaced = namespaced && kind.Namespaced
		namespaces = namespaces || kind.Kind.Kind == "Namespace" || kind.Kind.Kind == "*"
	}
	request := expr.Ident(requestRoot)
	if namespaced {
		return request.Select("namespace")
	}
	x := request.OptSelect("namespace").OrValue(expr.Literal(""))
	if namespaces {
		isNamespace := expr.Is(expr.Ident("object").Select("kind"), expr.Literal("Namespace"))
		return expr.If(isNamespace, expr.Call("string", name.x), expr.Call("string", x))
	}
	return x
}

// kindsCondition returns a test whether the object is of one of several kinds.
func (c *converter) kindsCondition(n policy.Node) expr.Expr {
	object, kind := c.object().x, ofRequest("kind")
	var any []expr.Expr
	for _, entry := range n.Texts() {
		p, _ := kyverno.ParseKind(entry)
		if p.Subresource != "" && p.Subresource != "*" {
			continue // the policy gets no requests for subresources
		}
		group := expr.And(matchesWildcard(kind.Select("version"), p.Version), matchesWildcard(kind.Select("group"), p.Group))
		if !wildcard.Has(p.Group + p.Version) {
			group = expr.Is(object.Select("apiVersion"), expr.Literal(gvk.Kind{Group: p.Group, Version: p.Version}.APIVersion()))
		}
		any = append(any, expr.And(matchesWildcard(object.Select("kind"), p.Kind), group))
	}
	if len(n.Items()) == 0 {
		return expr.True
	}
	return expr.Or(any...)
}

// labeled returns a test whether labels, or annotations, have a key and a value, which may have
// wildcards.
func labeled(labels code, key, value string) expr.Expr {
	if !wildcard.Has(key) {
		member := labels.field(key)
		if wildcard.Has(value) || value == "" {
			return expr.And(member.present(), matchesWildcard(member.x, value))
		}
		return expr.Is(member.orValue(literal("")).x, expr.Literal(value))
	}
	all, k := labels.orValue(literal(keyed{})).x, expr.Ident("k")
	return all.Over("exists", "k", expr.And(matchesWildcard(k, key), matchesWildcard(all.Index(k), value)))
}

// labelsMeet converts a label selector.
func labelsMeet(n policy.Node, labels code) expr.Expr {
	var all []expr.Expr
	for _, key := range sortedKeys(n.At("matchLabels").Object()) {
		all = append(all, labeled(labels, key, n.At("matchLabels", key).Text()))
	}
	for _, e := range n.At("matchExpressions").Items() { // whose operators Kyverno has checked
		member := labels.field(e.At("key").Text())
		x := member.present()
		if values, _ := e.At("values").Value.([]any); len(values) > 0 {
			x = expr.And(x, oneOf(member.x, values))
		}
		if operator := e.At("operator").Text(); operator == "DoesNotExist" || operator == "NotIn" {
			x = expr.Not(x)
		}
		all = append(all, x)
	}
	return expr.And(all...)
}

// oneOf returns a test whether a value is one of several constants.
func oneOf(x expr.Expr, values []any) expr.Expr {
	if len(values) == 1 {
		return expr.Is(x, exprOf(values[0]))
	}
	return expr.In(x, exprOf(values))
}

// users returns a test of the user who makes the request.
func (c *converter) users(n policy.Node) (expr.Expr, error) {
	for _, key := range []string{"roles", "clusterRoles"} {
		if of := n.At(key); of.Given() {
			return expr.True, c.refuse(of.Path, "Kyverno looks up roles in the bindings of the cluster, and a MutatingPolicy does not know them", "name users or groups among the subjects in their place")
		}
	}
	user := ofRequest("userInfo")
	var any []expr.Expr
	for _, s := range n.At("subjects").Items() {
		name := s.At("name").Text()
		switch s.At("kind").Text() {
		case "User":
			any = append(any, matchesWildcard(user.Select("username"), name))
		case "Group":
			any = append(any, user.Select("groups").Over("exists", "g", matchesWildcard(expr.Ident("g"), name)))
		case "ServiceAccount":
			any = append(any, matchesWildcard(user.Select("username"), "system:serviceaccount:"+s.At("namespace").Text()+":"+name))
		}
	}
	if len(any) == 0 {
		return expr.True, nil
	}
	return expr.Or(any...), nil
}
