package krmfn

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/editor"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/lsp"
)

// workspace is the directory that is open in an editor.
type workspace struct {
	process  Process
	operands []string
	// last is the last complete check; nil before the first one.
	last atomic.Pointer[inspected]
	// results are those of the last complete check, and readings its files, which the next one takes over.
	// Checks run one after the other.
	results  *engine.Results
	readings *readings
	// single lets CheckFile run once at a time.
	single sync.Mutex
}

// inspected is what a complete check knows.
type inspected struct {
	check   *inspection
	process *Process
	files   *files
	// streams are the files that were read, by their absolute paths.
	streams map[string]*manifest.Stream
	// linked are the files with policies and bindings, by the names of policies that they define or
	// refer to.
	linked map[string][]*manifest.Stream
	// context are the files that describe the cluster: those of the options, and those with
	// definitions of kinds.
	context []*manifest.Stream
}

// workspace returns the workspace in a directory. Without operands, its manifests are all that it
// contains.
func (p *Process) workspace(dir string, operands []string) *workspace {
	w := &workspace{process: *p, operands: operands, results: &engine.Results{}}
	w.process.Dir, w.process.Stdin, w.process.Stderr, w.process.Run = dir, nil, io.Discard, nil
	w.process.StderrIsTerminal = false
	if len(operands) == 0 {
		w.operands = []string{"."}
	}
	return w
}

// Check implements lsp.Workspace.
func (w *workspace) Check(ctx context.Context, buffers map[string]string) *lsp.Analysis {
	p := w.process
	p.ledger, p.callers, p.buffers, p.results, p.readings = newLedger(), &callers{}, map[string]string{}, w.results, w.readings.again()
	for path, text := range buffers {
		p.buffers[input.RealPath(path)] = text
	}
	given := arguments{command: "check", operands: w.operands}
	problems := p.configure(&given)
	if source.HasErrors(problems) {
		w.last.Store(nil)
		return &lsp.Analysis{Findings: problems}
	}
	var c config
	given.apply(&c)
	c.options.Build, c.options.Output, c.options.AllowEmpty = false, "", true
	results := &engine.Results{}
	c.observers = append(c.observers, engine.Views(), engine.Judge(), w.results.Restore(), results.Remember())
	f := p.files(&c)
	f.except = p.named(&c)
	in := p.inspect(ctx, &c, f)
	p.readings.reset()
	w.readings = p.readings
	if ctx.Err() != nil {
		return nil
	}
	last := w.remember(in, &p, f)
	w.last.Store(last)
	w.results = results
	run := in.reported.run
	state := editor.NewState(results.Schemas(last.context, in.reported.config.options.Engine), run.inputs, run.outcome)
	return &lsp.Analysis{Findings: slices.Concat(problems, in.findings), State: state}
}

// named returns the files that the options of a config name.
func (p *Process) named(c *config) map[string]bool {
	named, f := map[string]bool{}, p.files(c)
	for _, documents := range c.documents {
		set := f.reader.NewSet()
		for _, path := range documents.paths {
			_ = set.Add(path.input()) // the run reads them again, and reports the errors
		}
		for _, file := range set.Files {
			named[file.Real] = true
		}
	}
	return named
}

// definitionKind is the kind of documents that define other kinds.
var definitionKind = gvk.Kind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// remember keeps what CheckFile needs.
func (w *workspace) remember(in *inspection, p *Process, f *files) *inspected {
	last := &inspected{check: in, process: p, files: f, streams: map[string]*manifest.Stream{}, linked: map[string][]*manifest.Stream{}}
	run := in.reported.run
	for _, s := range run.inputs {
		last.streams[w.Path(s.Name())] = s
		isContext := !slices.Contains(in.reported.manifests, s) && !slices.Contains(run.policies, s)
		for _, d := range s.Documents() {
			isContext = isContext || d.Kind() == definitionKind
			for _, name := range linksOf(d) {
				if streams := last.linked[name]; len(streams) == 0 || streams[len(streams)-1] != s {
					last.linked[name] = append(streams, s)
				}
			}
		}
		if isContext {
			last.context = append(last.context, s)
		}
	}
	return last
}

// linksOf returns the names of the policies that a document defines or refers to.
func linksOf(d *manifest.Document) []string {
	if !engine.IsPolicy(d.Kind()) {
		return nil
	}
	names := []string{d.Name()}
	if name := d.TextAt("spec", "policyName"); name != "" && name != d.Name() {
		names = append(names, name)
	}
	return names
}

// CheckFile implements lsp.Workspace. It compiles the policies of the file together with those that
// they are bound to.
func (w *workspace) CheckFile(ctx context.Context, path, text string) ([]source.Diagnostic, bool) {
	w.single.Lock()
	defer w.single.Unlock()
	last := w.last.Load()
	if last == nil || last.streams[path] == nil || last.files.except[path] && !slices.Contains(last.check.reported.run.policies, last.streams[path]) {
		return nil, false
	}
	before := last.streams[path]
	stream, problems := last.files.bounds().Read(before.Name(), []byte(text))
	if !slices.ContainsFunc(stream.Documents(), func(d *manifest.Document) bool { return engine.IsPolicy(d.Kind()) }) {
		return problems, true
	}
	policies := []*manifest.Stream{stream}
	for _, d := range stream.Documents() {
		for _, name := range linksOf(d) {
			for _, s := range last.linked[name] {
				if s != before && !slices.Contains(policies, s) {
					policies = append(policies, s)
				}
			}
		}
	}
	others := func(s *manifest.Stream) bool { return s == before || slices.Contains(policies, s) }
	context := slices.DeleteFunc(slices.Clone(last.context), others)
	a := &admission{inputs: slices.Concat(policies, context), policies: policies}
	a.add(problems...)
	c := last.files.configOf(&last.check.reported.config, filepath.Dir(path))
	set, diagnostics := engine.CompileSound(policies, context, c.options.Engine)
	if a.add(diagnostics...); set != nil {
		a.outcome = set.Check(ctx, nil)
		a.add(a.outcome.Diagnostics...)
	}
	return last.process.judge(c, a).findings, true
}

// Path implements lsp.Workspace.
func (w *workspace) Path(name string) string {
	if name == "" || isStdin(name) {
		return ""
	}
	return w.process.absolute(filepath.FromSlash(name))
}

// Name implements lsp.Workspace.
func (w *workspace) Name(path string) string {
	name, err := filepath.Rel(w.process.Dir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(name)
}

// Read implements lsp.Workspace.
func (w *workspace) Read(path string) string {
	p := Process{Dir: w.process.Dir, ledger: newLedger()}
	set := p.files(&config{}).reader.NewSet()
	if len(set.Add(input.Path{Name: path})) > 0 || len(set.Files) == 0 {
		return ""
	}
	return string(set.Files[0].Text)
}
