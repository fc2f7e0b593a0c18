package workload

import (
	"maps"
	"strings"

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
		confine(stored)
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
	if len(podspec.Map(job, "metadata", "labels")) == 0 { // as the server defaults them when it reads the Job
		podspec.Ensure(job, "metadata")["labels"] = maps.Clone(labels)
	}
}

// Stored is what the server holds of the object in the end, given what admission has left.
// A Job without labels of its own has those of its template, and the server adds to both.
func (m Made) Stored(admitted map[string]any, minor int) map[string]any {
	labels := podspec.Map(admitted, "metadata", "labels")
	if m.Kind == JobKind && podspec.Map(m.Object, "metadata", "labels") == nil && change.Equal(labels, podspec.Map(admitted, "spec", "template", "metadata", "labels")) {
		admitted = change.CloneObject(admitted)
		delete(podspec.Map(admitted, "metadata"), "labels")
	}
	stored := Stored(m.Kind, admitted, minor)
	for _, reference := range m.Later {
		podspec.Append(podspec.Ensure(stored, "metadata"), "ownerReferences", reference)
	}
	return stored
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

// confine gives containers the AppArmor profiles that annotations have for them, from the
// time when there was no field.
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

// profileOf is the AppArmor profile that an annotation means; nil for none.
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
