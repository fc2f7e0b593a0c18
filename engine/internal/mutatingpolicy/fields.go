package mutatingpolicy

import (
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// checkFields checks a policy or an exception with the CustomResourceDefinition of its kind. Those
// of both kinds of policies have the same fields.
func checkFields(r *policydoc.Reader) {
	r.Conforms(r.Root, policydoc.TypeOf(r.Document.Kind().Kind), func(n policy.Node, name string, of *schema.Type) {
		advice := source.Advice{Text: elsewhere[name]}
		if advice.Text == "" {
			advice = source.Expected("expected "+strings.Join(of.FieldNames(), ", "), name, of.FieldNames())
		}
		r.Mistaken(n.Path.Key(name), "policy-field-unknown", fmt.Sprintf("unknown field %q", n.Path.Key(name)), advice)
	})
}

// elsewhere has advice about fields that belong to other kinds of policies.
var elsewhere = map[string]string{
	"paramKind":         "a MutatingPolicy has no params: read the object with resource.Get",
	"paramRef":          "a MutatingPolicy has no params: read the object with resource.Get",
	"rules":             "rules are for ClusterPolicies; preadmit convert --to MutatingPolicy converts them",
	"validations":       "validations are for ValidatingPolicies",
	"generate":          "generations are for GeneratingPolicies",
	"matchResources":    "the field is matchConstraints",
	"preconditions":     "the field is matchConditions, with expressions in CEL",
	"validationActions": "validations are for ValidatingPolicies",
}
