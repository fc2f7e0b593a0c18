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

// ignoreFile is the file in a directory that says which of the files below are not read,
// in the form of .gitignore.
const ignoreFile = ".preadmitignore"

// ignoreRule is a line of an ignore file.
type ignoreRule struct {
	// glob is for the path from the directory of the rule.
	glob string
	// negated rules have files read; directories are all that some rules are about.
	negated, directories bool
}

// ignoreList are the rules for what is below a directory.
type ignoreList struct {
	dir   string
	rules []ignoreRule
}

// newIgnoreRule reads a line as git does; ok is false if it says nothing.
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
	rule.glob = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line) // which git knows no meaning of
	if !doublestar.ValidatePattern(rule.glob) {
		return rule, false, fmt.Errorf("%q is not a pattern as in .gitignore", text)
	}
	return rule, true, nil
}

// newIgnoreList makes rules of lines.
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

// readIgnoreList reads the ignore file of a directory; nil if it has none.
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

// ignores reports whether lists have a file or directory left out. What a later one says
// wins.
func ignores(lists []*ignoreList, full string, isDir bool) bool {
	ignored := false
	for _, list := range lists {
		if list == nil || !isWithin(full, list.dir) {
			continue
		}
		below, _ := filepath.Rel(list.dir, full) // isWithin has found it
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

// ignoreBase is what the paths in the option ignore are relative to: the working
// directory, or a directory outside of it.
func (s *fileSet) ignoreBase(root string) string {
	if isWithin(root, s.process.Dir) {
		return s.process.Dir
	}
	return root
}

// ignoreLists are the rules of the ignore files above a directory, from the working
// directory on.
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
