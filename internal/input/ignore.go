package input

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// IgnoreFile is the name of files with patterns, in the format of .gitignore, of files and
// directories that are not read.
const IgnoreFile = ".preadmitignore"

// ignoreRule is a line of an ignore file.
type ignoreRule struct {
	// glob matches paths relative to the directory of the rule.
	glob string
	// negated rules include files again; rules with directories match only directories.
	negated, directories bool
}

// braces escapes braces, which only doublestar gives a meaning.
var braces = strings.NewReplacer("{", `\{`, "}", `\}`)

// ignoreList has the rules for files below a directory.
type ignoreList struct {
	dir   string
	rules []ignoreRule
}

// newIgnoreRule parses a line as git does. ok is false for an empty line or a comment.
func newIgnoreRule(text string) (rule ignoreRule, ok bool, err error) {
	line := strings.TrimRight(text, "\r")
	if trimmed := strings.TrimRight(line, " "); !strings.HasSuffix(trimmed, `\`) {
		line = trimmed
	}
	if line == "" || line[0] == '#' {
		return rule, false, nil
	}
	if line, rule.negated = strings.CutPrefix(line, "!"); strings.Trim(line, "/") == "" {
		return rule, false, nil
	}
	line, rule.directories = strings.CutSuffix(line, "/")
	if !strings.Contains(line, "/") {
		line = "**/" + line
	}
	line = strings.TrimPrefix(line, "/")
	rule.glob = braces.Replace(line)
	if !doublestar.ValidatePattern(rule.glob) {
		return rule, false, fmt.Errorf("%q is not a valid .gitignore pattern", text)
	}
	return rule, true, nil
}

// CheckIgnored returns an error if a text is no pattern of an ignore file.
func CheckIgnored(text string) error {
	_, _, err := newIgnoreRule(text)
	return err
}

// newIgnoreList parses lines.
func newIgnoreList(dir string, lines []string) (*ignoreList, error) {
	list := &ignoreList{dir: dir}
	for _, line := range lines {
		rule, ok, err := newIgnoreRule(line)
		if err != nil {
			return nil, err
		}
		if ok {
			list.rules = append(list.rules, rule)
		}
	}
	return list, nil
}

// readIgnoreList reads the ignore file of a directory. It returns nil if the file does not
// exist.
func readIgnoreList(dir string) (*ignoreList, error) {
	text, err := os.ReadFile(filepath.Join(dir, IgnoreFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := newIgnoreList(dir, strings.Split(string(text), "\n"))
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: filepath.Join(dir, IgnoreFile), Err: err}
	}
	return list, nil
}

// ignores reports whether a file or directory is ignored. The last rule that matches decides.
func ignores(lists []*ignoreList, full string, isDir bool) bool {
	ignored := false
	for _, list := range lists {
		if list == nil || !IsWithin(full, list.dir) {
			continue
		}
		below, _ := filepath.Rel(list.dir, full) // isWithin has computed the same path
		for _, rule := range list.rules {
			if rule.directories && !isDir {
				continue
			}
			if doublestar.MatchUnvalidated(rule.glob, filepath.ToSlash(below)) {
				ignored = !rule.negated
			}
		}
	}
	return ignored
}

// ignoreLists returns the rules for a directory that a user names: those of the ignore files from
// the working directory down to its parent, and the rules of the options. These are relative to their
// own directory, or to the named directory if that is elsewhere.
func (r *Reader) ignoreLists(root string) (files []*ignoreList, options *ignoreList, err error) {
	base := root
	var dirs []string
	if IsWithin(root, r.Dir) {
		base = r.Dir
		for dir := filepath.Dir(root); IsWithin(dir, r.Dir); dir = filepath.Dir(dir) {
			dirs = append([]string{dir}, dirs...)
		}
	}
	for _, dir := range dirs {
		list, err := readIgnoreList(dir)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, list)
	}
	if r.IgnoreDir != "" && IsWithin(root, r.IgnoreDir) {
		base = r.IgnoreDir
	}
	options, err = newIgnoreList(base, r.Ignore)
	return files, options, err
}

// Match reports whether a pattern with *, ?, […] and ** matches a path with slashes. A malformed pattern
// matches nothing.
func Match(pattern, name string) bool {
	return doublestar.MatchUnvalidated(braces.Replace(pattern), name)
}
