package workload

import (
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/podspec"
)

// Values that a cluster generates. Random suffixes in a cluster have no zeros.
const (
	// UID is the uid of objects and accounts.
	UID = "00000000-0000-0000-0000-000000000000"
	// Suffix is a random suffix of a name.
	Suffix    = "00000"
	nodeName  = "node-" + Suffix
	scheduled = "1970-01-01T00:00:00Z"
	minute    = "00000000"
)

// longestGenerated is the maximum length of a name before its suffix.
const longestGenerated = 63 - len(Suffix)

// Name returns the name of an object after the server has stored it.
func Name(object map[string]any) string {
	if name := podspec.Text(object, "metadata", "name"); name != "" {
		return name
	}
	prefix := podspec.Text(object, "metadata", "generateName")
	if prefix == "" {
		return ""
	}
	return prefix[:min(len(prefix), longestGenerated)] + Suffix
}

// metadata returns the metadata of an object that a controller makes for its owner.
func metadata(kind gvk.Kind, owner map[string]any, labels, annotations map[string]any) map[string]any {
	m := map[string]any{"ownerReferences": []any{reference(kind, owner)}}
	if namespace := podspec.Text(owner, "metadata", "namespace"); namespace != "" {
		m["namespace"] = namespace
	}
	if len(labels) > 0 {
		m["labels"] = labels
	}
	if len(annotations) > 0 {
		m["annotations"] = annotations
	}
	return m
}

// reference returns an owner reference to a controller.
func reference(kind gvk.Kind, owner map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": kind.APIVersion(), "kind": kind.Kind, "name": Name(owner), "uid": UID,
		"controller": true, "blockOwnerDeletion": true,
	}
}

// kindOf returns the kind of an object.
func kindOf(object map[string]any) gvk.Kind {
	return gvk.Parse(podspec.Text(object, "apiVersion"), podspec.Text(object, "kind"))
}

// with returns a copy of a map with one more entry.
func with(texts map[string]any, key, value string) map[string]any {
	more := make(map[string]any, len(texts)+1)
	for k, v := range texts {
		more[k] = v
	}
	more[key] = value
	return more
}

// cut cuts a text to a length.
func cut(text string, length int) string { return text[:min(len(text), length)] }

// dashed returns the prefix for names of objects that an owner makes.
func dashed(owner string) string {
	if prefix := owner + "-"; len(prefix) <= 253 {
		return prefix
	}
	return strings.TrimSuffix(owner, "-")
}

// object returns a deep copy of a map in an object, never nil.
func object(of map[string]any, keys ...string) map[string]any {
	inner := podspec.Map(of, keys...)
	if inner == nil {
		return map[string]any{}
	}
	return change.CloneObject(inner)
}
