package krmfn

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// file is a file that was read, under the name that the user knows it by.
type file struct {
	name string
	data []byte
	// real is its path without symbolic links, and below the one from the directory that
	// was named, or from its own; both are empty for standard input.
	real, below string
}

// files reads what options and arguments name. Standard input is read once, however
// often it is named.
type files struct {
	process *Process
	stdin   *file
	input   limit.Input
	// checking says that the run is to look for mistakes in policies.
	checking    bool
	diagnostics []source.Diagnostic
	// origins are the files that streams were read from.
	origins map[*manifest.Stream]file
}

// fileSet collects files; each is read once, however often it is named.
type fileSet struct {
	*files
	read  readFunc
	seen  map[string]bool
	found []file
}

func (f *files) set() *fileSet {
	return &fileSet{files: f, read: manifest.Read, seen: map[string]bool{}}
}

// manifestExtensions are those that files in a directory must have.
var manifestExtensions = []string{".yaml", ".yml", ".json"}

// add reads the files of a path. It reports whether there were any, read or not.
func (s *fileSet) add(p path) bool {
	if p.name == "-" && p.within == nil {
		s.addStdin(p)
		return true
	}
	full, err := s.resolve(p)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(full); err == nil && info.IsDir() {
			return s.addDirectory(p, full)
		}
	}
	if err == nil {
		err = s.addFile(p, full, filepath.Dir(full))
	}
	s.fail(p, err)
	return true
}

func (s *fileSet) addStdin(p path) {
	if s.stdin == nil {
		if s.process.StdinIsTerminal {
			s.failStdin(p, "is a terminal; give a file, or pipe manifests in")
			return
		}
		data, err := s.input.Read(s.process.Stdin)
		if exceeded(err) {
			s.fail(p, err)
			return
		}
		if err != nil {
			s.failStdin(p, "cannot be read: "+err.Error())
			return
		}
		s.stdin = &file{name: "-", data: data}
	}
	if !s.seen["-"] {
		s.seen["-"] = true
		s.found = append(s.found, *s.stdin)
	}
}

func (s *fileSet) failStdin(p path, why string) {
	d := source.Errorf(p.at, "path-unreadable", "standard input %s", why)
	d.Field = p.label
	s.diagnostics = append(s.diagnostics, d)
}

// addFile reads a file in a directory, or below it.
func (s *fileSet) addFile(p path, full, root string) error {
	real, err := s.contained(p, full)
	if err != nil || s.seen[real] {
		return err
	}
	s.seen[real] = true
	data, err := s.input.ReadFile(real)
	if err != nil {
		return err
	}
	below, err := filepath.Rel(root, full)
	s.found = append(s.found, file{s.nameOf(p, full), data, real, below})
	return err
}

// nameOf is the name of a file for the user: relative as the option was.
func (s *fileSet) nameOf(p path, full string) string {
	if filepath.IsAbs(p.name) {
		return full
	}
	if name, err := filepath.Rel(s.process.Dir, full); err == nil && (p.within == nil || isWithin(full, s.process.Dir)) {
		return filepath.ToSlash(name)
	}
	return full
}

// addDirectory reads the manifests in a directory and those below it, in the order of
// their names. What is hidden is left out. It reports false if there are none.
func (s *fileSet) addDirectory(p path, root string) (found bool) {
	above := map[string]bool{}
	var walk func(dir string)
	walk = func(dir string) {
		real, err := s.contained(p, dir)
		if err != nil || above[real] {
			s.fail(p, err)
			found = found || err != nil // what is there is not known
			return
		}
		above[real] = true
		defer delete(above, real)
		entries, err := os.ReadDir(dir)
		s.fail(p, err)
		for _, e := range entries {
			full := filepath.Join(dir, e.Name())
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			isDir := e.IsDir()
			if e.Type()&fs.ModeSymlink != 0 {
				info, err := os.Stat(full)
				isDir = err == nil && info.IsDir()
			}
			switch {
			case isDir && p.shallow:
			case isDir:
				walk(full)
			case slices.Contains(manifestExtensions, filepath.Ext(e.Name())):
				found = true
				s.fail(p, s.addFile(p, full, root))
			}
		}
	}
	walk(root)
	return found
}

// errNoManifests says that a directory is of no use.
var errNoManifests = errors.New("the directory has no *.yaml, *.yml or *.json files")

// errEscape says that a path leads out of its bounds.
var errEscape = errors.New("the path leads out of its bounds")

// resolve finds the full path of a file or directory, which need not exist.
func (s *fileSet) resolve(p path) (string, error) {
	full := p.name
	if p.base != "" && !filepath.IsAbs(full) {
		full = filepath.Join(p.base, full)
	}
	full = s.process.absolute(full)
	if p.within != nil && !slices.ContainsFunc(p.within.dirs, func(dir string) bool { return isWithin(full, dir) }) {
		return "", errEscape
	}
	return full, nil
}

// contained returns the path of a file or directory without symbolic links, which must
// not lead out of where it may be.
func (s *fileSet) contained(p path, full string) (string, error) {
	real, err := filepath.EvalSymlinks(full)
	if err != nil || p.within == nil {
		return real, err
	}
	for _, dir := range p.within.dirs {
		if realDir, err := filepath.EvalSymlinks(dir); err == nil && isWithin(real, realDir) {
			return real, nil
		}
	}
	return "", errEscape
}

// absolute is the absolute path of a path relative to the working directory.
func (p *Process) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.Dir, path)
}

// isWithin reports whether a path is a directory or lies below it, going by the names.
func isWithin(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// exceeded reports whether the input is too large.
func exceeded(err error) bool { return errors.As(err, new(*limit.Error)) }

// fail reports why a path cannot be read, if it cannot.
func (s *fileSet) fail(p path, err error) {
	if err == nil {
		return
	}
	d := source.Errorf(p.at, "path-unreadable", "%s: %v", p.name, err)
	d.Subject, d.Field = p.subject, p.label
	var pathError *fs.PathError
	var exceeded *limit.Error
	switch {
	case errors.As(err, &exceeded):
		d.Code, d.Advice = exceeded.Code, exceeded.Advice
	case errors.Is(err, errEscape):
		d.Code, d.Message = "path-outside", fmt.Sprintf("%s: the path leads out of %s", p.name, p.within.names)
		d.Advice = p.within.advice
	case errors.As(err, &pathError):
		name := pathError.Path
		if full, err := s.resolve(p); err == nil && full == name {
			name = p.name
		}
		d.Message = fmt.Sprintf("%s: %v", name, pathError.Err)
		if p.base != "" && errors.Is(err, fs.ErrNotExist) {
			d.Advice = "paths are relative to " + p.base
		}
	}
	s.diagnostics = append(s.diagnostics, d)
}

// addAll reads the files of paths. A directory without any is an error.
func (s *fileSet) addAll(paths []path) {
	for _, p := range paths {
		if !s.add(p) {
			s.fail(p, errNoManifests)
		}
	}
}

// manifests reads the documents in the files that paths name.
func (s *fileSet) manifests(paths []path) []*manifest.Stream {
	s.addAll(paths)
	return s.parse()
}

// trees reads the mutation trees in the files that paths name.
func (s *fileSet) trees(paths []path) []*manifest.Stream {
	s.read = manifest.ReadTrees
	return s.manifests(paths)
}

// parse reads the documents in the files found since the last call.
func (s *fileSet) parse() []*manifest.Stream {
	var streams []*manifest.Stream
	for _, f := range s.found {
		stream, diagnostics := s.read(f.name, f.data)
		s.diagnostics = append(s.diagnostics, diagnostics...)
		streams = append(streams, stream)
		if s.origins == nil {
			s.origins = map[*manifest.Stream]file{}
		}
		s.origins[stream] = f
	}
	s.found = nil
	return streams
}

// openAPI reads the OpenAPI documents that paths name.
func (s *fileSet) openAPI(paths []path) []engine.OpenAPIDocument {
	s.addAll(paths)
	var documents []engine.OpenAPIDocument
	for _, f := range s.found {
		documents = append(documents, engine.OpenAPIDocument{Name: f.name, Data: f.data})
	}
	return documents
}
