// Package deviation describes where Kyverno does not do what its documentation says. preadmit does
// what Kyverno does. A deviation is in one place of the code, which its doc comment names it by,
// and it is a finding of check.
package deviation

import (
	"github.com/preadmit/preadmit/engine/source"
)

// Code is the code of findings about deviations.
const Code = "kyverno-differs"

// A Deviation is a behaviour of some versions of Kyverno.
type Deviation struct {
	// Versions are the minor versions that have it.
	Versions []string
	// Does is what Kyverno does; Documented is what its documentation says.
	Does, Documented string
	// Advice says how to write a policy for which both are the same.
	Advice string
	// Recordings are the prefixes of the names of cases in engine/testdata/kyverno that show it.
	Recordings []string
	// Source is the file of Kyverno v1.19.0 that shows what only a cluster does, without
	// recordings.
	Source string
}

// String returns the text of a finding.
func (d *Deviation) String() string {
	return "Kyverno " + d.Does + "; its documentation says: " + d.Documented
}

// Warning returns a warning that the deviation has an effect.
func (d *Deviation) Warning(at source.Position, subject string, effect *source.Message) source.Diagnostic {
	return source.Warningf(at, Code, "%s: Kyverno %s%v", source.Name(subject), source.Literal(d.Does), effect).With(d.Advice)
}
