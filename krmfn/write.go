package krmfn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
)

// checkDestination returns an error if the output cannot go to the files of --in-place or
// --output-dir.
func (p *Process) checkDestination(c *config, operands []string) error {
	flag := "--in-place"
	switch {
	case c.options.InPlace && c.options.OutputDir != "":
		return errors.New("expected --in-place or --output-dir, not both")
	case !c.options.InPlace && c.options.OutputDir == "":
		return nil
	case !c.options.InPlace:
		flag = "--output-dir"
	}
	if c.options.Output == "json" {
		return fmt.Errorf("%s keeps the format of every file, so it cannot be used with -o json", flag)
	}
	if len(operands) == 0 || slices.Contains(operands, "-") {
		return fmt.Errorf("%s needs files or directories: there is no file to write standard input to", flag)
	}
	if c.options.InPlace {
		return nil
	}
	target := input.RealPath(p.absolute(c.options.OutputDir))
	for _, name := range operands {
		root := p.absolute(name)
		if info, err := os.Stat(root); err == nil && info.IsDir() && input.IsWithin(target, input.RealPath(root)) {
			return fmt.Errorf("--output-dir %s is in %s, where the next run would read it as input; name another directory, or use --in-place", c.options.OutputDir, name)
		}
	}
	return nil
}

// writeFiles writes the manifests to files, all or none. It does not write a file that already
// has the new text.
func (p *Process) writeFiles(ctx context.Context, c *config, f *files, manifests []*manifest.Stream) int {
	replacements, problems := p.replacements(c, f, manifests)
	copied, uncopied := p.copies(c, f)
	replacements = append(replacements, copied...)
	sums, more := p.sums(c)
	written, problems := p.replaceAll(ctx, replacements, slices.Concat(problems, uncopied, more), sums)
	total := plural(len(replacements), "file", "files")
	switch {
	case len(problems) > 0 && written > 0:
		p.report(problems, fmt.Sprintf("only %d of %s written", written, total), c.options.Verbose)
		return exitInvalid
	case len(problems) > 0:
		p.report(problems, "nothing written", c.options.Verbose)
		return exitInvalid
	}
	removed := ""
	if sums != nil {
		p.report(sums.kept, "", c.options.Verbose)
		if c.options.Prune {
			removed = ", " + plural(sums.removed, "file", "files") + " removed"
		}
	}
	fmt.Fprintf(p.Stderr, "preadmit: %d of %s written%s\n", written, total, removed)
	return exitDone
}

// replacements returns the files that manifests are written to.
func (p *Process) replacements(c *config, f *files, manifests []*manifest.Stream) (found []*replacement, problems []source.Diagnostic) {
	for _, s := range manifests {
		origin := f.origins[s]
		r := &replacement{name: origin.Name, real: origin.Real, origin: origin.Data}
		err := input.ErrNotRegular
		if origin.Mode.IsRegular() {
			r.data, err = origin.Encode(s.Bytes())
		}
		switch {
		case err != nil:
		case c.options.InPlace:
			if origin.Outside && !bytes.Equal(r.data, origin.Data) {
				err = &refusal{"it is a link to a file outside of the named directory, which is not written", "name " + origin.Real + " itself"}
			}
			p.ledger.noteWritten(r.name, r.real)
		default:
			r.name, r.origin, r.mode = filepath.ToSlash(filepath.Join(c.options.OutputDir, origin.Below)), nil, modeFor(origin)
			err = p.place(c, r, origin.Name)
		}
		if err != nil {
			problems = append(problems, unwritable(r.name, err))
			continue
		}
		found = append(found, r)
	}
	return found, problems
}

// place sets the path of a replacement in the output directory. If the directory becomes a copy, no
// symbolic link there is followed, because an earlier run may have copied it, and an existing file gets
// the mode of the original, too.
func (p *Process) place(c *config, r *replacement, what string) error {
	file, dir := p.absolute(r.name), p.absolute(c.options.OutputDir)
	if !c.options.CopyOthers {
		return p.placeBelow(r, what, file, dir)
	}
	r.within, r.over = dir, fs.ModeSymlink
	if r.exact == 0 {
		r.exact = r.mode
	}
	below, err := filepath.Rel(dir, file)
	if err != nil {
		return err
	}
	r.real = filepath.Join(input.RealPath(dir), below)
	return p.ledger.claim(what, r.real)
}

// placeBelow sets the path of a replacement to file, which must be below dir, also after
// symbolic links. what describes the contents.
func (p *Process) placeBelow(r *replacement, what, file, dir string) error {
	r.real, r.within = input.RealPath(file), dir
	if !input.IsWithin(r.real, input.RealPath(dir)) {
		return input.ErrEscape
	}
	return p.ledger.claim(what, r.real)
}

// unwritable returns the diagnostic for a file that cannot be written.
func unwritable(name string, err error) source.Diagnostic {
	var pathError *os.PathError
	var linkError *os.LinkError
	var refused *refusal
	advice := ""
	switch {
	case errors.As(err, &pathError):
		err = pathError.Err
	case errors.As(err, &linkError):
		err = linkError.Err
	case errors.As(err, &refused):
		advice = refused.advice
	case errors.Is(err, input.ErrEscape):
		err, advice = errors.New("the path leads out of the output directory"), "change the path, or the symbolic link in it"
	}
	return source.Errorf(source.Position{File: name}, "path-unwritable", "%v", err).With(advice)
}

// replaceAll writes the new contents of files, or nothing if there are problems, including the
// given ones. It returns how many files it wrote, and all problems. sums are those of the directory, or nil.
func (p *Process) replaceAll(ctx context.Context, replacements []*replacement, problems []source.Diagnostic, sums *sums) (int, []source.Diagnostic) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	places := places{}
	defer places.close()
	if sums != nil {
		problems = append(problems, sums.begin(ctx, places, replacements, p.Stderr)...)
	}
	problems = slices.Concat(problems, places.open(ctx, replacements, p.Stderr), nested(replacements))
	changed, problems := lookAll(replacements, problems, sums)
	if len(problems) > 0 {
		return 0, problems
	}
	if sums != nil && !sums.file.isCurrent() {
		changed = append([]*replacement{sums.file}, changed...)
	}
	defer func() {
		for _, r := range changed {
			r.discard()
		}
	}()
	if problems = stageAll(ctx, changed); len(problems) > 0 {
		return 0, problems
	}
	return putAll(changed, sums)
}

// putAll gives all changed files their names. It returns how many it wrote, without the sums.
func putAll(changed []*replacement, sums *sums) (written int, problems []source.Diagnostic) {
	if sums != nil {
		if problems = sums.makeWay(); len(problems) > 0 {
			return 0, problems
		}
	}
	for _, r := range changed {
		err := r.replace()
		if problems = r.note(problems, err); err == nil && (sums == nil || r != sums.file) {
			written++
		}
	}
	if sums != nil && len(problems) == 0 {
		problems = sums.end()
	}
	return written, problems
}

// nested returns problems of files that would be in a directory whose path another file has.
func nested(all []*replacement) (problems []source.Diagnostic) {
	of := map[string]*replacement{}
	for _, r := range all {
		of[r.real] = r
	}
	for _, r := range all {
		for dir := filepath.Dir(r.real); r.within != "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if other := of[dir]; other != nil {
				problems = r.note(problems, &refusal{other.name + " would be a file and a directory", "write them to different directories"})
			}
		}
	}
	return problems
}

// lookAll reads the current files, and returns those that change.
func lookAll(all []*replacement, problems []source.Diagnostic, sums *sums) (changed []*replacement, _ []source.Diagnostic) {
	for _, r := range all {
		if r.place == nil {
			continue
		}
		err := sums.giveWay(r)
		if err == nil {
			err = r.look()
		}
		if problems = r.note(problems, err); !r.isCurrent() {
			changed = append(changed, r)
		}
	}
	return changed, problems
}

// stageAll puts all new contents on the disk, because files are replaced only after that.
func stageAll(ctx context.Context, changed []*replacement) (problems []source.Diagnostic) {
	for _, r := range changed {
		err := context.Cause(ctx)
		if err == nil {
			err = r.stage()
		}
		if problems = r.note(problems, err); err != nil && ctx.Err() != nil {
			return problems
		}
	}
	for _, r := range changed {
		problems = r.note(problems, r.check())
	}
	return problems
}
