package migrate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/source"
)

// noForm is an error: a part of a rule has no equivalent.
type noForm struct {
	why, advice string
	// path is the path of the part, in the value that is being converted until it isPlaced, and then
	// in the document. isKey says that the part is the key at the path.
	path            change.Path
	isKey, isPlaced bool
	// offset is the place of the part in the text at the path, in bytes; 0 for the whole text. isExact
	// says that it is the place of a part of an expression.
	offset  int
	isExact bool
}

// Error implements error.
func (e *noForm) Error() string { return e.why }

func noFormf(advice, format string, args ...any) error {
	return &noForm{why: fmt.Sprintf(format, args...), advice: advice}
}

// several are errors that were joined.
type several interface{ Unwrap() []error }

// moved returns an error with a change, if it is a noForm.
func moved(err error, to func(*noForm)) error {
	var all several
	if errors.As(err, &all) {
		var changed error
		for _, one := range all.Unwrap() {
			changed = errors.Join(changed, moved(one, to))
		}
		return changed
	}
	var none *noForm
	if !errors.As(err, &none) || none.isPlaced {
		return err
	}
	copied := *none
	to(&copied)
	return &copied
}

// within returns an error in a part of a value as an error in the value.
func within(err error, path ...change.Element) error {
	return moved(err, func(e *noForm) { e.path = append(slices.Clone(path), e.path...) })
}

// inText returns an error in a part of a text, which begins at an offset, as an error in the text.
func inText(err error, offset int) error {
	return moved(err, func(e *noForm) { e.offset += offset })
}

// inKey returns an error in a key as an error in the value of the key.
func inKey(err error) error {
	return moved(err, func(e *noForm) { e.path, e.isKey = nil, true })
}

// placed returns an error in a value at a path of the document.
func placed(err error, path change.Path) error {
	return moved(within(err, path...), func(e *noForm) { e.isPlaced = true })
}

var errReported = errors.New("reported")

// refuse reports that a part of the rule has no equivalent.
func (c *converter) refuse(path change.Path, why, advice string) error {
	return c.refuseAt(c.rule.Document.At(path), path, why, advice)
}

func (c *converter) refuseAt(at source.Position, path change.Path, why, advice string) error {
	c.report(source.Error, at, path, "there is no equivalent for this: "+why, advice)
	return errReported
}

func (c *converter) warn(path change.Path, text, advice string) {
	c.report(source.Warning, c.rule.Document.At(path), path, text, advice)
}

// documented warns that the converted policy does not do what Kyverno does.
func (c *converter) documented(m kyverno.Mark) {
	c.warn(m.Path, "the converted policy does as documented: "+m.Means.Documented+"; Kyverno "+m.Means.Does, m.Means.Advice)
}

// doubt warns that the result is not the same for some values.
func (c *converter) doubt(text, advice string) { c.warn(c.at, text, advice) }

func (c *converter) report(severity source.Severity, at source.Position, path change.Path, text, advice string) {
	code := "policy-not-convertible"
	if severity != source.Error {
		code = "policy-converted-almost"
	}
	d := c.rule.Document
	c.problems = append(c.problems, source.Diagnostic{
		At: at, Severity: severity, Code: code, Message: text, Advice: advice,
		Subject: d.Kind().Kind + " " + d.Name(), Field: path.String(), Excerpt: d.Excerpt(at),
	})
}

// positionOf returns the position of the part of the document at a path.
func (c *converter) positionOf(e *noForm, path change.Path) source.Position {
	d := c.rule.Document
	switch {
	case e.isKey && e.offset > 0 && !c.rule.Generated:
		return d.KeyIn(path, e.offset)
	case e.isKey:
		return d.Key(path)
	case e.offset > 0 && !c.rule.Generated: // whose texts are not those of the document
		return d.In(path, e.offset)
	}
	return d.At(path)
}

// failed reports an error in the conversion of the part at a path.
func (c *converter) failed(path change.Path, err error) error {
	var none *noForm
	var all several
	switch {
	case errors.As(err, &all):
		for _, one := range all.Unwrap() {
			_ = c.failed(path, one)
		}
		return errReported
	case err == nil, errors.Is(err, errReported):
		return err
	case errors.As(err, &none):
		if none.isPlaced {
			path = none.path
		} else if !c.rule.Generated { // whose values are at other paths in the document
			path = slices.Concat(path, none.path)
		}
		return c.refuseAt(c.positionOf(none, path), path, none.why, none.advice)
	}
	return c.refuse(path, err.Error(), "")
}
