package kyverno

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
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

// entryKinds are the fields of an entry of a context besides its name, of which it has one.
var entryKinds = []string{"apiCall", "configMap", "globalReference", "imageRegistry", "variable"}

// oldFields are fields of mutate in versions before 1.6.
var oldFields = []string{"overlay", "patches"}

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

// conforms checks what nobody has checked yet of a part of a policy against its type in the
// CustomResourceDefinition. What a rule that does not mutate has besides does not matter.
func (r *reader) conforms(n policy.Node, t *schema.Type) {
	r.doc.Conforms(n, t, func(n policy.Node, name string, of *schema.Type) {
		isOld := n.Key() == "mutate" && slices.Contains(oldFields, name)
		if !isOld && r.mutates(n.Path) && !r.doc.IsRefused(n.At(name)) {
			r.doc.UnknownField(n, name, of.FieldNames())
		}
	})
}

// mutates reports whether a path is not that of a part of a rule that does not mutate.
func (r *reader) mutates(path change.Path) bool {
	if len(path) <= 2 || path[1] != change.Key("rules") {
		return true
	}
	return r.doc.Root.At("spec", "rules").Items()[path[2].Index].Has("mutate")
}

// isOther reports whether a rule has a field that MutatingType does not describe.
func isOther(rule policy.Node) bool {
	return slices.ContainsFunc(policydoc.OtherRules, func(name string) bool {
		fields, _ := rule.Value.(map[string]any)
		_, given := fields[name]
		return given
	})
}
