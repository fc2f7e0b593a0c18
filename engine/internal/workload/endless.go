package workload

import (
	"maps"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/podspec"
)

var labelsPath = change.Keys("metadata", "labels")

// endlessReplicaSet checks how a Deployment finds its ReplicaSet: by its selector, and then by
// its template, which must equal the Deployment's template.
func endlessReplicaSet(owner, made map[string]any, _ int) (change.Path, string) {
	if path, why := unselected(owner, made, "the Deployment releases it and makes another ReplicaSet"); why != "" {
		return path, why
	}
	wanted := withoutHash(object(owner, "spec", "template"))
	got := withoutHash(object(made, "spec", "template"))
	if differences := change.Diff(wanted, got, nil); len(differences) > 0 {
		return append(change.Keys("spec", "template"), differences[0].Path...),
			"its template differs from that of the Deployment, which takes it for another revision and makes another ReplicaSet"
	}
	return nil, ""
}

// withoutHash returns a template without the label of its hash.
func withoutHash(template map[string]any) map[string]any {
	if labels := podspec.Map(template, "metadata", "labels"); labels != nil {
		labels = maps.Clone(labels)
		delete(labels, hashLabel)
		podspec.Map(template, "metadata")["labels"] = labels
	}
	return template
}

// unselected reports that the selector of an owner does not select an object that its controller
// made.
func unselected(owner, made map[string]any, why string) (change.Path, string) {
	selector := podspec.Map(owner, "spec", "selector")
	if kindOf(owner) == ReplicationControllerKind {
		selector = map[string]any{"matchLabels": selector}
	}
	s, err := match.NewSelector(selector)
	if err != nil {
		return nil, ""
	}
	labels := map[string]string{}
	for key, value := range podspec.Map(made, "metadata", "labels") {
		labels[key], _ = value.(string)
	}
	if s.Matches(labels) {
		return nil, ""
	}
	return labelsPath, "the selector of its owner does not select it: " + why
}

// endlessReplica checks that a ReplicaSet selects its Pod, because it counts only selected Pods.
func endlessReplica(owner, made map[string]any, _ int) (change.Path, string) {
	return unselected(owner, made, "the controller releases it and makes another Pod")
}

// endlessStateful checks the revision of a Pod: a StatefulSet deletes Pods of other revisions.
func endlessStateful(owner, made map[string]any, _ int) (change.Path, string) {
	if path, why := unselected(owner, made, "the controller does not see it, and tries to make it again"); why != "" {
		return path, why
	}
	if podspec.Text(owner, "spec", "updateStrategy", "type") == "RollingUpdate" {
		return revised(made, revision(owner))
	}
	return nil, ""
}

// revised reports that a Pod does not have the label of a revision.
func revised(made map[string]any, revision string) (change.Path, string) {
	if podspec.Text(made, "metadata", "labels", revisionLabel) == revision {
		return nil, ""
	}
	return labelsPath.Key(revisionLabel), "it seems to be of another revision: the controller deletes it and makes it again"
}

// endlessDaemon checks how a DaemonSet finds its Pods: by selector and node. It deletes Pods
// that do not match its template.
func endlessDaemon(owner, made map[string]any, minor int) (change.Path, string) {
	if path, why := unselected(owner, made, "the controller releases it and makes another Pod"); why != "" {
		return path, why
	}
	if podspec.Text(made, "spec", "nodeName") == "" && !isForNode(made) {
		return change.Keys("spec", "affinity", "nodeAffinity"), "it names no node: the controller assumes that the node has no Pod, and makes another Pod"
	}
	labels := podspec.Map(made, "metadata", "labels")
	if podspec.Text(owner, "spec", "updateStrategy", "type") != "RollingUpdate" || labels[generationLabel] == podspec.Text(owner, "metadata", "annotations", generationAnnotation) {
		return nil, ""
	}
	return revised(made, TemplateHash(podspec.Map(owner, "spec", "template"), minor))
}

// isForNode reports whether the affinity of a Pod names a node.
func isForNode(pod map[string]any) bool {
	terms := podspec.Maps(podspec.Map(pod, "spec", "affinity", "nodeAffinity", required), "nodeSelectorTerms")
	for _, term := range terms {
		for _, field := range podspec.Maps(term, "matchFields") {
			if values, _ := field["values"].([]any); podspec.Text(field, "key") == "metadata.name" && podspec.Text(field, "operator") == "In" && len(values) == 1 {
				return true
			}
		}
	}
	return false
}

// endlessJobPod checks how a Job counts its Pods: it counts Pods that it selects and, if the Job
// is indexed, that have an index.
func endlessJobPod(owner, made map[string]any, _ int) (change.Path, string) {
	if path, why := unselected(owner, made, "the controller releases it and makes another Pod"); why != "" {
		return path, why
	}
	if podspec.Text(owner, "spec", "completionMode") == "Indexed" && podspec.Text(made, "metadata", "annotations", indexKey) == "" {
		return change.Keys("metadata", "annotations", indexKey), "it has no index: the controller deletes it and makes another Pod"
	}
	return nil, ""
}
