package celenv

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// host is a system that evaluates policies in its own environment. It has the differences
// between the Envs of Kubernetes and of Kyverno.
type host struct {
	// minor is the minor version of Kubernetes whose code the host uses.
	minor int
	// libraries returns the options that belong to no version of Kubernetes.
	libraries func() []cel.EnvOption
	// variables declares the variables of all expressions; object is the type of the objects in
	// the request.
	variables func(object *cel.Type) []cel.EnvOption
	// types are the declared types; variable is the type of the variable variables.
	types    map[string]map[string]*types.Type
	variable *types.Type
	// dialect adjusts the dialect of an expression for the host.
	dialect func(dialect) dialect
	// keepTypes says that variables keep the type of their expression.
	keepTypes bool
	// budget is the budget of a mutation with its variables; zero is no limit.
	budget int64
	// programs are additional options of the host's programs.
	programs []cel.ProgramOption
	words    words
}

// words are the error texts of a host.
type words struct {
	// compilation returns the error text for the issues of the compiler.
	compilation func(issues string) string
	// mismatch is for an expression of a wrong type.
	mismatch func(want, got *types.Type) string
	// evaluation is for an expression that fails; variable is for a variable that fails.
	evaluation, variable func(name string, err error) error
	// nested describes the effect of an Object in a list or map of a JSONPatch.
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

// mutationBudget returns a budget for one mutation; nil is no limit.
func (h *host) mutationBudget() *int64 {
	if h.budget == 0 {
		return nil
	}
	budget := h.budget
	return &budget
}
