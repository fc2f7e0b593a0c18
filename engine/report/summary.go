package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
)

// count is a number of manifests with the name of what they have in common.
type count struct {
	name string
	n    int
}

// counts sorts counts by size, largest first, then by name.
func counts(of map[string]int) []count {
	var sorted []count
	for _, name := range slices.Sorted(maps.Keys(of)) {
		sorted = append(sorted, count{name, of[name]})
	}
	slices.SortStableFunc(sorted, func(a, b count) int { return cmp.Compare(b.n, a.n) })
	return sorted
}

// changedBy counts the changed manifests by kind and by author.
func (r *Report) changedBy() (kinds, authors []count) {
	byKind, byAuthor := map[string]int{}, map[string]int{}
	for _, m := range r.Manifests {
		if !m.differs() {
			continue
		}
		byKind[m.Kind]++
		authors := map[string]bool{}
		for _, e := range m.Edits {
			for _, by := range e.authors() {
				authors[by] = true
			}
		}
		for name := range authors {
			byAuthor[name]++
		}
	}
	return counts(byKind), counts(byAuthor)
}

// authorTitle returns the title of counts by author. policies is the title if all are policies.
func (r *Report) authorTitle(policies string) string {
	if r.since {
		return "changed by"
	}
	return policies
}

// AsKyverno ends a sentence about what policies do. version is the KyvernoVersion of an outcome.
func AsKyverno(version string) string {
	if version == "" {
		return ""
	}
	return ", as with Kyverno " + version
}

// headline says how many manifests change.
func (r *Report) headline() string {
	switch failed := r.Total == 0 && source.HasErrors(r.Diagnostics); {
	case failed && r.since:
		return "no object could be compared: see the errors"
	case failed:
		return "no manifest could be evaluated: see the errors"
	case !r.since:
		where := ""
		if r.Field != "" {
			where = " in " + r.Field
		}
		return fmt.Sprintf("%d of %d manifests change%s%s", r.Changed(), r.Total, where, AsKyverno(r.KyvernoVersion))
	}
	number := map[presence]int{}
	for _, m := range r.Manifests {
		if m.differs() {
			number[m.presence]++
		}
	}
	return fmt.Sprintf("%d of %d objects differ in the cluster: %d changed, %d added, %d removed%s",
		r.Changed(), r.Total, number[""], number[added], number[removed], AsKyverno(r.KyvernoVersion))
}

// Summary writes in a few lines how many manifests change, by kind and by policy.
func Summary(w io.Writer, r *Report) {
	fmt.Fprintln(w, r.headline())
	kinds, authors := r.changedBy()
	for _, part := range []struct {
		title  string
		counts []count
	}{{"kinds", kinds}, {r.authorTitle("policies"), authors}} {
		var texts []string
		for _, c := range part.counts {
			texts = append(texts, fmt.Sprintf("%s %d", c.name, c.n))
		}
		if len(texts) > 0 {
			fmt.Fprintf(w, "  %s: %s\n", part.title, strings.Join(texts, ", "))
		}
	}
}

// ChangedFiles returns the number of files that change.
func (r *Report) ChangedFiles() int {
	n := 0
	for _, f := range r.Files {
		if f.Before != f.After {
			n++
		}
	}
	return n
}

// Names writes the names of the files that change.
func Names(w io.Writer, r *Report) {
	for _, f := range r.Files {
		if f.Before != f.After {
			fmt.Fprintln(w, quoteName(f.Name))
		}
	}
}

// widestBar is the largest width of the bar of a file, in characters.
const widestBar = 40

// Stat writes how many lines change in each file, like git diff --stat.
func Stat(w io.Writer, r *Report, colored bool) {
	type row struct {
		name           string
		added, removed int
	}
	var rows []row
	name, most, added, removed := 0, 0, 0, 0
	for _, f := range r.Files {
		if f.Before == f.After {
			continue
		}
		next := row{name: quoteName(f.Name)}
		for _, h := range f.hunks(false) {
			next.added, next.removed = next.added+h.added, next.removed+h.removed
		}
		rows = append(rows, next)
		name, most = max(name, len(next.name)), max(most, next.added+next.removed)
		added, removed = added+next.added, removed+next.removed
	}
	for _, row := range rows {
		plus, minus := row.added, row.removed
		if most > widestBar {
			plus, minus = (plus*widestBar+most-1)/most, (minus*widestBar+most-1)/most
		}
		fmt.Fprintf(w, " %-*s | %*d %s%s\n", name, row.name, len(fmt.Sprint(most)), row.added+row.removed,
			paint(strings.Repeat("+", plus), green, colored), paint(strings.Repeat("-", minus), red, colored))
	}
	if len(rows) > 0 {
		files := "1 file"
		if len(rows) > 1 {
			files = fmt.Sprintf("%d files", len(rows))
		}
		fmt.Fprintf(w, " %s, %s added, %d removed\n", files, plural(added, "line", "lines"), removed)
	}
}
