// Package release lists the versions of Kubernetes that preadmit supports, and reads tables that
// differ between versions. Nothing is computed at start-up. The tables of the default version
// are embedded whole and need no work at all.
package release

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// The minor versions of Kubernetes 1 that are supported, and the default version.
const (
	Oldest  = 34
	Default = 36
	Newest  = 37
)

// Index returns a number for a version; the oldest version has 0. An unknown version counts as
// the default version.
func Index(minor int) int {
	if minor < Oldest || minor > Newest {
		minor = Default
	}
	return minor - Oldest
}

// Count is the number of supported versions.
const Count = Newest - Oldest + 1

// A Table is a text with sorted lines. The key of a line ends at the first separator, and is
// unique. The text differs between versions.
type Table struct {
	text        string
	separator   string
	differences fs.FS
	name        string
	texts       [Count]func() string
}

// NewTable returns a table. text is the text for the default version. files has the differences
// of each other version, as Differences writes them, in files named by a format
// ("types-1.%d.txt").
func NewTable(text, separator string, files fs.FS, name string) *Table {
	t := &Table{text: text, separator: separator, differences: files, name: name}
	for i := range t.texts {
		t.texts[i] = sync.OnceValue(func() string { return t.read(Oldest + i) })
	}
	return t
}

// For returns the text of the table for a version.
func (t *Table) For(minor int) string {
	i := Index(minor)
	if i == Default-Oldest {
		return t.text
	}
	return t.texts[i]()
}

func (t *Table) read(minor int) string {
	differences, err := fs.ReadFile(t.differences, fmt.Sprintf(t.name, minor))
	if err != nil {
		panic("release: a table of differences is not embedded: " + err.Error())
	}
	return Apply(t.text, string(differences), t.separator)
}

// Differences returns the changes that turn one table into another: "+" and a line that is
// added, or that replaces the line with the same key, and "-" and the key of a line that is
// removed.
func Differences(from, to, separator string) string {
	has, wants := keyed(from, separator), keyed(to, separator)
	var b strings.Builder
	for line := range strings.Lines(from) {
		if key := keyOf(line, separator); wants[key] == "" {
			b.WriteString("-" + key + "\n")
		}
	}
	for line := range strings.Lines(to) {
		if has[keyOf(line, separator)] != line {
			b.WriteString("+" + line)
		}
	}
	return b.String()
}

// Apply returns the table that results from applying differences.
func Apply(from, differences, separator string) string {
	gone := map[string]bool{}
	var lines []string
	for line := range strings.Lines(differences) {
		gone[keyOf(line[1:], separator)] = true
		if line[0] == '+' {
			lines = append(lines, line[1:])
		}
	}
	for line := range strings.Lines(from) {
		if !gone[keyOf(line, separator)] {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func keyed(table, separator string) map[string]string {
	lines := map[string]string{}
	for line := range strings.Lines(table) {
		lines[keyOf(line, separator)] = line
	}
	return lines
}

func keyOf(line, separator string) string {
	key, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), separator)
	return key
}
