package input

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/source"
)

// File is a file that was read.
type File struct {
	// Name is its path for messages, relative if the user gave a relative path.
	Name string
	// Text is its text in UTF-8. Data is what was read, and Encoding leads from one to the other.
	Text, Data []byte
	Encoding   Encoding
	// Real is its path without symbolic links. Below is its path relative to the directory that
	// the user named, or its base name if the user named the file. Both are empty for a file that
	// is not on a disk.
	Real, Below string
	Mode        fs.FileMode
	// Outside reports that the file was found through a link and is not in the directory that
	// the user named.
	Outside bool
	// Found is its path if it was found in a directory; empty if the user named the file.
	Found string
}

// NewFile returns a file with the text of data.
func NewFile(name string, data []byte) File {
	text, encoding := Decode(data)
	return File{Name: name, Text: text, Data: data, Encoding: encoding}
}

// Encode returns a text in the encoding of the file. It returns the bytes of the file for the text
// of the file, even where decoding has replaced some.
func (f *File) Encode(text []byte) ([]byte, error) {
	if bytes.Equal(text, f.Text) {
		return f.Data, nil
	}
	return f.Encoding.Encode(text)
}

// Path is a file or directory that a user names.
type Path struct {
	Name string
	// Base is the directory that the name is relative to; the working directory if empty.
	Base string
	// Within are the directories that the path must not leave; nil allows any path.
	Within []string
	// Shallow says that subdirectories of a directory are not read.
	Shallow bool
}

// The errors for paths. Those for a file below a named directory are in a *fs.PathError with the
// name of the file for messages.
var (
	ErrDangling    = errors.New("the link leads to a file that does not exist")
	ErrNotRegular  = errors.New("it is not a regular file") // for sockets, pipes and devices
	ErrLinkedOut   = errors.New("the link leads to a directory outside")
	ErrEscape      = errors.New("the path leads out of its bounds")
	ErrNoManifests = errors.New("the directory has no *.yaml, *.yml or *.json files")
	ErrAllIgnored  = errors.New("the patterns of --ignore and " + IgnoreFile + " exclude all *.yaml, *.yml and *.json files of the directory")
	ErrNoMatch     = errors.New("no file matches the pattern")
)

// Reader is what all sets of files of a run have in common.
type Reader struct {
	// Dir is the working directory, an absolute path.
	Dir string
	// Ignore are patterns of files not to read in directories, in addition to those of ignore files.
	// They are relative to IgnoreDir; to Dir if that is empty.
	Ignore    []string
	IgnoreDir string
	Limit     limit.Input
	// Buffers are the texts of files that are open in an editor, by their absolute paths without
	// symbolic links. They count instead of what is on the disk, which need not have the files.
	Buffers map[string]string
	// Pipes holds the contents of pipes and devices, which can be read only once, by their paths.
	Pipes map[string][]byte
	// Note is called with the name and the real path of every file that is read, unless it is nil.
	Note func(name, real string)
}

// Set collects files. It reads each file once, even if several paths name it.
type Set struct {
	reader *Reader
	// Whole says that no file is skipped, whatever it contains.
	Whole bool
	// Policies says that the files may hold policies. Then a template of a chart is not skipped,
	// because a run without one of its policies has another result.
	Policies bool
	// Rest collects what directories have besides manifests, unless it is nil.
	Rest *Rest
	// Files are the files that were read, Skipped those that hold no manifests; see Parse.
	Files   []File
	Skipped []Skipped
	// Problems are mistakes in the kustomizations among the files.
	Problems []source.Diagnostic
	Site     Site
	seen     map[string]bool
}

// NewSet returns an empty set.
func (r *Reader) NewSet() *Set {
	return &Set{reader: r, seen: map[string]bool{}, Site: newSite()}
}

// First reports whether it is called with a key for the first time. The keys of files are their
// real paths.
func (s *Set) First(key string) bool {
	first := !s.seen[key]
	s.seen[key] = true
	return first
}

// extensions are the extensions of the files that are read in a directory.
var extensions = []string{".yaml", ".yml", ".json"}

// Add reads the files of a path: a file, a pipe, or a directory.
func (s *Set) Add(p Path) []error {
	full, err := s.reader.Resolve(p)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(full)
	}
	switch {
	case err != nil:
	case info.IsDir():
		return s.addDirectory(p, full)
	case info.Mode().IsRegular():
		err = s.addFile(p, full, "", nil)
	default:
		err = s.addPipe(p, full)
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// addPipe reads a pipe or a device, such as the pipe that a shell creates for <(command).
func (s *Set) addPipe(p Path, full string) error {
	if _, err := s.reader.Contained(p, full); p.Within != nil && err != nil {
		return err
	}
	if !s.First(full) {
		return nil
	}
	r := s.reader
	data, known := r.Pipes[full]
	if !known {
		var err error
		if data, err = r.Limit.ReadFile(full); err != nil {
			return err
		}
		if r.Pipes == nil {
			r.Pipes = map[string][]byte{}
		}
		r.Pipes[full] = data
	}
	f := NewFile(full, data)
	f.Real, f.Mode = full, fs.ModeNamedPipe
	s.Files = append(s.Files, f)
	return nil
}

// directory is a directory that the user named. real is its path without symbolic links.
type directory struct{ path, real string }

// addFile reads a file. real is its path without symbolic links if it is known, and "" otherwise. in is the
// directory that the user named, or nil if the user named the file.
func (s *Set) addFile(p Path, full, real string, in *directory) (err error) {
	if real == "" {
		if real, err = s.reader.realFile(p, full, in); err != nil {
			return err
		}
	}
	below, outside, found := filepath.Base(full), false, ""
	if in != nil {
		found = full
		if below, err = filepath.Rel(in.path, full); err != nil {
			return err
		}
		outside = !IsWithin(real, in.real)
	}
	if !s.First(real) {
		s.again(real, outside, found)
		return nil
	}
	data, mode, err := s.reader.read(real)
	if err != nil && in != nil {
		err = s.reader.named(p, full, err)
	}
	if err != nil {
		return err
	}
	f := NewFile(s.reader.Name(p, full), data)
	f.Real, f.Below, f.Mode, f.Outside, f.Found = real, below, mode, outside, found
	if s.reader.Note != nil {
		s.reader.Note(f.Name, real)
	}
	s.Files = append(s.Files, f)
	return nil
}

// realFile returns the path of a file without symbolic links, of one that is only open, too.
func (r *Reader) realFile(p Path, full string, in *directory) (string, error) {
	real, err := r.Contained(p, full)
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.isOpen(full):
		return RealPath(full), nil
	case err != nil && in != nil && errors.Is(err, fs.ErrNotExist):
		return "", r.errorAt(p, full, ErrDangling)
	case err != nil && in != nil && errors.Is(err, ErrEscape):
		return "", r.errorAt(p, full, ErrEscape)
	case err != nil && in != nil:
		return "", r.errorAt(p, full, causeOf(full, err))
	}
	return real, err
}

// causeOf returns what the system says of a file that cannot be found, without the path; or else the error.
func causeOf(full string, err error) error {
	var said *fs.PathError
	if _, stat := os.Stat(full); errors.As(stat, &said) {
		return said.Err
	}
	return err
}

// isOpen reports whether a file is open in an editor.
func (r *Reader) isOpen(full string) bool {
	if len(r.Buffers) == 0 {
		return false
	}
	_, isOpen := r.Buffers[RealPath(full)]
	return isOpen
}

// read returns the content of a file, of its buffer if it is open.
func (r *Reader) read(real string) ([]byte, fs.FileMode, error) {
	if text, isOpen := r.Buffers[real]; isOpen {
		data, err := r.Limit.Read(strings.NewReader(text))
		return data, 0o666, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, 0, err
	}
	data, err := r.Limit.ReadFile(real)
	return data, info.Mode(), err
}

// again notes that a file was found again under another path, which may be its real path.
func (s *Set) again(real string, outside bool, found string) {
	for i := range s.Files {
		if f := &s.Files[i]; f.Real == real {
			if found == "" {
				f.Found = ""
			}
			f.Outside = f.Outside && outside
		}
	}
}

// addDirectory reads the manifests in a directory and its subdirectories, in the order of their
// names. It skips hidden and ignored files, and links to directories outside of it, which are
// errors. It is an error if there are no manifests.
func (s *Set) addDirectory(p Path, root string) []error {
	w := &walker{set: s, path: p, in: &directory{root, RealPath(root)}, visited: map[string]bool{}, own: map[string]bool{root: true}}
	lists, options, err := s.reader.ignoreLists(root)
	if err != nil {
		return []error{err}
	}
	w.options = options
	w.walk(root, lists)
	w.followLinks()
	w.visitParts(append(lists, options))
	switch {
	case w.found:
	case w.ignored:
		w.fail(ErrAllIgnored)
	default:
		w.fail(ErrNoManifests)
	}
	return w.problems
}

// AddGlob reads the files whose paths match the name of p, as if the user had named each. "**"
// matches any number of directories, and no wildcard matches hidden files.
func (s *Set) AddGlob(p Path) []error {
	fixed, rest := doublestar.SplitPattern(filepath.ToSlash(p.Name))
	rest = braces.Replace(rest)
	if !doublestar.ValidatePattern(rest) {
		return []error{doublestar.ErrBadPattern}
	}
	root, err := s.reader.Resolve(Path{Name: filepath.FromSlash(fixed), Base: p.Base, Within: p.Within})
	if err != nil {
		return []error{err}
	}
	w := &walker{set: s, path: p, in: &directory{root, RealPath(root)}, visited: map[string]bool{}, own: map[string]bool{}, pattern: rest}
	if w.walk(root, nil); !w.found {
		w.fail(ErrNoMatch)
	}
	return w.problems
}

// walker reads the files in a directory.
type walker struct {
	set  *Set
	path Path
	in   *directory
	// options are the rules of the options.
	options *ignoreList
	// pattern is the pattern of a glob; empty for a directory.
	pattern string
	visited map[string]bool
	// own has the paths of files and directories that were found at them, and links are links to follow
	// after that. Both are for the rest.
	own   map[string]bool
	links []link
	// found reports that there are files to read, ignored that rules exclude some, and full that
	// the limit of the input is exceeded.
	found, ignored, full bool
	problems             []error
}

func (w *walker) fail(err error) {
	if err != nil {
		w.full = errors.As(err, new(*limit.Error))
		w.problems = append(w.problems, err)
	}
}

// walk reads the files in a directory that no rule ignores.
func (w *walker) walk(dir string, lists []*ignoreList) {
	s, p := w.set, w.path
	real, err := s.reader.Contained(p, dir)
	switch {
	case errors.Is(err, ErrEscape) && dir != w.in.path:
		err = s.reader.errorAt(p, dir, ErrEscape)
	case err == nil && w.pattern == "" && !IsWithin(real, w.in.real):
		err = s.reader.errorAt(p, dir, ErrLinkedOut)
	}
	if err != nil || w.visited[real] {
		w.fail(err)
		w.found = w.found || err != nil // the error is enough; do not report an empty directory
		return
	}
	w.visited[real] = true
	if w.pattern == "" {
		own, err := readIgnoreList(dir)
		w.fail(err)
		lists = append(lists[:len(lists):len(lists)], own, w.options)
	}
	entries, err := os.ReadDir(dir)
	w.fail(err)
	w.survey(dir, entries)
	for _, e := range entries {
		if w.full {
			return
		}
		full := filepath.Join(dir, e.Name())
		if !w.defers(full, e, lists) {
			w.visit(full, realOf(real, e), modeOf(full, e), lists)
		}
	}
	for _, full := range slices.Sorted(maps.Keys(s.reader.Buffers)) {
		isNew := !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == filepath.Base(full) })
		if filepath.Dir(full) == real && isNew {
			w.visit(filepath.Join(dir, filepath.Base(full)), "", 0, lists)
		}
	}
}

// realOf returns the path without symbolic links of an entry of a directory that has such a path; "" if the entry
// is a link.
func realOf(dir string, e fs.DirEntry) string {
	if e.Type()&fs.ModeSymlink != 0 {
		return ""
	}
	return filepath.Join(dir, e.Name())
}

// visit adds a file, or walks a directory. real is as for addFile.
func (w *walker) visit(full, real string, mode fs.FileMode, lists []*ignoreList) {
	switch {
	case !w.wants(full, mode.IsDir()):
		w.visitRest(full, mode, lists)
	case ignores(lists, full, mode.IsDir()):
		w.ignored = true
	case mode.IsDir():
		w.own[full] = true
		w.walk(full, lists[:max(0, len(lists)-1)])
	case !mode.IsRegular():
		w.found = true
		w.fail(w.set.reader.errorAt(w.path, full, ErrNotRegular))
	case w.pattern != "":
		w.found = true
		w.fail(w.set.addFile(w.path, full, real, nil))
	default:
		w.found = true
		w.own[full] = true
		w.fail(w.set.addFile(w.path, full, real, w.in))
	}
}

// wants reports whether a file or directory is to be read, if no rule ignores it.
func (w *walker) wants(full string, isDir bool) bool {
	name := filepath.Base(full)
	switch {
	case strings.HasPrefix(name, "."):
		return false
	case isDir:
		return !w.path.Shallow
	case w.pattern != "":
		below, err := filepath.Rel(w.in.path, full)
		return err == nil && doublestar.MatchUnvalidated(w.pattern, filepath.ToSlash(below))
	}
	return slices.Contains(extensions, filepath.Ext(name))
}

// modeOf returns the mode of a directory entry; of its target if the entry is a link. It returns 0
// for a link without a target, which addFile reports.
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

// errorAt returns an error about a file below a directory.
func (r *Reader) errorAt(p Path, full string, err error) error {
	return &fs.PathError{Op: "read", Path: r.Name(p, full), Err: err}
}

// named adds the name of a file to an error that says that the input is too large.
func (r *Reader) named(p Path, full string, err error) error {
	if errors.As(err, new(*limit.Error)) {
		return r.errorAt(p, full, err)
	}
	return err
}

// Name returns the path of a file for messages: relative if the user's path was relative.
func (r *Reader) Name(p Path, full string) string {
	if filepath.IsAbs(p.Name) {
		return full
	}
	if name, err := filepath.Rel(r.Dir, full); err == nil && (p.Within == nil || IsWithin(full, r.Dir)) {
		return filepath.ToSlash(name)
	}
	return full
}

// Resolve returns the absolute path of a file or directory, which need not exist.
func (r *Reader) Resolve(p Path) (string, error) {
	full := p.Name
	if p.Base != "" && !filepath.IsAbs(full) {
		full = filepath.Join(p.Base, full)
	}
	if full = filepath.Clean(full); !filepath.IsAbs(full) {
		full = filepath.Join(r.Dir, full)
	}
	if p.Within != nil && !slices.ContainsFunc(p.Within, func(dir string) bool { return IsWithin(full, dir) }) {
		return "", ErrEscape
	}
	return full, nil
}

// Contained returns the path of a file or directory without symbolic links. It fails if that path
// leads out of the bounds of p.
func (r *Reader) Contained(p Path, full string) (string, error) {
	real, err := filepath.EvalSymlinks(full)
	if err != nil || p.Within == nil {
		return real, err
	}
	for _, dir := range p.Within {
		if realDir, err := filepath.EvalSymlinks(dir); err == nil && IsWithin(real, realDir) {
			return real, nil
		}
	}
	return "", ErrEscape
}

// RealPath returns a path without symbolic links. Its last parts need not exist.
func RealPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(RealPath(dir), filepath.Base(path))
}

// IsWithin reports whether a path is dir or is below dir. It compares names only and does not
// follow links.
func IsWithin(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
