// Package limit has the limits on the work that input may cause. Input is not trusted: it must
// neither exhaust memory nor run forever. A limit is the API server's if the server has one, and
// otherwise far above what a cluster would accept. Exceeding a limit is an error that names it; a
// result is never cut short.
//
// The package has the limits that several packages share, and their errors. Other limits are in the
// package that uses them: the depth of a document and the values of its aliases in engine/manifest,
// the length of expressions in engine/internal/jmespath and engine/internal/mutationtree, the
// rounds of variables and the elements of foreach in engine/internal/kyverno, the costs of CEL in
// engine/internal/celenv.
//
// The files in order: limit.go (the limits), input.go (reading), work.go (counting).
package limit

import (
	"fmt"
	"math"

	"github.com/preadmit/preadmit/engine/change"
)

// The limits on input.
const (
	// InputBytes is how much is read from all files of a run together, unless the user raises it. A
	// List of 20 MB is common. A run takes some ten times as much memory if policies change every
	// manifest in it.
	InputBytes = 64 << 20
	// Documents is how many documents one file may have. It grows with InputBytes.
	Documents = 100_000
	// YAMLBytes is the largest size of a document that only the YAML library can read. Such a
	// document takes some seventy times as much memory.
	YAMLBytes = 8 << 20
	// Mistakes is how many errors of one file are reported before reading stops.
	Mistakes = 500
	// Messages is how many diagnostics a run prints.
	Messages = 1000
	// Excerpt is how many characters of a line are quoted.
	Excerpt = 400
)

// The limits on the results of policies.
const (
	// ObjectBytes is how much policies may add to an object, and how large a value in an expression
	// may be, counted by Size. A server accepts requests of 3 MiB.
	ObjectBytes = 16 << 20
	// TextBytes is the largest length of a text in an expression or a variable.
	TextBytes = 4 << 20
	// Texts is the largest size, for one object, of the variables of a mutation in CEL or the
	// entries of a Kyverno context.
	Texts = 64 << 20
	// Work limits a JMESPath expression. Each value that the expression reads or creates counts as
	// much as its Size.
	Work = 128 << 20
	// CopyBytes is how much the copy operations of one JSON Patch may add. It is the limit of an
	// API server.
	CopyBytes = 3 << 20
	// Operations is how many operations a JSON Patch may have. An API server accepts 10,000 in a
	// request, and any number in a policy.
	Operations = 100_000
	// Padding is how many nulls the operations of a JSON Patch may add to pad lists.
	Padding = 1 << 20
	// ForeachBytes limits the number of patches that the foreach of one rule applies, times the
	// size of the object.
	ForeachBytes = 64 << 20
	// Targets limits, for one run, the memory of policies that change other objects. Each
	// application to an object, once for every object that triggers them and every target of it,
	// counts as TargetStep, plus the fields and items that it copies.
	Targets    = 1 << 20
	TargetStep = 20
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
	TargetCount   = "limit-targets"
)

// Error means that a limit has been exceeded.
type Error struct {
	// Code and Advice are the code and the advice of the diagnostic.
	Code, Text, Advice string
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Exceeded returns an error with a formatted text.
func Exceeded(code, advice, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...), Advice: advice}
}

// Object returns an error if policies make an object too large, or else nil. memo remembers the
// sizes of parts; it may be nil.
func Object(memo *change.Memo, written, object map[string]any) error {
	if _, fits := sizeOf(memo, object, ObjectBytes); fits {
		return nil
	}
	size, _ := Size(written, math.MaxInt)
	if _, fits := sizeOf(memo, object, ObjectBytes+size); fits {
		return nil
	}
	return Exceeded(ObjectSize, "a policy that copies parts of an object into themselves makes it grow with every step",
		"the policy adds more than %d MiB to the object, five times what an API server accepts", ObjectBytes>>20)
}
