package krmfn

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// changeKinds are what an expected text may change in, the least first.
var changeKinds = []string{"order", "values", "texts", "lines", "status"}

// valuesInText are the parts of a text that count as values: text in quotes, numbers, and what
// follows the colon of a field.
var valuesInText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'[^']*'|[0-9][0-9A-Za-z.:-]*|(?m)^( *(?:- )?[\w./-]+:) [^\n]*`)

// changeKind returns in what a text differs from another one: the order of its lines, values, texts of
// messages, or which lines there are.
func changeKind(before, after string) string {
	lines := func(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }
	plain := func(text string) []string { return lines(valuesInText.ReplaceAllString(text, "$1")) }
	sorted := func(lines []string) []string { return slices.Sorted(slices.Values(lines)) }
	switch {
	case slices.Equal(sorted(lines(before)), sorted(lines(after))):
		return "order"
	case slices.Equal(sorted(plain(before)), sorted(plain(after))):
		return "values"
	case len(lines(before)) == len(lines(after)):
		return "texts"
	}
	return "lines"
}

// summary collects what -update has changed, for the message of a commit.
type summary struct {
	mu sync.Mutex
	// stories are the names of the stories by the kind of their change.
	stories map[string][]string
}

// add adds the change of the sections of a story, by its greatest kind.
func (s *summary) add(name string, before, after map[string]string) {
	greatest := -1
	for section := range maps.Keys(before) {
		kind := changeKind(before[section], after[section])
		if section == "status" {
			kind = section
		}
		if before[section] != after[section] {
			greatest = max(greatest, slices.Index(changeKinds, kind))
		}
	}
	if greatest < 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stories == nil {
		s.stories = map[string][]string{}
	}
	kind := changeKinds[greatest]
	s.stories[kind] = append(s.stories[kind], name)
}

// String returns the summary, one line for each kind.
func (s *summary) String() string {
	var b strings.Builder
	for _, kind := range changeKinds {
		if names := slices.Sorted(slices.Values(s.stories[kind])); len(names) > 0 {
			fmt.Fprintf(&b, "%s: %s: %s\n", kind, plural(len(names), "story", "stories"), strings.Join(names, ", "))
		}
	}
	return b.String()
}

// TestChangeKind shows which kind a change has.
func TestChangeKind(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"a\nb\n", "b\na\n", "order"},
		{"x.yaml:3:7: error: no\n", "x.yaml:4:8: error: no\n", "values"},
		{"spec:\n  image: a\n", "spec:\n  image: b\n", "values"},
		{"denied \"a\"\n", "denied \"b c\"\n", "values"},
		{"expected a list\n", "expected a list, not a string\n", "texts"},
		{"a\n", "a\nb\n", "lines"},
	} {
		if got := changeKind(c.before, c.after); got != c.want {
			t.Errorf("%q to %q: %s, want %s", c.before, c.after, got, c.want)
		}
	}
	var s summary
	same := map[string]string{"stdout": "a\n", "status": ""}
	s.add("unchanged", same, same)
	s.add("fails", same, map[string]string{"stdout": "b\n", "status": "2\n"})
	s.add("says", same, map[string]string{"stdout": "b\n"})
	s.add("tells", same, map[string]string{"stdout": "c\n"})
	if got, want := s.String(), "texts: 2 stories: says, tells\nstatus: 1 story: fails\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
