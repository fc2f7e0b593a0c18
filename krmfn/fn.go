package krmfn

import (
	"context"
	"slices"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

const unchanged = "the resources are unchanged"

// function reads a ResourceList from standard input and writes it back with the items as the
// policies change them. If there is an error, the items are unchanged.
func (p *Process) function(ctx context.Context, given arguments) int {
	if len(given.operands) > 0 {
		return p.misused(misusef("argument-invalid", "unexpected argument %q: fn reads resources from standard input", given.operands[0]), "preadmit fn --help")
	}
	var flags config
	given.apply(&flags)
	f := p.files(&flags)
	stream, err := p.readList(f, given.bare)
	if err != nil {
		return p.misused(err, "preadmit --help")
	}
	list := stream.ResourceList()
	if list == nil {
		p.report(f.diagnostics, noOutput, false)
		return exitInvalid
	}
	a := &admission{diagnostics: f.diagnostics}
	if source.HasErrors(f.diagnostics) { // some items are not objects
		return p.answer(stream, a, &locator{})
	}
	var c config
	var read *functionConfig
	var lone *manifest.Document
	if d := list.FunctionConfig(); d != nil {
		read = p.readFunctionConfig(d, f.stdin.Text, stream.Documents(), &c)
		f.diagnostics = append(f.diagnostics, read.diagnostics...)
		if engine.IsPolicy(d.Kind()) {
			lone = d
			if isAmong(d, stream.Documents()) {
				c.documents[settings.Policies].inline = nil
			}
		}
	}
	given.apply(&c)
	a = p.admit(ctx, &c, f, []*manifest.Stream{stream}, lone)
	return p.answer(stream, a, newLocator(stream, read, a))
}

// readList reads the ResourceList. It returns an error if standard input has no ResourceList.
// Errors in the ResourceList are added to the diagnostics.
func (p *Process) readList(f *files, bare bool) (*manifest.Stream, error) {
	expected := "expected a ResourceList on standard input"
	if bare {
		expected = "started without arguments, so " + expected
	}
	if p.StdinIsTerminal {
		return nil, misusef("list-missing", "%s, which is a terminal", expected)
	}
	set := f.set()
	set.addStdin(path{name: "-"})
	if len(set.set.Files) == 0 {
		return nil, misusef(f.diagnostics[0].Code, "%s", f.diagnostics[0].Printed())
	}
	stream := set.parse()[0]
	switch n := len(stream.Documents()); {
	case stream.ResourceList() != nil || source.HasErrors(f.diagnostics):
		return stream, nil
	case n == 0:
		return nil, misusef("list-missing", "%s, which is empty", expected)
	default:
		return nil, misusef("list-missing", "%s, which holds %s instead; use 'preadmit render' for manifests", expected, plural(n, "manifest", "manifests"))
	}
}

// isAmong reports whether others contain a document with the same kind, name and spec. kpt and
// kustomize may also pass the functionConfig as an item.
func isAmong(d *manifest.Document, others []*manifest.Document) bool {
	return slices.ContainsFunc(others, func(other *manifest.Document) bool {
		return d.Kind() == other.Kind() && d.Name() == other.Name() && change.Equal(d.Object()["spec"], other.Object()["spec"])
	})
}

// answer writes the ResourceList with the diagnostics as results.
func (p *Process) answer(stream *manifest.Stream, a *admission, l *locator) int {
	var results []map[string]any
	for _, d := range joined(a.diagnostics, false) {
		result := l.result(d)
		if version := a.kyvernoVersion(); version != "" {
			result["tags"].(map[string]any)["kyvernoVersion"] = version
		}
		results = append(results, result)
	}
	for i, d := range a.diagnostics {
		a.diagnostics[i] = d.Relocated(l.locate)
	}
	if len(results) > 0 {
		if err := stream.ResourceList().SetResults(results); err != nil {
			a.add(source.Errorf(source.Position{}, "internal", "the results cannot be written into the ResourceList: %v", err))
		}
	}
	p.report(a.diagnostics, unchanged, false)
	return p.emitManifests([]*manifest.Stream{stream}, a.status())
}
