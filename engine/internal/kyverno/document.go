package kyverno

import (
	"slices"
	"sync"

	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// reader reads one document of the language.
type reader struct {
	doc *policydoc.Reader
	// compiled are the expressions of rules, in the order of the document.
	compiled []compiledExpression
}

func newReader(d *manifest.Document) *reader { return &reader{doc: policydoc.New(d)} }

// The fields of each part of a policy in Kyverno v1.19.0.
var (
	specFields     = fieldsOf()
	webhookFields  = fieldsOf("webhookConfiguration")
	ruleFields     = fieldsOf("rules")
	matchFields    = fieldsOf("rules", "match")
	blockFields    = fieldsOf("rules", "match", "any")
	resourceFields = fieldsOf("rules", "match", "resources")
	subjectFields  = fieldsOf("rules", "match", "subjects")
	selectorFields = fieldsOf("rules", "match", "resources", "selector")
	mutateFields   = fieldsOf("rules", "mutate")
	foreachFields  = fieldsOf("rules", "mutate", "foreach")
	targetFields   = fieldsOf("rules", "mutate", "targets")
	entryFields    = fieldsOf("rules", "context")
	// entryKinds are the fields of an entry of a context besides its name, of which it has one.
	entryKinds = []string{"apiCall", "configMap", "globalReference", "imageRegistry", "variable"}
	// oldFields are fields of mutate in versions before 1.6.
	oldFields = []string{"overlay", "patches"}
	// conditionFields are not in the CustomResourceDefinition, which allows any conditions.
	conditionFields = []string{"key", "operator", "value", "message"}
)

// typeAt returns the type of a part of the spec of a policy, or of the items of a list.
func typeAt(path ...string) *schema.Type {
	t := policydoc.MutatingType().FieldType("spec")
	for _, name := range path {
		if t = t.FieldType(name); t.IsList {
			t = t.ItemType()
		}
	}
	return t
}

// fieldsOf returns a function that returns the fields of a part of the spec of a policy.
func fieldsOf(path ...string) func() []string {
	return sync.OnceValue(func() []string { return typeAt(path...).FieldNames() })
}

// conforms checks what nobody has checked yet against the CustomResourceDefinition. Fields that a
// server drops have been reported where they matter.
func (r *reader) conforms(spec policy.Node) {
	t := typeAt()
	if slices.ContainsFunc(spec.At("rules").Items(), isOther) {
		t = policydoc.TypeOf("ClusterPolicy").FieldType("spec")
	}
	r.doc.Conforms(spec, t, func(policy.Node, string, *schema.Type) {})
}

// isOther reports whether a rule has a field that MutatingType does not describe.
func isOther(rule policy.Node) bool {
	return slices.ContainsFunc(policydoc.OtherRules, func(name string) bool {
		fields, _ := rule.Value.(map[string]any)
		_, given := fields[name]
		return given
	})
}
