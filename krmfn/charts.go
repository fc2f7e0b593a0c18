package krmfn

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/settings"
)

// releases returns the renderings of a chart, one for each of its releases.
func (f *files) releases(c *config, dir string) (found []rendering) {
	name, in, all := f.reader.Name(input.Path{}, dir), f.configOf(c, dir), releasesIn(c, dir)
	for _, release := range all {
		one := rendering{name: name, directory: name, config: in, advice: f.adviseValues(c, name, dir)}
		release.Name = cmp.Or(release.Name, releaseOf(dir))
		if len(all) > 1 {
			one.name += "@" + release.Label()
		}
		if release.Namespace != "" && !c.given.sets(settings.Find("namespace", func(o *settings.Option) string { return o.Flag })) {
			one.config = f.inNamespace(in, release.Namespace)
		}
		args, ok := f.templateArgs(one.config, release)
		if !ok {
			continue
		}
		one.program = &Program{Args: args, Dir: dir, MaxOutput: f.reader.Limit.Bytes}
		found = append(found, one)
	}
	return found
}

// releasesIn returns the releases of the chart in a directory: as the flags say, or else the configuration
// file, or else one with the name of its directory.
func releasesIn(c *config, dir string) []settings.Release {
	if flags := &c.options; flags.Release != "" || len(flags.ChartValues) > 0 {
		one := settings.Release{Name: flags.Release}
		for _, name := range flags.ChartValues {
			one.Values = append(one.Values, settings.Value{Text: name, Field: "--chart-values"})
		}
		return []settings.Release{one}
	}
	if hasReleases(c, dir) {
		return c.given.file.Releases(input.RealPath(dir))
	}
	return []settings.Release{{}}
}

// hasReleases reports whether the configuration file has releases of the chart in a directory.
func hasReleases(c *config, dir string) bool {
	return c.given.file != nil && len(c.given.file.Releases(input.RealPath(dir))) > 0
}

// templateArgs returns the command line that renders a release. ok is false if it has values that cannot
// be read.
func (f *files) templateArgs(c *config, release settings.Release) (args []string, ok bool) {
	args = []string{"helm", "template", "--include-crds"}
	if namespace := c.options.Engine.Namespace; namespace != "" {
		args = append(args, "--namespace="+namespace)
	}
	set := f.set()
	ok = true
	for _, value := range release.Values {
		name := value.Text
		if value.At.IsKnown() {
			name = f.process.relative(filepath.Join(c.given.file.Dir, filepath.FromSlash(name)), name)
		}
		p := path{name: name, label: value.Field, at: value.At}
		full, err := f.reader.Resolve(p.input())
		if err == nil {
			err = readable(full)
		}
		set.fail(p, err)
		ok = ok && err == nil
		f.process.ledger.NoteRead(name, input.RealPath(full))
		args = append(args, "--values="+quoteCSV(full))
	}
	return append(args, "--", release.Name, "."), ok
}

// readable returns an error if a path is not that of a file that can be read.
func readable(full string) error {
	file, err := os.Open(full)
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return errors.New("it is a directory; expected a file")
	}
	return nil
}

// namespaced is a config with another namespace.
type namespaced struct {
	config    *config
	namespace string
}

// inNamespace returns a config with another namespace.
func (f *files) inNamespace(c *config, namespace string) *config {
	key := namespaced{c, namespace}
	if made := f.inNamespaces[key]; made != nil {
		return made
	}
	in := new(config)
	*in = *c
	in.observers = slices.Clone(c.observers)
	in.options.Engine.Namespace = namespace
	if f.inNamespaces == nil {
		f.inNamespaces = map[namespaced]*config{}
	}
	f.inNamespaces[key] = in
	return in
}

// checkReleases reports releases in the configuration file of charts that do not exist, and flags for one
// chart if there are several, which ok says.
func (f *files) checkReleases(c *config, charts []string) (ok bool) {
	ok = true
	for _, flag := range []string{"release", "chart-values"} {
		if o := settings.Find(flag, func(o *settings.Option) string { return o.Flag }); !c.given.sets(o) || len(charts) == 1 {
			continue
		}
		d := source.Errorf(source.Position{}, "option-value", "--%s is for one chart, and there are %d", flag, len(charts))
		f.diagnostics = append(f.diagnostics, d.With("name the directory of the chart, or write the releases of several charts into "+settings.FileName))
		ok = false
	}
	if c.given.file == nil || c.placed != nil { // the other state of a repository need not have the chart
		return ok
	}
	for _, d := range c.given.file.Directories {
		full := filepath.Join(c.given.file.Dir, filepath.FromSlash(d.Path), input.ChartName)
		if _, err := os.Stat(full); len(d.Releases) > 0 && errors.Is(err, fs.ErrNotExist) {
			problem := source.Errorf(d.At, "path-unreadable", "%s: the directory has no chart: it has no file %s", source.Name(d.Path), input.ChartName)
			f.diagnostics = append(f.diagnostics, problem.With("change the path, or remove the key chart"))
		}
	}
	return ok
}

// adviseValues says how a chart that needs values gets them.
func (f *files) adviseValues(c *config, name, dir string) string {
	file, in := settings.FileName, input.RealPath(f.process.Dir)
	if c.given.file != nil {
		file, in = c.given.file.Name, c.given.file.Dir
	}
	below, err := filepath.Rel(in, input.RealPath(dir))
	flag := "with --chart-values FILE"
	if err != nil || !filepath.IsLocal(below) || c.options.Configuration == noConfiguration {
		return "if the chart needs values, name " + name + " alone and give them " + flag
	}
	return "if the chart needs values, name their files in " + file + ": directories: [{path: " + filepath.ToSlash(below) + ", chart: {values: [FILE]}}]; for this chart alone, " + flag
}

// wrongVersion is part of the error messages of Helm v3 and v4 for a chart that needs another version of
// Kubernetes.
const wrongVersion = "chart requires kubeVersion"

// advise says what to do about a program that failed. said is what it printed.
func (one *rendering) advise(said string) string {
	switch {
	case one.advice == "" || said == "":
		return ""
	case strings.Contains(said, missingDependencies):
		return "fetch them: helm dependency build " + one.directory
	case strings.Contains(said, wrongVersion):
		return "name the version of the cluster with --kubernetes-version"
	}
	return one.advice
}

// releaseOf returns the release name for a chart: the name of its directory, with every
// character that a release name cannot have replaced by a hyphen.
func releaseOf(dir string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(filepath.Base(dir))), "-")
}
