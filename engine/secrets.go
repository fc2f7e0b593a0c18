package engine

import "github.com/preadmit/preadmit/engine/secret"

// hide replaces the values of the input's Secrets in a message.
func (r *run) hide(text string) string {
	if r.secrets == nil {
		r.secrets = &secret.Mask{}
		if r.Set != nil { // as there is none if the options are wrong
			for _, d := range append(r.context[:len(r.context):len(r.context)], r.old...) {
				r.secrets.Learn(d.Object())
			}
		}
		for _, d := range r.local {
			r.secrets.Learn(d.Object())
		}
		for _, t := range r.targets {
			r.secrets.Learn(t.raw)
		}
	}
	return r.secrets.Text(text)
}

// discreet is a message about a target. What policies say of a Secret is left out if it
// would show any of its values, however short.
func (t *target) discreet(text string) string {
	if secret.Is(t.raw) && secret.HoldsAny(text, t.raw, t.Before, t.After) {
		return "what there is to say is left out, as it would show a value of the Secret"
	}
	return text
}
