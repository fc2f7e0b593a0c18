package krmfn

import (
	"bytes"
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
	"github.com/preadmit/preadmit/internal/input"
)

// file is a file that was read. name is its path for messages, relative if the user gave a
// relative path.
type file struct {
	name string
	// data is the text in UTF-8, raw what was read, and encoding leads from one to the other.
	data, raw []byte
	encoding  input.Encoding
	// real is its path without symbolic links. below is its path relative to the directory that
	// the user named, or its base name if the user named the file. Both are empty for standard
	// input.
	real, below string
	mode        fs.FileMode
	// outside reports that the file was found through a link and is not in the directory that
	// the user named.
	outside bool
	// found is its path if it was found in a directory; empty if the user named the file.
	found string
	// err is why the file cannot be written in place, or nil.
	err error
}

// newFile returns a file with the text of data.
func newFile(name string, data []byte) file {
	text, encoding := input.Decode(data)
	return file{name: name, data: text, raw: data, encoding: encoding}
}

// encode returns a text in the encoding of the file. It returns the bytes of the file for the text
// of the file, even where decoding has replaced some.
func (f *file) encode(text []byte) ([]byte, error) {
	if bytes.Equal(text, f.data) {
		return f.raw, nil
	}
	return f.encoding.Encode(text)
}

// files reads the files that options and arguments name. It reads standard input only once,
// even if several options name it.
type files struct {
	process *Process
	stdin   *file
	input   limit.Input
	// checking says that the run looks for mistakes in policies.
	checking bool
	// ignore are the patterns of --ignore.
	ignore      []string
	diagnostics []source.Diagnostic
	// pipes holds the contents of pipes and devices, which can be read only once.
	pipes map[string][]byte
	// origins are the files that streams were read from.
	origins map[*manifest.Stream]file
	// foreign are the files in directories that hold no manifests; unrendered are the charts
	// and kustomizations, which have to be rendered first.
	foreign    []passedOver
	unrendered site
}

// fileSet collects files. It reads each file once, even if several paths name it.
type fileSet struct {
	*files
	read readFunc
	// lenient says that links out of a directory are skipped with a warning. Otherwise they are
	// errors, because the output would be different without the policies there.
	lenient bool
	// whole says that no file is skipped, whatever it contains.
	whole bool
	// policies says that the files may hold policies. Then a template of a chart is not skipped,
	// because a run without one of its policies has another result.
	policies bool
	site     site
	seen     map[string]bool
	found    []file
}

// files returns a reader of the files of a config.
func (p *Process) files(c *config) *files {
	return &files{process: p, ignore: c.ignore, input: limit.Input{Bytes: int(c.inputLimit)}}
}

// bounds are the limits for one file.
func (f *files) bounds() manifest.Bounds {
	return manifest.Bounds{Documents: limit.DocumentsIn(f.input.Bytes)}
}

// told returns the diagnostics about the files that were read.
func (f *files) told(c *config) []source.Diagnostic {
	return slices.Concat(f.diagnostics, f.tellForeign(c.verbose), f.tellUnrendered())
}

func (f *files) set() *fileSet {
	return &fileSet{files: f, read: f.bounds().Read, seen: map[string]bool{}, site: site{taken: map[string]bool{}, parts: map[string]bool{}}}
}

// stdinNames are names of standard input besides "-".
var stdinNames = []string{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}

// manifestExtensions are the extensions of the files that are read in a directory.
var manifestExtensions = []string{".yaml", ".yml", ".json"}

// add reads the files of a path. It returns an error if the path is a directory without files to
// read, and reports all other errors itself.
func (s *fileSet) add(p path) error {
	if p.within == nil && (p.name == "-" || slices.Contains(stdinNames, p.name)) {
		s.addStdin(p)
		return nil
	}
	full, err := s.resolve(p)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(full)
	}
	switch {
	case err != nil:
	case info.IsDir():
		return s.addDirectory(p, full)
	case info.Mode().IsRegular():
		err = s.addFile(p, full, nil)
	default:
		err = s.addPipe(p, full)
	}
	s.fail(p, err)
	return nil
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
		stdin := newFile("-", data)
		s.stdin = &stdin
		s.process.ledger.noteStream("standard input", s.process.Stdin)
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

// directory is a directory that the user named. real is its path without symbolic links.
type directory struct{ path, real string }

// addFile reads a file. in is the directory that the user named, or nil if the user named the
// file.
func (s *fileSet) addFile(p path, full string, in *directory) error {
	real, err := s.contained(p, full)
	if errors.Is(err, fs.ErrNotExist) && in != nil {
		return &fs.PathError{Op: "read", Path: s.nameOf(p, full), Err: errDangling}
	}
	if errors.Is(err, errEscape) && in != nil {
		return &fs.PathError{Op: "read", Path: s.nameOf(p, full), Err: err}
	}
	if err != nil {
		return err
	}
	below, outside, found := filepath.Base(full), false, ""
	if in != nil {
		found = full
		if below, err = filepath.Rel(in.path, full); err != nil {
			return err
		}
		outside = !isWithin(real, in.real)
	}
	if s.seen[real] {
		s.named(real, outside, found)
		return nil
	}
	s.seen[real] = true
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	data, err := s.input.ReadFile(real)
	if err != nil {
		return err
	}
	s.process.ledger.noteRead(s.nameOf(p, full), real)
	f := newFile(s.nameOf(p, full), data)
	f.real, f.below, f.mode, f.outside, f.found = real, below, info.Mode(), outside, found
	s.found = append(s.found, f)
	return nil
}

// named notes that a file was found again under another path, which may be its real path.
func (s *fileSet) named(real string, outside bool, found string) {
	for i := range s.found {
		if s.found[i].real == real {
			if found == "" {
				s.found[i].found = ""
			}
			s.found[i].outside = s.found[i].outside && outside
		}
	}
}

// errDangling is the error for a link without a target.
var errDangling = errors.New("the link leads to a file that does not exist")

// errNotRegular is the error for sockets, pipes and devices.
var errNotRegular = errors.New("it is not a regular file")

// addPipe reads a pipe or a device, such as the pipe that a shell creates for <(command).
func (s *fileSet) addPipe(p path, full string) error {
	if p.within != nil {
		if _, err := s.contained(p, full); err != nil {
			return err
		}
	}
	if s.seen[full] {
		return nil
	}
	s.seen[full] = true
	data, known := s.pipes[full]
	if !known {
		var err error
		if data, err = s.input.ReadFile(full); err != nil {
			return err
		}
		if s.pipes == nil {
			s.pipes = map[string][]byte{}
		}
		s.pipes[full] = data
	}
	f := newFile(full, data)
	f.real, f.err = full, errNotRegular
	s.found = append(s.found, f)
	return nil
}

// nameOf returns the path of a file for messages: relative if the option was relative.
func (s *fileSet) nameOf(p path, full string) string {
	if filepath.IsAbs(p.name) {
		return full
	}
	if name, err := filepath.Rel(s.process.Dir, full); err == nil && (p.within == nil || isWithin(full, s.process.Dir)) {
		return filepath.ToSlash(name)
	}
	return full
}

// addDirectory reads the manifests in a directory and its subdirectories, in the order of
// their names. It skips hidden and ignored files, and links to directories outside of it. It
// returns an error if it finds no manifests.
func (s *fileSet) addDirectory(p path, root string) error {
	w := &walker{set: s, path: p, in: &directory{root, realPath(root)}, visited: map[string]bool{}}
	lists, err := s.ignoreLists(root)
	if err == nil {
		w.flags, err = newIgnoreList(s.ignoreBase(root), s.ignore)
	}
	if err != nil {
		s.fail(p, err)
		return nil
	}
	w.walk(root, lists)
	switch {
	case w.found:
		return nil
	case w.ignored:
		return errAllIgnored
	}
	return errNoManifests
}

// walker reads the files in a directory.
type walker struct {
	set  *fileSet
	path path
	in   *directory
	// flags are the rules of --ignore.
	flags   *ignoreList
	visited map[string]bool
	// found reports that there are files to read, ignored that rules exclude some.
	found, ignored bool
}

// walk reads the files in a directory that no rule ignores.
func (w *walker) walk(dir string, lists []*ignoreList) {
	s, p := w.set, w.path
	real, err := s.contained(p, dir)
	switch {
	case errors.Is(err, errEscape) && dir != w.in.path:
		err = &fs.PathError{Op: "read", Path: s.nameOf(p, dir), Err: err}
	case err == nil && !isWithin(real, w.in.real):
		err = errLinkedOut
	}
	if err != nil || w.visited[real] {
		s.failLink(p, dir, err)
		w.found = w.found || err != nil // the error is enough; do not report an empty directory
		return
	}
	w.visited[real] = true
	own, err := readIgnoreList(dir)
	s.fail(p, err)
	lists = append(lists[:len(lists):len(lists)], own)
	entries, err := os.ReadDir(dir)
	s.fail(p, err)
	if !s.whole {
		s.survey(p, dir, entries)
	}
	for _, e := range entries {
		full := filepath.Join(dir, e.Name())
		mode := modeOf(full, e)
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case mode.IsDir() && p.shallow:
		case !mode.IsDir() && !slices.Contains(manifestExtensions, filepath.Ext(e.Name())):
		case ignores(append(lists, w.flags), full, mode.IsDir()):
			w.ignored = true
		case mode.IsDir():
			w.walk(full, lists)
		case !mode.IsRegular():
			w.found = true
			s.fail(p, &fs.PathError{Op: "read", Path: s.nameOf(p, full), Err: errNotRegular})
		default:
			w.found = true
			s.fail(p, s.addFile(p, full, w.in))
		}
	}
}

// modeOf returns the mode of a directory entry; of its target if the entry is a link. It
// returns 0 for a link without a target, which addFile reports.
func modeOf(full string, e fs.DirEntry) fs.FileMode {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type()
	}
	info, err := os.Stat(full)
	if err != nil {
		return 0
	}
	return info.Mode()
}

// errLinkedOut is the error for a link to a directory outside of the one that the user named.
var errLinkedOut = errors.New("the link leads to a directory outside")

// failLink reports the error for a subdirectory that is not read, if err is not nil.
func (s *fileSet) failLink(p path, dir string, err error) {
	if !errors.Is(err, errLinkedOut) {
		s.fail(p, err)
		return
	}
	d := source.Errorf(p.at, "link-outside", "%s: the link leads to a directory outside of %s, which is not read", s.nameOf(p, dir), p.name).
		With("to read that directory, name it, too")
	if s.lenient {
		d.Severity = source.Warning
	}
	d.Subject, d.Field = p.subject, p.label
	s.diagnostics = append(s.diagnostics, d)
}

// The errors for a directory without files to read.
var (
	errNoManifests = errors.New("the directory has no *.yaml, *.yml or *.json files")
	errAllIgnored  = errors.New("the patterns of --ignore and " + ignoreFile + " exclude all *.yaml, *.yml and *.json files of the directory")
)

// errEscape is the error for a path that leads out of its bounds.
var errEscape = errors.New("the path leads out of its bounds")

// resolve returns the absolute path of a file or directory, which need not exist.
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

// contained returns the path of a file or directory without symbolic links. It fails if that
// path leads out of the bounds of p.
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

// absolute returns an absolute path for a path relative to the working directory.
func (p *Process) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.Dir, path)
}

// isWithin reports whether a path is dir or is below dir. It compares names only and does not
// follow links.
func isWithin(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// exceeded reports whether the input is too large.
func exceeded(err error) bool { return errors.As(err, new(*limit.Error)) }

// fail reports the error of reading a path, if err is not nil.
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
	case errors.Is(err, errEscape) && errors.As(err, &pathError):
		d.Code, d.Message = "path-outside", fmt.Sprintf("%s: the link leads out of %s", pathError.Path, p.within.names)
		d.Advice = "replace the link by a file, or exclude it in a file " + ignoreFile
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

// addAll reads the files of paths. A directory without manifests is an error.
func (s *fileSet) addAll(paths []path) {
	for _, p := range paths {
		s.fail(p, s.add(p))
	}
}

// addAny reads the files of a directory, which need not have any.
func (s *fileSet) addAny(p path) {
	if err := s.add(p); errors.Is(err, errAllIgnored) {
		s.fail(p, err)
	}
}

// manifests reads the documents in the files of paths.
func (s *fileSet) manifests(paths []path) []*manifest.Stream {
	s.addAll(paths)
	return s.parse()
}

// trees reads the mutation trees in the files of paths.
func (s *fileSet) trees(paths []path) []*manifest.Stream {
	s.read, s.whole = s.bounds().ReadTrees, true
	return s.manifests(paths)
}

// parse reads the documents in the files found since the last call.
func (s *fileSet) parse() []*manifest.Stream {
	var streams []*manifest.Stream
	if s.lenient {
		s.unrendered = s.site
	}
	for _, f := range s.found {
		stream, diagnostics, what := s.sift(f)
		if what != (foreign{}) {
			s.foreign = append(s.foreign, passedOver{f.name, what})
			continue
		}
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

// openAPI reads the OpenAPI documents in the files of paths.
func (s *fileSet) openAPI(paths []path) []engine.OpenAPIDocument {
	s.addAll(paths)
	var documents []engine.OpenAPIDocument
	for _, f := range s.found {
		documents = append(documents, engine.OpenAPIDocument{Name: f.name, Data: f.data})
	}
	return documents
}
