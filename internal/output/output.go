// Package output writes files: all or none, each with its old or its new contents, and never over what the
// run has read or what another program has changed.
//
// The files in order: output.go (Write), file.go (one file), directory.go (where files are, locked),
// lock_flock.go with lock_other.go, and owner_unix.go with owner_other.go (what systems differ in), ledger.go
// (which files were read and which are written), sums.go (what earlier runs wrote), errors.go.
package output

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/preadmit/preadmit/engine/source"
)

// Write writes the new contents of files, or nothing if there are problems, including the
// given ones. It returns how many files it wrote, and all problems. sums are those of the directory, or nil.
// While another run writes to a directory, it waits, and says so.
func Write(ctx context.Context, files []*File, problems []source.Diagnostic, sums *Sums, say io.Writer) (int, []source.Diagnostic) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	places := places{}
	defer places.close()
	if sums != nil {
		problems = append(problems, sums.begin(ctx, places, files, say)...)
	}
	problems = slices.Concat(problems, places.open(ctx, files, say), nested(files))
	changed, problems := lookAll(files, problems, sums)
	if len(problems) > 0 {
		return 0, problems
	}
	if sums != nil && !sums.file.isCurrent() {
		changed = append([]*File{sums.file}, changed...)
	}
	defer func() {
		for _, f := range changed {
			f.discard()
		}
	}()
	if problems = stageAll(ctx, changed); len(problems) > 0 {
		return 0, problems
	}
	return putAll(changed, sums)
}

// putAll gives all changed files their names. It returns how many it wrote, without the sums.
func putAll(changed []*File, sums *Sums) (written int, problems []source.Diagnostic) {
	if sums != nil {
		if problems = sums.makeWay(); len(problems) > 0 {
			return 0, problems
		}
	}
	for _, f := range changed {
		err := f.replace()
		if problems = f.note(problems, err); err == nil && (sums == nil || f != sums.file) {
			written++
		}
	}
	if sums != nil && len(problems) == 0 {
		problems = sums.end()
	}
	return written, problems
}

// nested returns problems of files that would be in a directory whose path another file has.
func nested(all []*File) (problems []source.Diagnostic) {
	of := map[string]*File{}
	for _, f := range all {
		of[f.Real] = f
	}
	for _, f := range all {
		for dir := filepath.Dir(f.Real); f.Within != "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if other := of[dir]; other != nil {
				problems = f.note(problems, Refuse(other.Name+" would be a file and a directory", "write them to different directories"))
			}
		}
	}
	return problems
}

// lookAll reads the current files, and returns those that change.
func lookAll(all []*File, problems []source.Diagnostic, sums *Sums) (changed []*File, _ []source.Diagnostic) {
	for _, f := range all {
		if f.place == nil {
			continue
		}
		err := sums.giveWay(f)
		if err == nil {
			err = f.look()
		}
		if problems = f.note(problems, err); !f.isCurrent() {
			changed = append(changed, f)
		}
	}
	return changed, problems
}

// stageAll puts all new contents on the disk, because files are replaced only after that.
func stageAll(ctx context.Context, changed []*File) (problems []source.Diagnostic) {
	for _, f := range changed {
		err := context.Cause(ctx)
		if err == nil {
			err = f.stage()
		}
		if problems = f.note(problems, err); err != nil && ctx.Err() != nil {
			return problems
		}
	}
	for _, f := range changed {
		problems = f.note(problems, f.check())
	}
	return problems
}
