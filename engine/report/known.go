package report

import "slices"

// Leave leaves out the changes that known selects, and the hunks and files without any other change.
// Files keep their hunks with new changes.
func (r *Report) Leave(known func(m *Manifest, e *Edit) bool) {
	for i := range r.Manifests {
		m := &r.Manifests[i]
		var left []Edit
		for n := range m.Edits {
			e := &m.Edits[n]
			if e.known = known(m, e); !e.known {
				left = append(left, *e)
			}
		}
		m.Edits = left // marks refer to the edits of before
	}
	for i := range r.Files {
		if f := &r.Files[i]; f.isKnown() {
			f.After = f.Before
		}
	}
}

// isKnown reports whether the file changes only where known edits begin.
func (f *File) isKnown() bool {
	marks := append(f.before[:len(f.before):len(f.before)], f.after...)
	for _, m := range marks {
		if !m.edit.known {
			return false
		}
	}
	return len(marks) > 0
}

// isKnown reports whether a hunk has only known edits.
func (a *hunkText) isKnown() bool {
	for e := range a.edits {
		if !e.known {
			return false
		}
	}
	return len(a.edits) > 0
}

// Policies returns the names of the policies that made an edit.
func (e *Edit) Policies() (names []string) {
	for _, s := range e.Causes {
		if s.Policy != "" && !slices.Contains(names, s.Policy) {
			names = append(names, s.Policy)
		}
	}
	return names
}
