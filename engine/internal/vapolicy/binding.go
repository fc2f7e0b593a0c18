package vapolicy

import (
	"encoding/json"
	"slices"

	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
)

// The values of validationActions.
const (
	deny  = "Deny"
	warn  = "Warn"
	audit = "Audit"
)

// readBinding reads a binding and its validationActions, in the order in which the server checks
// them.
func readBinding(r *admissionpolicy.Reader) (*admissionpolicy.Binding, []string) {
	b := r.Binding()
	n := r.Doc.Root.At("spec").At("validationActions")
	var actions []string
	for _, item := range n.Items() {
		action := item.Text()
		switch {
		case !slices.Contains([]string{deny, warn, audit}, action):
			r.Doc.Unsupported(item, audit, deny, warn)
		case slices.Contains(actions, action):
			r.Doc.Invalid(item, "Duplicate value: %q", action)
		}
		actions = append(actions, action)
	}
	if slices.Contains(actions, deny) && slices.Contains(actions, warn) {
		text, _ := json.Marshal(n.Value) // strings always have a JSON form
		r.Doc.Invalid(n, "Invalid value: %s: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)", text)
	}
	if len(actions) == 0 {
		r.Doc.Required(n, "at least one validation action is required")
	}
	return b, actions
}
