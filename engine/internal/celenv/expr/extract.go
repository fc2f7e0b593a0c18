package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// variables is the name of the object whose fields are the variables of a policy.
const variables = "variables"

// extraction is a part of an expression with its new name.
type extraction struct {
	part Expr
	name string
}

var (
	errPart = errors.New("the selection is not a complete part of the expression")
	errHas  = errors.New("the selection is in has(), which asks for a field and not for its value")
)

// Extracted reports why an expression after a change is not the one before, with a part replaced by a
// variable with a name. nil means that it is, and that the variable has the value of the part there.
func Extracted(before, after, part Expr, name string) error {
	return extraction{part, name}.compare(before, after, false, nil)
}

// compare compares two parts. isAsked says that they are the argument of has(); bound are the names that the
// macros around them declare.
func (x extraction) compare(before, after Expr, isAsked bool, bound []string) error {
	if x.isPlace(after) {
		used := slices.IndexFunc(bound, x.part.Uses)
		switch {
		case !Equal(before, x.part):
			return errPart
		case isAsked:
			return errHas
		case used >= 0:
			return fmt.Errorf("the selection uses %s, which only the macro around it knows", bound[used])
		}
		return nil
	}
	if before.node.Kind() != after.node.Kind() || !sameLeaf(before.node, after.node) {
		return errPart
	}
	a, b := before.parts(), after.parts()
	if len(a) != len(b) {
		return errPart
	}
	bound = append(slices.Clip(bound), before.declares()...)
	for i := range a {
		if err := x.compare(a[i], b[i], before.isCallOf("has"), bound); err != nil {
			return err
		}
	}
	return nil
}

// isPlace reports whether an expression is the variable.
func (x extraction) isPlace(e Expr) bool {
	variable, keys, ok := e.AsField()
	return ok && variable == variables && len(keys) == 1 && keys[0] == x.name && e.node.Kind() == ast.SelectKind
}

// binders are the macros that declare names, with how many they declare at most.
var binders = map[string]int{
	"all": 2, "exists": 2, "existsOne": 2, "exists_one": 1, "filter": 1, "map": 1, "sortBy": 1, "bind": 1, "optMap": 1, "optFlatMap": 1,
	"transformList": 2, "transformMap": 2, "transformMapEntry": 2,
}

// declares returns the names that a macro declares for its arguments.
func (e Expr) declares() (names []string) {
	function, _, args, _ := e.AsCall()
	for i := range min(binders[function], len(args)-1) {
		if args[i].node.Kind() == ast.IdentKind {
			names = append(names, args[i].node.AsIdent())
		}
	}
	return names
}

// Name returns a name for the value of an expression: that of the field or the function from which the value
// comes. It is an identifier that a variable may have.
func (e Expr) Name() string {
	words := strings.FieldsFunc(e.words(), func(c rune) bool { return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	name := ""
	for _, word := range words {
		if name == "" {
			name = strings.ToLower(word[:1]) + word[1:]
		} else {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	switch {
	case name == "" || unicode.IsDigit(rune(name[0])):
		return "value"
	case slices.Contains(reserved, name):
		return name + "Value"
	}
	return name
}

// reserved are the words that are no names in CEL.
var reserved = strings.Fields("as break const continue else false for function if import in let loop namespace null package return true var void while")

// words returns the words for the name of an expression.
func (e Expr) words() string {
	if function, _, args, ok := e.AsCall(); ok && function == "has" && len(args) == 1 {
		return "has " + args[0].words()
	}
	switch e.node.Kind() {
	case ast.IdentKind:
		return e.node.AsIdent()
	case ast.SelectKind:
		return e.node.AsSelect().FieldName()
	case ast.CallKind:
		return e.wordsOfCall()
	}
	return ""
}

// wordsOfCall returns the words for the name of what a function returns.
func (e Expr) wordsOfCall() string {
	function, target, args, _ := e.AsCall()
	switch {
	case e.isCallOf(operators.Index, operators.OptIndex, operators.OptSelect):
		if key, ok := args[1].Constant(); ok {
			if text, isText := key.(string); isText {
				return text
			}
		}
		return args[0].words()
	case e.isCallOf("orValue", "value", "map", "filter") && !target.IsZero():
		return target.words()
	case e.isCallOf("dyn", "string", "int", "double", "quantity") && len(args) == 1:
		return args[0].words()
	case e.isCallOf(operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Conditional):
		return "value"
	case strings.ContainsAny(function, "_@!") || slices.Contains([]string{"all", "exists", "startsWith", "endsWith", "contains", "matches"}, function):
		return "condition"
	}
	return function
}
