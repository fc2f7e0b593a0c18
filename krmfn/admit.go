package krmfn

import (
	"bytes"
	"context"
	"os"
	"slices"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/output"
	"github.com/preadmit/preadmit/internal/settings"
)

// admission is one run of the engine with its diagnostics.
type admission struct {
	// outcome is nil if the run did not start.
	outcome     *engine.Outcome
	diagnostics []source.Diagnostic
	// unread says that a check goes on although policies or manifests could not be read.
	unread bool
	// blind says that a check goes on without context that could not be read.
	blind bool
	// places are the places in the repository of what was rendered, by the name of the application.
	places map[string]*origins
	// policies are the streams of -p and of the functionConfig; inputs are all streams.
	policies, inputs []*manifest.Stream
}

// place says where the objects of an application are in the repository.
func (a *admission) place(application string, o *origins) {
	if a.places == nil {
		a.places = map[string]*origins{}
	}
	a.places[application] = o
}

// locate returns the position in the repository of a position in what was rendered: of the field at a
// path, or else of the object. It returns other positions unchanged.
func (a *admission) locate(at source.Position, field change.Path) source.Position {
	if o := a.places[at.File]; o != nil {
		return o.locate(at, field)
	}
	return at
}

// located returns a diagnostic that begins in the repository. Where it was rendered is related.
func (a *admission) located(d source.Diagnostic) source.Diagnostic {
	field, _ := change.ParsePath(d.Field)
	d.Facts = report.LocatedFacts(d.Facts, a.locate)
	if at := a.locate(d.At, field); at != d.At {
		d.Related = append(slices.Clone(d.Related), source.Place{Name: source.RenderedHere, At: source.Position{File: d.At.File}})
		d.At = at
	}
	return d
}

// relocate makes all diagnostics begin in the repository.
func (a *admission) relocate() {
	for i, d := range a.diagnostics {
		a.diagnostics[i] = a.located(d)
	}
}

// status is the exit status.
func (a *admission) status() int {
	switch {
	case a.outcome != nil && a.outcome.Denied && !a.outcome.Invalid:
		return exitDenied
	case source.HasErrors(a.diagnostics):
		return exitInvalid
	}
	return exitDone
}

// kyvernoVersion is that of the outcome.
func (a *admission) kyvernoVersion() string {
	if a.outcome == nil {
		return ""
	}
	return a.outcome.KyvernoVersion
}

// streams returns the manifests, and the objects that controllers create from them.
func (a *admission) streams(manifests []*manifest.Stream) []*manifest.Stream {
	if a.outcome == nil {
		return manifests
	}
	return append(manifests[:len(manifests):len(manifests)], a.outcome.Made()...)
}

func (a *admission) add(diagnostics ...source.Diagnostic) {
	a.diagnostics = append(a.diagnostics, diagnostics...)
}

// secrets returns what hides the values of Secrets; nil with --show-secrets. The run must have
// started.
func (a *admission) secrets(c *config) *redact.Redactor {
	if c.options.ShowSecrets {
		return nil
	}
	return a.outcome.Secrets
}

// admit reads the files of the options and runs the policies on manifests, separately for each
// directory that has options of its own. It edits the manifests if there are no errors. lone is a
// policy used as functionConfig, or nil.
func (p *Process) admit(ctx context.Context, c *config, f *files, manifests []*manifest.Stream, lone *manifest.Document) *admission {
	a := &admission{}
	if problems := p.callWebhooks(ctx, c); len(problems) > 0 {
		a.add(problems...)
		return a
	}
	parts := p.parts(c, f, manifests)
	var outcomes []*engine.Outcome
	for _, part := range parts {
		one := &admission{}
		if set := p.compile(part.config, f, one, part.manifests, lone); set != nil {
			p.run(ctx, set, one.judged(part.manifests), one, f.checking, p.observers(part.config))
			outcomes = append(outcomes, one.outcome)
		}
		a.join(one)
	}
	switch {
	case len(outcomes) < len(parts):
	case len(parts) == 1:
		a.outcome = outcomes[0]
		p.tellStats(c, a)
	default:
		a.outcome = engine.Merge(outcomes)
		p.tellStats(c, a)
	}
	p.tellWebhooks(ctx, c, a)
	return a
}

// judged returns the manifests on which policies can be checked: none if the policies would miss context.
func (a *admission) judged(manifests []*manifest.Stream) []*manifest.Stream {
	if a.blind {
		return nil
	}
	return manifests
}

// join adds the diagnostics and inputs of the run for a part of the manifests.
func (a *admission) join(one *admission) {
	if len(a.diagnostics) > 0 { // parts read the same policies
		one.diagnostics = unknown(one.diagnostics, a.diagnostics)
	}
	a.add(one.diagnostics...)
	a.unread, a.blind = a.unread || one.unread, a.blind || one.blind
	a.policies, a.inputs = append(a.policies, one.policies...), append(a.inputs, one.inputs...)
}

// policyPaths returns the policies that the environment names.
func (p *Process) policyPaths() []path {
	var paths []path
	for _, name := range p.Policies {
		if name != "" {
			paths = append(paths, path{name: name, label: "PREADMIT_POLICIES"})
		}
	}
	return paths
}

// compile reads the files of the options and compiles the policies. It returns nil if there
// are errors.
func (p *Process) compile(c *config, f *files, a *admission, manifests []*manifest.Stream, lone *manifest.Document) *engine.Set {
	c.documents[settings.Policies].add(inputs{paths: p.policyPaths()})
	ofManifests := len(f.diagnostics)
	given := f.set()
	policies, vacant := given.policies(c)
	read := len(f.diagnostics)
	surroundings := f.cluster(c, given)
	before, problems := f.diagnostics[:ofManifests], f.diagnostics[ofManifests:]
	if f.checking { // what can be read is checked all the same
		a.blind = source.HasErrors(f.diagnostics[read:])
		a.unread, problems = a.blind || source.HasErrors(f.diagnostics[:read]), nil
	}
	a.policies, a.inputs = policies, slices.Concat(a.inputs, manifests, policies, surroundings)
	a.add(f.told(c)...)
	if c.partial && (c.options.Build || slices.ContainsFunc(manifests, holdsManifests)) {
		c.observers = append(c.observers, engine.Partial())
	} else {
		problems = slices.Concat(before, problems)
	}
	if source.HasErrors(problems) {
		return nil
	}
	if lone != nil {
		binding, notes := bindAlone(lone, slices.Concat(policies, surroundings, manifests))
		if binding != nil {
			policies = append(policies, binding)
		}
		a.add(notes...)
	}
	c.choosePlugins(policies, surroundings)
	compile := p.results.Compile
	if f.checking {
		compile = p.results.CompileSound
	}
	set, diagnostics := compile(policies, surroundings, c.options.Engine)
	if a.add(diagnostics...); !source.HasErrors(diagnostics) && f.tellVacant(a, vacant) {
		return nil
	}
	return set
}

// tellVacant adds the errors about paths without policies, and reports whether they stop the run.
func (f *files) tellVacant(a *admission, paths []path) (stops bool) {
	for _, p := range paths {
		a.add(withoutPolicy(p))
		a.unread = true
		stops = stops || !f.checking && (f.inBase == nil || !f.inBase(p.name))
	}
	return stops
}

// choosePlugins selects the plug-ins of a stock server, if the command runs them and nothing names others.
func (c *config) choosePlugins(policies, context []*manifest.Stream) {
	if c.stock && len(c.options.Engine.AdmissionPlugins) == 0 && !engine.DescribesPlugins(policies, context) {
		c.options.Engine.AdmissionPlugins = []string{"default"}
	}
}

// observers returns the observers of one run.
func (p *Process) observers(c *config) []engine.Observer {
	observers := slices.Clone(c.observers)
	if c.options.Stats || c.options.StatsFile != "" {
		observers = append(observers, engine.Count(p.Now))
	}
	if c.options.Pods {
		observers = append(observers, engine.Pods())
	}
	return observers
}

func holdsManifests(s *manifest.Stream) bool { return len(s.Documents()) > 0 }

// run runs a compiled set.
func (p *Process) run(ctx context.Context, set *engine.Set, manifests []*manifest.Stream, a *admission, checking bool, observers []engine.Observer) {
	if p.StderrIsTerminal {
		progress := newProgress(p.Stderr, p.Now)
		defer progress.end()
		observers = append(observers, engine.Progress(progress.observe))
	}
	if checking {
		a.outcome = set.Check(ctx, manifests, observers...)
	} else {
		a.outcome = set.Run(ctx, manifests, observers...)
	}
	a.add(a.outcome.Diagnostics...)
}

// tellStats writes the counts of --stats and --stats-file.
func (p *Process) tellStats(c *config, a *admission) {
	if c.options.Stats {
		report.Stats(p.Stderr, a.outcome.Stats)
	}
	if c.options.StatsFile == "" {
		return
	}
	var b bytes.Buffer
	report.Prometheus(&b, a.outcome.Stats)
	file := input.RealPath(p.absolute(c.options.StatsFile))
	err := p.ledger.Claim("the counts of --stats-file", file)
	if err == nil {
		err = os.WriteFile(file, b.Bytes(), 0o666)
	}
	if err != nil {
		a.add(output.Unwritable(c.options.StatsFile, err))
	}
}
