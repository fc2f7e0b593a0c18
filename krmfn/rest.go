package krmfn

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/preadmit/preadmit/engine/source"
)

// copies returns the files and links that --copy-others writes to the output directory.
func (p *Process) copies(c *config, f *files) (found []*replacement, problems []source.Diagnostic) {
	if f.rest == nil {
		return nil, nil
	}
	add := func(r *replacement, what, below string) {
		r.name = filepath.ToSlash(filepath.Join(c.options.OutputDir, below))
		if err := p.place(c, r, what); err != nil {
			problems = append(problems, unwritable(r.name, err))
			return
		}
		found = append(found, r)
	}
	for _, file := range f.rest.Files {
		add(&replacement{data: file.Data, exact: file.Mode.Perm()}, file.Name, file.Below)
	}
	for _, link := range f.rest.Links {
		add(&replacement{data: []byte(link.Target), exact: fs.ModeSymlink}, link.Name, link.Below)
	}
	return found, problems
}

// tellLeft returns warnings for what --copy-others does not copy.
func (f *files) tellLeft() (warnings []source.Diagnostic) {
	if f.rest == nil {
		return nil
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
