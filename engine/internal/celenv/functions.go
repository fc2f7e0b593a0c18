package celenv

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"

	"github.com/preadmit/preadmit/engine/internal/celenv/syntax"
)

// Function describes a function of expressions, for editors.
type Function struct {
	Name string
	// Member says that there is a form object.name(…).
	Member bool
	// Signatures are its forms, as in "string.contains(string) -> bool".
	Signatures []string
	// Doc says what it does; "" if its library does not say.
	Doc string
	// receivers are the types of the values of which its forms are called; nil for a form that is called of none.
	receivers []*types.Type
}

// Functions returns the functions that expressions may call, sorted by name, without operators.
func (e *Env) Functions() ([]Function, error) {
	env, err := e.patch()
	if err != nil {
		return nil, err
	}
	var found []Function
	declared := env.Functions()
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		if !isName(strings.ReplaceAll(name, ".", "")) {
			continue // an operator, or internal
		}
		f := Function{Name: name, Doc: declared[name].Description()}
		for _, overload := range declared[name].OverloadDecls() {
			var receiver *types.Type
			if overload.IsMemberFunction() && len(overload.ArgTypes()) > 0 {
				receiver = overload.ArgTypes()[0]
			}
			f.Member = f.Member || overload.IsMemberFunction()
			f.Signatures, f.receivers = append(f.Signatures, signature(name, overload)), append(f.receivers, receiver)
		}
		found = append(found, f)
	}
	return found, nil
}

// Part is a part of the text of an expression, for editors.
type Part = syntax.Part

// Parts returns the words, literals and operators of an expression, which may be wrong or incomplete.
func Parts(expression string) []Part { return syntax.Parts(expression) }

// signature returns the form of a function.
func signature(name string, overload *decls.OverloadDecl) string {
	arguments := overload.ArgTypes()
	if overload.IsMemberFunction() && len(arguments) > 0 {
		name, arguments = arguments[0].String()+"."+name, arguments[1:]
	}
	return name + "(" + strings.Join(textsOf(arguments), ", ") + ") -> " + overload.ResultType().String()
}

func textsOf(all []*types.Type) []string {
	var texts []string
	for _, t := range all {
		texts = append(texts, t.String())
	}
	return texts
}
