package redact

import (
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// Hidden reports whether a path of an object leads to a sensitive value. It is nil if no path does.
type Hidden func(path change.Path) bool

// or returns the paths that either hides.
func (h Hidden) or(other Hidden) Hidden {
	switch {
	case h == nil:
		return other
	case other == nil:
		return h
	}
	return func(path change.Path) bool { return h(path) || other(path) }
}

// Everything hides all values of an object.
func Everything(change.Path) bool { return true }

// HiddenIn returns the paths that are hidden in a document: the data of a Secret.
func HiddenIn(d *manifest.Document) Hidden {
	if isSecret(d) {
		return isData
	}
	return nil
}

// isSecret reports whether a document is a Secret, or is probably meant to be one. It does not build
// the objects of other documents.
func isSecret(d *manifest.Document) bool {
	kind := d.Kind().Kind
	return (kind == "" || IsSecretKind(kind)) && IsSecret(d.Object())
}

// isData reports whether a path in a Secret leads to its data.
func isData(path change.Path) bool {
	if len(path) == 0 {
		return false
	}
	return !IsOpen(path[0].Key) || len(path) >= 3 && path[1].Key == "annotations" && path[2].Key == LastApplied
}

// namePaths are the paths of the names of an object.
var namePaths = []change.Path{
	change.Keys("apiVersion"), change.Keys("kind"), change.Keys("metadata", "name"), change.Keys("metadata", "namespace"), change.Keys("metadata", "generateName"),
}

func isName(path change.Path) bool {
	return slices.ContainsFunc(namePaths, func(name change.Path) bool { return slices.Equal(name, path) })
}

// Value returns the value at a path of an object as it may be shown. The whole value is hidden if
// the path is. Otherwise, names are shown. The mask has the suffix where value differs from other, its counterpart.
func (r *Redactor) Value(hidden Hidden, path change.Path, value, other any, suffix string) any {
	if r == nil || r.hidesNothing() && hidden == nil {
		return value
	}
	switch v := value.(type) {
	case nil, bool:
		return value
	case map[string]any:
		masked := make(map[string]any, len(v))
		otherMap, _ := other.(map[string]any)
		for key, item := range v {
			masked[r.masked(key)] = r.Value(hidden, path.Key(key), item, otherMap[key], suffix)
		}
		return masked
	case []any:
		masked := make([]any, len(v))
		otherList, _ := other.([]any)
		for i, item := range v {
			var counterpart any
			if i < len(otherList) {
				counterpart = otherList[i]
			}
			masked[i] = r.Value(hidden, path.Index(i), item, counterpart, suffix)
		}
		return masked
	}
	if hidden != nil && hidden(path) || !isName(path) && r.holds(fmt.Sprint(value)) {
		if suffix != "" && other != nil && !change.Equal(value, other) {
			return Mask + suffix
		}
		return Mask
	}
	return value
}

// Path returns a path without hidden values, exactly as it is otherwise.
func (r *Redactor) Path(path change.Path) change.Path {
	if r.hidesNothing() {
		return path
	}
	shown := make(change.Path, len(path))
	for i, e := range path {
		shown[i] = e
		if !e.IsIndex() {
			shown[i].Key = r.masked(e.Key)
		}
	}
	return shown
}
