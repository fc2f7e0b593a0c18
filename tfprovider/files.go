package tfprovider

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/limit"
)

// extensions are the extensions of the files that are read in a directory.
var extensions = []string{".yaml", ".yml", ".json"}

// readFiles reads the files of patterns, each file once.
func readFiles(patterns []pattern, input *limit.Input) (texts []text, problems []message) {
	seen := map[string]bool{}
	for _, p := range patterns {
		names, err := find(p.text)
		for _, name := range names {
			if seen[name] {
				continue
			}
			seen[name] = true
			data, readErr := input.ReadFile(name)
			if readErr != nil {
				err = readErr
				break
			}
			texts = append(texts, text{p.at, filepath.ToSlash(name), string(data)})
		}
		if err != nil {
			problems = append(problems, unreadable(p, err))
		}
	}
	return texts, problems
}

func unreadable(p pattern, err error) message {
	name := p.text
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		name, err = pathError.Path, pathError.Err
	}
	detail := p.at.String() + ": " + name + ": " + err.Error()
	if errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(name) {
		detail += "\n\nrelative paths are relative to the root module; in a module write \"${path.module}/" + filepath.ToSlash(name) + "\""
	}
	var exceeded *limit.Error
	if errors.As(err, &exceeded) {
		return errorf(p.at, exceeded.Code, "%s\n\n%s", detail, exceeded.Advice)
	}
	return errorf(p.at, "path-unreadable", "%s", detail)
}

var (
	errEmpty       = errors.New("the path is empty")
	errNoManifests = errors.New("the directory has no *.yaml, *.yml or *.json files")
	errNoMatch     = errors.New("no file matches the pattern")
)

// find returns the files of a pattern, sorted.
func find(pattern string) ([]string, error) {
	if pattern == "" {
		return nil, errEmpty
	}
	pattern = filepath.Clean(pattern)
	info, err := os.Stat(pattern)
	switch {
	case err == nil && info.IsDir():
		w := walker{wanted: func(name string) bool { return slices.Contains(extensions, filepath.Ext(name)) }}
		if err := w.walk(pattern, ""); err != nil || len(w.found) > 0 {
			return w.found, err
		}
		return nil, errNoManifests
	case err == nil:
		return []string{pattern}, nil
	case !strings.ContainsAny(pattern, "*?["):
		return nil, err
	}
	return glob(pattern)
}

// glob returns the files that match a pattern. "**" matches any number of directories.
func glob(pattern string) ([]string, error) {
	parts := strings.Split(filepath.ToSlash(pattern), "/")
	fixed := slices.IndexFunc(parts, func(part string) bool { return strings.ContainsAny(part, "*?[") })
	for _, part := range parts[fixed:] {
		if _, err := path.Match(part, ""); err != nil {
			return nil, err
		}
	}
	root := filepath.FromSlash(strings.Join(parts[:fixed], "/"))
	if root == "" && fixed > 0 {
		root = string(filepath.Separator)
	}
	w := walker{wanted: func(name string) bool { return matches(parts[fixed:], strings.Split(name, "/")) }}
	if err := w.walk(root, ""); err != nil || len(w.found) > 0 {
		return w.found, err
	}
	return nil, errNoMatch
}

// matches reports whether the parts of a path match those of a pattern.
func matches(pattern, name []string) bool {
	if len(pattern) == 0 || len(name) == 0 {
		return len(pattern) == len(name)
	}
	if pattern[0] == "**" {
		return len(pattern) == 1 || matches(pattern[1:], name) || matches(pattern, name[1:])
	}
	ok, _ := path.Match(pattern[0], name[0])
	return ok && matches(pattern[1:], name[1:])
}

// walker finds files in a directory and its subdirectories, in the order of their names. It skips
// hidden files and follows symbolic links.
type walker struct {
	// wanted reports whether to read a file, by its path relative to the root.
	wanted func(name string) bool
	found  []string
	above  []string
}

func (w *walker) walk(root, dir string) error {
	full := filepath.Join(root, filepath.FromSlash(dir))
	if full == "" {
		full = "."
	}
	real, err := filepath.EvalSymlinks(full)
	if err != nil || slices.Contains(w.above, real) {
		return err
	}
	w.above = append(w.above, real)
	defer func() { w.above = w.above[:len(w.above)-1] }()
	entries, err := os.ReadDir(real)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		isDir := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(filepath.Join(real, e.Name()))
			isDir = err == nil && info.IsDir()
		}
		switch {
		case isDir:
			if err := w.walk(root, name); err != nil {
				return err
			}
		case w.wanted(name):
			w.found = append(w.found, filepath.Join(root, filepath.FromSlash(name)))
		}
	}
	return err
}
