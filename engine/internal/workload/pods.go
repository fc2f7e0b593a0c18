package workload

import (
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/podspec"
)

var templatePath = change.Keys("spec", "template")

// podOf returns the Pod of a template, as all controllers make it.
func podOf(owner, template map[string]any) map[string]any {
	given := object(template, "metadata")
	m := metadata(kindOf(owner), owner, podspec.Map(given, "labels"), podspec.Map(given, "annotations"))
	m["generateName"] = dashed(Name(owner))
	if finalizers, ok := given["finalizers"].([]any); ok && len(finalizers) > 0 {
		m["finalizers"] = finalizers
	}
	return map[string]any{"apiVersion": "v1", "kind": PodKind.Kind, "metadata": m, "spec": object(template, "spec")}
}

func madePod(pod map[string]any) Made {
	return Made{Kind: PodKind, Object: pod, From: templatePath}
}

// replicaPod returns a Pod of a ReplicaSet or a ReplicationController.
func replicaPod(owner map[string]any, _ int) []Made {
	return []Made{madePod(podOf(owner, podspec.Map(owner, "spec", "template")))}
}
