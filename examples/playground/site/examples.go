package site

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/examples/playground/answer"
)

// Example is an example of the page, with files below the directory examples.
type Example struct {
	Name    string              `json:"name"`
	Group   string              `json:"group"`
	Title   string              `json:"title"`
	About   string              `json:"about"`
	Files   []answer.File       `json:"files"`
	Options map[string][]string `json:"options"`
}

// listed is an example in examples.json. Files are files and directories below Dir, by role.
type listed struct {
	Name, Group, Title, About, Dir string
	Files                          map[string][]string
	Options                        map[string][]string
}

// Examples reads the examples of the repository at root.
func Examples(root string) ([]Example, error) {
	data, err := os.ReadFile(filepath.Join(root, "examples/playground/examples.json"))
	if err != nil {
		return nil, err
	}
	var all []listed
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("examples.json: %w", err)
	}
	var examples []Example
	for _, l := range all {
		e := Example{Name: l.Name, Group: l.Group, Title: l.Title, About: l.About, Options: l.Options}
		if e.Options == nil {
			e.Options = map[string][]string{}
		}
		for _, role := range []string{"policies", "trees", "context", "manifests"} {
			for _, name := range l.Files[role] {
				files, err := filesOf(filepath.Join(root, "examples", l.Dir), name, role)
				if err != nil {
					return nil, err
				}
				e.Files = append(e.Files, files...)
			}
		}
		examples = append(examples, e)
	}
	return examples, nil
}

// filesOf reads a file, or the files in a directory in the order of their names.
func filesOf(dir, name, role string) ([]answer.File, error) {
	var files []answer.File
	err := filepath.WalkDir(filepath.Join(dir, name), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, path)
		files = append(files, answer.File{Role: role, Name: filepath.ToSlash(below), Text: strings.ReplaceAll(string(data), "\r\n", "\n")})
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no files in %s", dir, name)
	}
	return files, err
}
