package celenv

import "errors"

// Authorizer is the answer to all questions that expressions ask the variable authorizer,
// because only a cluster knows the rights of users.
type Authorizer int

// The answers. With NoAuthorizer, an expression that asks fails.
const (
	NoAuthorizer Authorizer = iota
	AllowAll
	DenyAll
)

var errNoAuthorizer = errors.New("the authorizer was asked, but only the cluster knows what a user may do; set the answer with the option authorizer (allow or deny)")

// authorize returns the answer of the authorizer of an activation.
func (a *Activation) authorize() (allowed bool, err error) {
	if a.input.Authorizer == NoAuthorizer {
		a.refusal = errNoAuthorizer
		return false, errNoAuthorizer
	}
	return a.input.Authorizer == AllowAll, nil
}
