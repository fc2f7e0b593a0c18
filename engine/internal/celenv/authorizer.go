package celenv

import "errors"

// Authorizer is the answer to every question that an expression asks the variable
// authorizer: who may do what is known to a cluster only.
type Authorizer int

// The answers. Asking a NoAuthorizer makes the expression fail.
const (
	NoAuthorizer Authorizer = iota
	AllowAll
	DenyAll
)

var errNoAuthorizer = errors.New("the authorizer was asked, but what a user may do is known to the cluster only; say what it answers with the option authorizer (allow or deny)")

// authorize is the authorizer of an activation.
func (a *Activation) authorize() (allowed bool, err error) {
	if a.input.Authorizer == NoAuthorizer {
		a.refusal = errNoAuthorizer
		return false, errNoAuthorizer
	}
	return a.input.Authorizer == AllowAll, nil
}
