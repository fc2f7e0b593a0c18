package admission

import (
	"bytes"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// The annotations in which autoscaling/v1 keeps values for which only autoscaling/v2 has fields.
const (
	metricsAnnotation        = "autoscaling.alpha.kubernetes.io/metrics"
	behaviorAnnotation       = "autoscaling.alpha.kubernetes.io/behavior"
	currentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation     = "autoscaling.alpha.kubernetes.io/conditions"
)

func dropAutoscalerAnnotations(_ *decoder, r *record) {
	dropAnnotations(r, metricsAnnotation, behaviorAnnotation, currentMetricsAnnotation, conditionsAnnotation,
		"autoscaling.alpha.kubernetes.io/scale-down-tolerance", "autoscaling.alpha.kubernetes.io/scale-up-tolerance")
}

// convertHorizontalPodAutoscalerV1 reads the annotations and writes them again. The first CPU
// utilization target moves from the metrics to its field. The default without any metrics is 80
// percent.
func convertHorizontalPodAutoscalerV1(d *decoder, r *record) {
	spec, status, annotations := r.child("spec"), r.child("status"), child(child(r.out, "metadata"), "annotations")
	metrics, _ := d.annotation(annotations, metricsAnnotation, "autoscaling.v1.MetricSpec")
	if target, ok := spec.out["targetCPUUtilizationPercentage"]; ok || len(metrics) == 0 {
		if !ok {
			target = int64(80)
		}
		metrics = append(metrics, cpuMetric("targetAverageUtilization", target))
	}
	var first any
	for _, m := range slices.Backward(metrics) {
		if target := cpuUtilization(m, "targetAverageUtilization"); target != nil {
			first = target
		}
	}
	spec.setOrRemove("targetCPUUtilizationPercentage", first)
	others := slices.DeleteFunc(slices.Clone(metrics), func(m any) bool { return cpuUtilization(m, "targetAverageUtilization") != nil })
	current := d.currentMetrics(annotations, &status)
	conditions, _ := d.annotation(annotations, conditionsAnnotation, "autoscaling.v1.HorizontalPodAutoscalerCondition")
	behavior := readBehavior(text(annotations, behaviorAnnotation))

	dropAutoscalerAnnotations(d, r)
	metadata := r.child("metadata")
	d.annotate(&metadata, metricsAnnotation, others, "autoscaling.v1.MetricSpec")
	d.annotate(&metadata, currentMetricsAnnotation, current, "autoscaling.v1.MetricStatus")
	d.annotate(&metadata, conditionsAnnotation, conditions, "autoscaling.v1.HorizontalPodAutoscalerCondition")
	if behavior != "" {
		annotations := metadata.ensure("annotations")
		annotations.set(behaviorAnnotation, behavior)
	}
}

// currentMetrics returns the metrics of the status. It reads them from the annotation, or from
// currentCPUUtilizationPercentage without an annotation, and sets that field from the metrics.
func (d *decoder) currentMetrics(annotations map[string]any, status *record) []any {
	current, ok := d.annotation(annotations, currentMetricsAnnotation, "autoscaling.v1.MetricStatus")
	if utilization, given := status.out["currentCPUUtilizationPercentage"]; given && !ok {
		metric := cpuMetric("currentAverageUtilization", utilization)
		metric["resource"].(map[string]any)["currentAverageValue"] = "0"
		current = []any{metric}
	}
	var last any
	for _, m := range current {
		if utilization := cpuUtilization(m, "currentAverageUtilization"); utilization != nil {
			last = utilization
		}
	}
	status.setOrRemove("currentCPUUtilizationPercentage", last)
	return current
}

func cpuMetric(field string, utilization any) map[string]any {
	return map[string]any{"type": "Resource", "resource": map[string]any{"name": "cpu", field: utilization}}
}

// cpuUtilization returns the utilization in a CPU metric, nil in other metrics.
func cpuUtilization(metric any, field string) any {
	m, _ := metric.(map[string]any)
	if resource := child(m, "resource"); m["type"] == "Resource" && resource["name"] == "cpu" {
		return resource[field]
	}
	return nil
}

// annotation decodes the list in an annotation. A list that does not decode counts as missing.
func (d *decoder) annotation(annotations map[string]any, name, itemType string) ([]any, bool) {
	written, ok := annotations[name].(string)
	if !ok {
		return nil, false
	}
	value, err := number.Decode(written)
	if err != nil {
		return nil, false
	}
	list, ok := value.([]any)
	if !ok {
		return nil, value == nil
	}
	inner := *d
	inner.problems, inner.memo = nil, nil
	decoded := inner.list(d.listOf(itemType), list)
	return decoded, len(inner.problems) == 0
}

// annotate writes a list into an annotation, unless the list is empty.
func (d *decoder) annotate(metadata *record, name string, list []any, itemType string) {
	if len(list) == 0 {
		return
	}
	var b bytes.Buffer
	writeJSON(&b, d.listOf(itemType), list)
	annotations := metadata.ensure("annotations")
	annotations.set(name, b.String())
}

func (d *decoder) listOf(itemType string) *schema.Type {
	return &schema.Type{IsList: true, Elem: schema.Component(d.kind.Minor, "io.k8s.api."+itemType)}
}

// writeJSON writes a decoded value with the fields of structs in Go's order.
func writeJSON(b *bytes.Buffer, t *schema.Type, value any) {
	switch value := value.(type) {
	case map[string]any:
		if kindOf(t) != goStruct {
			break
		}
		b.WriteByte('{')
		separator := ""
		for f := range t.GoFields() {
			if item, ok := value[f.Name]; ok {
				b.WriteString(separator)
				separator = ","
				writeJSON(b, stringType, f.Name)
				b.WriteByte(':')
				writeJSON(b, f.Type, item)
			}
		}
		b.WriteByte('}')
		return
	case []any:
		b.WriteByte('[')
		for i, item := range value {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, t.Elem, item)
		}
		b.WriteByte(']')
		return
	}
	encoded, err := json.Marshal(value)
	if err == nil { // decoded values always encode
		b.Write(encoded)
	}
}

// The behavior in an annotation is written as the server's internal type: with the field names
// of Go, and with every field.
type (
	internalBehavior struct {
		ScaleUp, ScaleDown *internalScalingRules
	}
	internalScalingRules struct {
		StabilizationWindowSeconds *int32
		SelectPolicy               *string
		Policies                   []internalScalingPolicy
		Tolerance                  *resource.Quantity
	}
	internalScalingPolicy struct {
		Type          string
		Value         int32
		PeriodSeconds int32
	}
)

// readBehavior reads a behavior and writes it again; "" if it is empty or does not decode.
func readBehavior(written string) string {
	var behavior internalBehavior
	if err := json.Unmarshal([]byte(written), &behavior); err != nil || behavior == (internalBehavior{}) {
		return ""
	}
	encoded, err := json.Marshal(behavior)
	if err != nil {
		return ""
	}
	return string(encoded)
}
