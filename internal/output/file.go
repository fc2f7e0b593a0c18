package output

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
)

// File is a file with its new contents. Its exported fields say what is to be written.
type File struct {
	// Name is the path of the file for messages, Real its path without symbolic links.
	Name, Real string
	Data       []byte
	// Origin is the text that was read from the file; the file must not have changed since. It
	// is nil if the file was not read. Mode is the mode for a new file; zero means the default.
	Origin []byte
	Mode   fs.FileMode
	// Unseen says that the file did not exist when it should have been read, so another run has created it if it
	// exists.
	Unseen bool
	// Exact is the mode that the file gets in any case, zero if an existing file keeps its own. For a
	// symbolic link it is fs.ModeSymlink, and the data is the path that the link has.
	Exact fs.FileMode
	// Over is the type of files that it replaces besides regular ones.
	Over fs.FileMode
	// Within is the directory that the file must be in. It is created, and so are directories
	// below it.
	Within string
	// place is the directory of the file, or if it does not exist, the next one above it that exists. dir is
	// its path, and below the path of the file in it.
	place      *Directory
	dir, below string
	// obstacle is what has to be removed from the place first, because it has the path of the file or of a
	// directory above it. Empty means nothing.
	obstacle string
	// before and info are the current contents and description of the file, if it exists.
	before []byte
	info   fs.FileInfo
	// staged is the name of the temporary file with the new data.
	staged string
}

// note adds a diagnostic for err, if it is not nil.
func (f *File) note(problems []source.Diagnostic, err error) []source.Diagnostic {
	if err == nil {
		return problems
	}
	return append(problems, Unwritable(f.Name, err))
}

// errChanged is the error for a file that another program has changed.
var errChanged = Refuse("the file has changed since it was read", "the change was kept and this file was not written; run preadmit again")

// isCurrent reports whether the current file needs no replacement.
func (f *File) isCurrent() bool {
	switch {
	case f.info == nil || !bytes.Equal(f.before, f.Data) || f.info.Mode().Type() != f.Exact.Type():
		return false
	case f.Exact == 0 || f.Exact.Type() != 0:
		return true
	}
	return f.info.Mode().Perm() == f.Exact
}

// read returns the current file; nil if it does not exist. The data of a symbolic link is its path.
func (f *File) read() (fs.FileInfo, []byte, error) {
	if info, err := f.place.Root.Lstat(f.obstacle); f.obstacle != "" && err == nil && info.IsDir() == (f.obstacle == f.below) {
		return nil, nil, nil // it is still there
	}
	info, err := f.place.Root.Lstat(f.below)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case info.Mode().Type() == fs.ModeSymlink && f.Over == fs.ModeSymlink:
		text, err := f.place.Root.Readlink(f.below)
		return info, []byte(text), err
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("it is not a regular file")
	}
	data, err := f.place.Root.ReadFile(f.below)
	return info, data, err
}

// look reads the current file. Another run may have written the same contents already.
func (f *File) look() (err error) {
	if f.info, f.before, err = f.read(); err != nil {
		return err
	}
	isChanged := f.Origin != nil && (f.info == nil || !bytes.Equal(f.before, f.Origin)) || f.Unseen && f.info != nil
	if isChanged && (f.info == nil || !bytes.Equal(f.before, f.Data)) {
		return errChanged
	}
	return nil
}

// check fails if the file has changed since look.
func (f *File) check() error {
	info, data, err := f.read()
	if err != nil {
		return err
	}
	if (info == nil) != (f.info == nil) || info != nil && !(os.SameFile(info, f.info) && bytes.Equal(data, f.before)) {
		return errChanged
	}
	return nil
}

// stage writes the data to a temporary file in the same directory. It gets its exact mode, or that of
// the file to replace, and, if allowed, its owner. Nobody else can read it before that.
func (f *File) stage() error {
	if f.Exact == fs.ModeSymlink {
		name, err := f.place.link(string(f.Data))
		f.staged = name
		return err
	}
	old := f.info
	if old != nil && !old.Mode().IsRegular() {
		old = nil
	}
	mode := fs.FileMode(0o666)
	switch {
	case old != nil || f.Exact != 0:
		mode = 0o600
	case f.Mode != 0:
		mode = f.Mode.Perm()&0o666 | 0o200
	}
	file, name, err := f.place.Create(mode)
	if err != nil {
		return err
	}
	f.staged = name
	if old != nil {
		keepOwner(file, old)
		err = file.Chmod(old.Mode().Perm())
	}
	if f.Exact != 0 {
		err = file.Chmod(f.Exact)
	}
	if err == nil && f.Exact != 0 && f.Exact&0o077 == 0 { // nobody else may read it
		err = checkMode(file, f.Exact)
	}
	if err == nil {
		_, err = file.Write(f.Data)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// replace renames the temporary file to its final name, after it has created missing directories. This is
// atomic: the file always has either the old or the new contents.
func (f *File) replace() error {
	err := f.check()
	if above := filepath.Dir(f.below); err == nil && above != "." {
		err = f.place.Root.MkdirAll(above, 0o777)
	}
	if err != nil {
		return err
	}
	err = f.place.Root.Rename(f.staged, f.below)
	if err == nil {
		f.staged = ""
	}
	return err
}

// discard removes the temporary file, if it was not renamed.
func (f *File) discard() {
	if f.staged != "" {
		_ = f.place.Root.Remove(f.staged)
	}
}

// locate finds the directory that the file is written to first: the last one on its path that exists. It
// creates only the directory that the file must be in.
func (f *File) locate() error {
	f.dir, f.below = filepath.Dir(f.Real), filepath.Base(f.Real)
	if f.Within == "" {
		return nil
	}
	if err := os.MkdirAll(f.Within, 0o777); err != nil {
		return err
	}
	f.dir = input.RealPath(f.Within)
	rest, err := filepath.Rel(f.dir, f.Real)
	if err != nil {
		return err
	}
	for {
		first, more, isAbove := strings.Cut(rest, string(filepath.Separator))
		info, err := os.Lstat(filepath.Join(f.dir, first))
		if f.below = rest; err != nil {
			return nil // what prevents that it is created, its creation says
		}
		if !isAbove || !info.IsDir() {
			if isAbove || info.IsDir() {
				f.obstacle = first
			}
			return nil
		}
		f.dir, rest = filepath.Join(f.dir, first), more
	}
}

// openDirectory opens the directory of a file.
func (f *File) openDirectory() (*os.Root, error) {
	if f.Within == "" {
		return os.OpenRoot(f.dir)
	}
	top, err := os.OpenRoot(f.Within)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	below, err := filepath.Rel(input.RealPath(f.Within), f.dir)
	if err != nil {
		return nil, err
	}
	return top.OpenRoot(below)
}

// errInWay is why an obstacle is not removed.
func (f *File) errInWay() error {
	if f.obstacle == f.below {
		return Refuse("a directory has this path", "remove it, or name another path")
	}
	return Refuse("a file or a symbolic link in the output directory has the path of a directory", "remove it, or name another output directory")
}
