// Package limit holds the bounds on what input may make preadmit do. Input is not
// trusted: it must neither take all memory nor run forever. Bounds are the API server's
// where it has one, and otherwise far above what a cluster would take. What exceeds one
// is an error that names it, never a result that is cut short.
//
// These are the bounds of more than one package, and their errors. Those that only
// one has are in that package: the depth of a document and the values of its aliases in
// engine/manifest, the length of expressions in engine/internal/jmespath and
// engine/internal/mutationtree, the rounds of variables and the elements of foreach in
// engine/internal/kyverno, the costs of CEL in engine/internal/celenv.
//
// The files in order: limit.go (the bounds), input.go (reading), work.go (counting).
package limit

import (
	"fmt"
	"math"

	"github.com/preadmit/preadmit/engine/change"
)

// The bounds on input.
const (
	// InputBytes is how much is read, from all files of a run together, unless the user
	// raises it. A List of 20 MB is usual; a run takes some ten times as much memory if
	// policies change every manifest in it.
	InputBytes = 64 << 20
	// Documents is how many documents one file may have; more if InputBytes is raised.
	Documents = 100_000
	// YAMLBytes is how large a document may be that only the YAML library can read: it
	// takes some seventy times as much memory.
	YAMLBytes = 8 << 20
	// Mistakes is how many errors of one file are reported before the rest is not read.
	Mistakes = 500
	// Messages is how many diagnostics a run prints.
	Messages = 1000
	// Excerpt is how many characters of a line are quoted.
	Excerpt = 400
)

// The bounds on what policies make.
const (
	// ObjectBytes is how much larger than the manifest policies may make an object, and
	// how large a value in an expression may be, as Size counts. A server accepts
	// requests of 3 MiB.
	ObjectBytes = 16 << 20
	// TextBytes is how long a text may become in an expression or a variable.
	TextBytes = 4 << 20
	// Texts is how much the variables of a mutation in CEL, or the entries of a context
	// of Kyverno's, may take for one object.
	Texts = 64 << 20
	// Work bounds a JMESPath expression: each value that it looks at, or makes, counts,
	// as in Size.
	Work = 128 << 20
	// CopyBytes is how much the copy operations of one JSON Patch may add: the limit of
	// an API server.
	CopyBytes = 3 << 20
	// Operations is how many operations a JSON Patch may have. A server takes 10,000 in a
	// request, and any number of a policy.
	Operations = 100_000
	// Padding is how many nulls the operations of a JSON Patch may fill lists with.
	Padding = 1 << 20
	// ForeachBytes bounds the patches that the foreach of one rule carries out, times the
	// size of the object.
	ForeachBytes = 64 << 20
)

// The codes of errors.
const (
	InputSize     = "limit-input-size"
	DocumentCount = "limit-documents"
	YAMLSize      = "limit-yaml-size"
	MessageCount  = "limit-messages"
	ObjectSize    = "limit-object-size"
	Expression    = "limit-expression"
	Patch         = "limit-patch"
	Foreach       = "limit-foreach"
)

// Error says that a bound has been exceeded.
type Error struct {
	// Code is the code of the diagnostic, Advice its advice.
	Code, Text, Advice string
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Exceeded makes an error.
func Exceeded(code, advice, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...), Advice: advice}
}

// Object is the error of an object that policies make too large, nil if they do not.
// memo, which may be nil, knows the sizes of parts.
func Object(memo *change.Memo, written, object map[string]any) error {
	if _, fits := sizeOf(memo, object, ObjectBytes); fits {
		return nil
	}
	size, _ := Size(written, math.MaxInt)
	if _, fits := sizeOf(memo, object, ObjectBytes+size); fits {
		return nil
	}
	return Exceeded(ObjectSize, "a policy that copies parts of an object into itself makes it grow with every step",
		"the policy adds more than %d MiB to the object, five times what an API server accepts", ObjectBytes>>20)
}
