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
	f := &files{process: p}
	manifests := f.stream(given.operands, c.allowEmpty)
	a := p.admit(ctx, &c, f, manifests, nil)
	p.report(a.diagnostics, noOutput)
	if a.status() != exitDone {
		return a.status()
	}
	output := manifest.Join(manifests)
	if c.output == "json" {
		output = canonical(output)
	}
	return p.emit(output, exitDone)
}

// stream reads the manifests that operands name; those on standard input if there are
// none.
func (f *files) stream(operands []string, allowEmpty bool) []*manifest.Stream {
	if len(operands) == 0 {
		operands = []string{"-"}
	}
	set := f.set()
	for _, name := range operands {
		if !set.add(path{name: name}) && !allowEmpty {
			set.fail(path{name: name}, errNoManifests)
		}
	}
	streams := set.parse()
	if allowEmpty || len(f.diagnostics) > 0 {
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

// canonical is the objects of a stream as JSON: sorted, compact, one on each line.
func canonical(text []byte) []byte {
	// The stream was just written by what reads it here.
	stream, _ := manifest.Read("-", text)
	var b bytes.Buffer
	for _, d := range stream.Documents() {
		b.Write(manifest.JSON(d.Object()))
		b.WriteByte('\n')
	}
	return b.Bytes()
}
