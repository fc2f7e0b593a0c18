package admission

import (
	"encoding/base64"
	"strconv"

	"github.com/preadmit/preadmit/engine/change"
)

// A conversion changes a struct as the API server's conversion from the request's version to the
// internal version and back does, except for plain copying. The struct is decoded and defaulted
// already.
type conversion func(d *decoder, r *record)

// conversionOf returns the conversion of a type in Kubernetes 1.minor, nil if the server only
// copies the type. The conversions come from pkg/apis.
func conversionOf(name string, minor int) conversion {
	if minor < 37 {
		if c := podConversionOf(name); c != nil {
			return c
		}
	}
	switch name {
	case "core.v1.NodeSpec":
		return convertNodeSpec
	case "core.v1.Secret":
		return convertSecret
	case "apps.v1.Deployment":
		return convertDeployment
	case "apps.v1.DeploymentStrategy", "apps.v1.DaemonSetUpdateStrategy":
		return convertRollingUpdate
	case "apps.v1.DaemonSet":
		return convertDaemonSet
	case "apps.v1.StatefulSetSpec":
		return convertStatefulSetSpec
	case "apps.v1.StatefulSetUpdateStrategy":
		return convertStatefulSetUpdateStrategy
	case "apiextensions.v1.CustomResourceConversion":
		return convertCustomResourceConversion
	case "autoscaling.v1.HorizontalPodAutoscaler":
		return convertHorizontalPodAutoscalerV1
	case "autoscaling.v2.HorizontalPodAutoscaler":
		return dropAutoscalerAnnotations
	case "policy.v1.PodDisruptionBudgetSpec":
		return convertPodDisruptionBudgetSpec
	case "resource.v1beta1.Device":
		return convertDeviceV1beta1
	}
	return nil
}

// podConversionOf returns a conversion that applied to Pods until Kubernetes 1.36.
func podConversionOf(name string) conversion {
	switch name {
	case "core.v1.Pod":
		return convertPod
	case "core.v1.PodTemplateSpec":
		return dropInitContainerAnnotations
	case "core.v1.PodSpec":
		return convertPodSpec
	case "core.v1.PodStatus":
		return convertPodStatus
	}
	return nil
}

// convertPod also replaces a negative termination grace period by one second.
func convertPod(d *decoder, r *record) {
	dropInitContainerAnnotations(d, r)
	spec := r.child("spec")
	if seconds, _ := spec.out["terminationGracePeriodSeconds"].(int64); seconds < 0 {
		spec.set("terminationGracePeriodSeconds", int64(1))
	}
}

// dropInitContainerAnnotations drops the annotations that held init containers
// before Kubernetes 1.8.
func dropInitContainerAnnotations(_ *decoder, r *record) {
	dropAnnotations(r,
		"pod.beta.kubernetes.io/init-containers",
		"pod.alpha.kubernetes.io/init-containers",
		"pod.beta.kubernetes.io/init-container-statuses",
		"pod.alpha.kubernetes.io/init-container-statuses")
}

func dropAnnotations(r *record, names ...string) {
	metadata := r.child("metadata")
	annotations := metadata.child("annotations")
	for _, name := range names {
		annotations.remove(name)
	}
	if annotations.out != nil && len(annotations.out) == 0 {
		metadata.remove("annotations")
	}
}

// convertPodSpec gives serviceAccountName and serviceAccount the same value.
func convertPodSpec(_ *decoder, r *record) {
	name := text(r.out, "serviceAccountName")
	if name == "" {
		name = text(r.out, "serviceAccount")
	}
	if name != "" {
		r.set("serviceAccountName", name)
		r.set("serviceAccount", name)
	}
}

// convertPodStatus copies between podIP and podIPs; podIP wins.
func convertPodStatus(_ *decoder, r *record) {
	ips := objects(r.out, "podIPs")
	if ip := text(r.out, "podIP"); ip != "" && (len(ips) == 0 || ips[0]["ip"] != ip) {
		r.set("podIPs", []any{map[string]any{"ip": ip}})
	} else if ip == "" && len(ips) > 0 && !isZero(ips[0]["ip"]) {
		r.set("podIP", ips[0]["ip"])
	}
}

// convertNodeSpec copies between podCIDR and podCIDRs; podCIDR wins.
func convertNodeSpec(_ *decoder, r *record) {
	cidrs := items(r.out, "podCIDRs")
	if cidr := text(r.out, "podCIDR"); cidr != "" && (len(cidrs) == 0 || cidrs[0] != cidr) {
		r.set("podCIDRs", []any{cidr})
	} else if cidr == "" && len(cidrs) > 0 && !isZero(cidrs[0]) {
		r.set("podCIDR", cidrs[0])
	}
}

// convertSecret moves stringData into data.
func convertSecret(_ *decoder, r *record) {
	if plain := child(r.out, "stringData"); len(plain) > 0 {
		data := r.ensure("data")
		for key, value := range plain {
			text, _ := value.(string)
			data.set(key, base64.StdEncoding.EncodeToString([]byte(text)))
		}
	}
	r.remove("stringData")
}

// convertDeployment reads and writes the revision to roll back to.
func convertDeployment(d *decoder, r *record) {
	const rollback = "deprecated.deployment.rollback.to"
	switch value, ok := child(child(r.out, "metadata"), "annotations")[rollback]; {
	case value == "":
		dropAnnotations(r, rollback)
	case ok:
		metadata := r.child("metadata")
		annotations := metadata.child("annotations")
		d.integerAnnotation(&annotations, rollback)
	}
}

// convertDaemonSet makes the generation of the template an annotation.
func convertDaemonSet(d *decoder, r *record) {
	const generation = "deprecated.daemonset.template.generation"
	metadata := r.child("metadata")
	annotations := metadata.ensure("annotations")
	annotations.setAbsent(generation, "0")
	d.integerAnnotation(&annotations, generation)
}

// integerAnnotation rewrites an annotation that must be a whole number.
func (d *decoder) integerAnnotation(annotations *record, name string) {
	n, err := strconv.ParseInt(text(annotations.out, name), 10, 64)
	if err != nil {
		d.path = append(d.path, change.Key("metadata"), change.Key("annotations"), change.Key(name))
		d.problem(FieldError{Problem: "expected a whole number", server: err.Error()})
		d.path = d.path[:len(d.path)-3]
		return
	}
	annotations.set(name, strconv.FormatInt(n, 10))
}

// convertRollingUpdate writes absent numbers as zero, which is what the internal version has.
func convertRollingUpdate(_ *decoder, r *record) {
	if rolling := r.child("rollingUpdate"); rolling.out != nil {
		rolling.setAbsent("maxUnavailable", int64(0))
		rolling.setAbsent("maxSurge", int64(0))
	}
}

func convertStatefulSetUpdateStrategy(_ *decoder, r *record) {
	if rolling := r.child("rollingUpdate"); rolling.out != nil {
		rolling.setAbsent("partition", int64(0))
	}
}

func convertStatefulSetSpec(_ *decoder, r *record) {
	r.each("volumeClaimTemplates", func(template *record) {
		template.set("apiVersion", "v1")
		template.set("kind", "PersistentVolumeClaim")
	})
}

// convertPodDisruptionBudgetSpec drops the expression that marked an empty selector of v1beta1,
// unless it is the whole selector.
func convertPodDisruptionBudgetSpec(_ *decoder, r *record) {
	const mark = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
	selector := r.child("selector")
	expressions := objects(selector.out, "matchExpressions")
	if len(selector.out) == 1 && len(expressions) == 1 && expressions[0]["operator"] == "Exists" && len(expressions[0]) == 2 {
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
		selector.remove("matchExpressions")
	default:
		selector.set("matchExpressions", kept)
	}
}

// convertDeviceV1beta1 makes every device a basic device. There is no other sort.
func convertDeviceV1beta1(_ *decoder, r *record) {
	r.ensure("basic")
}

// convertCustomResourceConversion drops a webhook without a configuration.
func convertCustomResourceConversion(_ *decoder, r *record) {
	webhook := child(r.out, "webhook")
	if webhook["clientConfig"] == nil && webhook["conversionReviewVersions"] == nil {
		r.remove("webhook")
	}
}
