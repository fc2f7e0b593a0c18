package krmfn

import (
	"context"
	"encoding/csv"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// Parts of the error messages of Helm v3 and v4 for a chart with missing dependencies, and for
// dependencies from a repository that was not added.
const (
	missingDependencies = "but missing in charts/ directory"
	missingRepository   = "no repository definition for"
)

// helm runs helm template as Argo CD does. If dependencies are missing, it fetches them and
// runs helm template again.
func (a *application) helm(ctx context.Context, f *files) []*manifest.Stream {
	args, ok := a.helmArgs(f)
	if !ok {
		return nil
	}
	template := a.template(f, args)
	output, stderr, err := f.attempt(ctx, template)
	if err != nil && strings.Contains(stderr, missingDependencies) {
		if !a.buildDependencies(ctx, f) {
			return nil
		}
		return f.rendered(ctx, a.config, a.template(f, args))
	}
	f.say(stderr)
	return f.printed(a.config, template, output, err)
}

// template returns the helm template program.
func (a *application) template(f *files, args []string) *Program {
	template := f.program(args...)
	if a.config.chartValues != "" {
		template.Stdin = strings.NewReader(a.config.chartValues)
	}
	return template
}

// buildDependencies fetches the dependencies of a chart.
func (a *application) buildDependencies(ctx context.Context, f *files) bool {
	build := f.program("helm", "dependency", "build", ".")
	_, stderr, err := f.attempt(ctx, build)
	if err != nil && strings.Contains(stderr, missingRepository) {
		for _, url := range a.repositories() {
			add := f.program("helm", "repo", "add", "--force-update", strings.ReplaceAll(url, "/", "-"), url)
			if _, err := f.process.start(ctx, add); err != nil {
				f.failProgram(add, err)
				return false
			}
		}
		_, stderr, err = f.attempt(ctx, build)
	}
	f.say(stderr)
	if err != nil {
		f.failProgram(build, err)
	}
	return err == nil
}

// repositories returns the repositories that Argo CD would add: those of the chart's
// dependencies with https:// URLs.
func (a *application) repositories() []string {
	data, _ := os.ReadFile(a.process.absolute("Chart.yaml")) // Helm has already read it
	stream, _ := manifest.ReadPlain("Chart.yaml", data)
	var urls []string
	for _, d := range stream.Documents() {
		dependencies, _ := d.Object()["dependencies"].([]any)
		for _, dependency := range dependencies {
			dependency, _ := dependency.(map[string]any)
			if url, _ := dependency["repository"].(string); strings.HasPrefix(url, "https://") {
				urls = append(urls, url)
			}
		}
	}
	return urls
}

// attempt runs a program and returns its standard error instead of printing it. The messages
// do not matter if a second attempt succeeds.
func (f *files) attempt(ctx context.Context, program *Program) (output []byte, stderr string, err error) {
	var b limit.Buffer
	program.Stderr = &b
	output, err = f.process.start(ctx, program)
	return output, string(b.Bytes()), err
}

// say prints the messages of an attempt on standard error.
func (f *files) say(stderr string) { _, _ = f.process.Stderr.Write([]byte(stderr)) }

// helmArgs returns the command line of Helm, and false if there are errors.
func (a *application) helmArgs(f *files) ([]string, bool) {
	p, c := a.process, a.config
	args := []string{"helm", "template", "--include-crds"}
	add := func(flag, value string) {
		if value != "" {
			args = append(args, flag+"="+value)
		}
	}
	add("--namespace", c.options.Engine.Namespace)
	add("--kube-version", p.kubeVersion())
	add("--api-versions", p.getenv("KUBE_API_VERSIONS"))
	set := f.set()
	for _, name := range c.valueFiles {
		full, err := f.reader.Resolve(name.input())
		if err == nil {
			full, err = f.reader.Contained(name.input(), full)
		}
		set.fail(name, err)
		p.ledger.NoteRead(name.name, full)
		add("--values", quoteCSV(full))
	}
	if c.chartValues != "" {
		add("--values", "-")
	}
	for _, name := range slices.Sorted(maps.Keys(c.chartParameters)) {
		args = append(args, "--set="+name+"="+escapeCommas(c.chartParameters[name]))
	}
	release := c.releaseName
	if release == "" {
		release = p.releaseName()
	}
	if release == "" {
		f.diagnostics = append(f.diagnostics, source.Errorf(source.Position{}, "release-unnamed", "the release of the chart has no name").
			With("Argo CD sets ARGOCD_APP_NAME; without Argo CD, set this variable yourself"))
	}
	return append(args, "--", release, "."), len(f.diagnostics) == 0
}

// escapeCommas escapes commas as Argo CD does, so that Helm reads a value of --set as one
// value. It does not change a list in braces.
func escapeCommas(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	var b strings.Builder
	for i := range len(value) {
		if value[i] == ',' && (i == 0 || value[i-1] != '\\') {
			b.WriteByte('\\')
		}
		b.WriteByte(value[i])
	}
	return b.String()
}

// releaseName returns the name of the application. The name of an application outside of Argo
// CD's namespace starts with its namespace and an underscore, which releaseName removes.
func (p *Process) releaseName() string {
	name := p.getenv("ARGOCD_APP_NAME")
	return name[strings.LastIndexByte(name, '_')+1:]
}

// quoteCSV quotes a value for flags of Helm that take several values separated by commas.
func quoteCSV(value string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write([]string{value}) // a strings.Builder returns no errors
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}
