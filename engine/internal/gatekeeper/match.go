package gatekeeper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/unknown"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// matcher is the match block of a mutator. All its criteria must hold. They are evaluated in the
// order of Gatekeeper: an error in a criterion that is not reached does not show.
type matcher struct {
	kinds                []kindsEntry
	scope                string
	namespaces, excluded []string
	labels, ofNamespace  *selector
	name                 string
	generated            bool
}

// kindsEntry selects kinds. An empty list, or one with a star, selects everything.
type kindsEntry struct{ groups, kinds []string }

func (k kindsEntry) selects(kind gvk.Kind) bool {
	includes := func(list []string, item string) bool {
		return len(list) == 0 || slices.Contains(list, "*") || slices.Contains(list, item)
	}
	return includes(k.kinds, kind.Kind) && includes(k.groups, kind.Group)
}

// selector is a label selector. It is parsed with the document, but an error in it is reported
// only when it is used.
type selector struct {
	parsed match.Selector
	err    error
	// asksMore says that the selector uses other labels than kubernetes.io/metadata.name.
	asksMore bool
	// exact are the label values that the selector requires.
	exact map[string]any
}

const nameLabel = "kubernetes.io/metadata.name"

func readSelector(n policy.Node) *selector {
	if n.Object() == nil {
		return nil
	}
	s := &selector{exact: n.At("matchLabels").Object()}
	s.parsed, s.err = match.NewSelector(n.Value)
	for key := range s.exact {
		s.asksMore = s.asksMore || key != nameLabel
	}
	for _, e := range n.At("matchExpressions").Items() {
		s.asksMore = s.asksMore || e.At("key").Text() != nameLabel
	}
	return s
}

func readMatcher(n policy.Node) matcher {
	m := matcher{
		scope: n.At("scope").Text(), namespaces: n.At("namespaces").Texts(), excluded: n.At("excludedNamespaces").Texts(),
		labels: readSelector(n.At("labelSelector")), ofNamespace: readSelector(n.At("namespaceSelector")),
		name: n.At("name").Text(), generated: n.At("source").Text() == "Generated",
	}
	for _, item := range n.At("kinds").Items() {
		m.kinds = append(m.kinds, kindsEntry{item.At("apiGroups").Texts(), item.At("kinds").Texts()})
	}
	return m
}

// checkMatch warns about criteria that mean something else in Gatekeeper than they seem to, and
// about invalid selectors that Gatekeeper accepts.
func (r *reader) checkMatch(n policy.Node, m *matcher) {
	if !slices.Contains([]string{"", "*", "Cluster", "Namespaced"}, m.scope) {
		at := n.At("scope").Path
		r.doc.Report(source.Warningf(r.doc.Document.At(at), "criterion-ignored", "Gatekeeper treats the scope %q as any scope", m.scope).
			Advised(source.Expected("expected Cluster, Namespaced or *", m.scope, []string{"Cluster", "Namespaced"})), at)
	}
	for i, entry := range m.kinds {
		for _, name := range slices.Concat(entry.kinds, entry.groups) {
			if name != "*" && strings.Contains(name, "*") {
				r.warn(n.At("kinds").Items()[i], "criterion-ignored", "list the kinds", "in match.kinds, %q is a literal name: only a single * is a wildcard", name)
			}
		}
	}
	for key, s := range map[string]*selector{"labelSelector": m.labels, "namespaceSelector": m.ofNamespace} {
		if s != nil && s.err != nil && r.doc.IsSound(n.At(key)) {
			r.warn(n.At(key), "mutator-fails", "expected the operators In, NotIn with values, or Exists, DoesNotExist without",
				"Gatekeeper accepts the selector, and then refuses every request that it is used for: %v", s.err)
		}
	}
}

// selects reports whether match.kinds selects a kind.
func (m *matcher) selects(kind gvk.Kind) bool {
	return len(m.kinds) == 0 || slices.ContainsFunc(m.kinds, func(k kindsEntry) bool { return k.selects(kind) })
}

// wild reports whether a pattern matches a name. A star at the beginning or end of a pattern
// matches any text.
func wild(pattern, name string) bool {
	inner, before := strings.CutPrefix(pattern, "*")
	inner, after := strings.CutSuffix(inner, "*")
	switch {
	case before && (after || inner == ""):
		return strings.Contains(name, inner)
	case before:
		return strings.HasSuffix(name, inner)
	case after:
		return strings.HasPrefix(name, inner)
	}
	return name == pattern
}

// wildPrefix is wild for names that a server generates from a prefix.
func wildPrefix(pattern, prefix string) bool {
	return strings.HasSuffix(pattern, "*") && wild(pattern, prefix)
}

func anyWild(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return wild(pattern, name) })
}

// subject is the object of a request with the changes of earlier mutators.
type subject struct {
	request *policy.Request
	object  map[string]any
	kind    gvk.Kind
	// by is the mutator that runs.
	by *mutator
}

// observer is told what mutators do with values that are not known yet.
func (s *subject) observer() unknown.Observer { return unknown.In(s.request.Context) }

func textIn(object map[string]any, path ...string) string {
	value, _ := change.Keys(path...).Get(object)
	text, _ := value.(string)
	return text
}

// kindOf returns the kind in the fields apiVersion and kind of an object.
func kindOf(object map[string]any) gvk.Kind {
	return gvk.Parse(textIn(object, "apiVersion"), textIn(object, "kind"))
}

var namespaceKind = gvk.Kind{Version: "v1", Kind: "Namespace"}

func isNamespace(kind gvk.Kind) bool { return kind.Group == "" && kind.Kind == namespaceKind.Kind }

// objectNamespace returns the namespace of the object, "" for a Namespace.
func objectNamespace(r *policy.Request) string {
	if isNamespace(r.Kind.Kind) || !r.Kind.Namespaced {
		return ""
	}
	return r.Namespace
}

// labelsOf returns the labels of an object. It returns no labels if one of them is not a string,
// as Gatekeeper's library does.
func labelsOf(object map[string]any) map[string]string {
	value, _ := change.Keys("metadata", "labels").Get(object)
	given, _ := value.(map[string]any)
	labels := make(map[string]string, len(given))
	for key, value := range given {
		text, ok := value.(string)
		if !ok {
			return nil
		}
		labels[key] = text
	}
	return labels
}

// unmatched names a criterion of a match block that does not hold.
type unmatched struct{ criterion, text string }

// String implements fmt.Stringer.
func (u *unmatched) String() string { return "match." + u.criterion + ": " + u.text }

// IsOutOfScope marks the reason as that of a match block.
func (*unmatched) IsOutOfScope() {}

func no(criterion, format string, args ...any) *unmatched {
	return &unmatched{criterion, fmt.Sprintf(format, args...)}
}

// otherKind returns the reason why match.kinds does not match.
func (m *matcher) otherKind(kind gvk.Kind) *unmatched {
	return no("kinds", "none selects %s of group %q", kind.Kind, kind.Group)
}

// check returns the reason why the block does not match, nil if it matches.
func (m *matcher) check(s *subject) (*unmatched, error) {
	// In a request, the namespace of a Namespace is the Namespace itself.
	own, name := isNamespace(s.kind), s.request.Namespace
	inside := own || name != ""
	switch {
	case !m.selects(s.kind):
		return m.otherKind(s.kind), nil
	case m.scope == "Cluster" && !own && inside:
		return no("scope", "it is Cluster, and the object is in namespace %q", name), nil
	case m.scope == "Namespaced" && (own || !inside):
		return no("scope", "it is Namespaced, and the object is not in a namespace"), nil
	case inside && len(m.namespaces) > 0 && !anyWild(m.namespaces, name):
		return no("namespaces", "none is %q", name), nil
	case inside && anyWild(m.excluded, name):
		return no("excludedNamespaces", "%q is one", name), nil
	}
	if reason, err := m.checkLabels(s, own, name); reason != nil || err != nil {
		return reason, err
	}
	objectName, prefix := textIn(s.object, "metadata", "name"), textIn(s.object, "metadata", "generateName")
	switch {
	case m.name == "" || s.observer().Decide(wild(m.name, objectName) || wildPrefix(m.name, prefix), objectName, prefix):
	case objectName == "":
		return no("name", "%q does not describe all names that begin with %q", m.name, prefix), nil
	default:
		return no("name", "%q is not %q", objectName, m.name), nil
	}
	switch {
	case m.generated:
		return no("source", "it is Generated, so the mutator applies only to objects that ExpansionTemplates generate when Gatekeeper validates"), nil
	}
	return nil, nil
}

// checkLabels checks the two selectors.
func (m *matcher) checkLabels(s *subject, own bool, namespace string) (*unmatched, error) {
	if m.labels != nil {
		if m.labels.err != nil {
			return nil, m.labels.err
		}
		if lack := m.labels.parsed.Lack(labelsOf(s.object), s.observer()); lack != "" {
			return no("labelSelector", "the object %s", lack), nil
		}
	}
	if m.ofNamespace == nil || !own && namespace == "" {
		return nil, nil
	}
	if m.ofNamespace.err != nil {
		return nil, m.ofNamespace.err
	}
	labels := labelsOf(s.object)
	if !own {
		var err error
		if labels, err = namespaceLabels(s.request, namespace, m.ofNamespace.asksMore, "mutator "+s.by.key(), s.by.at("match", "namespaceSelector")); err != nil {
			return nil, err
		}
	}
	if lack := m.ofNamespace.parsed.Lack(labels, s.observer()); lack != "" {
		return no("namespaceSelector", "namespace %q %s", namespace, lack), nil
	}
	return nil, nil
}

// namespaceLabels returns the labels of a namespace. It warns if the selector needs more than
// the name and the context does not have the namespace.
func namespaceLabels(r *policy.Request, name string, warn bool, by string, at source.Position) (map[string]string, error) {
	r.Snapshot.Ask()
	object, known, err := r.Snapshot.Namespace(name)
	if err != nil {
		return nil, err
	}
	if !known && warn {
		r.Warn(source.Warningf(at, "namespace-assumed",
			"%s selects namespaces by label, but there is no Namespace %q in the input; it is assumed to have only the label kubernetes.io/metadata.name", source.Name(by), source.Name(name)).
			With("give the Namespace object as context"))
	}
	return labelsOf(object), nil
}
