package admission

import (
	"maps"
	"math"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// defaultDeploymentStrategy is the part of SetDefaults_Deployment about the strategy.
func defaultDeploymentStrategy(r *record) {
	r.setAbsent("type", "RollingUpdate")
	if r.out["type"] == "RollingUpdate" {
		rolling := r.ensure("rollingUpdate")
		rolling.setAbsent("maxUnavailable", "25%")
		rolling.setAbsent("maxSurge", "25%")
	}
}

// defaultDaemonSetUpdateStrategy is the part of SetDefaults_DaemonSet about the strategy.
func defaultDaemonSetUpdateStrategy(r *record) {
	r.setAbsent("type", "RollingUpdate")
	if r.out["type"] == "RollingUpdate" {
		rolling := r.ensure("rollingUpdate")
		rolling.setAbsent("maxUnavailable", int64(1))
		rolling.setAbsent("maxSurge", int64(0))
	}
}

// defaultStatefulSetUpdateStrategy is the part of SetDefaults_StatefulSet about the strategy:
// rollingUpdate is added only if the type was left out too.
func defaultStatefulSetUpdateStrategy(r *record) {
	if _, ok := r.out["type"]; !ok {
		r.set("type", "RollingUpdate")
		r.ensure("rollingUpdate")
	}
	if rolling := r.child("rollingUpdate"); rolling.out != nil && r.out["type"] == "RollingUpdate" {
		rolling.setAbsent("partition", int64(0))
	}
}

// defaultStatefulSetUpdateStrategySince37 also sets how many Pods may be unavailable.
func defaultStatefulSetUpdateStrategySince37(r *record) {
	defaultStatefulSetUpdateStrategy(r)
	if rolling := r.child("rollingUpdate"); rolling.out != nil && r.out["type"] == "RollingUpdate" {
		rolling.setAbsent("maxUnavailable", int64(1))
	}
}

// InheritsLabels reports whether objects of a kind that have no labels get those of their pod template.
func InheritsLabels(kind *schema.Kind) bool {
	controller, job := gvk.Kind{Version: "v1", Kind: "ReplicationController"}, gvk.Kind{Group: "batch", Version: "v1", Kind: "Job"}
	return kind.Kind == controller || kind.Kind == job
}

// inheritLabels sets the labels of an object that has no labels.
func inheritLabels(r *record, labels map[string]any) {
	metadata := r.child("metadata")
	if _, ok := metadata.out["labels"]; !ok && labels != nil {
		metadata.set("labels", maps.Clone(labels))
	}
}

// defaultJob is SetDefaults_Job. It does not apply to the Job template of a CronJob.
func defaultJob(r *record) {
	spec := r.child("spec")
	if spec.out["parallelism"] == nil {
		spec.setAbsent("completions", int64(1))
		spec.set("parallelism", int64(1))
	}
	if spec.out["backoffLimitPerIndex"] != nil {
		spec.setAbsent("backoffLimit", int64(math.MaxInt32))
	}
	spec.setAbsent("backoffLimit", int64(6))
	spec.setAbsent("completionMode", "NonIndexed")
	spec.setAbsent("suspend", false)
	spec.setAbsent("manualSelector", false)
	if spec.out["podFailurePolicy"] != nil {
		spec.setAbsent("podReplacementPolicy", "Failed")
	}
	spec.setAbsent("podReplacementPolicy", "TerminatingOrFailed")
	inheritLabels(r, child(child(child(spec.out, "template"), "metadata"), "labels"))
}

// defaultHorizontalPodAutoscaler is SetDefaults_HorizontalPodAutoscalerBehavior: a behavior that
// is set gets rules for both directions.
func defaultHorizontalPodAutoscaler(r *record) {
	behavior := r.child("behavior")
	if behavior.out == nil {
		return
	}
	up := behavior.ensure("scaleUp")
	up.setAbsent("stabilizationWindowSeconds", int64(0))
	defaultScalingRules(&up, scalingPolicy("Pods", 4), scalingPolicy("Percent", 100))
	down := behavior.ensure("scaleDown")
	defaultScalingRules(&down, scalingPolicy("Percent", 100))
}

func defaultScalingRules(r *record, policies ...any) {
	r.setAbsent("selectPolicy", "Max")
	if r.in["policies"] == nil { // an empty list counts as set
		r.set("policies", policies)
	}
}

func scalingPolicy(kind string, value int64) any {
	return map[string]any{"type": kind, "value": value, "periodSeconds": int64(15)}
}
