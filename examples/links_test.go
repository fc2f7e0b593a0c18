package examples

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")

	terraformPage = regexp.MustCompile("/tfprovider/(docs|templates)/")
)

// TestLinks checks the links between the pages of the repository.
func TestLinks(t *testing.T) {
	err := filepath.WalkDir("..", func(page string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "node_modules" {
			return filepath.SkipDir // of somebody who works on the extension for VS Code
		}
		if err != nil || filepath.Ext(page) != ".md" {
			return err
		}
		for _, match := range link.FindAllStringSubmatch(fence.ReplaceAllString(read(t, page), ""), -1) {
			if strings.Contains(match[1], "://") || strings.HasSuffix(match[1], ".html") {
				continue // .html pages belong to the site, which has a separate test
			}
			name, fragment, _ := strings.Cut(match[1], "#")
			target := filepath.Join(filepath.Dir(page), name)
			if name == "" {
				target = page
			}
			if terraformPage.MatchString(page) && filepath.Ext(target) == "" {
				target += ".md" // the registry of Terraform omits it
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: a link leads nowhere: %s", page, match[1])
			} else if fragment != "" && !hasHeading(read(t, target), fragment) {
				t.Errorf("%s: a link leads to no heading: %s", page, match[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// hasHeading reports whether a page has the target of a fragment: an id, or a heading in lower case,
// without punctuation, with hyphens instead of spaces.
func hasHeading(text, fragment string) bool {
	if strings.Contains(text, `id="`+fragment+`"`) {
		return true
	}
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		slug := strings.Map(func(c rune) rune {
			switch {
			case c == ' ':
				return '-'
			case strings.ContainsRune("`.,:;()/'\"?!…", c):
				return -1
			}
			return c
		}, strings.ToLower(match[1]))
		if slug == fragment {
			return true
		}
	}
	return false
}
