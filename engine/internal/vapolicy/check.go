package vapolicy

import (
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Check implements policy.Program.
func (p *program) Check(schemas *schema.Registry) []source.Diagnostic {
	var found []source.Diagnostic
	for _, d := range p.definitions {
		checked := policydoc.Checked{Document: d.policy.Document, Env: p.shared.CEL, Scope: d.policy.Scope, HasParams: d.policy.ParamKind != (gvk.Kind{})}
		checked.AddPolicy(policy.Node{Value: d.policy.Document.Object()}.At("spec"))
		found = append(found, checked.Check(policydoc.KindsOf(d.policy.Constraints, schemas, admissionpolicy.Hides))...)
	}
	return found
}
