// Package match decides which requests a policy selects. It reads the match blocks of policies
// and bindings (MatchResources in the API). The decision about a request is yes, with the kind
// under which the request matched, or no, with a Reason.
//
// Matching follows k8s.io/apiserver v0.36.3 (pkg/admission/plugin/policy/matching,
// plugin/webhook/predicates). Match blocks are refused as in k8s.io/kubernetes v1.36.3
// (pkg/apis/admissionregistration).
//
// The files in order: parse.go and validate.go (reading a match block), text.go (selectors as
// text), selector.go and unchecked.go (label selectors, with and without validation), rule.go
// (resource rules), match.go (the decision), reason.go (the explanation), never.go (match blocks that
// match nothing).
package match

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/unknown"
)

// Request has the attributes of a request that rules and selectors use.
type Request struct {
	Kind *schema.Kind
	// Subresource is empty in a request for the object itself.
	Subresource string
	// Namespace is the namespace of the object, or the object's own name if it is a Namespace.
	// Name is empty if the server will generate the name.
	Namespace, Name string
	// Operation is CREATE, UPDATE or CONNECT.
	Operation string
	// Object and OldObject are nil if the request lacks them.
	Object, OldObject map[string]any

	// Unknown is told about decisions by values of the object that are not known yet.
	Unknown unknown.Observer
	// Schemas has the other versions of the kind.
	Schemas *schema.Registry
	// NamespaceLabels returns the labels of a namespace. It is called only if the labels decide
	// whether the request matches, and not for kubernetes.io/metadata.name.
	NamespaceLabels func(name string) (map[string]string, error)
}

// Decision says whether a request matches.
type Decision struct {
	Matched bool
	// Kind is the kind under which the request matched: the kind of the request, or another
	// version of it that a rule covers (matchPolicy Equivalent).
	Kind *schema.Kind
	// Reason says why the request did not match.
	Reason Reason
	// Err is an error of NamespaceLabels that prevented a decision.
	Err error
}

// Resources is a match block.
type Resources struct {
	namespaces, objects Selector
	rules, excluded     []rule
	// exact is matchPolicy Exact: other versions of a kind do not count.
	exact bool
}

// Matches decides about a request. All parts of a match block must agree, so their order only
// decides which of several reasons is returned. The server begins with the namespace, but an
// error about the namespace counts only if everything else matches. Here the namespace comes
// last, so that NamespaceLabels is not called for kinds that no rule covers.
func (m *Resources) Matches(r Request) Decision {
	kind, reason := m.ruled(&r)
	undecided := reason.Code == UnknownResource
	if kind == nil && !undecided {
		return Decision{Reason: reason}
	}
	if unmet := m.unmetByObject(&r); unmet != nil {
		return Decision{Reason: Reason{Code: ObjectSelector, unmet: unmet}}
	}
	unmet, err := m.unmetByNamespace(&r)
	switch {
	case unmet != nil:
		return Decision{Reason: Reason{Code: NamespaceSelector, unmet: unmet, request: r.identity()}}
	case undecided:
		return Decision{Reason: reason}
	case err != nil:
		return Decision{Err: err}
	}
	return Decision{Matched: true, Kind: kind}
}

// Name is a resource that a rule names.
type Name struct {
	// Rule is the index of the rule. The resource, its group and its version are at these indexes of the lists in it.
	Rule                           int
	atResource, atGroup, atVersion int
	gvk.Resource
}

// In returns the paths of the group, the version and the name of the resource below those of the rules.
func (n Name) In() (group, version, name change.Path) {
	rule := change.Path{}.Index(n.Rule)
	return rule.Key("apiGroups").Index(n.atGroup), rule.Key("apiVersions").Index(n.atVersion), rule.Key("resources").Index(n.atResource)
}

// Names returns the resources that the rules of the block name, without subresources and without
// the resource "*". The group and the version may be "*".
func (m *Resources) Names() []Name {
	var names []Name
	for i, rule := range m.rules {
		for r, resource := range rule.resources {
			resource, _, _ = strings.Cut(resource, "/")
			if resource == "*" {
				continue
			}
			for g, group := range rule.groups {
				for v, version := range rule.versions {
					names = append(names, Name{i, r, g, v, gvk.Resource{Group: group, Version: version, Resource: resource}})
				}
			}
		}
	}
	return names
}

// Subresources returns the subresources that the rules name, sorted: "" for objects themselves. It is nil if the
// rules cover any subresource.
func (m *Resources) Subresources() []string {
	var names []string
	for _, rule := range m.rules {
		for _, resource := range rule.resources {
			_, sub, _ := strings.Cut(resource, "/")
			if sub == "*" {
				return nil
			}
			names = append(names, sub)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Covers reports whether the rules of the block cover the request, or may cover it, whatever its
// selectors say. It needs no object.
func (m *Resources) Covers(r Request) bool {
	kind, reason := m.ruled(&r)
	return kind != nil || reason.Code == UnknownResource
}

// CoversKind reports whether the rules of the block may cover an object of a kind.
func (m *Resources) CoversKind(kind *schema.Kind) bool { return m.CoversSubresource(kind, "") }

// CoversSubresource reports whether the rules of the block may cover a subresource of an object of a kind.
func (m *Resources) CoversSubresource(kind *schema.Kind, subresource string) bool {
	q := &Request{Kind: kind, Subresource: subresource}
	return len(m.rules) == 0 || slices.ContainsFunc(m.rules, func(r rule) bool {
		return r.resource(q) != NoRule && (!m.exact || r.concerns(kind))
	})
}

// ObjectNames returns the names of the objects that the rules of the block cover; nil if any rule
// covers objects of all names. Objects without a name may be covered, too.
func (m *Resources) ObjectNames() []string {
	var names []string
	for _, rule := range m.rules {
		if len(rule.names) == 0 {
			return nil
		}
		names = append(names, rule.names...)
	}
	return names
}

// Under returns the kind under which the rules of the block cover the request: its own kind, or
// another version of it (matchPolicy Equivalent); nil if no rule covers it.
func (m *Resources) Under(r Request) *schema.Kind {
	kind, _ := m.ruled(&r)
	return kind
}

// ruled returns the kind under which the rules cover the request, or the reason why they do not.
func (m *Resources) ruled(r *Request) (*schema.Kind, Reason) {
	kind, reason := r.Kind, Reason{}
	if len(m.rules) > 0 { // a binding may have no rules
		kind, reason = m.cover(m.rules, r)
	}
	if kind == nil && reason.Code != UnknownResource {
		return nil, reason
	}
	switch excluded, exclusion := m.cover(m.excluded, r); {
	case excluded != nil:
		exclusion.Code = Excluded
		return nil, exclusion
	case exclusion.Code == UnknownResource:
		return nil, exclusion
	}
	return kind, reason
}

// cover returns the kind under which the first rule covers the request: its own kind, or else
// another version. The reason holds that rule. If no rule covers the request, the reason comes
// from the rule that is nearest to covering it.
func (m *Resources) cover(rules []rule, r *Request) (*schema.Kind, Reason) {
	nearest := Reason{Code: NoRule, request: r.identity()}
	equivalent := false
	for i := range rules {
		rule := &rules[i]
		code := rule.check(r)
		if !rule.concerns(r.Kind) {
			equivalent = equivalent || code == covered
			code = m.elsewhere(rule, code, r.Kind)
		}
		if code == covered {
			return r.Kind, Reason{rule: rule, request: r.identity()}
		}
		if code > nearest.Code {
			nearest.Code, nearest.rule = code, rule
		}
	}
	if m.exact || !equivalent {
		return nil, nearest
	}
	versions := r.Schemas.Versions(r.Kind)
	for i := range rules {
		if rules[i].check(r) != covered { // the resource has the same name in every version
			continue
		}
		for _, version := range versions {
			if rules[i].concerns(version) {
				return version, Reason{rule: &rules[i], request: r.identity()}
			}
		}
	}
	return nil, nearest
}

// elsewhere returns the code of a rule for another version. If the resource of the kind is not
// known, its versions are not known either, and the rule may cover the kind as another version.
func (m *Resources) elsewhere(rule *rule, code Code, kind *schema.Kind) Code {
	if kind.Resource == "" && !m.exact && includes(rule.groups, kind.Group) && (code == covered || code == UnknownResource) {
		return UnknownResource
	}
	return NoRule
}

// unmetByObject returns a requirement that neither the object nor the old object meets.
func (m *Resources) unmetByObject(r *Request) *requirement {
	if len(m.objects.requirements) == 0 {
		return nil
	}
	first := &m.objects.requirements[0] // a request without an object does not meet it
	for _, object := range []map[string]any{r.OldObject, r.Object} {
		if object == nil {
			continue
		}
		if first = m.objects.unmet(labelsOf(object), r.Unknown); first == nil {
			return nil
		}
	}
	return first
}

// namespaceName is the label that the server sets on every namespace.
const namespaceName = "kubernetes.io/metadata.name"

// unmetByNamespace returns the first requirement that the request's namespace does not meet. A
// request without a namespace meets all requirements. A request for a Namespace has the labels
// of the object.
func (m *Resources) unmetByNamespace(r *Request) (*requirement, error) {
	if len(m.namespaces.requirements) == 0 {
		return nil, nil
	}
	if r.Kind.Resource == "namespaces" && r.Subresource == "" && (r.Operation == "CREATE" || r.Operation == "UPDATE") {
		return m.namespaces.unmet(labelsOf(r.Object), r.Unknown), nil
	}
	if r.Namespace == "" && r.Kind.Resource != "namespaces" {
		return nil, nil
	}
	named := labelsIn(map[string]string{namespaceName: r.Namespace})
	var others Selector
	for i, requirement := range m.namespaces.requirements {
		if requirement.key != namespaceName {
			others.requirements = append(others.requirements, requirement)
		} else if !requirement.isMet(named) {
			return &m.namespaces.requirements[i], nil
		}
	}
	if len(others.requirements) == 0 {
		return nil, nil
	}
	set, err := r.NamespaceLabels(r.Namespace)
	if err != nil {
		return nil, err
	}
	return others.unmet(labelsIn(set), unknown.Observer{}), nil
}
