package kyverno

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// filter is a match or exclude block: alternatives, each with blocks that must all match.
type filter [][]*block

// block is one set of conditions, all of which must hold.
type block struct {
	kinds                  []KindPattern
	kindPaths              []change.Path
	names, namespaces      []string
	annotations            map[string]any
	selector, nsSelector   map[string]any
	operations             []string
	roles, clusterRoles    []string
	subjects               []subject
	isEmpty, hasNoResource bool
}

// subject selects users.
type subject struct{ kind, name, namespace string }

// is reports whether the subject names a user.
func (s subject) is(u given.UserInfo) bool {
	switch s.kind {
	case "User":
		return wildcard.Match(s.name, u.Name)
	case "Group":
		return anyMatches([]string{s.name}, u.Groups...)
	case "ServiceAccount":
		return wildcard.Match("system:serviceaccount:"+s.namespace+":"+s.name, u.Name)
	}
	return false
}

// KindPattern is an entry of kinds, which selects kinds; each part may have wildcards.
type KindPattern struct{ Group, Version, Kind, Subresource string }

// versionPattern matches the version in a selector: v1, v1beta1 or *.
var versionPattern = lazyregexp.New(`^(v[0-9]+((alpha|beta)[0-9]+)?|\*)$`)

// ParseKind parses a selector in all of Kyverno's forms: Kind, Kind/sub, Kind.sub, version/Kind,
// group/version/Kind and group/version/Kind/sub.
func ParseKind(text string) (KindPattern, bool) {
	parts := strings.Split(text, "/")
	last := strings.Split(parts[len(parts)-1], ".")
	parts = append(parts[:len(parts)-1], last...)
	s := KindPattern{Group: "*", Version: "*"}
	switch len(parts) {
	case 1:
		s.Kind = parts[0]
	case 2:
		switch {
		case parts[0] == "*" && parts[1] == "*":
			s.Kind, s.Subresource = "*", "*"
		case parts[0] == "*" && parts[1] != "" && strings.ToLower(parts[1][:1]) == parts[1][:1]:
			s.Kind, s.Subresource = "*", parts[1]
		case versionPattern().MatchString(parts[0]):
			s.Version, s.Kind = parts[0], parts[1]
		default:
			s.Kind, s.Subresource = parts[0], parts[1]
		}
	case 3:
		if versionPattern().MatchString(parts[0]) {
			s.Version, s.Kind, s.Subresource = parts[0], parts[1], parts[2]
		} else {
			s.Group, s.Version, s.Kind = parts[0], parts[1], parts[2]
		}
	case 4:
		s.Group, s.Version, s.Kind, s.Subresource = parts[0], parts[1], parts[2], parts[3]
	default:
		return s, false
	}
	return s, true
}

// matches reports whether the selector selects a kind. Requests are for objects, not for their
// subresources.
func (s KindPattern) matches(k gvk.Kind) bool {
	return wildcard.Match(s.Group, k.Group) && wildcard.Match(s.Version, k.Version) && wildcard.Match(s.Kind, k.Kind) && (s.Subresource == "" || s.Subresource == "*")
}

// filter checks a match or exclude block.
func (r *reader) filter(n policy.Node, required bool) {
	if n.At("any").Given() && n.At("all").Given() {
		r.doc.Advise(n.Path, "policy-invalid", "any and all exclude each other", "")
	}
	for _, block := range append(conditionsIn(n), n) {
		r.block(block)
	}
	if required && readFilter(n).isEmpty() && !n.Has("any") && !n.Has("all") {
		r.doc.Advise(n.Path, "policy-invalid", "an empty match block matches nothing", "give it any: with resources and kinds")
	}
}

// block checks one set of conditions.
func (r *reader) block(n policy.Node) {
	resources := n.At("resources")
	for _, kind := range resources.At("kinds").Items() {
		if _, ok := ParseKind(kind.Text()); !ok {
			r.doc.Advise(kind.Path, "policy-invalid", "this selects no kind", "expected Kind, version/Kind, group/version/Kind or group/version/Kind/subresource")
		}
	}
	for _, key := range []string{"selector", "namespaceSelector"} {
		r.selectorExpressions(resources.At(key))
	}
}

// selectorExpressions checks the matchExpressions of a label selector. Kyverno refuses a policy
// with an invalid one.
func (r *reader) selectorExpressions(selector policy.Node) {
	expressions := selector.At("matchExpressions")
	valid := true
	for _, e := range r.doc.List(expressions) {
		valid = r.doc.Fields(e, []string{"key", "operator", "values"}) && valid
	}
	if valid {
		_, problems := match.ParseSelector(map[string]any{"matchExpressions": expressions.Value})
		r.doc.Matched(selector, problems)
	}
}

// Alternatives returns the parts of a match or exclude block: alternatives, each with blocks that must all
// match. In the legacy form, it is one block itself.
func Alternatives(n policy.Node) (alternatives [][]policy.Node) {
	for _, block := range n.At("any").Items() {
		alternatives = append(alternatives, []policy.Node{block})
	}
	if all := n.At("all").Items(); len(all) > 0 && len(alternatives) == 0 {
		return [][]policy.Node{all}
	}
	if len(alternatives) == 0 {
		return [][]policy.Node{{n}}
	}
	return alternatives
}

func readFilter(n policy.Node) (f filter) {
	for _, alternative := range Alternatives(n) {
		var blocks []*block
		for _, block := range alternative {
			blocks = append(blocks, readBlock(block))
		}
		f = append(f, blocks)
	}
	return f
}

func readBlock(n policy.Node) *block {
	resources := n.At("resources")
	b := &block{
		names: resources.At("names").Texts(), namespaces: resources.At("namespaces").Texts(),
		annotations: resources.At("annotations").Object(), operations: resources.At("operations").Texts(),
		selector: resources.At("selector").Object(), nsSelector: resources.At("namespaceSelector").Object(),
		roles: n.At("roles").Texts(), clusterRoles: n.At("clusterRoles").Texts(),
	}
	if name := resources.At("name").Text(); name != "" {
		b.names = append(b.names, name)
	}
	for _, kind := range resources.At("kinds").Items() {
		if s, ok := ParseKind(kind.Text()); ok {
			b.kindPaths = append(b.kindPaths, kind.Path)
			b.kinds = append(b.kinds, s)
		}
	}
	for _, s := range n.At("subjects").Items() {
		b.subjects = append(b.subjects, subject{s.At("kind").Text(), s.At("name").Text(), s.At("namespace").Text()})
	}
	b.hasNoResource = len(resources.Object()) == 0
	b.isEmpty = b.hasNoResource && len(b.roles)+len(b.clusterRoles)+len(b.subjects) == 0
	return b
}

// blocks returns all blocks of the filter.
func (f filter) blocks() []*block { return slices.Concat(f...) }

// asksOperation reports whether a block of the filter names operations.
func (f filter) asksOperation() bool {
	return slices.ContainsFunc(f.blocks(), func(b *block) bool { return len(b.operations) > 0 })
}

func (f filter) isEmpty() bool {
	return !slices.ContainsFunc(f.blocks(), func(b *block) bool { return !b.isEmpty })
}

// covers reports whether the filter may match objects of a kind.
func (f filter) covers(kind gvk.Kind) bool {
	return slices.ContainsFunc(f, func(blocks []*block) bool {
		return !slices.ContainsFunc(blocks, func(b *block) bool { return !b.selects(kind) })
	})
}

func (b *block) selects(kind gvk.Kind) bool {
	return len(b.kinds) == 0 || slices.ContainsFunc(b.kinds, func(s KindPattern) bool { return s.matches(kind) })
}

// coversStatus reports whether a filter may select requests for the status of objects of a kind.
func (f filter) coversStatus(kind gvk.Kind) bool {
	return slices.ContainsFunc(f.blocks(), func(b *block) bool {
		return len(b.kinds) == 0 || slices.ContainsFunc(b.kinds, func(s KindPattern) bool {
			isStatus := s.Subresource != "" && wildcard.Match(s.Subresource, admission.Status)
			s.Subresource = ""
			return isStatus && s.matches(kind)
		})
	})
}

// matchRule returns the reason why a rule does not match, "" if it matches.
func (e *evaluation) matchRule(r *rule, subjectOf candidate) (reason string) {
	if r.policy.namespace != "" && subjectOf.namespace != r.policy.namespace {
		return fmt.Sprintf("the policy is confined to namespace %q", r.policy.namespace)
	}
	if reason := e.matchFilter(r.match, subjectOf, false); reason != "" {
		return "match: " + reason
	}
	if !r.root.Has("exclude") {
		return ""
	}
	if e.matchFilter(r.exclude, subjectOf, true) == "" {
		return "excluded"
	}
	return ""
}

// candidate is an object that a filter may match.
type candidate struct {
	kind      gvk.Kind
	namespace string
	object    map[string]any
}

// matchFilter returns the reason why a filter does not match, "" if it matches.
func (e *evaluation) matchFilter(f filter, c candidate, excluding bool) (reason string) {
	for _, blocks := range f {
		for i, b := range blocks {
			if reason = e.matchBlock(b, c, excluding); reason != "" && len(blocks) > 1 {
				reason = fmt.Sprintf("all[%d]: %s", i, reason)
			}
			if reason != "" {
				break
			}
		}
		if reason == "" {
			return ""
		}
	}
	if len(f) > 1 {
		return "no block of any matches"
	}
	return reason
}

func (e *evaluation) matchBlock(b *block, c candidate, excluding bool) (reason string) {
	metadata, _ := c.object["metadata"].(map[string]any)
	user := e.user
	// Without user information, Kyverno ignores the subjects in a match block, but not in an
	// exclude block or an exception.
	ignoreUser := !excluding && !user.IsGiven()
	switch {
	case b.isEmpty, ignoreUser && b.hasNoResource:
		return "the block is empty"
	case len(b.operations) > 0 && !slices.Contains(b.operations, e.operation):
		return "the operation is " + e.operation
	case !b.selects(c.kind):
		return "kinds does not select " + c.kind.Kind
	case len(b.names) > 0 && !e.observer().Decide(anyMatches(b.names, objectName(metadata)), objectName(metadata)):
		return "names does not match"
	case len(b.namespaces) > 0 && !e.observer().Decide(anyMatches(b.namespaces, namespaceOf(c, metadata)), namespaceOf(c, metadata)):
		return "namespaces does not match"
	case !e.observer().Decide(matchesAll(b.annotations, metadata["annotations"]), named(metadata["annotations"], b.annotations)):
		return "annotations do not match"
	case b.selector != nil && !e.observer().Decide(matchesSelector(b.selector, metadata["labels"]), named(metadata["labels"], requiredLabels(b.selector))):
		return "selector does not match"
	case b.nsSelector != nil && !e.matchesNamespace(b.nsSelector, c):
		return "namespaceSelector does not match"
	case ignoreUser:
		return ""
	case len(b.roles) > 0 && !intersects(b.roles, user.Roles):
		return "the user has none of the roles"
	case len(b.clusterRoles) > 0 && !intersects(b.clusterRoles, user.ClusterRoles):
		return "the user has none of the clusterRoles"
	case len(b.subjects) > 0 && !slices.ContainsFunc(b.subjects, func(s subject) bool { return s.is(user) }):
		return "the user is not one of the subjects"
	}
	return ""
}

func objectName(metadata map[string]any) string {
	name, _ := metadata["name"].(string)
	if name == "" {
		name, _ = metadata["generateName"].(string)
	}
	return name
}

func namespaceOf(c candidate, metadata map[string]any) string {
	if c.kind == namespaceKind {
		return objectName(metadata)
	}
	return c.namespace
}

// anyMatches reports whether any of the texts matches any of the patterns.
func anyMatches(patterns []string, texts ...string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return wildcard.Match(p, text) })
	})
}

func intersects(a, b []string) bool {
	return slices.ContainsFunc(a, func(text string) bool { return slices.Contains(b, text) })
}

// matchesAll reports whether for each entry a map has one with a key and a value that match it. Both may have
// wildcards.
func matchesAll(expected map[string]any, actual any) bool {
	object, _ := actual.(map[string]any)
	for key, value := range expected {
		text, found := value.(string)
		if !found {
			return false
		}
		found = false
		for other, otherValue := range object {
			otherText, _ := otherValue.(string)
			found = found || wildcard.Match(key, other) && wildcard.Match(text, otherText)
		}
		if !found {
			return false
		}
	}
	return true
}

// matchesSelector applies a label selector. Keys and values of matchLabels may have wildcards.
// An invalid selector selects nothing.
func matchesSelector(selector map[string]any, actual any) bool {
	if expected, _ := selector["matchLabels"].(map[string]any); !matchesAll(expected, actual) {
		return false
	}
	expressions, _ := selector["matchExpressions"].([]any)
	if len(expressions) == 0 {
		return true
	}
	labels := map[string]string{}
	object, _ := actual.(map[string]any)
	for key, value := range object {
		labels[key], _ = value.(string)
	}
	parsed, problems := match.ParseSelector(map[string]any{"matchExpressions": expressions})
	return len(problems) == 0 && parsed.Matches(labels)
}

// matchesNamespace applies a selector to the labels of the object's namespace. Namespaces never match; other
// objects without a namespace have no labels.
func (e *evaluation) matchesNamespace(selector map[string]any, c candidate) bool {
	if c.namespace == "" {
		return c.kind != namespaceKind && matchesSelector(selector, nil)
	}
	return matchesSelector(selector, e.namespaceLabels(c.namespace))
}
