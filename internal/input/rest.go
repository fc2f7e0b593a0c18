package input

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Rest is what a set finds in directories besides manifests. Hidden files are not part of it, except those
// that kustomizations use and ignore files of charts.
type Rest struct {
	// Files are the files without manifests.
	Files []File
	// Links are the symbolic links to what is found at another path of the same directory. Nothing is read
	// through them.
	Links []Link
	// Left are *fs.PathError for what is not read: other links, and what is no regular file.
	Left []error
}

// Link is a relative symbolic link in a directory that the user named.
type Link struct {
	// Name is its path for messages, and Below its path relative to the directory.
	Name, Below string
	// Target is the path that it has.
	Target string
}

// The errors for what is left, besides those for all paths.
var (
	ErrFileOutside = errors.New("the link leads to a file outside of the directory")
	ErrAbsolute    = errors.New("the link is not relative to the directory")
	ErrElsewhere   = errors.New("the file was read under another path")
)

// ChartIgnoreFile is the file with patterns of files that are not part of a chart.
const ChartIgnoreFile = ".helmignore"

// leave notes a file that is not read.
func (s *Set) leave(p Path, full string, err error) {
	s.Rest.Left = append(s.Rest.Left, s.reader.errorAt(p, full, err))
}

// keep adds a file that holds no manifests.
func (s *Set) keep(f File) {
	switch {
	case s.Rest == nil:
	case f.Outside:
		s.Rest.Left = append(s.Rest.Left, &fs.PathError{Op: "read", Path: f.Name, Err: ErrFileOutside})
	default:
		s.Rest.Files = append(s.Rest.Files, f)
	}
}

// visitRest adds a file that cannot hold manifests.
func (w *walker) visitRest(full string, mode fs.FileMode, lists []*ignoreList) {
	s, name := w.set, filepath.Base(full)
	isHidden := strings.HasPrefix(name, ".") && !(name == ChartIgnoreFile && s.Site.charts.has[filepath.Dir(full)])
	switch {
	case s.Rest == nil || w.pattern != "" || isHidden || mode.IsDir() || ignores(lists, full, false):
	case !mode.IsRegular():
		s.leave(w.path, full, ErrNotRegular)
	default:
		w.fail(w.addRest(full))
	}
}

// addRest reads a file that cannot hold manifests.
func (w *walker) addRest(full string) error {
	s := w.set
	real, err := s.reader.Contained(w.path, full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.leave(w.path, full, ErrDangling)
		return nil
	case err != nil:
		return err
	case !IsWithin(real, w.in.real):
		s.leave(w.path, full, ErrFileOutside)
		return nil
	}
	w.own[full] = true
	below, err := filepath.Rel(w.in.path, full)
	if err != nil {
		return err
	}
	if !s.First(real) {
		if real != filepath.Join(w.in.real, below) {
			s.leave(w.path, full, ErrElsewhere)
		}
		return nil
	}
	data, mode, err := s.reader.read(real)
	if err != nil {
		return s.reader.named(w.path, full, err)
	}
	f := File{Name: s.reader.Name(w.path, full), Data: data, Real: real, Below: below, Mode: mode, Found: full}
	if s.reader.Note != nil {
		s.reader.Note(f.Name, real)
	}
	s.keep(f)
	return nil
}

// link is a symbolic link that is followed after all that is no link.
type link struct {
	full  string
	lists []*ignoreList
}

// defers notes an entry that is a link for later, when it is known what it leads to. It reports whether it is
// one.
func (w *walker) defers(full string, e fs.DirEntry, lists []*ignoreList) bool {
	isLink := w.set.Rest != nil && w.pattern == "" && e.Type()&fs.ModeSymlink != 0
	if isLink {
		w.links = append(w.links, link{full, lists})
	}
	return isLink
}

// followLinks notes the links to what was found at its own path, and follows the others, which may lead to
// hidden files and to manifests elsewhere.
func (w *walker) followLinks() {
	for i := 0; i < len(w.links) && !w.full; i++ { // directories have further links
		l := w.links[i]
		mode, real := fs.FileMode(0), ""
		if info, err := os.Stat(l.full); err == nil {
			mode, real = info.Mode(), RealPath(l.full)
		}
		below, err := filepath.Rel(w.in.real, real)
		isOwn := err == nil && w.own[filepath.Join(w.in.path, below)]
		text, err := os.Readlink(l.full)
		isRelative := err == nil && !filepath.IsAbs(text) && IsWithin(filepath.Join(filepath.Dir(l.full), text), w.in.path)
		switch {
		case strings.HasPrefix(filepath.Base(l.full), ".") || ignores(l.lists, l.full, mode.IsDir()):
		case isOwn && isRelative:
			at, _ := filepath.Rel(w.in.path, l.full) // it was found there
			w.set.Rest.Links = append(w.set.Rest.Links, Link{w.set.reader.Name(w.path, l.full), at, text})
			w.found = true
		case isOwn:
			w.set.leave(w.path, l.full, ErrAbsolute)
		default:
			w.visit(l.full, "", mode, l.lists)
		}
	}
}

// visitParts adds the hidden files that kustomizations use, such as environments of generators.
func (w *walker) visitParts(lists []*ignoreList) {
	if w.set.Rest == nil {
		return
	}
	for _, full := range slices.Sorted(maps.Keys(w.set.Site.parts)) {
		below, err := filepath.Rel(w.in.path, full)
		if err != nil || !filepath.IsLocal(below) || !strings.Contains(string(filepath.Separator)+below, string(filepath.Separator)+".") {
			continue
		}
		if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && !ignores(lists, full, false) {
			w.fail(w.addRest(full))
		}
	}
}
