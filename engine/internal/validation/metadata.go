package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metadata "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// names are the rules for the names of built-in kinds, as kube-apiserver 1.36.3 and 1.37.1 apply them.
// Kinds whose names depend on other fields are not listed.
var names = map[string]metadata.ValidateNameFunc{
	"Namespace": metadata.NameIsDNSLabel, "Service": metadata.NameIsDNSLabel, "StatefulSet.apps": metadata.NameIsDNSLabel,

	"Event": isPathSegment, "PodDisruptionBudget.policy": isPathSegment,
	"Role.rbac.authorization.k8s.io": isPathSegment, "RoleBinding.rbac.authorization.k8s.io": isPathSegment,
	"ClusterRole.rbac.authorization.k8s.io": isPathSegment, "ClusterRoleBinding.rbac.authorization.k8s.io": isPathSegment,
}

// subdomains are the kinds whose names are DNS subdomains.
var subdomains = []string{
	"ConfigMap", "Endpoints", "LimitRange", "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate",
	"ReplicationController", "ResourceQuota", "Secret", "ServiceAccount",
	"ControllerRevision.apps", "DaemonSet.apps", "Deployment.apps", "ReplicaSet.apps",
	"HorizontalPodAutoscaler.autoscaling", "CronJob.batch", "Job.batch", "Lease.coordination.k8s.io",
	"EndpointSlice.discovery.k8s.io", "Event.events.k8s.io",
	"FlowSchema.flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io",
	"Ingress.networking.k8s.io", "IngressClass.networking.k8s.io", "NetworkPolicy.networking.k8s.io", "ServiceCIDR.networking.k8s.io",
	"RuntimeClass.node.k8s.io", "PriorityClass.scheduling.k8s.io",
	"DeviceClass.resource.k8s.io", "ResourceClaim.resource.k8s.io", "ResourceClaimTemplate.resource.k8s.io", "ResourceSlice.resource.k8s.io",
	"CSIDriver.storage.k8s.io", "CSINode.storage.k8s.io", "CSIStorageCapacity.storage.k8s.io", "StorageClass.storage.k8s.io",
	"VolumeAttachment.storage.k8s.io", "VolumeAttributesClass.storage.k8s.io",
	"MutatingWebhookConfiguration.admissionregistration.k8s.io", "ValidatingWebhookConfiguration.admissionregistration.k8s.io",
}

func isPathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// qualifies are the kinds whose finalizers must have a domain and a path, unless they are those of
// Kubernetes.
var qualifies = []string{
	"ConfigMap", "Namespace", "PersistentVolumeClaim", "Pod", "Secret", "Service", "ServiceAccount",
	"DaemonSet.apps", "Deployment.apps", "StatefulSet.apps", "CronJob.batch", "Job.batch", "HorizontalPodAutoscaler.autoscaling",
	"IngressClass.networking.k8s.io", "NetworkPolicy.networking.k8s.io", "ClusterRole.rbac.authorization.k8s.io", "Role.rbac.authorization.k8s.io",
	"PriorityClass.scheduling.k8s.io", "StorageClass.storage.k8s.io",
}

// checked are the fields of metadata about which all servers say the same, in the order of a server.
var checked = []string{"generateName", "name", "labels", "annotations", "ownerReferences", "finalizers"}

// orderOf returns the position of an error about metadata among the others, or -1 if it is not checked.
func orderOf(problem *field.Error) int {
	name, _, _ := strings.Cut(strings.TrimPrefix(problem.Field, "metadata."), ".")
	name, _, _ = strings.Cut(name, "[")
	return slices.Index(checked, name)
}

// maxCronJob is the maximum length of the name of a CronJob, which becomes a part of the names of its Jobs.
const maxCronJob = 52

// checkOwn checks what servers say about the metadata of single kinds.
func checkOwn(kind string, u *unstructured.Unstructured) (problems field.ErrorList) {
	if slices.Contains(qualifies, kind) {
		for i, name := range u.GetFinalizers() {
			if !strings.Contains(name, "/") && !slices.Contains(known, name) {
				problems = append(problems, field.Invalid(field.NewPath("metadata", "finalizers").Index(i), name, "name is neither a standard finalizer name nor is it fully qualified"))
			}
		}
	}
	switch name := u.GetName(); {
	case kind == "CronJob.batch" && len(name) > maxCronJob:
		problems = append(problems, field.Invalid(field.NewPath("metadata", "name"), name, "must be no more than 52 characters"))
	case kind == "Namespace" && len(name) > validation.LabelValueMaxLength:
		problems = append(problems, field.Invalid(field.NewPath("metadata", "labels"), name, "must be no more than 63 bytes"))
	}
	return problems
}

// CheckMetadata validates the metadata of an object of a built-in kind, as far as servers say the same
// about it. It returns nil for a kind whose rules it does not have. The server adds its other errors to
// the text.
func (v *Server) CheckMetadata(kind *schema.Kind, object map[string]any) error {
	qualified := qualifiedName(kind)
	rule := names[qualified]
	if rule == nil && slices.Contains(subdomains, qualified) {
		rule = metadata.NameIsDNSSubdomain
	}
	if rule == nil || kind.Custom || kind.Unknown {
		return nil
	}
	if own, isMap := object["metadata"].(map[string]any); isMap && isUsual(own) && !change.Reference {
		return nil
	}
	u := &unstructured.Unstructured{Object: object}
	problems := metadata.ValidateObjectMetaAccessor(u, kind.Namespaced, rule, field.NewPath("metadata"))
	problems = append(problems, checkOwn(qualified, u)...)
	problems = slices.DeleteFunc(problems, func(problem *field.Error) bool {
		value, _ := problem.BadValue.(string)
		isVariable := strings.Contains(value, "${") // which Flux and envsubst fill in later
		isName := problem.Field == "metadata.name" || problem.Field == "metadata.generateName"
		return orderOf(problem) < 0 || isVariable || isName && u.GetName() == ""
	})
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b *field.Error) int { // a server has those of one map in random order
		order := orderOf(a)
		if a.Field == b.Field && slices.Contains([]string{"labels", "annotations"}, checked[order]) {
			return strings.Compare(a.Error(), b.Error())
		}
		return cmp.Compare(order, orderOf(b))
	})
	return &InvalidError{Text: fmt.Sprintf("%s %q is invalid: %v", qualified, u.GetName(), problems.ToAggregate()), Fields: fieldsOf(problems)}
}
