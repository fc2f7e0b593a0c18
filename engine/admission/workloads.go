package admission

import (
	"maps"
	"math"
)

// defaultDeploymentStrategy is the part of SetDefaults_Deployment for its strategy.
func defaultDeploymentStrategy(_, out map[string]any) {
	setAbsent(out, "type", "RollingUpdate")
	if out["type"] == "RollingUpdate" {
		rolling := ensure(out, "rollingUpdate")
		setAbsent(rolling, "maxUnavailable", "25%")
		setAbsent(rolling, "maxSurge", "25%")
	}
}

// defaultDaemonSetUpdateStrategy is the part of SetDefaults_DaemonSet for its
// strategy.
func defaultDaemonSetUpdateStrategy(_, out map[string]any) {
	setAbsent(out, "type", "RollingUpdate")
	if out["type"] == "RollingUpdate" {
		rolling := ensure(out, "rollingUpdate")
		setAbsent(rolling, "maxUnavailable", int64(1))
		setAbsent(rolling, "maxSurge", int64(0))
	}
}

// defaultStatefulSetUpdateStrategy is the part of SetDefaults_StatefulSet for its
// strategy: rollingUpdate appears only where the type was left out too.
func defaultStatefulSetUpdateStrategy(_, out map[string]any) {
	if _, ok := out["type"]; !ok {
		out["type"] = "RollingUpdate"
		ensure(out, "rollingUpdate")
	}
	if rolling := child(out, "rollingUpdate"); rolling != nil && out["type"] == "RollingUpdate" {
		setAbsent(rolling, "partition", int64(0))
	}
}

// inheritLabels labels an object that has no labels.
func inheritLabels(out, labels map[string]any) {
	metadata := child(out, "metadata")
	if _, ok := metadata["labels"]; !ok && labels != nil {
		metadata["labels"] = maps.Clone(labels)
	}
}

// defaultJob is SetDefaults_Job. It does not apply to the template of a CronJob.
func defaultJob(_, out map[string]any) {
	spec := child(out, "spec")
	if spec["parallelism"] == nil {
		setAbsent(spec, "completions", int64(1))
		spec["parallelism"] = int64(1)
	}
	if spec["backoffLimitPerIndex"] != nil {
		setAbsent(spec, "backoffLimit", int64(math.MaxInt32))
	}
	setAbsent(spec, "backoffLimit", int64(6))
	setAbsent(spec, "completionMode", "NonIndexed")
	setAbsent(spec, "suspend", false)
	setAbsent(spec, "manualSelector", false)
	if spec["podFailurePolicy"] != nil {
		setAbsent(spec, "podReplacementPolicy", "Failed")
	}
	setAbsent(spec, "podReplacementPolicy", "TerminatingOrFailed")
	inheritLabels(out, child(child(child(spec, "template"), "metadata"), "labels"))
}

// defaultHorizontalPodAutoscaler is SetDefaults_HorizontalPodAutoscalerBehavior: a
// behavior that is given has rules in both directions.
func defaultHorizontalPodAutoscaler(in, out map[string]any) {
	behavior := child(out, "behavior")
	if behavior == nil {
		return
	}
	given := child(in, "behavior")
	up := ensure(behavior, "scaleUp")
	setAbsent(up, "stabilizationWindowSeconds", int64(0))
	defaultScalingRules(child(given, "scaleUp"), up, scalingPolicy("Pods", 4), scalingPolicy("Percent", 100))
	defaultScalingRules(child(given, "scaleDown"), ensure(behavior, "scaleDown"), scalingPolicy("Percent", 100))
}

func defaultScalingRules(in, out map[string]any, policies ...any) {
	setAbsent(out, "selectPolicy", "Max")
	if in["policies"] == nil { // an empty list is as good as policies
		out["policies"] = policies
	}
}

func scalingPolicy(kind string, value int64) any {
	return map[string]any{"type": kind, "value": value, "periodSeconds": int64(15)}
}
