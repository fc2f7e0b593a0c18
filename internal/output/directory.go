package output

import (
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

// Directory is a directory with files to replace. It is locked, so that only one run at a time
// writes to it.
type Directory struct {
	// Root is the directory itself.
	Root *os.Root
	// lock is the directory, if it can be locked.
	lock *os.File
	// next is the number of the next temporary file.
	next int
}

// Lock opens and locks a directory, which it creates if it does not exist. name is its name for messages. While
// another run writes there, it waits, and says so.
func Lock(ctx context.Context, dir, name string, say io.Writer) (*Directory, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	d := &Directory{Root: root}
	if err := d.acquire(ctx, name, say); err != nil {
		root.Close()
		return nil, err
	}
	return d, nil
}

// places are the directories of files, by what fileKey returns for them.
type places map[any]*Directory

// open opens and locks the directories in the order of their paths, so that two runs cannot
// deadlock.
func (ps places) open(ctx context.Context, files []*File, say io.Writer) (problems []source.Diagnostic) {
	var ordered []*File
	for _, f := range files {
		if err := f.locate(); err != nil {
			problems = f.note(problems, err)
			continue
		}
		ordered = append(ordered, f)
	}
	slices.SortStableFunc(ordered, func(a, b *File) int { return strings.Compare(a.dir, b.dir) })
	for _, f := range ordered {
		root, err := f.openDirectory()
		if err != nil {
			problems = f.note(problems, err)
			continue
		}
		key := any(f.dir)
		if info, err := root.Stat("."); err == nil {
			key = fileKey(info, f.dir)
		}
		if f.place = ps[key]; f.place != nil {
			root.Close()
			continue
		}
		f.place = &Directory{Root: root}
		ps[key] = f.place
		problems = f.note(problems, f.place.acquire(ctx, filepath.Dir(f.Name), say))
	}
	return problems
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
func (d *Directory) acquire(ctx context.Context, name string, say io.Writer) error {
	dir, err := d.Root.Open(".")
	if err != nil {
		return err
	}
	for tries := 1; ; tries++ {
		locked, err := tryLock(dir)
		if err != nil {
			return dir.Close()
		}
		if locked {
			d.lock = dir
			return d.clean()
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
func (d *Directory) clean() error {
	entries, err := d.lock.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), stagedPrefix) && e.Type()&^fs.ModeSymlink == 0 {
			if err := d.Root.Remove(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Create creates a temporary file. Unlike os.CreateTemp, it uses the given mode.
func (d *Directory) Create(mode fs.FileMode) (file *os.File, name string, err error) {
	name, err = d.temporary(func(name string) (err error) {
		file, err = d.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	return file, name, err
}

// link creates a temporary symbolic link with a path.
func (d *Directory) link(path string) (name string, err error) {
	return d.temporary(func(name string) error { return d.Root.Symlink(path, name) })
}

// temporary calls make with the name of a file that does not exist.
func (d *Directory) temporary(make func(name string) error) (string, error) {
	for {
		name := fmt.Sprintf("%s%d", stagedPrefix, d.next)
		d.next++
		if err := make(name); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
}

// Close unlocks and closes the directory.
func (d *Directory) Close() {
	if d.lock != nil {
		d.lock.Close()
	}
	d.Root.Close()
}

// close unlocks and closes the directories.
func (ps places) close() {
	for _, d := range ps {
		d.Close()
	}
}
