package krmfn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/settings"
)

// rendering is an application in a repository: a kustomization or chart that no other
// kustomization or chart uses. The last one may be the manifests that none uses.
type rendering struct {
	// directory is its directory, relative as the user gave it; name is the same, with the release if its
	// chart has several.
	directory, name string
	program         *Program
	// config has the options for its directory.
	config *config
	// advice says how a chart gets values; empty for a kustomization.
	advice string
	// plain are the manifests if there is no program.
	plain []*manifest.Stream
}

// renderings finds the applications in directories, sorted by name.
func (f *files) renderings(operands []string, c *config) []rendering {
	if len(operands) == 0 {
		operands = []string{"."}
	}
	set := f.set()
	set.read, set.lenient = c.within(f.bounds()), true
	for _, name := range operands {
		p := path{name: name}
		if full, err := set.files.reader.Resolve(p.input()); err != nil {
			set.fail(p, err)
		} else if info, err := os.Stat(full); err != nil || !info.IsDir() {
			set.fail(p, errors.Join(err, errNotDirectory))
		} else {
			set.addAny(p)
		}
	}
	if file := c.given.file; file != nil {
		for _, full := range file.ChartValues() {
			set.set.Site.AddPart(filepath.Join(f.process.Dir, f.process.relative(full, "")))
		}
	}
	found := f.applications(&set.set.Site, c)
	f.tellUnused(set, c)
	set.set.Files = slices.DeleteFunc(set.set.Files, set.set.Site.Uses)
	plain := slices.DeleteFunc(set.parse(), func(s *manifest.Stream) bool { return !holdsManifests(s) })
	if len(plain) > 0 && len(found) > 0 {
		for _, part := range f.process.parts(c, f, plain) {
			found = append(found, rendering{plain: part.manifests, config: part.config})
		}
	}
	// That charts and kustomizations are no manifests, and are not rendered, is not news here.
	f.unrendered = input.Site{}
	f.skipped = slices.DeleteFunc(f.skipped, func(s input.Skipped) bool { return s.Kind != input.OtherFile && s.Kind != input.CommentedPart })
	return found
}

// tellUnused adds notes for what is not evaluated: components that no kustomization uses, charts by themselves that
// are dependencies of others, and manifests in charts that Helm does not render, such as examples.
func (f *files) tellUnused(set *fileSet, c *config) {
	site := &set.set.Site
	note := func(file, message, advice string) *source.Diagnostic {
		d := source.Diagnostic{Severity: source.Info, Code: "not-rendered", Message: message}
		d.At.File = file
		f.diagnostics = append(f.diagnostics, d.With(advice))
		return &f.diagnostics[len(f.diagnostics)-1]
	}
	unused, named := site.UnusedComponents(), uses{}
	if len(unused) > 0 {
		named.find(set.set.Files, f.bounds().Read)
	}
	for _, dir := range unused {
		name, by := f.reader.Name(input.Path{}, dir), named.of(dir)
		if len(by) == 0 {
			note(name, "no kustomization in the named directories uses this component, so it is not evaluated", "render a kustomization that uses it")
			continue
		}
		counts := make(makes, len(makers))
		for _, one := range by {
			counts[one.maker]++
		}
		what, programs := counts.name()
		d := note(name, "no kustomization in the named directories uses this component, only "+what+", so it is not evaluated", adviseMade(programs))
		d.Related = []source.Place{{At: by[0].at, Name: "used here"}}
	}
	for _, dir := range site.DependencyCharts() {
		if !hasReleases(c, dir) {
			note(f.reader.Name(input.Path{}, dir), "another chart in the named directories has this chart as a dependency, so it is rendered only as part of that one", "if it is also installed by itself, write its releases into "+settings.FileName+", or name its directory alone")
		}
	}
	for _, file := range set.set.Files {
		if site.IsBesideTemplates(file) && set.set.HoldsManifests(file, f.bounds().Read) {
			note(file.Name, "Helm does not render this file of a chart, so it is not evaluated", "to evaluate it, too, name it in a run without --build")
		}
	}
}

// applications returns the kustomizations and charts to render, sorted by name.
func (f *files) applications(site *input.Site, c *config) (found []rendering) {
	_, kustomizations := site.Kustomizations()
	for _, dir := range kustomizations {
		name := f.reader.Name(input.Path{}, dir)
		program := &Program{Args: []string{"kustomize", "build", ".", "--enable-helm"}, Dir: dir, MaxOutput: f.reader.Limit.Bytes}
		found = append(found, rendering{directory: name, name: name, config: f.configOf(c, dir), program: program})
	}
	_, charts := site.Charts()
	for _, dir := range site.DependencyCharts() {
		if hasReleases(c, dir) {
			charts = append(charts, dir)
		}
	}
	if f.checkReleases(c, charts) {
		for _, dir := range charts {
			found = append(found, f.releases(c, dir)...)
		}
	}
	slices.SortFunc(found, func(a, b rendering) int { return strings.Compare(a.name, b.name) })
	return found
}

// errNotDirectory is the error for a path that --build cannot search.
var errNotDirectory = errors.New("it is not a directory; --build looks for kustomizations and charts in directories")

// shard returns every Nth rendering, beginning with the Ith, for a shard I/N. names are the renderings
// that are counted; nil means all.
func shard(all []rendering, text string, names []string) ([]rendering, error) {
	if text == "" {
		return all, nil
	}
	first, last, _ := strings.Cut(text, "/")
	i, err := strconv.Atoi(first)
	n, err2 := strconv.Atoi(last)
	if err != nil || err2 != nil || i < 1 || i > n {
		return nil, fmt.Errorf("--shard: %q is not a shard; expected I/N with I from 1 to N, such as 2/8", text)
	}
	var chosen []rendering
	for k, one := range all {
		if names != nil {
			k = slices.Index(names, one.name)
		}
		if k%n == i-1 {
			chosen = append(chosen, one)
		}
	}
	return chosen, nil
}

// rendered is the result of rendering one application and running the policies on it.
type rendered struct {
	streams     []*manifest.Stream
	origins     *origins
	varying     []varying
	outcome     *engine.Outcome
	diagnostics []source.Diagnostic
}

// build renders all applications in directories, and runs the policies on each application
// separately: none sees the objects of another. The manifests that no application uses are
// evaluated together.
func (r *reported) build(ctx context.Context, p *Process, f *files, operands []string) {
	r.run = &admission{diagnostics: p.callWebhooks(ctx, &r.config)}
	if len(r.run.diagnostics) > 0 {
		return
	}
	all, err := shard(f.renderings(operands, &r.config), r.config.options.Shard, r.config.applications)
	switch {
	case err != nil:
		f.diagnostics = append(f.diagnostics, source.Errorf(source.Position{}, "option-value", "%v", err))
	case len(all) == 0 && !r.config.options.AllowEmpty && r.config.options.Shard == "" && len(f.diagnostics)+len(f.gone) == 0:
		f.diagnostics = append(f.diagnostics, source.Errorf(source.Position{}, "empty-stream", "there are no kustomizations and no charts to render").
			With("leave out --build to evaluate the manifests as they are written"))
	}
	sets := r.compileAll(p, f, all, len(all) > 0 && err == nil)
	if sets == nil {
		return
	}
	results := r.buildEach(ctx, p, f, sets, all)
	r.tellBuilt(ctx, p, r.gather(p, all, results))
}

// gather joins the results of renderings.
func (r *reported) gather(p *Process, all []rendering, results []rendered) *evaluated {
	var outcomes []*engine.Outcome
	done := &evaluated{of: map[*manifest.Stream]string{}}
	for i, result := range results {
		r.run.add(result.diagnostics...)
		if all[i].program != nil {
			r.applications++
		}
		if result.outcome == nil {
			continue
		}
		if result.origins != nil {
			r.run.place(all[i].name, result.origins)
			r.varying = append(r.varying, result.varying...)
		}
		outcomes = append(outcomes, result.outcome)
		r.manifests = append(r.manifests, result.streams...)
		if program := all[i].program; program != nil {
			done.add(program.Dir, result.streams...)
		}
		for _, s := range all[i].plain {
			r.others = append(r.others, s.Name())
			done.add(filepath.Dir(p.absolute(s.Name())), s)
		}
	}
	r.run.outcome = engine.Merge(outcomes)
	r.run.add(r.run.outcome.Diagnostics...)
	r.run.inputs = append(r.run.inputs, r.manifests...)
	return done
}

// tellBuilt reports on the applications that were evaluated.
func (r *reported) tellBuilt(ctx context.Context, p *Process, done *evaluated) {
	r.run.add(tellUnseen(r.manifests, done)...)
	adviseVariables(r.manifests, r.run.diagnostics)
	r.manifests = r.run.streams(r.manifests)
	p.tellStats(&r.config, r.run)
	p.tellWebhooks(ctx, &r.config, r.run)
}

// buildEach evaluates renderings in parallel.
func (r *reported) buildEach(ctx context.Context, p *Process, f *files, sets map[*config]*engine.Set, all []rendering) []rendered {
	results := make([]rendered, len(all))
	inParallel(len(all), func(i int) { results[i] = r.buildOne(ctx, p, f, sets[all[i].config], all[i]) })
	return results
}

// inParallel calls do with the numbers below n, on all processors.
func inParallel(n int, do func(int)) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			do(i)
		})
	}
	wait.Wait()
}

// compileAll compiles the policies for each of the configs of applications; nil if there are errors.
func (r *reported) compileAll(p *Process, f *files, all []rendering, partial bool) map[*config]*engine.Set {
	sets, failed := map[*config]*engine.Set{}, false
	if len(all) == 0 {
		all = []rendering{{config: &r.config}}
	}
	for _, one := range all {
		if _, done := sets[one.config]; done {
			continue
		}
		one.config.partial = partial
		run := &admission{}
		sets[one.config] = p.compile(one.config, f, run, nil, nil)
		failed = failed || sets[one.config] == nil
		r.run.join(run)
	}
	if failed {
		return nil
	}
	return sets
}

// buildOne renders one application and runs the policies on it.
func (r *reported) buildOne(ctx context.Context, p *Process, f *files, set *engine.Set, one rendering) rendered {
	result := rendered{streams: one.plain}
	if one.program != nil {
		var stderr limit.Buffer
		one.program.Stderr = &stderr
		if i := slices.Index(one.program.Args, "--"); i >= 0 { // of helm
			one.program.Args = slices.Insert(one.program.Args, i, "--kube-version="+set.KubernetesVersion())
		}
		output, found, err := p.renderOne(ctx, one.program)
		if err != nil {
			said := causeIn(string(stderr.Bytes()))
			d := source.Errorf(source.Position{File: one.name}, "command-failed", "%s failed: %v", one.program.call(), err)
			return rendered{diagnostics: []source.Diagnostic{d.With(strings.TrimSpace(said + "\n" + one.advise(said)))}}
		}
		output, notes := withoutTests(one.program, one.name, input.NewFile(one.name, output).Text)
		stream, problems := one.config.within(f.bounds())(one.name, output)
		result = rendered{origins: newOrigins(f, one.program, stream, found), diagnostics: append(notes, problems...)}
		if head := r.head[one.name]; head != nil {
			stream, result.varying = result.origins.alike(ctx, head)
			result.origins = newOrigins(f, one.program, stream, found)
		}
		result.streams = []*manifest.Stream{stream}
	}
	if f.checking {
		result.outcome = set.Check(ctx, r.run.judged(result.streams), p.observers(one.config)...)
	} else {
		result.outcome = set.Run(ctx, result.streams, p.observers(one.config)...)
	}
	return result
}

// renderOne runs kustomize or helm. found is what kustomize says about the objects in the output.
func (p *Process) renderOne(ctx context.Context, program *Program) (output []byte, found []origin, err error) {
	if program.name() == "helm" {
		output, err = p.start(ctx, program)
		return output, nil, err
	}
	return p.kustomize(ctx, program)
}

// mostLines is how many lines of the messages of a failed program are quoted.
const mostLines = 5

// lastLines returns the last lines of the messages of a program.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-mostLines):], "\n")
}

// debugHint is an advice of Helm that does not help: preadmit calls Helm.
const debugHint = "Use --debug flag to render out invalid YAML"

// causeIn returns the error in the messages of kustomize and Helm, which begin it with "Error:"; without
// that, the last lines.
func causeIn(text string) string {
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(text, debugHint, "")), "\n")
	for i, line := range slices.Backward(lines) {
		if !strings.HasPrefix(line, "Error:") {
			continue
		}
		cause := slices.DeleteFunc(lines[i:], func(line string) bool { return strings.TrimSpace(line) == "" })
		if most := 2 * mostLines; len(cause) > most {
			cause = append(cause[:most], fmt.Sprintf("and %s", plural(len(cause)-most, "more line", "more lines")))
		}
		return strings.Join(cause, "\n")
	}
	return lastLines(text)
}
