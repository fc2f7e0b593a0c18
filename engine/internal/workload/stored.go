package workload

import (
	"maps"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/podspec"
)

// Stored returns an object as a server stores it after admission, without
// its status.
func Stored(kind gvk.Kind, admitted map[string]any) map[string]any {
	stored := Prepared(kind, admitted)
	delete(stored, "status")
	if labels := podspec.Map(stored, "spec", "template", "metadata", "labels"); kind == JobKind && !isManual(stored) && len(podspec.Map(stored, "metadata", "labels")) == 0 {
		podspec.Ensure(stored, "metadata")["labels"] = maps.Clone(labels) // the server defaults them when it reads the Job
	}
	return stored
}

// Prepared returns an object as a server prepares it after admission: with a
// name, and with fields that depend on other fields.
func Prepared(kind gvk.Kind, admitted map[string]any) map[string]any {
	prepared := change.CloneObject(admitted)
	if name := Name(prepared); name != "" {
		podspec.Ensure(prepared, "metadata")["name"] = name
	}
	switch kind {
	case JobKind:
		selectByUID(prepared)
	case DaemonSetKind:
		countTemplates(prepared)
	case PodKind:
		selectByKeys(prepared)
		confine(prepared)
	}
	return prepared
}

// isManual reports whether the selector of a Job is set by its author.
func isManual(job map[string]any) bool {
	manual, _ := podspec.Bool(job, "spec", "manualSelector")
	return manual
}

// selectByUID sets the selector of a Job, and the labels for it on the Job's pod template.
func selectByUID(job map[string]any) {
	if isManual(job) {
		return
	}
	labels := podspec.Ensure(job, "spec", "template", "metadata", "labels")
	for _, prefix := range []string{"", "batch.kubernetes.io/"} {
		setAbsent(labels, prefix+"job-name", Name(job))
		setAbsent(labels, prefix+"controller-uid", UID)
	}
	setAbsent(podspec.Ensure(job, "spec", "selector", "matchLabels"), "batch.kubernetes.io/controller-uid", UID)
}

// Stored returns the object that the server stores in the end. admitted is the object after
// admission. A Job without its own labels gets the labels of its template, and the server adds
// labels to both.
func (m Made) Stored(admitted map[string]any) map[string]any {
	labels := podspec.Map(admitted, "metadata", "labels")
	if m.Kind == JobKind && podspec.Map(m.Object, "metadata", "labels") == nil && change.Equal(labels, podspec.Map(admitted, "spec", "template", "metadata", "labels")) {
		admitted = change.CloneObject(admitted)
		delete(podspec.Map(admitted, "metadata"), "labels")
	}
	stored := Stored(m.Kind, admitted)
	for _, reference := range m.Later {
		podspec.Append(podspec.Ensure(stored, "metadata"), "ownerReferences", reference)
	}
	return stored
}

// countTemplates sets the template generation of a DaemonSet.
func countTemplates(set map[string]any) {
	annotations := podspec.Ensure(set, "metadata", "annotations")
	if annotations[generationAnnotation] == "0" {
		delete(annotations, generationAnnotation)
	}
	setAbsent(annotations, generationAnnotation, "1")
}

func setAbsent(m map[string]any, key, value string) {
	if _, ok := m[key]; !ok {
		m[key] = value
	}
}

// selectByKeys completes the selectors in a Pod that take their values from the Pod's labels
// (matchLabelKeys).
func selectByKeys(pod map[string]any) {
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

// confine sets the AppArmor profiles of containers from annotations, which were used before the
// field existed.
func confine(pod map[string]any) {
	spec := podspec.Map(pod, "spec")
	if podspec.Text(spec, "os", "name") == "windows" {
		return
	}
	for _, container := range append(podspec.Containers(spec), podspec.Maps(spec, "ephemeralContainers")...) {
		annotation := podspec.Text(pod, "metadata", "annotations", "container.apparmor.security.beta.kubernetes.io/"+podspec.Text(container, "name"))
		profile := profileOf(annotation)
		if profile == nil || podspec.Map(container, "securityContext", "appArmorProfile") != nil ||
			change.Equal(profile, podspec.Map(spec, "securityContext", "appArmorProfile")) {
			continue
		}
		podspec.Ensure(container, "securityContext")["appArmorProfile"] = profile
	}
}

// profileOf returns the AppArmor profile of an annotation; nil if it has no profile.
func profileOf(annotation string) map[string]any {
	name, isLocal := strings.CutPrefix(annotation, "localhost/")
	switch {
	case annotation == "unconfined":
		return map[string]any{"type": "Unconfined"}
	case annotation == "runtime/default":
		return map[string]any{"type": "RuntimeDefault"}
	case isLocal && name != "" && name == strings.TrimSpace(name):
		return map[string]any{"type": "Localhost", "localhostProfile": name}
	}
	return nil
}
