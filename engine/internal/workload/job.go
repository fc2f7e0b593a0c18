package workload

import (
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/podspec"
)

const (
	indexKey          = "batch.kubernetes.io/job-completion-index"
	failuresKey       = "batch.kubernetes.io/job-index-failure-count"
	trackingFinalizer = "batch.kubernetes.io/job-tracking"
	indexVariable     = "JOB_COMPLETION_INDEX"
)

// cronJob returns a Job of a CronJob.
func cronJob(owner map[string]any, _ int) []Made {
	template := object(owner, "spec", "jobTemplate")
	annotations := with(podspec.Map(template, "metadata", "annotations"), "batch.kubernetes.io/cronjob-scheduled-timestamp", scheduled)
	m := metadata(CronJobKind, owner, podspec.Map(template, "metadata", "labels"), annotations)
	m["name"] = Name(owner) + "-" + minute
	return []Made{{Kind: JobKind, From: change.Keys("spec", "jobTemplate"), Object: map[string]any{
		"apiVersion": JobKind.APIVersion(), "kind": JobKind.Kind, "metadata": m, "spec": object(template, "spec"),
	}}}
}

// jobPod returns the first Pod of a Job.
func jobPod(owner map[string]any, _ int) []Made {
	pod := podOf(owner, podspec.Map(owner, "spec", "template"))
	m, spec := podspec.Map(pod, "metadata"), podspec.Map(pod, "spec")
	if finalizers, _ := m["finalizers"].([]any); !slices.Contains(finalizers, any(trackingFinalizer)) {
		podspec.Append(m, "finalizers", trackingFinalizer)
	}
	if podspec.Text(owner, "spec", "completionMode") != "Indexed" {
		return []Made{madePod(pod)}
	}
	for _, c := range podspec.Containers(spec) {
		tellIndex(c)
	}
	podspec.Ensure(m, "annotations")[indexKey] = "0"
	podspec.Ensure(m, "labels")[indexKey] = "0"
	if _, perIndex := podspec.Int(owner, "spec", "backoffLimitPerIndex"); perIndex {
		podspec.Ensure(m, "annotations")[failuresKey] = "0"
	}
	spec["hostname"] = Name(owner) + "-0"
	m["generateName"] = cut(Name(owner), longestGenerated-len("-0-")) + "-0-"
	return []Made{madePod(pod)}
}

// tellIndex adds the environment variable with the index of the Pod to a container.
func tellIndex(container map[string]any) {
	for _, variable := range podspec.Maps(container, "env") {
		if podspec.Text(variable, "name") == indexVariable {
			return
		}
	}
	podspec.Append(container, "env", map[string]any{"name": indexVariable, "valueFrom": map[string]any{
		"fieldRef": map[string]any{"apiVersion": "v1", "fieldPath": "metadata.labels['" + indexKey + "']"},
	}})
}
