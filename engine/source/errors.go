package source

import (
	stderrors "errors"
	"slices"
	"strings"
)

// Error makes a Diagnostic an error, with the text of String.
func (d Diagnostic) Error() string { return d.String() }

// Errors are the diagnostics of a run that are errors. There is at least one.
type Errors []Diagnostic

// Error has a diagnostic on each line.
func (e Errors) Error() string {
	var lines []string
	for _, d := range e {
		lines = append(lines, d.String())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the diagnostics, so that errors.As finds a Diagnostic.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, d := range e {
		all[i] = d
	}
	return all
}

// Join makes one error, of type Errors, of those diagnostics that are errors. It is nil if
// none is.
func Join(ds []Diagnostic) error {
	ds = slices.DeleteFunc(slices.Clone(ds), func(d Diagnostic) bool { return d.Severity != Error })
	if len(ds) == 0 {
		return nil
	}
	return Errors(ds)
}

// HasCode reports whether an error is, or wraps, a Diagnostic with a code.
func HasCode(err error, code string) bool {
	var all Errors
	if stderrors.As(err, &all) {
		return slices.ContainsFunc(all, func(d Diagnostic) bool { return d.Code == code })
	}
	var one Diagnostic
	return stderrors.As(err, &one) && one.Code == code
}
