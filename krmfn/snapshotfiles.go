package krmfn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	slashpath "path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/cluster"
	"github.com/preadmit/preadmit/internal/output"
)

// snapshotMark is the first line of the files of snapshots. Other files are neither replaced nor
// removed.
const snapshotMark = "# Written by preadmit snapshot, which replaces it.\n"

// snapshotFiles are the files of a snapshot. They are in temporary files until commit.
type snapshotFiles struct {
	// name is the directory or file for messages. single is the name of the file, or "" if every
	// object has its own.
	name, single string
	place        *output.Directory
	staged       []stagedObject
	// file is the temporary file of a single file.
	file             *os.File
	written, removed int
}

// stagedObject is a temporary file. path is its place below the directory.
type stagedObject struct {
	temporary, path string
	private         bool
}

// openSnapshot opens the directory of a snapshot, or of its file, and locks it.
func openSnapshot(ctx context.Context, full, name string, say io.Writer) (*snapshotFiles, error) {
	s := &snapshotFiles{name: name}
	dir := full
	if ext := filepath.Ext(full); ext == ".yaml" || ext == ".yml" {
		dir, s.single = filepath.Dir(full), filepath.Base(full)
	}
	var err error
	s.place, err = output.Lock(ctx, dir, name, say)
	return s, err
}

// put adds an object.
func (s *snapshotFiles) put(o cluster.Stored) error {
	text := slices.Concat([]byte(snapshotMark), manifest.YAML(o.Object))
	if s.single != "" {
		return s.append(text, o.Private)
	}
	mode := fs.FileMode(0o666)
	if o.Private {
		mode = 0o600
	}
	file, name, err := s.place.Create(mode)
	if err != nil {
		return err
	}
	s.staged = append(s.staged, stagedObject{name, cluster.Path(o.Object), o.Private})
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// append adds an object to a single file.
func (s *snapshotFiles) append(text []byte, private bool) (err error) {
	if s.file == nil {
		one := stagedObject{path: s.single}
		if s.file, one.temporary, err = s.place.Create(0o666); err != nil {
			return err
		}
		s.staged = append(s.staged, one)
	} else {
		text = append([]byte("---\n"), text[len(snapshotMark):]...)
	}
	if private && !s.staged[0].private {
		s.staged[0].private = true
		err = s.file.Chmod(0o600)
	}
	_, wrong := s.file.Write(text)
	return errors.Join(err, wrong)
}

// commit replaces the files of the snapshot before, and removes those that this one does not have.
// Nothing changes if a file belongs to somebody else.
func (s *snapshotFiles) commit() (problems []source.Diagnostic) {
	if s.file != nil {
		if err := s.file.Close(); err != nil {
			return append(problems, output.Unwritable(s.name, err))
		}
	}
	changed, problems := s.compare()
	if len(problems) > 0 {
		return problems
	}
	for _, one := range changed {
		err := s.place.Root.MkdirAll(slashpath.Dir(one.path), 0o777)
		if err == nil || errors.Is(err, fs.ErrExist) {
			err = s.place.Root.Rename(one.temporary, one.path)
		}
		if err != nil {
			problems = append(problems, output.Unwritable(s.nameOf(one.path), err))
			continue
		}
		s.written++
	}
	if s.single == "" && len(problems) == 0 {
		problems = s.removeOthers()
	}
	return problems
}

// nameOf returns the name of a file of the snapshot for messages.
func (s *snapshotFiles) nameOf(below string) string {
	if s.single != "" {
		return s.name
	}
	return filepath.ToSlash(filepath.Join(s.name, filepath.FromSlash(below)))
}

// errForeign is the error for a file that no snapshot has written.
var errForeign = output.Refuse("no snapshot has written the file", "move it away, or name another directory")

// compare returns the files whose contents differ from those in the directory.
func (s *snapshotFiles) compare() (changed []stagedObject, problems []source.Diagnostic) {
	for _, one := range s.staged {
		before, err := s.place.Root.ReadFile(one.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			problems = append(problems, output.Unwritable(s.nameOf(one.path), err))
			continue
		case !bytes.HasPrefix(before, []byte(snapshotMark)):
			problems = append(problems, output.Unwritable(s.nameOf(one.path), errForeign))
			continue
		default:
			after, err := s.place.Root.ReadFile(one.temporary)
			info, wrong := s.place.Root.Stat(one.path)
			if err == nil && wrong == nil && bytes.Equal(before, after) && (!one.private || info.Mode().Perm()&0o077 == 0) {
				continue
			}
		}
		changed = append(changed, one)
	}
	return changed, problems
}

// removeOthers removes the files of earlier snapshots that this one does not have, and the
// directories that become empty.
func (s *snapshotFiles) removeOthers() (problems []source.Diagnostic) {
	kept := map[string]bool{}
	for _, one := range s.staged {
		kept[one.path] = true
	}
	err := fs.WalkDir(s.place.Root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || kept[name] || slashpath.Ext(name) != ".yaml" || strings.HasPrefix(e.Name(), ".") || !s.isMarked(name) {
			return err
		}
		if err := s.place.Root.Remove(name); err != nil {
			return err
		}
		s.removed++
		for dir := slashpath.Dir(name); dir != "."; dir = slashpath.Dir(dir) {
			if s.place.Root.Remove(dir) != nil {
				break // it is not empty
			}
		}
		return nil
	})
	if err != nil {
		problems = append(problems, output.Unwritable(s.name, err))
	}
	return problems
}

// isMarked reports whether a snapshot has written a file.
func (s *snapshotFiles) isMarked(name string) bool {
	file, err := s.place.Root.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	start := make([]byte, len(snapshotMark))
	_, err = io.ReadFull(file, start)
	return err == nil && string(start) == snapshotMark
}

// close removes the temporary files that were not renamed, and unlocks the directory.
func (s *snapshotFiles) close() {
	if s.file != nil {
		s.file.Close()
	}
	for _, one := range s.staged {
		_ = s.place.Root.Remove(one.temporary)
	}
	s.place.Close()
}
