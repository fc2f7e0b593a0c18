package krmfn

import (
	"context"
	"fmt"
	"io"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

const convertText = `Print policies in the form of admissionregistration.k8s.io/v1: MutatingAdmissionPolicies
in the forms of KEP-3775 and of early versions of KEP-3962, which no API server accepts,
and policies and bindings of older versions. Everything else is printed as it was,
comments too. A policy that cannot be said in v1 is an error.

Usage:
  %s

Policies come from the files named, from standard input for -, or if none is named.
`

func convertHelp(c *command, w io.Writer) { fmt.Fprintf(w, convertText, c.usage) }

// convert prints policies in the form that API servers accept.
func (p *Process) convert(_ context.Context, given arguments) int {
	f := p.files(&config{})
	streams := f.stream(given.operands, &config{})
	a := &admission{}
	a.add(f.told(&config{})...)
	if !source.HasErrors(a.diagnostics) {
		a.add(engine.Convert(streams)...)
	}
	p.report(a.diagnostics, noOutput)
	if a.status() != exitDone {
		return a.status()
	}
	return p.emit(manifest.Join(streams), exitDone)
}
