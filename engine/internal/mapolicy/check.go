package mapolicy

import (
	"slices"

	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Check implements policy.Program.
func (p *program) Check(schemas *schema.Registry, kept *policy.Kept) []source.Diagnostic {
	var found []source.Diagnostic
	for _, d := range p.definitions {
		if slices.ContainsFunc(d.mutations, func(m mutation) bool { return m.draft != nil }) {
			continue // drafts have another form
		}
		found = append(found, d.policy.Found(kept, schemas, func() []source.Diagnostic {
			return p.shared.Check(d.policy, schemas, policy.InServer)
		})...)
	}
	return found
}
