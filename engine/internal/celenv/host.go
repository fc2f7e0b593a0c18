package celenv

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// host is a system whose policies have an environment of their own: what an Env of
// Kubernetes and one of Kyverno differ in.
type host struct {
	// minor is the minor version of Kubernetes whose code the host has.
	minor int
	// libraries are the options that come with no version of Kubernetes.
	libraries func() []cel.EnvOption
	// variables declares the variables of all expressions; object is the type of the
	// objects of the request.
	variables func(object *cel.Type) []cel.EnvOption
	// types are the declared types; variable is that of the variable variables.
	types    map[string]map[string]*types.Type
	variable *types.Type
	// dialect is what the host makes of the dialect of an expression.
	dialect func(dialect) dialect
	// keepTypes says that variables have the type of their expression, whatever it is.
	keepTypes bool
	// budget is what a mutation and its variables may cost together; zero is no bound.
	budget int64
	// programs are the options of its programs, besides those of all.
	programs []cel.ProgramOption
	words    words
}

// words are a host's texts of errors.
type words struct {
	// compilation makes an error of what the compiler says.
	compilation func(issues string) string
	// mismatch is for an expression of another type than wanted.
	mismatch func(want, got *types.Type) string
	// evaluation is for an expression that fails, variable for a variable.
	evaluation, variable func(name string, err error) error
	// nested says what the host does with an Object within a list or map of a JSONPatch.
	nested string
}

// kubernetes is the host of MutatingAdmissionPolicies.
func kubernetes(minor int) host {
	return host{
		minor:     minor,
		libraries: func() []cel.EnvOption { return nil },
		variables: variablesOf,
		types:     structs,
		variable:  variablesType,
		dialect:   func(d dialect) dialect { return d },
		budget:    MutationBudget,
		words: words{
			compilation: func(issues string) string { return "compilation failed: " + issues },
			mismatch:    func(want, got *types.Type) string { return fmt.Sprintf("must evaluate to %v but got %v", want, got) },
			evaluation: func(expression string, err error) error {
				return fmt.Errorf("expression '%s' resulted in error: %w", expression, err)
			},
			variable: func(name string, err error) error {
				return fmt.Errorf("composited variable %q fails to evaluate: %w", name, err)
			},
			nested: "kube-apiserver crashes on it before 1.37",
		},
	}
}

// mutationBudget is a budget for one mutation; nil is one without end.
func (h *host) mutationBudget() *int64 {
	if h.budget == 0 {
		return nil
	}
	budget := h.budget
	return &budget
}
