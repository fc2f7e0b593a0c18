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
)

// replacement is what a file is to contain.
type replacement struct {
	// name is what the user knows the file by, real its path without symbolic links.
	name, real string
	data       []byte
	// origin is what it must contain still, if it was read; mode the mode of a new file
	// if it is not the usual one.
	origin []byte
	mode   fs.FileMode
	// within is the directory that it must not be out of; directories in it are made.
	within string
	// place is the directory that it is in.
	place *place
	// before is what it contains, and info describes it, if there is a file.
	before []byte
	info   fs.FileInfo
	// staged is the name of the file with the new data that is to take its place.
	staged string
}

func (r *replacement) base() string { return filepath.Base(r.real) }

// note adds a problem, if there is one.
func (r *replacement) note(problems []source.Diagnostic, err error) []source.Diagnostic {
	if err == nil {
		return problems
	}
	return append(problems, unwritable(r.name, err))
}

// errChanged says that somebody else has written a file.
var errChanged = &refusal{"the file has changed since it was read", "what others wrote there stays, and what this run made of it is not written: run it again"}

// read returns the file as it is on the disk; nothing if it is missing.
func (r *replacement) read() (fs.FileInfo, []byte, error) {
	info, err := r.place.root.Lstat(r.base())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("it is not a regular file")
	}
	data, err := r.place.root.ReadFile(r.base())
	return info, data, err
}

// look notes what there is to replace.
func (r *replacement) look() (err error) {
	if r.info, r.before, err = r.read(); err != nil {
		return err
	}
	if r.origin != nil && (r.info == nil || !bytes.Equal(r.before, r.origin)) {
		return errChanged
	}
	return nil
}

// check fails if the file is not what it was.
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

// stage writes the data into a new file beside the one to replace, with the mode and,
// where that is allowed, the owner of that. Until then nobody else can read it.
func (r *replacement) stage() error {
	mode := fs.FileMode(0o666)
	switch {
	case r.info != nil:
		mode = 0o600
	case r.mode != 0:
		mode = r.mode.Perm()&0o666 | 0o200
	}
	file, name, err := r.place.create(mode)
	if err != nil {
		return err
	}
	r.staged = name
	if r.info != nil {
		keepOwner(file, r.info)
		err = file.Chmod(r.info.Mode().Perm())
	}
	if err == nil {
		_, err = file.Write(r.data)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// replace puts the staged file in place, at once: whatever happens, the file is the old
// or the new one.
func (r *replacement) replace() error {
	if err := r.check(); err != nil {
		return err
	}
	err := r.place.root.Rename(r.staged, r.base())
	if err == nil {
		r.staged = ""
	}
	return err
}

// discard removes the staged file, if it is not in place.
func (r *replacement) discard() {
	if r.staged != "" {
		_ = r.place.root.Remove(r.staged)
	}
}

// place is a directory with files to replace. It is locked while that goes on, so that
// two runs do it one after the other.
type place struct {
	root *os.Root
	// lock is the directory, if it can be locked.
	lock *os.File
	// next is the number of the next new file.
	next int
}

// places are the directories of replacements.
type places []*place

// open opens and locks the directories, in the order of their paths, so that no two runs
// wait for each other.
func (ps *places) open(ctx context.Context, replacements []*replacement, say io.Writer) (problems []source.Diagnostic) {
	ordered := slices.Clone(replacements)
	slices.SortStableFunc(ordered, func(a, b *replacement) int {
		return strings.Compare(filepath.Dir(a.real), filepath.Dir(b.real))
	})
	known := map[any]*place{}
	for _, r := range ordered {
		root, err := r.openDirectory()
		if err != nil {
			problems = r.note(problems, err)
			continue
		}
		key := any(filepath.Dir(r.real))
		if info, err := root.Stat("."); err == nil {
			key = fileKey(info, filepath.Dir(r.real))
		}
		if r.place = known[key]; r.place != nil {
			root.Close()
			continue
		}
		r.place = &place{root: root}
		known[key] = r.place
		*ps = append(*ps, r.place)
		problems = r.note(problems, r.place.acquire(ctx, filepath.Dir(r.name), say))
	}
	return problems
}

// openDirectory opens the directory of a file, and makes it if it is below another.
func (r *replacement) openDirectory() (*os.Root, error) {
	dir := filepath.Dir(r.real)
	if r.within == "" {
		return os.OpenRoot(dir)
	}
	if err := os.MkdirAll(r.within, 0o777); err != nil {
		return nil, err
	}
	top, err := os.OpenRoot(r.within)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	below, err := filepath.Rel(realPath(r.within), dir)
	if err != nil {
		return nil, err
	}
	if err := top.MkdirAll(below, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return top.OpenRoot(below) // which says what is in the way
}

const (
	// lockInterval is how often a locked directory is tried again, and lockWord after how
	// many times the user hears of it.
	lockInterval = 20 * time.Millisecond
	lockWord     = 50
)

// acquire locks the directory, when no other run has it locked any more, and removes what
// killed runs have left. Where there are no locks, each file is still compared with what
// was read right before it is replaced.
func (p *place) acquire(ctx context.Context, name string, say io.Writer) error {
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
			fmt.Fprintf(say, "preadmit: waiting for another run, which writes into %s\n", name)
		}
		select {
		case <-ctx.Done():
			dir.Close()
			return context.Cause(ctx)
		case <-time.After(lockInterval):
		}
	}
}

// stagedPrefix begins the names of new files, which are hidden: no manifests to anybody.
const stagedPrefix = ".preadmit-staged-"

// clean removes what killed runs have left: runs that live would have the directory
// locked.
func (p *place) clean() error {
	entries, err := p.lock.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagedPrefix) && e.Type().IsRegular() {
			if err := p.root.Remove(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// create makes a new file. Unlike those of os.CreateTemp it has the mode that new files
// have.
func (p *place) create(mode fs.FileMode) (*os.File, string, error) {
	for {
		name := fmt.Sprintf("%s%d", stagedPrefix, p.next)
		p.next++
		file, err := p.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return file, name, err
		}
	}
}

// close releases the directories.
func (ps *places) close() {
	for _, p := range *ps {
		if p.lock != nil {
			p.lock.Close()
		}
		p.root.Close()
	}
}
