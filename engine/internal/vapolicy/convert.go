package vapolicy

import (
	"maps"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
)

// The versions of HorizontalPodAutoscalers.
var (
	autoscalerV1 = gvk.Kind{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}
	autoscalerV2 = gvk.Kind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
)

// convert returns an object of a built-in kind in another version.
func convert(object map[string]any, from, to *schema.Kind) (map[string]any, error) {
	if object == nil || from == to {
		return object, nil
	}
	if from.Custom {
		return policy.InVersion(object, to), nil
	}
	if from.Kind == autoscalerV2 && to.Kind == autoscalerV1 {
		if converted := convertAutoscaler(object); converted != nil {
			return converted, nil
		}
	}
	return nil, &policy.UnconvertedError{From: from, To: to}
}

// convertAutoscaler converts an autoscaler of version v2 whose only metric is the utilization of
// the CPU; the result is nil for others.
func convertAutoscaler(object map[string]any) map[string]any {
	metrics, _ := change.Keys("spec", "metrics").Get(object)
	list, _ := metrics.([]any)
	target, ok := change.Keys("spec", "metrics").Index(0).Key("resource").Key("target").Key("averageUtilization").Get(object)
	name, _ := change.Keys("spec", "metrics").Index(0).Key("resource").Key("name").Get(object)
	_, behaves := change.Keys("spec", "behavior").Get(object)
	if len(list) != 1 || !ok || name != "cpu" || behaves {
		return nil
	}
	spec, _ := object["spec"].(map[string]any)
	object, spec = maps.Clone(object), maps.Clone(spec)
	delete(spec, "metrics")
	spec["targetCPUUtilizationPercentage"] = target
	object["spec"], object["apiVersion"] = spec, autoscalerV1.APIVersion()
	return object
}
