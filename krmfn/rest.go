package krmfn

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/output"
)

// copies returns the files and links that --copy-others writes to the output directory.
func (p *Process) copies(c *config, f *files) (found []*output.File, problems []source.Diagnostic) {
	if f.rest == nil {
		return nil, nil
	}
	add := func(to *output.File, what, below string) {
		to.Name = filepath.ToSlash(filepath.Join(c.options.OutputDir, below))
		if err := p.place(c, to, what); err != nil {
			problems = append(problems, output.Unwritable(to.Name, err))
			return
		}
		found = append(found, to)
	}
	for _, file := range f.rest.Files {
		add(&output.File{Data: file.Data, Exact: modeFor(file)}, file.Name, file.Below)
	}
	for _, link := range f.rest.Links {
		add(&output.File{Data: []byte(link.Target), Exact: fs.ModeSymlink}, link.Name, link.Below)
	}
	return found, problems
}

// modeFor returns the mode of what is made of a file: its own, without permissions for those who cannot reach
// the file in the directory that the user named.
func modeFor(file input.File) fs.FileMode {
	mode, dir := file.Mode.Perm()|0o400, filepath.Dir(file.Real)
	for range strings.Count(filepath.ToSlash(file.Below), "/") {
		info, err := os.Stat(dir)
		for _, others := range []fs.FileMode{0o007, 0o070} {
			if err != nil || info.Mode()&others&0o011 == 0 {
				mode &^= others
			}
		}
		dir = filepath.Dir(dir)
	}
	return mode
}

// tellRest returns notes for the hidden files that --copy-others copies, and warnings for what it does not copy.
func (f *files) tellRest() (warnings []source.Diagnostic) {
	if f.rest == nil {
		return nil
	}
	for _, file := range f.rest.Files {
		if below := "/" + filepath.ToSlash(file.Below); strings.Contains(below, "/.") && filepath.Base(file.Below) != input.ChartIgnoreFile {
			d := source.Diagnostic{Severity: source.Info, Code: "hidden-copied", Message: "the hidden file is copied, because a kustomization uses it"}
			d.At.File = file.Name
			warnings = append(warnings, d.With("if it has secrets, keep the output as secret, or exclude the file with "+input.IgnoreFile))
		}
	}
	for _, err := range f.rest.Left {
		var left *fs.PathError
		if errors.As(err, &left) {
			warnings = append(warnings, source.Warningf(source.Position{File: left.Path}, "file-not-copied", "the file is not copied: %v", left.Err).
				With("copy it yourself, or replace the link by a file or by a relative link in the directory"))
		}
	}
	return warnings
}
