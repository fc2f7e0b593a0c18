package source

import (
	stderrors "errors"
	"slices"
	"strings"
)

// The codes of diagnostics that programs often look for. The Catalogue has all codes.
const (
	CodeCallFails             = "call-fails"
	CodeDenied                = "denied"
	CodeInternal              = "internal"
	CodeKyvernoDiffers        = "kyverno-differs"
	CodeLFSPointer            = "lfs-pointer"
	CodeManifestInvalid       = "manifest-invalid"
	CodeNoPolicies            = "no-policies"
	CodeOrderDependent        = "order-dependent"
	CodeOptionValue           = "option-value"
	CodePluginConfigInvalid   = "plugin-config-invalid"
	CodePolicyConvertedAlmost = "policy-converted-almost"
	CodePolicyWarning         = "policy-warning"
	CodeTemplate              = "template"
	CodeWouldBeDenied         = "would-be-denied"
)

// Error returns the text of String, so that a Diagnostic is a Go error.
func (d Diagnostic) Error() string { return d.String() }

// Errors are the errors among the diagnostics of a run. An Errors value has at least one.
type Errors []Diagnostic

// Error returns one diagnostic per line.
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

// Join returns the errors among ds as one error of type Errors, or nil if ds has no errors.
func Join(ds []Diagnostic) error {
	ds = slices.DeleteFunc(slices.Clone(ds), func(d Diagnostic) bool { return d.Severity != Error })
	if len(ds) == 0 {
		return nil
	}
	return Errors(ds)
}

// HasCode reports whether err is or wraps a Diagnostic with the code.
func HasCode(err error, code string) bool {
	var all Errors
	if stderrors.As(err, &all) {
		return slices.ContainsFunc(all, func(d Diagnostic) bool { return d.Code == code })
	}
	var one Diagnostic
	return stderrors.As(err, &one) && one.Code == code
}
