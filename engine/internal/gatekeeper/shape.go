package gatekeeper

import (
	"strings"

	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

var text = &schema.Type{Scalar: schema.String}

// mutatorName is the type of the names of mutators.
var mutatorName = &schema.Type{Scalar: schema.String, Bounds: &schema.Bounds{MaxLength: 63}}

// conformsToKind checks a mutator as an API server does.
func (r *reader) conformsToKind() {
	r.doc.Conforms(r.doc.Root, policydoc.TypeOf(r.doc.Document.Kind().Kind), r.unknown)
	if name := r.doc.Root.At("metadata", "name"); name.Given() {
		r.doc.Conforms(name, mutatorName, nil)
	}
}

// unknown reports a field that the type does not have: an API server drops it from a policy.
func (r *reader) unknown(n policy.Node, name string, of *schema.Type) {
	expected := "expected " + strings.Join(of.FieldNames(), ", ")
	if r.doc.Values {
		r.advise(n.At(name), 0, expected, "unknown field %q", name)
		return
	}
	at := n.Path.Key(name)
	r.doc.Report(source.Warningf(r.doc.Document.At(at), "policy-field-unknown", "unknown field %q: an API server drops it", name).AdvisedAt(r.doc.Document.Key(at), source.Expected(expected, name, of.FieldNames())), at)
}

// matchCriteria returns the names of the fields of match.
func matchCriteria() []string {
	return policydoc.TypeOf("Assign").FieldType("spec").FieldType("match").FieldNames()
}
