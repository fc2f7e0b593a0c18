package vapolicy

import (
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Check implements policy.Program. A validation that is always false is no mistake: it refuses whatever the
// policy matches.
func (p *program) Check(schemas *schema.Registry, kept *policy.Kept) []source.Diagnostic {
	var found []source.Diagnostic
	for _, d := range p.definitions {
		found = append(found, d.policy.Found(kept, schemas, func() []source.Diagnostic { return p.check(d, schemas) })...)
	}
	return found
}

func (p *program) check(d *definition, schemas *schema.Registry) []source.Diagnostic {
	found := p.shared.Check(d.policy, schemas, policy.Validating)
	for _, v := range d.validations {
		found = append(found, policydoc.Constant(d.policy.Document, d.policy.Scope, v.program, v.node.Path.Key("expression"), "")...)
	}
	return found
}
