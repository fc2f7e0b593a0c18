package jmespath

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Signature has a letter for every argument of a function: s for a string, n for a number, b for a
// boolean, t for text (a string or a number), a for a list, o for an object, c for a list or object,
// l for a string or a list, m for a string, a list or an object, e for an expression, v for any
// value. Arguments after ? are optional. A + says that there may be more arguments like the last
// one. The letter after > is the result; it may be any value without a letter.
type Signature string

// Functions are the functions of a dialect of JMESPath.
type Functions map[string]Signature

// kinds has, for each letter of a signature, the kinds of values that it allows, and their name.
var kinds = map[byte]struct {
	of   kindSet
	name string
}{
	's': {isString, "a string"}, 'n': {isNumber, "a number"}, 'b': {isBoolean, "a boolean"}, 't': {isString | isNumber, "a string or a number"},
	'a': {isList, "a list"}, 'o': {isObject, "an object"}, 'c': {isList | isObject, "a list or an object"}, 'l': {isString | isList, "a string or a list"},
	'm': {isString | isList | isObject, "a string, a list or an object"}, 'e': {isExpression, "an expression"}, 'v': {isString | isNumber | isBoolean | isList | isObject | isNull | isLarge | isExpression, "a value"},
}

// kindSet is a set of kinds of values.
type kindSet int

const (
	isString kindSet = 1 << iota
	isNumber
	isBoolean
	isList
	isObject
	isNull
	isLarge // a whole number that a float64 does not hold exactly
	isExpression
)

// kindOf returns the kind of a value.
func kindOf(value any) kindSet {
	switch value.(type) {
	case nil:
		return isNull
	case string:
		return isString
	case float64:
		return isNumber
	case int64:
		return isLarge
	case bool:
		return isBoolean
	case []any:
		return isList
	case map[string]any:
		return isObject
	}
	return isExpression
}

// KindName describes a letter of a signature.
func KindName(letter byte) string { return kinds[letter].name }

// arguments returns the letters of the arguments, and how many of them a call must have; isOpen
// says that there may be more.
func (s Signature) arguments() (letters string, required int, isOpen bool) {
	all, _, _ := strings.Cut(string(s), ">")
	all, isOpen = strings.CutSuffix(all, "+")
	first, optional, _ := strings.Cut(all, "?")
	return first + optional, len(first), isOpen
}

// Check reports a wrong number of arguments.
func (s Signature) Check(arguments int) error {
	letters, required, isOpen := s.arguments()
	expected := fmt.Sprint(required)
	switch {
	case arguments >= required && (isOpen || arguments <= len(letters)):
		return nil
	case isOpen:
		expected = "at least " + expected
	case required < len(letters):
		expected = fmt.Sprintf("%d to %d", required, len(letters))
	}
	if !strings.HasSuffix(expected, "1") {
		return fmt.Errorf("has %s arguments, not %d", expected, arguments)
	}
	return fmt.Errorf("has %s argument, not %d", expected, arguments)
}

// String describes the arguments and the result: "(a string, a list or object, ...) -> a boolean".
func (s Signature) String() string {
	letters, required, isOpen := s.arguments()
	var names []string
	for i := range letters {
		name := KindName(letters[i])
		if i >= required {
			name = "[" + name + "]"
		}
		names = append(names, name)
	}
	if isOpen {
		names = append(names, "...")
	}
	result := KindName('v')
	if _, letter, ok := strings.Cut(string(s), ">"); ok {
		result = KindName(letter[0])
	}
	return "(" + strings.Join(names, ", ") + ") -> " + result
}

// Kind returns the letter of an argument.
func (s Signature) Kind(argument int) byte {
	letters, _, _ := s.arguments()
	return letters[min(argument, len(letters)-1)]
}

// result returns the possible kinds of the result.
func (s Signature) result() kindSet {
	if _, letter, ok := strings.Cut(string(s), ">"); ok {
		return kinds[letter[0]].of
	}
	return kinds['v'].of
}

// libraryFunctions are the functions of the library that Kyverno does not replace. A test
// compares them with the library.
var libraryFunctions = []function{
	{name: "abs", signature: "n>n", doc: "the number without its sign"},
	{name: "avg", signature: "a", doc: "the average of a list of numbers; null for an empty list"},
	{name: "ceil", signature: "n>n", doc: "the next whole number that is not smaller"},
	{name: "contains", signature: "lv>b", doc: "whether a text has another one in it, or a list has a value as an item"},
	{name: "ends_with", signature: "ss>b", doc: "whether a text ends with another one"},
	{name: "floor", signature: "n>n", doc: "the next whole number that is not larger"},
	{name: "length", signature: "m>n", doc: "the length of a text, list or object"},
	{name: "map", signature: "ea>a", doc: "the values of an expression for all items of a list"},
	{name: "max", signature: "a", doc: "the largest number or text of a list"},
	{name: "max_by", signature: "ae", doc: "the item of a list for which an expression is largest"},
	{name: "merge", signature: "o+>o", doc: "an object with the fields of all objects; the last one wins"},
	{name: "min", signature: "a", doc: "the smallest number or text of a list"},
	{name: "min_by", signature: "ae", doc: "the item of a list for which an expression is smallest"},
	{name: "not_null", signature: "v+", doc: "the first argument that is not null"},
	{name: "reverse", signature: "l>l", doc: "a list or a text in reverse order"},
	{name: "sort", signature: "a>a", doc: "the list of numbers or texts in order"},
	{name: "sort_by", signature: "ae>a", doc: "the list in the order of an expression"},
	{name: "starts_with", signature: "ss>b", doc: "whether a text starts with another one"},
	{name: "to_array", signature: "v>a", doc: "the value as a list, unless it is one"},
	{name: "to_number", signature: "v", doc: "the number in a text"},
	{name: "type", signature: "v>s", doc: `the type of a value: "string", "number", "array" ...`},
}

// described are the functions of Kyverno's dialect, by name.
var described = sync.OnceValue(func() map[string]function {
	all := map[string]function{}
	for _, f := range slices.Concat(libraryFunctions, (&Env{}).functions()) {
		if f.doc != "" {
			all[f.name] = f
		}
	}
	return all
})

// Doc says what a function of Kyverno's dialect does.
func Doc(name string) string { return described()[name].doc }

// Kyverno returns the functions of Kyverno's dialect.
var Kyverno = sync.OnceValue(func() Functions {
	all := Functions{}
	for name, f := range described() {
		all[name] = f.signature
	}
	return all
})
