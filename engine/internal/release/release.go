// Package release knows the versions of Kubernetes that preadmit knows, and reads tables
// that differ between them. Nothing is done at start-up, and nothing at all for the default
// version, whose tables are embedded as they are.
package release

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// The minor versions of Kubernetes 1 that are known, and the one that counts unless another
// is asked for.
const (
	Oldest  = 32
	Default = 36
	Newest  = 37
)

// Index returns a number for a version, from 0 for the oldest. A version that is not known
// counts as the default.
func Index(minor int) int {
	if minor < Oldest || minor > Newest {
		minor = Default
	}
	return minor - Oldest
}

// Count is how many versions are known.
const Count = Newest - Oldest + 1

// A Table is a text of sorted lines, one for each key, which the first separator in it ends.
// It differs between the versions.
type Table struct {
	text        string
	separator   string
	differences fs.FS
	name        string
	texts       [Count]func() string
}

// NewTable returns the table whose text for the default version is given. Files has the
// differences of each other version, as Differences writes them, in files named by a format
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

// Differences returns what has to be done to the lines of a table to get another: "+" and a
// line that is added, or that takes the place of the one with the same key, and "-" and the
// key of a line that is removed.
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

// Apply returns the other table that the differences lead to.
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
