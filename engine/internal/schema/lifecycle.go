package schema

import (
	_ "embed" // the table
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/source"
)

// lifecycleText says when servers began to warn of versions of built-in kinds, when they stopped to
// serve them, and what replaces them; gotypes/lifecycle.go describes it.
//
//go:embed lifecycles.txt
var lifecycleText string

// A Lifecycle is what became of a version of a built-in kind. The numbers are minor versions of
// Kubernetes, 0 for none.
type Lifecycle struct {
	Deprecated, Removed int
	Replacement         gvk.Kind
}

var lifecycles = sync.OnceValue(func() map[string]Lifecycle {
	all := map[string]Lifecycle{}
	for line := range strings.Lines(lifecycleText) {
		words := strings.Fields(line)
		l := Lifecycle{}
		l.Deprecated, _ = strconv.Atoi(words[1]) // - is 0
		l.Removed, _ = strconv.Atoi(words[2])
		if end := strings.LastIndexByte(words[3], '/'); end >= 0 {
			l.Replacement = gvk.Parse(words[3][:end], words[3][end+1:])
		}
		all[words[0]] = l
	}
	return all
})

// LifecycleOf returns what became of a kind. It is zero for most kinds.
func LifecycleOf(kind gvk.Kind) Lifecycle { return lifecycles()[kind.APIVersion()+"/"+kind.Kind] }

// Deprecation returns the warning of a server of Kubernetes 1.minor about the version of a kind, or "".
// The words for a built-in kind are those of k8s.io/apiserver v0.36.3 (pkg/endpoints/deprecation).
func (k *Kind) Deprecation(minor int) string {
	if k.Definition != nil {
		return k.Definition.Deprecation
	}
	l := LifecycleOf(k.Kind)
	if k.Custom || l.Deprecated == 0 || l.Deprecated > minor {
		return ""
	}
	text := fmt.Sprintf("%s %s is deprecated in v1.%d+", k.APIVersion(), k.Kind.Kind, l.Deprecated)
	if l.Removed > 0 {
		text += fmt.Sprintf(", unavailable in v1.%d+", l.Removed)
	}
	if l.Replacement.Kind != "" {
		text += fmt.Sprintf("; use %s %s", l.Replacement.APIVersion(), l.Replacement.Kind)
	}
	return text
}

// Removed returns what became of a kind that a server of Kubernetes 1.minor does not serve any more, and
// that the registry does not have, with a replacement that the server serves. ok is false for other kinds.
func (r *Registry) Removed(kind gvk.Kind, minor int) (l Lifecycle, ok bool) {
	if r.Lookup(kind) != nil {
		return l, false
	}
	if l = LifecycleOf(kind); !l.isRemoved(minor) {
		return l, false
	}
	for next := LifecycleOf(l.Replacement); next.isRemoved(minor); next = LifecycleOf(l.Replacement) {
		l.Replacement = next.Replacement
	}
	return l, true
}

func (l Lifecycle) isRemoved(minor int) bool { return l.Removed > 0 && l.Removed <= minor }

// Unserved reports whether a server surely does not serve a kind that the registry does not have, with what
// to use instead, if anything is near. No CustomResourceDefinition can add kinds to a group without a dot,
// and a definition has all versions of its kind.
func (r *Registry) Unserved(kind gvk.Kind) (instead gvk.Kind, ok bool) {
	if r.Lookup(kind) != nil {
		return instead, false
	}
	if strings.Contains(kind.Group, ".") { // most unknown kinds: no list of all kinds for each object
		for _, k := range r.added {
			if k.Custom && k.Group == kind.Group && k.Kind.Kind == kind.Kind && (!ok || k.Version < instead.Version) {
				instead, ok = k.Kind, true
			}
		}
		return instead, ok
	}
	var names []string
	for _, k := range r.Kinds() {
		switch {
		case k.Group != kind.Group:
		case k.Kind.Kind == kind.Kind:
			return k.Kind, true
		case k.Version == kind.Version:
			names = append(names, k.Kind.Kind)
		}
	}
	if elsewhere := r.inOtherGroup(kind); elsewhere.Kind != "" {
		return elsewhere, true
	}
	if near := source.Nearest(kind.Kind, names); near != "" {
		instead = gvk.Kind{Group: kind.Group, Version: kind.Version, Kind: near}
	}
	return instead, true
}

// inOtherGroup returns the kind with the same name in the group that was probably meant: the only one with the name, or
// else one with a similar name. It has the same version if there is such.
func (r *Registry) inOtherGroup(kind gvk.Kind) (found gvk.Kind) {
	byGroup := map[string]gvk.Kind{}
	for _, k := range r.Kinds() {
		if first, known := byGroup[k.Group]; k.Kind.Kind == kind.Kind && (!known || k.Version == kind.Version && first.Version != kind.Version) {
			byGroup[k.Group] = k.Kind
		}
	}
	groups := slices.Sorted(maps.Keys(byGroup))
	if near := source.Misspelt(kind.Group, groups); near != "" {
		return byGroup[near]
	}
	if len(groups) == 1 {
		return byGroup[groups[0]]
	}
	return found
}
