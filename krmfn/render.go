package krmfn

import (
	"bytes"
	"context"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

const (
	deniedCode = "denied"
	noOutput   = "no output"
)

// render prints manifests as the policies change them.
func (p *Process) render(ctx context.Context, given arguments) int {
	var c config
	given.apply(&c)
	if err := p.checkDestination(&c, given.operands); err != nil {
		return p.misused(err, "preadmit render --help")
	}
	f := &files{process: p}
	manifests := f.stream(given.operands, &c)
	a := p.admit(ctx, &c, f, manifests, nil)
	p.report(a.diagnostics, noOutput)
	if a.status() != exitDone {
		return a.status()
	}
	if c.inPlace || c.outputDir != "" {
		return p.writeFiles(&c, f, manifests)
	}
	output := manifest.Join(manifests)
	if c.output == "json" {
		output = canonical(output, c.reader())
	}
	return p.emit(output, exitDone)
}

// stream reads the manifests that operands name; those on standard input if there are
// none.
func (f *files) stream(operands []string, c *config) []*manifest.Stream {
	if len(operands) == 0 {
		operands = []string{"-"}
	}
	set := f.set()
	set.read = c.reader()
	for _, name := range operands {
		if !set.add(path{name: name}) && !c.allowEmpty {
			set.fail(path{name: name}, errNoManifests)
		}
	}
	streams := set.parse()
	if c.allowEmpty || len(f.diagnostics) > 0 {
		return streams
	}
	for _, s := range streams {
		if len(s.Documents()) > 0 || s.ResourceList() != nil {
			return streams
		}
	}
	f.diagnostics = append(f.diagnostics, source.Errorf(source.Position{}, "empty-stream", "there are no manifests in the input").
		With("check what was to make them, or allow it with --allow-empty"))
	return nil
}

// readFunc splits a text into documents.
type readFunc func(name string, data []byte) (*manifest.Stream, []source.Diagnostic)

// reader is how manifests are read.
func (c *config) reader() readFunc {
	if c.engine.Plain {
		return manifest.ReadPlain
	}
	return manifest.Read
}

// canonical is the objects of a stream as JSON: sorted, compact, one on each line.
func canonical(text []byte, read readFunc) []byte {
	// The stream was just written by what reads it here.
	stream, _ := read("-", text)
	var b bytes.Buffer
	for _, d := range stream.Documents() {
		b.Write(manifest.JSON(d.Object()))
		b.WriteByte('\n')
	}
	return b.Bytes()
}
