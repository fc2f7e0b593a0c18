package engine

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// byDirectory groups streams by the directories of their files, in the order of the first stream of
// each directory. Without streams it returns one empty group, so that the policies are still
// checked.
func byDirectory(streams []*manifest.Stream) [][]*manifest.Stream {
	groups := [][]*manifest.Stream{}
	index := map[string]int{}
	for _, stream := range streams {
		dir := filepath.Dir(stream.Name())
		i, ok := index[dir]
		if !ok {
			i = len(groups)
			index[dir] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], stream)
	}
	if len(groups) == 0 {
		return [][]*manifest.Stream{nil}
	}
	return groups
}

// merge joins several outcomes. If any has failed, all documents are reset, unless partial is true.
func merge(outcomes []*Outcome, partial bool) *Outcome {
	all := Merge(outcomes)
	if all.Failed() && !partial {
		for _, m := range all.Manifests {
			m.Document.Reset()
		}
	}
	return all
}

// Merge joins the outcomes of several runs.
func Merge(outcomes []*Outcome) *Outcome {
	all := &Outcome{Secrets: &redact.Redactor{}}
	var stats []Stat
	withPolicies := false
	for _, o := range outcomes {
		all.Manifests = append(all.Manifests, o.Manifests...)
		all.Diagnostics = append(all.Diagnostics, o.Diagnostics...)
		all.KyvernoVersion = cmp.Or(all.KyvernoVersion, o.KyvernoVersion)
		all.Denied, all.Invalid = all.Denied || o.Denied, all.Invalid || o.Invalid
		all.Secrets.Add(o.Secrets)
		stats = append(stats, o.Stats...)
		all.Policies = append(all.Policies, o.Policies...)
		withPolicies = withPolicies || !slices.ContainsFunc(o.Diagnostics, saysNoPolicies)
	}
	if withPolicies {
		all.Diagnostics = slices.DeleteFunc(all.Diagnostics, saysNoPolicies)
	}
	all.Diagnostics = all.Secrets.Messages(unique(all.Diagnostics))
	all.Stats, all.Policies = sum(stats), mergeAccounts(all.Policies)
	return all
}

// saysNoPolicies reports whether a diagnostic says that a run has no policies.
func saysNoPolicies(d source.Diagnostic) bool { return d.Code == source.CodeNoPolicies }
