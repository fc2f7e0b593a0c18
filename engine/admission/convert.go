package admission

import (
	"encoding/base64"
	"strconv"

	"github.com/preadmit/preadmit/engine/change"
)

// A conversion does to a struct what the API server's conversion from the request's
// version to its internal version and back does, beyond copying. It works on the
// decoded and defaulted struct.
type conversion func(d *decoder, out map[string]any)

// conversionOf returns the conversion of a type, nil if it only copies. The
// conversions are those of pkg/apis in Kubernetes 1.36.3.
func conversionOf(name string) conversion {
	switch name {
	case "v1.Pod":
		return convertPod
	case "v1.PodTemplateSpec":
		return dropInitContainerAnnotations
	case "v1.PodSpec":
		return convertPodSpec
	case "v1.PodStatus":
		return convertPodStatus
	case "v1.NodeSpec":
		return convertNodeSpec
	case "v1.Secret":
		return convertSecret
	case "apps/v1.Deployment":
		return convertDeployment
	case "apps/v1.DeploymentStrategy", "apps/v1.DaemonSetUpdateStrategy":
		return convertRollingUpdate
	case "apps/v1.DaemonSet":
		return convertDaemonSet
	case "apps/v1.StatefulSetSpec":
		return convertStatefulSetSpec
	case "apps/v1.StatefulSetUpdateStrategy":
		return convertStatefulSetUpdateStrategy
	case "apiextensions.k8s.io/v1.CustomResourceConversion":
		return convertCustomResourceConversion
	case "autoscaling/v1.HorizontalPodAutoscaler":
		return convertHorizontalPodAutoscalerV1
	case "autoscaling/v2.HorizontalPodAutoscaler":
		return dropAutoscalerAnnotations
	case "policy/v1.PodDisruptionBudgetSpec":
		return convertPodDisruptionBudgetSpec
	case "resource.k8s.io/v1beta1.Device":
		return convertDeviceV1beta1
	}
	return nil
}

// convertPod also ends a Pod within a second that would end in the past.
func convertPod(d *decoder, out map[string]any) {
	dropInitContainerAnnotations(d, out)
	spec := child(out, "spec")
	if seconds, _ := spec["terminationGracePeriodSeconds"].(int64); seconds < 0 {
		spec["terminationGracePeriodSeconds"] = int64(1)
	}
}

// dropInitContainerAnnotations drops the annotations in which init containers stood
// before Kubernetes 1.8.
func dropInitContainerAnnotations(_ *decoder, out map[string]any) {
	dropAnnotations(out,
		"pod.beta.kubernetes.io/init-containers",
		"pod.alpha.kubernetes.io/init-containers",
		"pod.beta.kubernetes.io/init-container-statuses",
		"pod.alpha.kubernetes.io/init-container-statuses")
}

func dropAnnotations(out map[string]any, names ...string) {
	metadata := child(out, "metadata")
	annotations := child(metadata, "annotations")
	for _, name := range names {
		delete(annotations, name)
	}
	if annotations != nil && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
}

// convertPodSpec gives serviceAccountName and serviceAccount the same value.
func convertPodSpec(_ *decoder, out map[string]any) {
	name := text(out, "serviceAccountName")
	if name == "" {
		name = text(out, "serviceAccount")
	}
	if name != "" {
		out["serviceAccountName"], out["serviceAccount"] = name, name
	}
}

// convertPodStatus mirrors podIP and podIPs; podIP has the last word.
func convertPodStatus(_ *decoder, out map[string]any) {
	ips := objects(out, "podIPs")
	if ip := text(out, "podIP"); ip != "" && (len(ips) == 0 || ips[0]["ip"] != ip) {
		out["podIPs"] = []any{map[string]any{"ip": ip}}
	} else if ip == "" && len(ips) > 0 && !isZero(ips[0]["ip"]) {
		out["podIP"] = ips[0]["ip"]
	}
}

// convertNodeSpec mirrors podCIDR and podCIDRs; podCIDR has the last word.
func convertNodeSpec(_ *decoder, out map[string]any) {
	cidrs := items(out, "podCIDRs")
	if cidr := text(out, "podCIDR"); cidr != "" && (len(cidrs) == 0 || cidrs[0] != cidr) {
		out["podCIDRs"] = []any{cidr}
	} else if cidr == "" && len(cidrs) > 0 && !isZero(cidrs[0]) {
		out["podCIDR"] = cidrs[0]
	}
}

// convertSecret folds stringData into data.
func convertSecret(_ *decoder, out map[string]any) {
	for key, value := range child(out, "stringData") {
		plain, _ := value.(string)
		ensure(out, "data")[key] = base64.StdEncoding.EncodeToString([]byte(plain))
	}
	delete(out, "stringData")
}

// convertDeployment reads and writes the revision to roll back to.
func convertDeployment(d *decoder, out map[string]any) {
	const rollback = "deprecated.deployment.rollback.to"
	annotations := child(child(out, "metadata"), "annotations")
	switch value, ok := annotations[rollback]; {
	case value == "":
		dropAnnotations(out, rollback)
	case ok:
		d.integerAnnotation(annotations, rollback)
	}
}

// convertDaemonSet makes the generation of the template an annotation.
func convertDaemonSet(d *decoder, out map[string]any) {
	const generation = "deprecated.daemonset.template.generation"
	annotations := ensure(child(out, "metadata"), "annotations")
	setAbsent(annotations, generation, "0")
	d.integerAnnotation(annotations, generation)
}

// integerAnnotation rewrites an annotation that must be a whole number.
func (d *decoder) integerAnnotation(annotations map[string]any, name string) {
	n, err := strconv.ParseInt(text(annotations, name), 10, 64)
	if err != nil {
		d.path = append(d.path, change.Key("metadata"), change.Key("annotations"), change.Key(name))
		d.problem(FieldError{Problem: "expected a whole number", server: err.Error()})
		d.path = d.path[:len(d.path)-3]
		return
	}
	annotations[name] = strconv.FormatInt(n, 10)
}

// convertRollingUpdate writes the zeros that the internal version has for numbers
// that are left out.
func convertRollingUpdate(_ *decoder, out map[string]any) {
	if rolling := child(out, "rollingUpdate"); rolling != nil {
		setAbsent(rolling, "maxUnavailable", int64(0))
		setAbsent(rolling, "maxSurge", int64(0))
	}
}

func convertStatefulSetUpdateStrategy(_ *decoder, out map[string]any) {
	if rolling := child(out, "rollingUpdate"); rolling != nil {
		setAbsent(rolling, "partition", int64(0))
	}
}

func convertStatefulSetSpec(_ *decoder, out map[string]any) {
	for _, template := range objects(out, "volumeClaimTemplates") {
		template["apiVersion"], template["kind"] = "v1", "PersistentVolumeClaim"
	}
}

// convertPodDisruptionBudgetSpec drops the expression that told an empty selector of
// v1beta1 from one of v1, unless it is all of the selector.
func convertPodDisruptionBudgetSpec(_ *decoder, out map[string]any) {
	const mark = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
	selector := child(out, "selector")
	expressions := objects(selector, "matchExpressions")
	if len(selector) == 1 && len(expressions) == 1 && expressions[0]["operator"] == "Exists" && len(expressions[0]) == 2 {
		return
	}
	var kept []any
	for _, e := range expressions {
		if e["key"] != mark {
			kept = append(kept, e)
		}
	}
	switch {
	case len(kept) == len(expressions):
	case len(kept) == 0:
		delete(selector, "matchExpressions")
	default:
		selector["matchExpressions"] = kept
	}
}

// convertDeviceV1beta1 makes every device a basic device, which is the only sort.
func convertDeviceV1beta1(_ *decoder, out map[string]any) {
	ensure(out, "basic")
}

// convertCustomResourceConversion drops a webhook about which nothing is said.
func convertCustomResourceConversion(_ *decoder, out map[string]any) {
	webhook := child(out, "webhook")
	if webhook["clientConfig"] == nil && webhook["conversionReviewVersions"] == nil {
		delete(out, "webhook")
	}
}
