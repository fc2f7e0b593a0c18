package krmfn

import (
	"bytes"
	"context"
	"math"
	"slices"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/output"
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
	if len(given.operands) == 0 { // so Helm calls a post-renderer
		c.givePolicies = "give policies with -p or among the manifests; to print standard input as it is, name it: preadmit render -"
	}
	return p.mutate(ctx, &c, func(f *files) []*manifest.Stream { return f.stream(given.operands, &c) })
}

// mutate prints the manifests that read returns, as the policies change them.
func (p *Process) mutate(ctx context.Context, c *config, read func(f *files) []*manifest.Stream) int {
	recorded, transcript, err := p.withTranscript(c.options.Report)
	if err != nil {
		p.report([]source.Diagnostic{output.Unwritable(c.options.Report, err)}, noOutput, false)
		return exitInvalid
	}
	f := recorded.files(c)
	manifests := read(f)
	a := recorded.admit(ctx, c, f, manifests, nil)
	p.decide(ctx, c, a, nil, true)
	c.requirePolicies(a.diagnostics)
	if err := transcript.claim(p.ledger); err != nil {
		a.add(output.Unwritable(c.options.Report, err))
	}
	recorded.report(a.diagnostics, noOutput, c.options.Verbose)
	status := a.status()
	toFiles := c.options.InPlace || c.options.OutputDir != ""
	if status == exitDone && toFiles {
		status = recorded.writeFiles(ctx, c, f, manifests)
	}
	p.closeCallers() // their last words belong to the transcript
	if err := transcript.Close(); err != nil {
		p.report([]source.Diagnostic{output.Unwritable(c.options.Report, err)}, "these messages are not in the file", false)
		status = exitInvalid
	}
	if status != exitDone || toFiles {
		return status
	}
	return p.print(c, manifests)
}

// requirePolicies makes an error of the warning that there are no policies if nobody would see it,
// and nothing else would change the manifests either.
func (c *config) requirePolicies(diagnostics []source.Diagnostic) {
	if o := &c.options.Engine; c.givePolicies == "" || c.options.AllowNoPolicies || o.Normalize || o.WriteNamespace || len(o.AdmissionPlugins) > 0 || c.options.Output == "json" {
		return
	}
	for i, d := range diagnostics {
		if d.Code == source.CodeNoPolicies {
			d = d.Saying(source.Messagef("no policy was given, so nothing would change"))
			d.Severity = source.Error
			diagnostics[i] = d.With(c.givePolicies)
		}
	}
}

// print prints the output of a command in the format of --output.
func (p *Process) print(c *config, manifests []*manifest.Stream) int {
	switch {
	case c.options.Output == "json":
		return p.emit(canonical(manifest.Join(manifests), c.within(manifest.Bounds{Documents: math.MaxInt})), exitDone)
	case c.unlisted && !c.options.Engine.Plain:
		return p.emit(withoutLists(manifest.Join(manifests)), exitDone)
	}
	return p.emitManifests(manifests, exitDone)
}

// stream reads the manifests that operands name; standard input if there are no operands.
func (f *files) stream(operands []string, c *config) []*manifest.Stream {
	if len(operands) == 0 {
		operands = []string{"-"}
	}
	set := f.set()
	set.read, set.lenient, set.set.Whole = c.within(f.bounds()), true, c.options.Engine.Plain
	if c.options.CopyOthers {
		f.rest = &input.Rest{}
		set.set.Rest = f.rest
	}
	for _, name := range operands {
		if err := set.add(path{name: name}); !c.options.AllowEmpty {
			set.fail(path{name: name}, err)
		}
	}
	set.set.Files = slices.DeleteFunc(set.set.Files, func(file input.File) bool { return f.except[file.Real] })
	streams := set.parse()
	f.diagnostics = append(f.diagnostics, f.tellRest()...)
	return f.filled(streams, "the input", c)
}

// filled returns streams, and adds an error if they contain no manifests. what describes the
// streams in the message.
func (f *files) filled(streams []*manifest.Stream, what string, c *config) []*manifest.Stream {
	if c.options.AllowEmpty || len(f.diagnostics)+len(f.gone) > 0 {
		return streams
	}
	for _, s := range streams {
		if len(s.Documents()) > 0 || s.ResourceList() != nil {
			return streams
		}
	}
	f.diagnostics = append(f.diagnostics, source.Errorf(source.Position{}, "empty-stream", "there are no manifests in %s", what).
		With("check the program that generates them, or accept empty input with --allow-empty"))
	return nil
}

// readFunc splits a text into documents.
type readFunc func(name string, data []byte) (*manifest.Stream, []source.Diagnostic)

// within returns the function that reads manifests with the given limits.
func (c *config) within(bounds manifest.Bounds) readFunc {
	if c.options.Engine.Plain {
		return bounds.ReadPlain
	}
	return bounds.Read
}

// canonical returns the objects of a stream as JSON: sorted, compact, one object per line.
func canonical(text []byte, read readFunc) []byte {
	stream, _ := read("-", text) // preadmit wrote it, so it is valid
	var b bytes.Buffer
	for _, d := range stream.Documents() {
		b.Write(d.JSON())
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// withoutLists returns a stream in which every List is replaced by its items.
func withoutLists(text []byte) []byte {
	if !bytes.Contains(text, []byte("List")) {
		return text
	}
	stream, _ := manifest.Reread("-", text)
	plain, _ := manifest.Bounds{Documents: math.MaxInt}.ReadPlain("-", text)
	if slices.EqualFunc(stream.Documents(), plain.Documents(), func(a, b *manifest.Document) bool { return a.Kind() == b.Kind() }) {
		return text
	}
	var b bytes.Buffer
	for i, d := range stream.Documents() {
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(d.YAML())
	}
	return b.Bytes()
}
