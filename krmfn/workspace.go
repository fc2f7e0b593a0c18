package krmfn

import (
	"context"
	"io"
	"maps"
	"path/filepath"
	"reflect"
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
	"github.com/preadmit/preadmit/internal/output"
	"github.com/preadmit/preadmit/internal/settings"
)

// workspace is the directory that is open in an editor.
type workspace struct {
	process  Process
	operands []string
	// last is the last complete check; nil before the first one.
	last atomic.Pointer[inspected]
	// isConfigured is false while the configuration file has errors.
	isConfigured atomic.Bool
	// results are those of the last complete check, and readings its files, which the next one takes over.
	// Checks run one after the other.
	results  *engine.Results
	readings *readings
	// single lets CheckFile run once at a time. alone are its results, by file.
	single sync.Mutex
	alone  map[string]checkedAlone
}

// checkedAlone is what CheckFile has found in a text with other files.
type checkedAlone struct {
	configuration *settings.File
	text          string
	others        []*manifest.Stream
	findings      []source.Diagnostic
}

// has reports whether the findings are those of a text with other files.
func (c checkedAlone) has(other checkedAlone) bool {
	return c.others != nil && c.text == other.text && slices.Equal(c.others, other.others) && reflect.DeepEqual(c.configuration, other.configuration)
}

// inspected is what a complete check knows.
type inspected struct {
	check   *inspection
	process *Process
	files   *files
	results *engine.Results
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
	w := &workspace{process: *p, operands: operands, results: &engine.Results{}, alone: map[string]checkedAlone{}}
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
	p.ledger, p.callers, p.buffers, p.results, p.readings = output.NewLedger(), &callers{}, map[string]string{}, w.results, w.readings.again()
	for path, text := range buffers {
		p.buffers[input.RealPath(path)] = text
	}
	given := arguments{command: "check", operands: w.operands}
	problems := p.configure(&given)
	if source.HasErrors(problems) {
		w.isConfigured.Store(false)
		return &lsp.Analysis{Findings: problems}
	}
	var c config
	given.apply(&c)
	c.options.Build, c.options.Output, c.options.AllowEmpty, c.options.AllowNoPolicies = false, "", true, true
	results := &engine.Results{}
	c.observers = append(c.observers, engine.Views(), engine.Judge(), w.results.Restore(), results.Remember())
	f := p.files(&c)
	f.except = p.named(&c)
	in := p.inspect(ctx, &c, f)
	p.readings.reset()
	w.readings, p.readings, p.results = p.readings, nil, nil // other runs of the process have their own
	if ctx.Err() != nil {
		return nil
	}
	last := w.remember(in, &p, f)
	last.results = results
	w.last.Store(last)
	w.isConfigured.Store(true)
	w.results = results
	w.single.Lock()
	maps.DeleteFunc(w.alone, func(path string, _ checkedAlone) bool { _, isOpen := buffers[path]; return !isOpen })
	w.single.Unlock()
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

// CheckFile implements lsp.Workspace.
func (w *workspace) CheckFile(ctx context.Context, path, text string) ([]source.Diagnostic, bool) {
	last := w.last.Load()
	if last == nil || !w.isConfigured.Load() {
		return nil, false
	}
	return w.checkFile(ctx, last, path, text)
}

// checkFile compiles the policies of a file together with those that they are bound to. The rest of the
// workspace is as in the last check.
func (w *workspace) checkFile(ctx context.Context, last *inspected, path, text string) ([]source.Diagnostic, bool) {
	w.single.Lock()
	defer w.single.Unlock()
	before := last.streams[path]
	if before == nil || last.files.except[path] && !slices.Contains(last.check.reported.run.policies, before) {
		return nil, false
	}
	stream, problems := last.files.bounds().Read(before.Name(), []byte(text))
	if !slices.ContainsFunc(stream.Documents(), func(d *manifest.Document) bool { return engine.IsPolicy(d.Kind()) }) {
		return problems, true
	}
	linked, context := last.beside(before, stream)
	now := checkedAlone{configuration: last.check.reported.config.given.file, text: text, others: slices.Concat(linked, []*manifest.Stream{nil}, context)}
	if known := w.alone[path]; known.has(now) {
		return known.findings, true
	}
	policies := append([]*manifest.Stream{stream}, linked...)
	a := &admission{inputs: slices.Concat(policies, context), policies: policies}
	a.add(problems...)
	c := last.files.configOf(&last.check.reported.config, filepath.Dir(path))
	set, diagnostics := last.results.CompileSound(policies, context, c.options.Engine)
	if a.add(diagnostics...); set != nil {
		a.outcome = set.Check(ctx, nil)
		a.add(a.outcome.Diagnostics...)
	}
	if now.findings = last.process.judge(ctx, c, a).findings; ctx.Err() == nil {
		w.alone[path] = now
	}
	return now.findings, true
}

// beside returns the other files with policies that those of a file are linked to, and the context without all
// of these. before is the file in the last check, and now the same file.
func (last *inspected) beside(before, now *manifest.Stream) (linked, context []*manifest.Stream) {
	for _, d := range now.Documents() {
		for _, name := range linksOf(d) {
			for _, s := range last.linked[name] {
				if s != before && !slices.Contains(linked, s) {
					linked = append(linked, s)
				}
			}
		}
	}
	isPolicies := func(s *manifest.Stream) bool { return s == before || slices.Contains(linked, s) }
	return linked, slices.DeleteFunc(slices.Clone(last.context), isPolicies)
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

// Read implements lsp.Workspace: it returns the text that was checked.
func (w *workspace) Read(path string) string {
	if last := w.last.Load(); last != nil && last.streams[path] != nil {
		return last.streams[path].Text()
	}
	p := Process{Dir: w.process.Dir, ledger: output.NewLedger()}
	set := p.files(&config{}).reader.NewSet()
	if len(set.Add(input.Path{Name: path})) > 0 || len(set.Files) == 0 {
		return ""
	}
	return string(set.Files[0].Text)
}
