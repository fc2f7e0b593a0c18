package krmfn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
)

// replacement is a file with its new contents.
type replacement struct {
	// name is the path of the file for messages, real its path without symbolic links.
	name, real string
	data       []byte
	// origin is the text that was read from the file; the file must not have changed since. It
	// is nil if the file was not read. mode is the mode for a new file; zero means the default.
	origin []byte
	mode   fs.FileMode
	// unseen says that the file did not exist when it should have been read, so another run has created it if it
	// exists.
	unseen bool
	// exact is the mode that the file gets in any case, zero if an existing file keeps its own. For a
	// symbolic link it is fs.ModeSymlink, and the data is the path that the link has.
	exact fs.FileMode
	// over is the type of files that it replaces besides regular ones.
	over fs.FileMode
	// within is the directory that the file must be in. It is created, and so are directories
	// below it.
	within string
	// place is the directory of the file, or if it does not exist, the next one above it that exists. dir is
	// its path, and below the path of the file in it.
	place      *lockedDirectory
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
func (r *replacement) note(problems []source.Diagnostic, err error) []source.Diagnostic {
	if err == nil {
		return problems
	}
	return append(problems, unwritable(r.name, err))
}

// errChanged is the error for a file that another program has changed.
var errChanged = &refusal{"the file has changed since it was read", "the change was kept and this file was not written; run preadmit again"}

// isCurrent reports whether the current file needs no replacement.
func (r *replacement) isCurrent() bool {
	switch {
	case r.info == nil || !bytes.Equal(r.before, r.data) || r.info.Mode().Type() != r.exact.Type():
		return false
	case r.exact == 0 || r.exact.Type() != 0:
		return true
	}
	return r.info.Mode().Perm() == r.exact
}

// read returns the current file; nil if it does not exist. The data of a symbolic link is its path.
func (r *replacement) read() (fs.FileInfo, []byte, error) {
	if info, err := r.place.root.Lstat(r.obstacle); r.obstacle != "" && err == nil && info.IsDir() == (r.obstacle == r.below) {
		return nil, nil, nil // it is still there
	}
	info, err := r.place.root.Lstat(r.below)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case info.Mode().Type() == fs.ModeSymlink && r.over == fs.ModeSymlink:
		text, err := r.place.root.Readlink(r.below)
		return info, []byte(text), err
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("it is not a regular file")
	}
	data, err := r.place.root.ReadFile(r.below)
	return info, data, err
}

// look reads the current file. Another run may have written the same contents already.
func (r *replacement) look() (err error) {
	if r.info, r.before, err = r.read(); err != nil {
		return err
	}
	isChanged := r.origin != nil && (r.info == nil || !bytes.Equal(r.before, r.origin)) || r.unseen && r.info != nil
	if isChanged && (r.info == nil || !bytes.Equal(r.before, r.data)) {
		return errChanged
	}
	return nil
}

// check fails if the file has changed since look.
func (r *replacement) check() error {
	info, data, err := r.read()
	if err != nil {
		return err
	}
	if (info == nil) != (r.info == nil) || info != nil && !(os.SameFile(info, r.info) && bytes.Equal(data, r.before)) {
		return errChanged
	}
	return nil
}

// stage writes the data to a temporary file in the same directory. It gets its exact mode, or that of
// the file to replace, and, if allowed, its owner. Nobody else can read it before that.
func (r *replacement) stage() error {
	if r.exact == fs.ModeSymlink {
		name, err := r.place.link(string(r.data))
		r.staged = name
		return err
	}
	old := r.info
	if old != nil && !old.Mode().IsRegular() {
		old = nil
	}
	mode := fs.FileMode(0o666)
	switch {
	case old != nil || r.exact != 0:
		mode = 0o600
	case r.mode != 0:
		mode = r.mode.Perm()&0o666 | 0o200
	}
	file, name, err := r.place.create(mode)
	if err != nil {
		return err
	}
	r.staged = name
	if old != nil {
		keepOwner(file, old)
		err = file.Chmod(old.Mode().Perm())
	}
	if r.exact != 0 {
		err = file.Chmod(r.exact)
	}
	if err == nil && r.exact != 0 && r.exact&0o077 == 0 { // nobody else may read it
		err = checkMode(file, r.exact)
	}
	if err == nil {
		_, err = file.Write(r.data)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// replace renames the temporary file to its final name, after it has created missing directories. This is
// atomic: the file always has either the old or the new contents.
func (r *replacement) replace() error {
	err := r.check()
	if above := filepath.Dir(r.below); err == nil && above != "." {
		err = r.place.root.MkdirAll(above, 0o777)
	}
	if err != nil {
		return err
	}
	err = r.place.root.Rename(r.staged, r.below)
	if err == nil {
		r.staged = ""
	}
	return err
}

// discard removes the temporary file, if it was not renamed.
func (r *replacement) discard() {
	if r.staged != "" {
		_ = r.place.root.Remove(r.staged)
	}
}

// lockedDirectory is a directory with files to replace. It is locked, so that only one run at a time
// writes to it.
type lockedDirectory struct {
	root *os.Root
	// lock is the directory, if it can be locked.
	lock *os.File
	// next is the number of the next temporary file.
	next int
}

// places are the directories of replacements, by what fileKey returns for them.
type places map[any]*lockedDirectory

// open opens and locks the directories in the order of their paths, so that two runs cannot
// deadlock.
func (ps places) open(ctx context.Context, replacements []*replacement, say io.Writer) (problems []source.Diagnostic) {
	var ordered []*replacement
	for _, r := range replacements {
		if err := r.locate(); err != nil {
			problems = r.note(problems, err)
			continue
		}
		ordered = append(ordered, r)
	}
	slices.SortStableFunc(ordered, func(a, b *replacement) int { return strings.Compare(a.dir, b.dir) })
	for _, r := range ordered {
		root, err := r.openDirectory()
		if err != nil {
			problems = r.note(problems, err)
			continue
		}
		key := any(r.dir)
		if info, err := root.Stat("."); err == nil {
			key = fileKey(info, r.dir)
		}
		if r.place = ps[key]; r.place != nil {
			root.Close()
			continue
		}
		r.place = &lockedDirectory{root: root}
		ps[key] = r.place
		problems = r.note(problems, r.place.acquire(ctx, filepath.Dir(r.name), say))
	}
	return problems
}

// locate finds the directory that the file is written to first: the last one on its path that exists. It
// creates only the directory that the file must be in.
func (r *replacement) locate() error {
	r.dir, r.below = filepath.Dir(r.real), filepath.Base(r.real)
	if r.within == "" {
		return nil
	}
	if err := os.MkdirAll(r.within, 0o777); err != nil {
		return err
	}
	r.dir = input.RealPath(r.within)
	rest, err := filepath.Rel(r.dir, r.real)
	if err != nil {
		return err
	}
	for {
		first, more, isAbove := strings.Cut(rest, string(filepath.Separator))
		info, err := os.Lstat(filepath.Join(r.dir, first))
		if r.below = rest; err != nil {
			return nil // what prevents that it is created, its creation says
		}
		if !isAbove || !info.IsDir() {
			if isAbove || info.IsDir() {
				r.obstacle = first
			}
			return nil
		}
		r.dir, rest = filepath.Join(r.dir, first), more
	}
}

// openDirectory opens the directory of a file.
func (r *replacement) openDirectory() (*os.Root, error) {
	if r.within == "" {
		return os.OpenRoot(r.dir)
	}
	top, err := os.OpenRoot(r.within)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	below, err := filepath.Rel(input.RealPath(r.within), r.dir)
	if err != nil {
		return nil, err
	}
	return top.OpenRoot(below)
}

// errInWay is why an obstacle is not removed.
func (r *replacement) errInWay() error {
	if r.obstacle == r.below {
		return &refusal{"a directory has this path", "remove it, or name another path"}
	}
	return &refusal{"a file or a symbolic link in the output directory has the path of a directory", "remove it, or name another output directory"}
}

const (
	// lockInterval is the time between attempts to lock a directory, and lockWord the number of
	// attempts after which a message is printed.
	lockInterval = 20 * time.Millisecond
	lockWord     = 50
)

// acquire waits until it can lock the directory, and then removes the temporary files of killed
// runs. If the system has no locks, it locks nothing; each file is still compared with its old
// contents right before it is replaced.
func (p *lockedDirectory) acquire(ctx context.Context, name string, say io.Writer) error {
	dir, err := p.root.Open(".")
	if err != nil {
		return err
	}
	for tries := 1; ; tries++ {
		locked, err := tryLock(dir)
		if err != nil {
			return dir.Close()
		}
		if locked {
			p.lock = dir
			return p.clean()
		}
		if tries == lockWord {
			fmt.Fprintf(say, "preadmit: waiting for another run that writes to %s\n", source.Printable(name))
		}
		select {
		case <-ctx.Done():
			dir.Close()
			return context.Cause(ctx)
		case <-time.After(lockInterval):
		}
	}
}

// stagedPrefix is the prefix of temporary files. They are hidden, so that no program reads them
// as manifests.
const stagedPrefix = ".preadmit-staged-"

// clean removes the temporary files of killed runs. Running ones would hold the lock.
func (p *lockedDirectory) clean() error {
	entries, err := p.lock.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagedPrefix) && e.Type()&^fs.ModeSymlink == 0 {
			if err := p.root.Remove(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// create creates a temporary file. Unlike os.CreateTemp, it uses the given mode.
func (p *lockedDirectory) create(mode fs.FileMode) (file *os.File, name string, err error) {
	name, err = p.temporary(func(name string) (err error) {
		file, err = p.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	return file, name, err
}

// link creates a temporary symbolic link with a path.
func (p *lockedDirectory) link(path string) (name string, err error) {
	return p.temporary(func(name string) error { return p.root.Symlink(path, name) })
}

// temporary calls make with the name of a file that does not exist.
func (p *lockedDirectory) temporary(make func(name string) error) (string, error) {
	for {
		name := fmt.Sprintf("%s%d", stagedPrefix, p.next)
		p.next++
		if err := make(name); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
}

// close unlocks and closes the directory.
func (p *lockedDirectory) close() {
	if p.lock != nil {
		p.lock.Close()
	}
	p.root.Close()
}

// close unlocks and closes the directories.
func (ps places) close() {
	for _, p := range ps {
		p.close()
	}
}
