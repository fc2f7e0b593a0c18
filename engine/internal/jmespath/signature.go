package jmespath

import (
	"fmt"
	"maps"
	"strings"
	"sync"
)

// Signature has a letter for every argument of a function: s for a string, n for a number, t for
// text (a string or a number), a for a list, o for an object, c for a list or object, l for a
// string or a list, m for a string, a list or an object, e for an expression, v for any value. A
// + at the end says that there may be more arguments.
type Signature string

var argumentKinds = map[byte]string{
	's': "a string", 'n': "a number", 't': "a string or a number", 'a': "a list", 'o': "an object", 'c': "a list or an object",
	'l': "a string or a list", 'm': "a string, a list or an object", 'e': "an expression", 'v': "a value",
}

// KindName describes a letter of a signature.
func KindName(kind byte) string { return argumentKinds[kind] }

// Check reports a wrong number of arguments.
func (s Signature) Check(arguments int) error {
	letters, isOpen := strings.CutSuffix(string(s), "+")
	switch {
	case isOpen && arguments < len(letters):
		return fmt.Errorf("has at least %d arguments, not %d", len(letters), arguments)
	case !isOpen && arguments != len(letters):
		return fmt.Errorf("has %d arguments, not %d", len(letters), arguments)
	}
	return nil
}

// Kind returns the letter of an argument.
func (s Signature) Kind(argument int) byte {
	letters := strings.TrimSuffix(string(s), "+")
	return letters[min(argument, len(letters)-1)]
}

// librarySignatures are the functions of the library that Kyverno does not replace. A test
// compares them with the library.
var librarySignatures = map[string]Signature{
	"length": "m", "starts_with": "ss", "abs": "n", "avg": "a", "ceil": "n", "contains": "lv", "ends_with": "ss", "floor": "n",
	"map": "ea", "max": "a", "merge": "o+", "max_by": "ae", "min": "a", "min_by": "ae", "type": "v", "sort": "a", "sort_by": "ae",
	"reverse": "l", "to_array": "v", "to_number": "v", "not_null": "v+",
}

// signatures are all functions.
var signatures = sync.OnceValue(func() map[string]Signature {
	all := maps.Clone(librarySignatures)
	for _, f := range (&Env{}).functions() {
		all[f.name] = f.signature
	}
	delete(all, valuesFunction)
	return all
})

// SignatureOf returns the signature of a function; false if there is no such function.
func SignatureOf(name string) (Signature, bool) {
	s, ok := signatures()[name]
	return s, ok
}
