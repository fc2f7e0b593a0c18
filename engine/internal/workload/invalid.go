package workload

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/podspec"
)

// Invalid is why a server refuses an object of which a controller could make nothing: a
// field, and the words of the server. It is no validation: it finds only what keeps Pods from
// being made.
func Invalid(kind gvk.Kind, owner map[string]any) (change.Path, error) {
	path, problem := invalid(kind, owner)
	if problem == "" {
		return nil, nil
	}
	name := kind.Kind
	if kind.Group != "" {
		name += "." + kind.Group
	}
	return path, fmt.Errorf("%s %q is invalid: %s: %s", name, Name(owner), path, problem)
}

func invalid(kind gvk.Kind, owner map[string]any) (change.Path, string) {
	path := change.Keys("spec", "template")
	if kind == CronJobKind {
		path = change.Keys("spec", "jobTemplate", "spec", "template")
	}
	found, _ := path.Get(owner)
	template, _ := found.(map[string]any)
	if template == nil && kind == ReplicationControllerKind {
		return path, "Required value"
	}
	if path, problem := unselectedTemplate(kind, owner, template); problem != "" {
		return path, problem
	}
	if len(podspec.Maps(podspec.Map(template, "spec"), "containers")) == 0 {
		return path.Key("spec").Key("containers"), "Required value"
	}
	return nil, ""
}

// unselectedTemplate says that the selector of an owner is missing, or does not select the
// Pods of its template.
func unselectedTemplate(kind gvk.Kind, owner, template map[string]any) (change.Path, string) {
	selector := podspec.Map(owner, "spec", "selector")
	path := change.Keys("spec", "template", "metadata", "labels")
	switch kind {
	case JobKind, CronJobKind:
		return nil, ""
	case ReplicationControllerKind:
		selector = map[string]any{"matchLabels": selector}
	}
	if len(selector) == 0 {
		return change.Keys("spec", "selector"), "Required value"
	}
	_, why := unselected(owner, map[string]any{"metadata": podspec.Map(template, "metadata")}, "")
	if why == "" {
		return nil, ""
	}
	labels := podspec.Map(template, "metadata", "labels")
	if labels == nil {
		labels = map[string]any{}
	}
	text, _ := json.Marshal(labels)
	return path, fmt.Sprintf("Invalid value: %s: `selector` does not match template `labels`", strings.TrimSpace(string(text)))
}
