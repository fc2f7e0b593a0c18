package krmfn

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/settings"
)

// noConfiguration is the value of --config for no configuration file.
const noConfiguration = "none"

// misnamed are names that a configuration file does not have, but that people give it.
var misnamed = []string{".preadmit.yml", ".preadmit.json"}

// configure adds the values of the configuration file to those of the flags. A flag replaces the value
// of the file, a list as a whole.
func (p *Process) configure(given *arguments) []source.Diagnostic {
	if settings.Find("config", func(o *settings.Option) string {
		if slices.Contains(o.Commands, given.command) {
			return o.Flag
		}
		return ""
	}) == nil {
		return nil
	}
	file, problems := p.configuration(given)
	if file != nil && !source.HasErrors(problems) {
		given.use(p, file)
	}
	return problems
}

// use adds the values of a configuration file.
func (given *arguments) use(p *Process, file *settings.File) {
	given.file = file
	given.settings = append(given.fromFile(p, file.Values(given.command)), given.flags...)
}

// fromFile returns the settings of values in the configuration file for the options that no flag sets.
func (given *arguments) fromFile(p *Process, values []settings.Value) (found []setting) {
	for _, v := range values {
		o := settings.Find(v.Name, func(o *settings.Option) string {
			if slices.Contains(o.Commands, given.command) {
				return o.Entry()
			}
			return ""
		})
		// A test names its own files: those of the repository would change what it shows.
		if o == nil || given.sets(o) || o.Files != 0 && given.command == "test" {
			continue
		}
		if o.IsPath() {
			v.Text = p.relative(filepath.Join(given.file.Dir, filepath.FromSlash(v.Text)), v.Text)
		}
		found = append(found, setting{o, v.Text, path{label: v.Field, at: v.At}})
	}
	return found
}

// relative returns an absolute path relative to the working directory. An absolute path that the user
// wrote stays.
func (p *Process) relative(full, written string) string {
	if filepath.IsAbs(written) {
		return written
	}
	if name, err := filepath.Rel(input.RealPath(p.Dir), full); err == nil {
		return filepath.ToSlash(name)
	}
	return full
}

// sets reports whether a flag sets an option.
func (given *arguments) sets(o *settings.Option) bool {
	return slices.ContainsFunc(given.flags, func(s setting) bool { return s.option == o })
}

// configuration reads the configuration file; nil if no file is found.
func (p *Process) configuration(given *arguments) (*settings.File, []source.Diagnostic) {
	name := ""
	for _, s := range given.flags {
		if s.option.Flag == "config" {
			name = s.text
		}
	}
	full := p.absolute(name)
	switch name {
	case noConfiguration:
		return nil, nil
	case "":
		var wrong string
		if full, wrong = p.nearestConfiguration(); wrong != "" {
			return nil, []source.Diagnostic{source.Errorf(source.Position{File: p.relative(wrong, "")}, "option-unknown", "no configuration file has this name").
				With("rename the file to " + settings.FileName)}
		}
		if full == "" {
			return nil, nil
		}
		name = p.relative(full, "")
	}
	return p.readConfiguration(name, full)
}

func (p *Process) readConfiguration(name, full string) (*settings.File, []source.Diagnostic) {
	data, err := p.readText(full)
	if err != nil {
		var inPath *fs.PathError
		if errors.As(err, &inPath) {
			err = inPath.Err
		}
		return nil, []source.Diagnostic{source.Errorf(source.Position{File: name}, "path-unreadable", "the configuration file cannot be read: %v", err)}
	}
	p.ledger.NoteRead(name, input.RealPath(full))
	return settings.ReadFile(name, input.RealPath(filepath.Dir(full)), input.NewFile(name, data).Text, configured())
}

// readText reads a file, or takes the text that is open in an editor.
func (p *Process) readText(full string) ([]byte, error) {
	if text, isOpen := p.buffers[input.RealPath(full)]; isOpen {
		return []byte(text), nil
	}
	return new(limit.Input).ReadFile(full)
}

// configured returns the commands that have options in configuration files.
func configured() []string {
	commands := settings.Find("config", func(o *settings.Option) string { return o.Flag }).Commands
	return slices.DeleteFunc(slices.Clone(commands), func(name string) bool { return len(settings.Flags(name)) < 2 })
}

// ignoreDir returns the directory that the patterns of --ignore are relative to; "" for the working
// directory.
func (p *Process) ignoreDir(given *arguments) string {
	isIgnore := func(s setting) bool { return s.option.Flag == "ignore" }
	if given.file == nil || slices.ContainsFunc(given.flags, isIgnore) {
		return ""
	}
	return p.absolute(p.relative(given.file.Dir, ""))
}

// nearestConfiguration returns the configuration file in the working directory or in the nearest
// directory above, up to the root of the repository. Outside of a repository, only the working
// directory counts: files above it belong to somebody else. wrong is a file that only has a similar
// name.
func (p *Process) nearestConfiguration() (full, wrong string) {
	within := []string{}
	for dir := input.RealPath(p.Dir); ; dir = filepath.Dir(dir) {
		within = append(within, dir)
		if exists(filepath.Join(dir, ".git")) {
			break
		}
		if dir == filepath.Dir(dir) {
			within = within[:1]
			break
		}
	}
	for _, dir := range within {
		for _, name := range misnamed {
			if other := filepath.Join(dir, name); exists(other) {
				return "", other
			}
		}
		full = filepath.Join(dir, settings.FileName)
		if _, isOpen := p.buffers[input.RealPath(full)]; isOpen || exists(full) {
			return full, ""
		}
	}
	return "", ""
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// part is the manifests of a run for which the same options hold.
type part struct {
	config    *config
	manifests []*manifest.Stream
}

// parts divides manifests by the directories of the configuration file that contain them.
func (p *Process) parts(c *config, f *files, manifests []*manifest.Stream) []part {
	if len(manifests) == 0 || c.given.file == nil || len(c.given.file.Directories) == 0 {
		return []part{{f.configOf(c, p.Dir), manifests}}
	}
	var parts []part
	index := map[int]int{}
	for _, s := range manifests {
		real := f.origins[s].Real
		if real == "" {
			real = p.Dir
		}
		in := c.given.file.In(input.RealPath(real))
		i, ok := index[in]
		if !ok {
			i = len(parts)
			index[in] = i
			parts = append(parts, part{config: f.configIn(c, in)})
		}
		parts[i].manifests = append(parts[i].manifests, s)
	}
	return parts
}

// sole returns the config for manifests that are to have the same options.
func (p *Process) sole(c *config, f *files, manifests []*manifest.Stream) *config {
	parts := p.parts(c, f, manifests)
	if len(parts) > 1 {
		f.diagnostics = append(f.diagnostics, source.Errorf(source.Position{File: c.given.file.Name}, "option-value", "the files are in directories with different options").
			With("name the files of one of the directories"))
	}
	return parts[0].config
}

// configOf returns the config for manifests in a directory.
func (f *files) configOf(c *config, dir string) *config {
	if c.given.file == nil {
		return c
	}
	return f.configIn(c, c.given.file.In(input.RealPath(dir)))
}

// configIn returns the config for the manifests in a directory of the configuration file.
func (f *files) configIn(c *config, index int) *config {
	if index < 0 {
		return c
	}
	if made := f.configs[index]; made != nil {
		return made
	}
	in := new(config)
	*in = *c
	in.observers = slices.Clone(c.observers)
	own := c.given.fromFile(f.process, c.given.file.Directories[index].Values())
	for _, s := range own {
		in.reset(s.option)
	}
	for _, s := range own {
		_ = in.set(s.option, s.text, s.from) // the file has been checked
	}
	if c.placed != nil {
		c.placed(in)
	}
	if f.configs == nil {
		f.configs = map[int]*config{}
	}
	f.configs[index] = in
	return in
}
