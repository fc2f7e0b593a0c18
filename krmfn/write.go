package krmfn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/output"
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
	written, problems := output.Write(ctx, replacements, slices.Concat(problems, uncopied, more), sums, p.Stderr)
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
		p.report(sums.Kept, "", c.options.Verbose)
		if c.options.Prune {
			removed = ", " + plural(sums.Removed, "file", "files") + " removed"
		}
	}
	fmt.Fprintf(p.Stderr, "preadmit: %d of %s written%s\n", written, total, removed)
	return exitDone
}

// sums returns the sums of the output directory; nil without one, or if nobody has asked for them.
func (p *Process) sums(c *config) (*output.Sums, []source.Diagnostic) {
	if c.options.OutputDir == "" {
		return nil, nil
	}
	return output.SumsIn(p.ledger, p.absolute(c.options.OutputDir), c.options.OutputDir, c.options.Prune)
}

// replacements returns the files that manifests are written to.
func (p *Process) replacements(c *config, f *files, manifests []*manifest.Stream) (found []*output.File, problems []source.Diagnostic) {
	for _, s := range manifests {
		origin := f.origins[s]
		r := &output.File{Name: origin.Name, Real: origin.Real, Origin: origin.Data}
		err := input.ErrNotRegular
		if origin.Mode.IsRegular() {
			r.Data, err = origin.Encode(s.Bytes())
		}
		switch {
		case err != nil:
		case c.options.InPlace:
			if origin.Outside && !bytes.Equal(r.Data, origin.Data) {
				err = output.Refuse("it is a link to a file outside of the named directory, which is not written", "name "+origin.Real+" itself")
			}
			p.ledger.NoteWritten(r.Name, r.Real)
		default:
			r.Name, r.Origin, r.Mode = filepath.ToSlash(filepath.Join(c.options.OutputDir, origin.Below)), nil, modeFor(origin)
			err = p.place(c, r, origin.Name)
		}
		if err != nil {
			problems = append(problems, output.Unwritable(r.Name, err))
			continue
		}
		found = append(found, r)
	}
	return found, problems
}

// place sets the path of a replacement in the output directory. If the directory becomes a copy, no
// symbolic link there is followed, because an earlier run may have copied it, and an existing file gets
// the mode of the original, too.
func (p *Process) place(c *config, r *output.File, what string) error {
	file, dir := p.absolute(r.Name), p.absolute(c.options.OutputDir)
	if !c.options.CopyOthers {
		return p.ledger.PlaceBelow(r, what, file, dir)
	}
	r.Within, r.Over = dir, fs.ModeSymlink
	if r.Exact == 0 {
		r.Exact = r.Mode
	}
	below, err := filepath.Rel(dir, file)
	if err != nil {
		return err
	}
	r.Real = filepath.Join(input.RealPath(dir), below)
	return p.ledger.Claim(what, r.Real)
}
