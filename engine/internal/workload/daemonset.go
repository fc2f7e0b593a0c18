package workload

import (
	"strconv"

	"github.com/preadmit/preadmit/engine/internal/podspec"
)

const (
	generationAnnotation = "deprecated.daemonset.template.generation"
	generationLabel      = "pod-template-generation"
)

// daemonTaints are the tolerations of every Pod of a DaemonSet.
var daemonTaints = []map[string]any{
	podspec.Toleration("node.kubernetes.io/not-ready", "NoExecute"),
	podspec.Toleration("node.kubernetes.io/unreachable", "NoExecute"),
	podspec.Toleration("node.kubernetes.io/disk-pressure", "NoSchedule"),
	podspec.Toleration("node.kubernetes.io/memory-pressure", "NoSchedule"),
	podspec.Toleration("node.kubernetes.io/pid-pressure", "NoSchedule"),
	podspec.Toleration("node.kubernetes.io/unschedulable", "NoSchedule"),
}

// daemonPod returns the Pod of a DaemonSet for one node.
func daemonPod(owner map[string]any, minor int) []Made {
	template := object(owner, "spec", "template")
	pod := podOf(owner, template)
	labels := podspec.Ensure(pod, "metadata", "labels")
	labels[generationLabel] = strconv.FormatInt(generation(owner), 10)
	labels[revisionLabel] = TemplateHash(template, minor)
	spec := podspec.Map(pod, "spec")
	for _, t := range daemonTaints {
		podspec.Tolerate(spec, t)
	}
	if host, _ := podspec.Bool(spec, "hostNetwork"); host {
		podspec.Tolerate(spec, podspec.Toleration("node.kubernetes.io/network-unavailable", "NoSchedule"))
	}
	podspec.Ensure(spec, "affinity", "nodeAffinity", required)["nodeSelectorTerms"] = []any{
		map[string]any{"matchFields": []any{
			map[string]any{"key": "metadata.name", "operator": "In", "values": []any{nodeName}},
		}},
	}
	return []Made{madePod(pod)}
}

const required = "requiredDuringSchedulingIgnoredDuringExecution"

// generation returns the template generation of a DaemonSet.
func generation(owner map[string]any) int64 {
	n, _ := strconv.ParseInt(podspec.Text(owner, "metadata", "annotations", generationAnnotation), 10, 64)
	return max(n, 1)
}
