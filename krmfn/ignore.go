package krmfn

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignoreFile is the name of files with patterns, in the format of .gitignore, of files and
// directories that are not read.
const ignoreFile = ".preadmitignore"

// ignoreRule is a line of an ignore file.
type ignoreRule struct {
	// glob matches paths relative to the directory of the rule.
	glob string
	// negated rules include files again; rules with directories match only directories.
	negated, directories bool
}

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
	rule.glob = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line) // git gives braces no meaning
	if !doublestar.ValidatePattern(rule.glob) {
		return rule, false, fmt.Errorf("%q is not a valid .gitignore pattern", text)
	}
	return rule, true, nil
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
	text, err := os.ReadFile(filepath.Join(dir, ignoreFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := newIgnoreList(dir, strings.Split(string(text), "\n"))
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: filepath.Join(dir, ignoreFile), Err: err}
	}
	return list, nil
}

// ignores reports whether a file or directory is ignored. The last rule that matches decides.
func ignores(lists []*ignoreList, full string, isDir bool) bool {
	ignored := false
	for _, list := range lists {
		if list == nil || !isWithin(full, list.dir) {
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

// ignoreBase returns the directory that patterns of --ignore are relative to: the working
// directory, or root if root is outside of it.
func (s *fileSet) ignoreBase(root string) string {
	if isWithin(root, s.process.Dir) {
		return s.process.Dir
	}
	return root
}

// ignoreLists returns the rules of the ignore files from the working directory down to the
// parent of root.
func (s *fileSet) ignoreLists(root string) ([]*ignoreList, error) {
	var dirs []string
	if isWithin(root, s.process.Dir) {
		for dir := filepath.Dir(root); isWithin(dir, s.process.Dir); dir = filepath.Dir(dir) {
			dirs = append([]string{dir}, dirs...)
		}
	}
	var lists []*ignoreList
	for _, dir := range dirs {
		list, err := readIgnoreList(dir)
		if err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	return lists, nil
}
