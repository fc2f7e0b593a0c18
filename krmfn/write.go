package krmfn

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// checkDestination says what keeps the output from going into files, if it is to.
func (p *Process) checkDestination(c *config, operands []string) error {
	flag := "--in-place"
	switch {
	case c.inPlace && c.outputDir != "":
		return errors.New("--in-place and --output-dir exclude each other")
	case !c.inPlace && c.outputDir == "":
		return nil
	case !c.inPlace:
		flag = "--output-dir"
	}
	if c.output == "json" {
		return fmt.Errorf("%s leaves every file in the form it has; it does not go with -o json", flag)
	}
	if len(operands) == 0 || slices.Contains(operands, "-") {
		return fmt.Errorf("%s needs files or directories: there is no file to write standard input to", flag)
	}
	if c.inPlace {
		return nil
	}
	target := realPath(p.absolute(c.outputDir))
	for _, name := range operands {
		root := p.absolute(name)
		if info, err := os.Stat(root); err == nil && info.IsDir() && isWithin(target, realPath(root)) {
			return fmt.Errorf("--output-dir %s is in %s, where the next run would take it for input; name another directory, or use --in-place", c.outputDir, name)
		}
	}
	return nil
}

// realPath is a path without symbolic links as far as it exists.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(realPath(dir), filepath.Base(path))
}

// replacement is what a file is to contain.
type replacement struct {
	// name is what the user knows the file by, real its path without symbolic links.
	name, real string
	data       []byte
	// before is what it contains, if there is a file.
	before []byte
	info   fs.FileInfo
	// staged is the file with the new data that is to take its place.
	staged string
}

// writeFiles writes the manifests into files, all or none. A file that has its text
// already is not touched.
func (p *Process) writeFiles(c *config, f *files, manifests []*manifest.Stream) int {
	replacements, problems := p.replacements(c, f, manifests)
	written := 0
	if len(problems) == 0 {
		written, problems = replaceAll(replacements)
	}
	total := plural(len(manifests), "file", "files")
	switch {
	case len(problems) > 0 && written > 0:
		p.report(problems, fmt.Sprintf("only %d of %s written", written, total))
		return exitInvalid
	case len(problems) > 0:
		p.report(problems, "nothing is written")
		return exitInvalid
	}
	fmt.Fprintf(p.Stderr, "preadmit: %d of %s written\n", written, total)
	return exitDone
}

// replacements finds out where manifests go, and which of the files there must change.
func (p *Process) replacements(c *config, f *files, manifests []*manifest.Stream) (found []*replacement, problems []source.Diagnostic) {
	from := map[string]string{} // what is written, by where
	for _, s := range manifests {
		origin := f.origins[s]
		r := &replacement{name: origin.name, real: origin.real, data: s.Bytes()}
		if !c.inPlace {
			r.name = filepath.ToSlash(filepath.Join(c.outputDir, origin.below))
			r.real = realPath(p.absolute(r.name))
		}
		if other, ok := from[r.real]; ok {
			problems = append(problems, unwritable(r.name, fmt.Errorf("%s and %s would both be written there; name the directory that holds both", other, origin.name)))
			continue
		}
		from[r.real] = origin.name
		err := r.look()
		if err == nil && c.inPlace && !bytes.Equal(r.before, origin.data) {
			err = errors.New("the file has changed since it was read")
		}
		if err != nil {
			problems = append(problems, unwritable(r.name, err))
		} else if r.info == nil || !bytes.Equal(r.before, r.data) {
			found = append(found, r)
		}
	}
	return found, problems
}

// unwritable is the diagnostic for a file that cannot be written.
func unwritable(name string, err error) source.Diagnostic {
	var pathError *fs.PathError
	var linkError *os.LinkError
	switch {
	case errors.As(err, &pathError):
		err = pathError.Err
	case errors.As(err, &linkError):
		err = linkError.Err
	}
	return source.Errorf(source.Position{}, "path-unwritable", "%s: %v", name, err)
}

// look reads the file as it is.
func (r *replacement) look() error {
	info, err := os.Lstat(r.real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	}
	r.info = info
	r.before, err = os.ReadFile(r.real)
	return err
}

// replaceAll gives files their new contents. Nothing has changed until all new contents
// are on the disk; then the files take their places, each at once, so that whatever
// happens a file is the old or the new one.
func replaceAll(replacements []*replacement) (written int, problems []source.Diagnostic) {
	defer func() {
		for _, r := range replacements {
			if r.staged != "" {
				os.Remove(r.staged)
			}
		}
	}()
	for _, r := range replacements {
		if err := r.stage(); err != nil {
			problems = append(problems, unwritable(r.name, err))
		}
	}
	if len(problems) > 0 {
		return 0, problems
	}
	for _, r := range replacements {
		if err := os.Rename(r.staged, r.real); err != nil {
			problems = append(problems, unwritable(r.name, err))
			continue
		}
		r.staged = ""
		written++
	}
	return written, problems
}

// stage writes the data into a new file beside the one to replace, with the mode and,
// where that is allowed, the owner of that.
func (r *replacement) stage() error {
	dir := filepath.Dir(r.real)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	file, err := createBeside(dir)
	if err != nil {
		return err
	}
	r.staged = file.Name()
	_, err = file.Write(r.data)
	if err == nil && r.info != nil {
		keepOwner(file, r.info)
		err = file.Chmod(r.info.Mode().Perm())
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// createBeside makes a hidden file, which is no manifest to anybody. Unlike those of
// os.CreateTemp it has the mode that new files have.
func createBeside(dir string) (*os.File, error) {
	for i := 0; ; i++ {
		file, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf(".preadmit-%d", i)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil || !errors.Is(err, fs.ErrExist) || i == 1000 {
			return file, err
		}
	}
}
