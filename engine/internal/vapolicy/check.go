package vapolicy

import (
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/source"
)

// Check implements policy.Program.
func (p *program) Check(schemas *schema.Registry) []source.Diagnostic {
	var found []source.Diagnostic
	for _, d := range p.definitions {
		found = append(found, p.shared.Check(d.policy, schemas)...)
	}
	return found
}
