package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
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
func (c *converter) narrows(condition string) bool {
	rest, isList := strings.CutPrefix(condition, "request.operation in [")
	if !isList {
		rest, isList = strings.CutPrefix(condition, "request.operation == ")
		rest += "]"
	}
	rest, isWhole := strings.CutSuffix(rest, "]")
	if !isList || !isWhole {
		return false
	}
	var wanted []string
	for _, written := range strings.Split(rest, ", ") {
		operation, err := strconv.Unquote(written)
		if err != nil {
			return false
		}
		wanted = append(wanted, operation)
	}
	kept := slices.Clone(c.matched.rules)
	for i := range kept {
		kept[i].operations = slices.DeleteFunc(slices.Clone(kept[i].operations), func(o string) bool { return !slices.Contains(wanted, o) })
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
	for _, kind := range c.matched.kinds {
		c.types = append(c.types, kind.Type())
	}
	return c.blockConditions(n, blocks, all)
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
	if len(blocks) == 1 || all {
		for i, block := range blocks {
			if i == 0 {
				c.selectors(block.At("resources"))
			}
			texts, err := c.block(block, i > 0, i == 0)
			if err != nil {
				return err
			}
			c.matched.conditions = append(c.matched.conditions, texts...)
		}
	} else {
		var any []string
		for _, block := range blocks {
			conditions, err := c.block(block, true, false)
			if err != nil {
				return err
			}
			any = append(any, join(conditions))
		}
		if text := c.simplified(any, blocks); text != "true" {
			c.matched.conditions = append(c.matched.conditions, condition{"match", text})
		}
	}
	excluded := c.rule.Root.At("exclude")
	if !excluded.Given() {
		return nil
	}
	blocks, all = blocksOf(excluded)
	var texts []string
	for _, block := range blocks {
		if isEmptyBlock(block) {
			if all {
				return nil // excludes nothing
			}
			continue
		}
		conditions, err := c.block(block, true, false)
		if err != nil {
			return err
		}
		texts = append(texts, join(conditions))
	}
	text := or(texts...)
	if all {
		text = and(texts...)
	}
	c.matched.conditions = append(c.matched.conditions, condition{"exclude", not(text)})
	return nil
}

func isEmptyBlock(n policy.Node) bool {
	return len(n.At("resources").Object()) == 0 && len(n.At("subjects").Items())+len(n.At("roles").Items())+len(n.At("clusterRoles").Items()) == 0
}

// simplified returns the condition that one of several blocks matches. It returns "" if the
// blocks contain only kinds.
func (c *converter) simplified(any []string, blocks []policy.Node) string {
	for _, block := range blocks {
		for key := range block.At("resources").Object() {
			if key != "kinds" {
				return or(any...)
			}
		}
		if len(block.At("subjects").Items()) > 0 {
			return or(any...)
		}
	}
	return "true"
}

func join(conditions []condition) string {
	var texts []string
	for _, c := range conditions {
		texts = append(texts, c.text)
	}
	return and(texts...)
}

// selects adds the resources of an entry of kinds to the rules.
func (c *converter) selects(n policy.Node) error {
	p := kyverno.ParseKind(n.Text())
	if p.Subresource != "" && p.Subresource != "*" {
		return c.refuse(n.Path, "a match on the subresource "+n.Text(), "write a policy for the subresource by hand")
	}
	if p.Kind == "*" {
		c.matched.rules = append(c.matched.rules, resourceRule{groups: []string{p.Group}, versions: []string{p.Version}, resources: []string{"*"}})
		c.matched.kinds = append(c.matched.kinds, c.schemas.Unknown(gvk.Kind{Kind: "*"}))
		return nil
	}
	found := false
	for _, kind := range c.schemas.Kinds() {
		if kind.Resource == "" || !wildcard.Match(p.Group, kind.Group) || !wildcard.Match(p.Version, kind.Version) || !wildcard.Match(p.Kind, kind.Kind.Kind) {
			continue
		}
		found = true
		c.matched.rules = append(c.matched.rules, resourceRule{groups: []string{kind.Group}, versions: []string{kind.Version}, resources: []string{kind.Resource}})
		c.matched.kinds = append(c.matched.kinds, kind)
	}
	if found {
		return nil
	}
	if p.Group == "*" || wildcard.Has(p.Kind) || wildcard.Has(p.Group) {
		return c.refuse(n.Path, "the kind "+n.Text()+" is not known, so its group and resource are not known either",
			"give its CustomResourceDefinition with --context, or write group/version/Kind")
	}
	resource := plural(p.Kind)
	c.warn(n.Path, fmt.Sprintf("the kind %s is not defined; its resource is assumed to be %q", n.Text(), resource), "give its CustomResourceDefinition with --context")
	c.matched.rules = append(c.matched.rules, resourceRule{groups: []string{p.Group}, versions: []string{p.Version}, resources: []string{resource}})
	c.matched.kinds = append(c.matched.kinds, c.schemas.Unknown(gvk.Kind{Group: p.Group, Version: p.Version, Kind: p.Kind}))
	return nil
}

// plural guesses the resource of a kind.
func plural(kind string) string {
	singular := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(singular, "y"):
		return strings.TrimSuffix(singular, "y") + "ies"
	case strings.HasSuffix(singular, "s"):
		return singular + "es"
	}
	return singular + "s"
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
	if n := resources.At("selector"); n.Given() && !hasWildcards(n) {
		c.matched.selector = n.Object()
	}
	if n := resources.At("namespaceSelector"); n.Given() && !hasWildcards(n) {
		c.matched.namespaces = n.Object()
	}
}

func hasWildcards(selector policy.Node) bool {
	for key, value := range selector.At("matchLabels").Object() {
		if s, _ := value.(string); wildcard.Has(key) || wildcard.Has(s) {
			return true
		}
	}
	return false
}

// block returns the conditions of a block besides the kinds in the rules; withKinds adds the
// kinds. selected says that the selectors of the block have been moved already.
func (c *converter) block(n policy.Node, withKinds, selected bool) ([]condition, error) {
	var all []condition
	add := func(name, text string) {
		if text != "true" {
			all = append(all, condition{name, text})
		}
	}
	resources := n.At("resources")
	if withKinds {
		add("kinds", c.kindsCondition(resources.At("kinds")))
		if operations := resources.At("operations"); operations.Given() {
			add("operations", among(code{text: "request.operation", kind: text}, operations.Texts()))
		}
	}
	object := c.object()
	name := object.field("metadata").field("name").orValue(object.field("metadata").field("generateName").orValue(literal("")))
	names := resources.At("names").Texts()
	if one := resources.At("name").Text(); one != "" {
		names = append(names, one)
	}
	if len(names) > 0 {
		add("names", among(withKind(name, text), names))
	}
	if namespaces := resources.At("namespaces").Texts(); len(namespaces) > 0 {
		add("namespaces", among(c.namespace(name), namespaces))
	}
	for _, key := range sortedKeys(resources.At("annotations").Object()) {
		value := resources.At("annotations", key)
		add("annotations", labeled(object.field("metadata").field("annotations"), key, value.Text()))
	}
	if selector := resources.At("selector"); selector.Given() && (!selected || hasWildcards(selector)) {
		texts, err := c.selector(object.field("metadata").field("labels"), selector)
		if err != nil {
			return nil, err
		}
		add("labels", texts)
	}
	if selector := resources.At("namespaceSelector"); selector.Given() && (!selected || hasWildcards(selector)) {
		labels := c.variable("namespaceLabels", "namespaceObject.metadata.?labels.orValue({})")
		texts, err := c.selector(labels, selector)
		if err != nil {
			return nil, err
		}
		add("namespace-labels", texts)
	}
	texts, err := c.users(n)
	if texts != "" {
		add("users", texts)
	}
	return all, err
}

// among returns a test whether a text matches one of several patterns.
func among(c code, patterns []string) string {
	items := make([]any, len(patterns))
	for i, p := range patterns {
		items[i] = p
	}
	said, _ := isAmong(c, code{isConstant: true, constant: items})
	return said
}

// namespace returns the namespace of the object; for a Namespace, its name.
func (c *converter) namespace(name code) code {
	namespaced, namespaces := true, false
	for _, kind := range c.matched.kinds {
		namespaced = namespaced && kind.Namespaced
		namespaces = namespaces || kind.Kind.Kind == "Namespace" || kind.Kind.Kind == "*"
	}
	if namespaced {
		return code{text: "request.namespace", kind: text}
	}
	or := code{text: `request.?namespace.orValue("")`, kind: text}
	if namespaces {
		return code{text: fmt.Sprintf(`(object.kind == "Namespace" ? string(%s) : string(%s))`, name.text, or.text), kind: text}
	}
	return or
}

// kindsCondition returns a test whether the object is of one of several kinds.
func (c *converter) kindsCondition(n policy.Node) string {
	var any []string
	for _, entry := range n.Texts() {
		p := kyverno.ParseKind(entry)
		var all []string
		if p.Kind != "*" {
			all = append(all, matchesWildcard(code{text: "object.kind", kind: text}, p.Kind))
		}
		switch {
		case p.Group != "*" && p.Version != "*":
			all = append(all, fmt.Sprintf("object.apiVersion == %q", gvk.Kind{Group: p.Group, Version: p.Version}.APIVersion()))
		case p.Version != "*":
			all = append(all, fmt.Sprintf("request.kind.version == %q", p.Version))
		case p.Group != "*":
			all = append(all, fmt.Sprintf("request.kind.group == %q", p.Group))
		}
		any = append(any, and(all...))
	}
	if len(any) == 0 {
		return "true"
	}
	return or(any...)
}

// labeled returns a test whether labels, or annotations, have a key and a value, which may have
// wildcards.
func labeled(labels code, key, value string) string {
	if !wildcard.Has(key) {
		member := withKind(labels.field(key), text)
		if !wildcard.Has(value) {
			return fmt.Sprintf("%s == %s", member.orValue(literal("")).text, quote(value))
		}
		return and(orTrue(member.path.present()), matchesWildcard(member, value))
	}
	k, v := code{text: "k", kind: text}, code{text: labels.orValue(code{text: "{}"}).text + "[k]", kind: text}
	return fmt.Sprintf("%s.exists(k, %s)", labels.orValue(code{text: "{}"}).text, and(matchesWildcard(k, key), matchesWildcard(v, value)))
}

// selector converts a label selector.
func (c *converter) selector(labels code, n policy.Node) (string, error) {
	var all []string
	for _, key := range sortedKeys(n.At("matchLabels").Object()) {
		value := n.At("matchLabels", key).Text()
		if labels.path == nil {
			all = append(all, fmt.Sprintf("%s[?%s].orValue(\"\") == %s", labels.text, quote(key), quote(value)))
			continue
		}
		all = append(all, labeled(labels, key, value))
	}
	for _, e := range n.At("matchExpressions").Items() {
		key := e.At("key").Text()
		present := fmt.Sprintf("%s in %s", quote(key), labels.orValue(code{text: "{}"}).in(sum))
		value := code{text: labels.orValue(code{text: "{}"}).text + "[" + quote(key) + "]", kind: text}
		switch e.At("operator").Text() {
		case "Exists":
			all = append(all, present)
		case "DoesNotExist":
			all = append(all, not(present))
		case "In":
			all = append(all, and(present, among(value, e.At("values").Texts())))
		case "NotIn":
			all = append(all, or(not(present), not(among(value, e.At("values").Texts()))))
		default:
			return "", c.refuse(e.Path, "the operator "+e.At("operator").Text(), "")
		}
	}
	return and(all...), nil
}

// users returns a test of the user who makes the request.
func (c *converter) users(n policy.Node) (string, error) {
	for _, key := range []string{"roles", "clusterRoles"} {
		if of := n.At(key); of.Given() {
			return "", c.refuse(of.Path, "Kyverno looks up roles in the bindings of the cluster, and a MutatingPolicy does not know them", "name users or groups among the subjects in their place")
		}
	}
	var any []string
	name, groups := code{text: "request.userInfo.username", kind: text}, "request.userInfo.groups"
	for _, s := range n.At("subjects").Items() {
		switch s.At("kind").Text() {
		case "User":
			any = append(any, matchesWildcard(name, s.At("name").Text()))
		case "Group":
			any = append(any, fmt.Sprintf("%s.exists(g, %s)", groups, matchesWildcard(code{text: "g", kind: text}, s.At("name").Text())))
		case "ServiceAccount":
			any = append(any, matchesWildcard(name, "system:serviceaccount:"+s.At("namespace").Text()+":"+s.At("name").Text()))
		}
	}
	if len(any) == 0 {
		return "", nil
	}
	return or(any...), nil
}
