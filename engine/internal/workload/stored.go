package workload

import (
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/podspec"
)

// Stored is an object of a kind as a server of Kubernetes 1.minor stores it after admission,
// without its status: with a name, and with what depends on other fields.
func Stored(kind gvk.Kind, admitted map[string]any, minor int) map[string]any {
	stored := change.CloneObject(admitted)
	delete(stored, "status")
	if name := Name(stored); name != "" {
		podspec.Ensure(stored, "metadata")["name"] = name
	}
	switch kind {
	case JobKind:
		selectByUID(stored)
	case DaemonSetKind:
		countTemplates(stored)
	case PodKind:
		selectByKeys(stored, minor)
	}
	return stored
}

// selectByUID gives a Job its selector, and the Pods of its template the labels for it.
func selectByUID(job map[string]any) {
	if manual, _ := podspec.Bool(job, "spec", "manualSelector"); manual {
		return
	}
	labels := podspec.Ensure(job, "spec", "template", "metadata", "labels")
	for _, prefix := range []string{"", "batch.kubernetes.io/"} {
		setAbsent(labels, prefix+"job-name", Name(job))
		setAbsent(labels, prefix+"controller-uid", UID)
	}
	setAbsent(podspec.Ensure(job, "spec", "selector", "matchLabels"), "batch.kubernetes.io/controller-uid", UID)
}

// countTemplates annotates a DaemonSet with how often its template has changed.
func countTemplates(set map[string]any) {
	setAbsent(podspec.Ensure(set, "metadata", "annotations"), generationAnnotation, "1")
}

func setAbsent(m map[string]any, key, value string) {
	if _, ok := m[key]; !ok {
		m[key] = value
	}
}

// selectByKeys completes the selectors of a Pod that are to have the values of its own
// labels.
func selectByKeys(pod map[string]any, minor int) {
	labels, spec := podspec.Map(pod, "metadata", "labels"), podspec.Map(pod, "spec")
	for _, name := range []string{"podAffinity", "podAntiAffinity"} {
		affinity := podspec.Map(spec, "affinity", name)
		terms := podspec.Maps(affinity, required)
		for _, weighted := range podspec.Maps(affinity, "preferredDuringSchedulingIgnoredDuringExecution") {
			terms = append(terms, podspec.Map(weighted, "podAffinityTerm"))
		}
		for _, term := range terms {
			addRequirements(term, "matchLabelKeys", "In", labels)
			addRequirements(term, "mismatchLabelKeys", "NotIn", labels)
		}
	}
	if minor < 34 {
		return
	}
	for _, constraint := range podspec.Maps(spec, "topologySpreadConstraints") {
		addRequirements(constraint, "matchLabelKeys", "In", labels)
	}
}

func addRequirements(term map[string]any, keys, operator string, labels map[string]any) {
	selector := podspec.Map(term, "labelSelector")
	list, _ := term[keys].([]any)
	for _, key := range list {
		name, _ := key.(string)
		if value, ok := labels[name]; ok && selector != nil {
			podspec.Append(selector, "matchExpressions", map[string]any{"key": name, "operator": operator, "values": []any{value}})
		}
	}
}
