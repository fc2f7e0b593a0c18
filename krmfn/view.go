package krmfn

import (
	"bytes"
	"context"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// view prints manifests as policies see them.
func (p *Process) view(_ context.Context, given arguments) int {
	var c config
	given.apply(&c)
	f := p.files(&c)
	manifests := f.stream(given.operands, &c)
	in := p.sole(&c, f, manifests)
	surroundings := f.cluster(in, f.set())
	a := &admission{diagnostics: f.told(&c)}
	if !source.HasErrors(a.diagnostics) {
		a.outcome = engine.View(manifests, surroundings, in.options.Engine)
		a.add(a.outcome.Diagnostics...)
		if leftOut := len(a.outcome.Diagnostics) > 0; leftOut && len(a.outcome.Manifests) == 0 && !a.outcome.Failed() && !c.options.AllowEmpty {
			a.add(source.Errorf(source.Position{}, "empty-stream", "policies see none of the manifests in the input").
				With("the messages below say what is omitted and why; accept this with --allow-empty"))
		}
	}
	p.report(a.diagnostics, noOutput, c.options.Verbose)
	if a.status() != exitDone {
		return a.status()
	}
	return p.emit(views(a.outcome, c.options.Output), exitDone)
}

// views returns the views of an outcome as text.
func views(outcome *engine.Outcome, format string) []byte {
	var b bytes.Buffer
	for i, m := range outcome.Manifests {
		switch {
		case format == "json":
			b.Write(manifest.JSON(m.Before))
			b.WriteByte('\n')
			continue
		case i > 0:
			b.WriteString("---\n")
		}
		b.Write(manifest.YAML(m.Before))
	}
	return b.Bytes()
}
