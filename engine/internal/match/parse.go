package match

import (
	"fmt"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// Problem is an error that the API server would report about a match block or a selector.
type Problem struct {
	// Path is the path from the block or selector to the wrong value, or to the missing value.
	Path change.Path
	// Field is the path as the API server prints it, which is less exact in places; empty for
	// the block or selector itself.
	Field string
	// Text is the API server's text, like "Required value". For a value of the wrong type the
	// text is ours, because the server's text is too long.
	Text string
	// Advice names the value that was probably meant; it may be empty.
	Advice source.Advice
	// Missing says that there is no value, and Needless that there must be none.
	Missing, Needless bool
	// Fits reports whether a value has the right type. It is nil unless that is the problem.
	Fits func(value any) bool
}

// Host is a system that uses match blocks. Match blocks differ between hosts only in these
// fields.
type Host struct {
	// operations are the operations that rules may name; nil allows all.
	operations []string
	// prefixes says that resourceNames match an object without a name if its generateName begins
	// with one of them.
	prefixes bool
}

// The hosts: mutating and validating policies of Kubernetes, and Kyverno v1.19.0 with its
// MutatingPolicies.
var (
	Mutating   = Host{operations: []string{"*", "CONNECT", "CREATE", "UPDATE"}}
	Validating = Host{}
	Kyverno    = Host{prefixes: true}
)

// Parse reads a match block. Missing fields get the server's defaults. Unknown fields are
// ignored. If there are errors, which have the server's order, the Resources are nil.
func (h Host) Parse(value any) (*Resources, []Problem) {
	r := decoder{}
	block := r.object(value, nil)
	text := func(name, byDefault string) string { return r.text(block[name], change.Keys(name), byDefault) }
	policy := text("matchPolicy", "Equivalent")
	namespaces := r.selector(block["namespaceSelector"], change.Keys("namespaceSelector"))
	objects := r.selector(block["objectSelector"], change.Keys("objectSelector"))
	m := &Resources{
		exact:    policy == "Exact",
		rules:    r.rules(block["resourceRules"], change.Keys("resourceRules")),
		excluded: r.rules(block["excludeResourceRules"], change.Keys("excludeResourceRules")),
	}
	for _, rules := range [][]rule{m.rules, m.excluded} {
		for i := range rules {
			rules[i].prefixes = h.prefixes
		}
	}
	if len(r.errors) > 0 {
		return nil, r.errors
	}
	v := validator{}
	v.oneOf(policy, change.Keys("matchPolicy"), "Equivalent", "Exact")
	m.namespaces = v.selector(namespaces, change.Keys("namespaceSelector"))
	m.objects = v.selector(objects, change.Keys("objectSelector"))
	v.rules(m.rules, change.Keys("resourceRules"))
	v.rules(m.excluded, change.Keys("excludeResourceRules"))
	if h.operations != nil {
		v.mutating(m.rules, h.operations)
	}
	if len(v.errors) > 0 {
		return nil, v.errors
	}
	return m, nil
}

// ParseSelector reads a label selector. If there are errors, the selector must not be
// used.
func ParseSelector(value any) (Selector, []Problem) {
	r := decoder{}
	text := r.selector(value, nil)
	if len(r.errors) > 0 {
		return Selector{}, r.errors
	}
	v := validator{}
	return v.selector(text, nil), v.errors
}

// selectorText is a label selector as written, with its labels sorted.
type selectorText struct {
	labels      [][2]string
	expressions []expression
}

type expression struct {
	key, operator string
	values        []string
}

// decoder takes values from a document as Go's JSON decoder would, and collects values of a wrong
// type. null counts as missing.
type decoder struct{ errors []Problem }

func (r *decoder) expected(what string, value any, path change.Path) {
	r.errors = append(r.errors, Problem{
		Path: path, Field: path.String(), Text: fmt.Sprintf("expected %s, got %s", what, change.Describe(value)),
		Fits: func(value any) bool { return change.Describe(value) == what },
	})
}

func (r *decoder) object(value any, path change.Path) map[string]any {
	object, ok := value.(map[string]any)
	if !ok && value != nil {
		r.expected("a map", value, path)
	}
	return object
}

func (r *decoder) list(value any, path change.Path) []any {
	list, ok := value.([]any)
	if !ok && value != nil {
		r.expected("a list", value, path)
	}
	return list
}

func (r *decoder) text(value any, path change.Path, byDefault string) string {
	if value == nil {
		return byDefault
	}
	text, ok := value.(string)
	if !ok {
		r.expected("a string", value, path)
	}
	return text
}

func (r *decoder) texts(value any, path change.Path) []string {
	var texts []string
	for i, item := range r.list(value, path) {
		texts = append(texts, r.text(item, path.Index(i), ""))
	}
	return texts
}

func (r *decoder) selector(value any, path change.Path) selectorText {
	var s selectorText
	object := r.object(value, path)
	labels := path.Key("matchLabels")
	given := r.object(object["matchLabels"], labels)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		s.labels = append(s.labels, [2]string{key, r.text(given[key], labels.Key(key), "")})
	}
	expressions := path.Key("matchExpressions")
	for i, item := range r.list(object["matchExpressions"], expressions) {
		at := expressions.Index(i)
		fields := r.object(item, at)
		s.expressions = append(s.expressions, expression{
			key:      r.text(fields["key"], at.Key("key"), ""),
			operator: r.text(fields["operator"], at.Key("operator"), ""),
			values:   r.texts(fields["values"], at.Key("values")),
		})
	}
	return s
}

func (r *decoder) rules(value any, path change.Path) []rule {
	var rules []rule
	for i, item := range r.list(value, path) {
		at := path.Index(i)
		fields := r.object(item, at)
		rules = append(rules, rule{
			at:         at.String(),
			operations: r.texts(fields["operations"], at.Key("operations")),
			groups:     r.texts(fields["apiGroups"], at.Key("apiGroups")),
			versions:   r.texts(fields["apiVersions"], at.Key("apiVersions")),
			resources:  r.texts(fields["resources"], at.Key("resources")),
			scope:      r.text(fields["scope"], at.Key("scope"), "*"),
			names:      r.texts(fields["resourceNames"], at.Key("resourceNames")),
		})
	}
	return rules
}
