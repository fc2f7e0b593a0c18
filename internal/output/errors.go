package output

import (
	"errors"
	"os"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
)

// refusal is an error with advice.
type refusal struct{ text, advice string }

// Error implements error.
func (r *refusal) Error() string { return r.text }

// Refuse returns an error with advice; see Advice.
func Refuse(text, advice string) error { return &refusal{text, advice} }

// Advice returns the advice of an error of Refuse, and "" for any other.
func Advice(err error) string {
	if refused := new(refusal); errors.As(err, &refused) {
		return refused.advice
	}
	return ""
}

// Unwritable returns the diagnostic for a file that cannot be written.
func Unwritable(name string, err error) source.Diagnostic {
	var pathError *os.PathError
	var linkError *os.LinkError
	advice := Advice(err)
	switch {
	case errors.As(err, &pathError):
		err = pathError.Err
	case errors.As(err, &linkError):
		err = linkError.Err
	case errors.Is(err, input.ErrEscape):
		err, advice = errors.New("the path leads out of the output directory"), "change the path, or the symbolic link in it"
	}
	return source.Errorf(source.Position{File: name}, "path-unwritable", "%v", err).With(advice)
}
