package workload

import (
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/podspec"
)

const hashLabel = "pod-template-hash"

// unshared are the annotations of a Deployment that are not copied to its ReplicaSet.
var unshared = map[string]bool{
	"kubectl.kubernetes.io/last-applied-configuration": true,
	"deployment.kubernetes.io/revision":                true,
	"deployment.kubernetes.io/revision-history":        true,
	"deployment.kubernetes.io/desired-replicas":        true,
	"deployment.kubernetes.io/max-replicas":            true,
	"deprecated.deployment.rollback.to":                true,
}

// replicaSet returns the first ReplicaSet of a Deployment.
func replicaSet(owner map[string]any, minor int) []Made {
	spec := podspec.Map(owner, "spec")
	template := object(spec, "template")
	hash := TemplateHash(template, minor)
	labels := with(podspec.Map(template, "metadata", "labels"), hashLabel, hash)
	podspec.Ensure(template, "metadata")["labels"] = labels
	selector := object(spec, "selector")
	selector["matchLabels"] = with(podspec.Map(selector, "matchLabels"), hashLabel, hash)
	replicas, _ := podspec.Int(spec, "replicas")
	annotations := map[string]any{
		"deployment.kubernetes.io/revision":         "1",
		"deployment.kubernetes.io/desired-replicas": strconv.FormatInt(replicas, 10),
		"deployment.kubernetes.io/max-replicas":     strconv.FormatInt(replicas+maxSurge(spec, replicas), 10),
	}
	for key, value := range podspec.Map(owner, "metadata", "annotations") {
		if !unshared[key] {
			annotations[key] = value
		}
	}
	m := metadata(DeploymentKind, owner, with(labels, hashLabel, hash), annotations)
	m["name"] = cut(Name(owner), 253-1-len(hash)) + "-" + hash
	made := map[string]any{"replicas": replicas, "selector": selector, "template": template}
	if seconds, ok := podspec.Int(spec, "minReadySeconds"); ok {
		made["minReadySeconds"] = seconds
	}
	return []Made{{Kind: ReplicaSetKind, Object: map[string]any{
		"apiVersion": ReplicaSetKind.APIVersion(), "kind": ReplicaSetKind.Kind, "metadata": m, "spec": made,
	}}}
}

// maxSurge returns how many additional Pods a Deployment may have during an update. A percentage
// is rounded up.
func maxSurge(spec map[string]any, replicas int64) int64 {
	strategy := podspec.Map(spec, "strategy")
	if podspec.Text(strategy, "type") != "RollingUpdate" {
		return 0
	}
	switch surge := podspec.Map(strategy, "rollingUpdate")["maxSurge"].(type) {
	case int64:
		return surge
	case string:
		percent, _ := strconv.ParseInt(strings.TrimSuffix(surge, "%"), 10, 64)
		return (replicas*percent + 99) / 100
	}
	return 0
}
