package mutatingpolicy

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
)

// A policy for pods sees a controller as the pod that the controller creates, so that its
// expressions need not be rewritten. spec, labels and annotations of the pod come from the pod
// template, everything else from the controller. Changes to the pod are applied to the template.
//
// Laws: carryBack(o, p, p) is o, and asPod(carryBack(o, asPod(o), p)) is p, except for the
// fields that a pod has from the controller.

// fromTemplate are the fields of metadata that a pod has from the template; other fields come
// from the controller.
var fromTemplate = []string{"labels", "annotations"}

// asPod returns the pod that a controller creates. template is the path of the pod template.
func asPod(object map[string]any, template []string) map[string]any {
	pod := maps.Clone(object)
	inner := at(object, template)
	if spec, ok := inner["spec"]; ok {
		pod["spec"] = spec
	} else {
		delete(pod, "spec")
	}
	delete(pod, "status")
	metadata, _ := object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	own, _ := inner["metadata"].(map[string]any)
	for _, name := range fromTemplate {
		delete(metadata, name)
		if value, ok := own[name]; ok {
			metadata[name] = value
		}
	}
	pod["metadata"] = metadata
	return pod
}

// carryBack returns the controller with the changes to its pod. seen is the pod before, patched
// the pod after the changes.
func carryBack(object, seen, patched map[string]any, template []string) (map[string]any, error) {
	inner := maps.Clone(at(object, template))
	if inner == nil {
		inner = map[string]any{}
	}
	for _, name := range union(seen, patched) {
		switch {
		case change.Equal(seen[name], patched[name]) && has(seen, name) == has(patched, name):
		case name == "spec":
			put(inner, name, patched)
		case name == "metadata":
			before, _ := seen[name].(map[string]any)
			after, ok := patched[name].(map[string]any)
			if !ok {
				return nil, errors.New("the patch leaves no metadata for the template of pods")
			}
			inner[name] = withChanges(inner[name], before, after)
		default:
			return nil, fmt.Errorf("the patch changes %q, which the template of pods does not have", name)
		}
	}
	return with(object, template, inner), nil
}

// withChanges returns the metadata of a template with the changes to the metadata of its pod.
func withChanges(of any, before, after map[string]any) map[string]any {
	old, _ := of.(map[string]any)
	metadata := maps.Clone(old)
	if metadata == nil {
		metadata = map[string]any{}
	}
	for _, name := range union(before, after) {
		if !change.Equal(before[name], after[name]) || has(before, name) != has(after, name) {
			put(metadata, name, after)
		}
	}
	return metadata
}

func has(object map[string]any, name string) bool {
	_, ok := object[name]
	return ok
}

// put copies a field, or its absence, from another object.
func put(object map[string]any, name string, from map[string]any) {
	if value, ok := from[name]; ok {
		object[name] = value
	} else {
		delete(object, name)
	}
}

// union returns the names of the fields of two objects.
func union(a, b map[string]any) []string {
	all := map[string]any{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// at returns the map at a path, nil if it is missing.
func at(object map[string]any, path []string) map[string]any {
	for _, name := range path {
		object, _ = object[name].(map[string]any)
	}
	return object
}

// with returns an object with another value at a path.
func with(object map[string]any, path []string, value map[string]any) map[string]any {
	if len(path) == 0 {
		return value
	}
	copied := maps.Clone(object)
	if copied == nil {
		copied = map[string]any{}
	}
	copied[path[0]] = with(at(object, path[:1]), path[1:], value)
	return copied
}

// nest returns a patch of pods as a patch of an object with a pod template.
func nest(patch map[string]any, template []string) map[string]any {
	for i := len(template) - 1; i >= 0; i-- {
		patch = map[string]any{template[i]: patch}
	}
	return patch
}
