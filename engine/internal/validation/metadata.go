package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metadata "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

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

// checked are the fields of metadata about which all servers say the same, in the order of a server.
var checked = []string{"metadata.name", "metadata.labels", "metadata.annotations"}

// CheckMetadata validates the name, the labels and the annotations of an object of a built-in kind. It
// returns nil for a kind whose rules it does not have. The server adds its other errors to the text.
func (v *Server) CheckMetadata(kind *schema.Kind, object map[string]any) error {
	qualified := qualifiedName(kind)
	rule := names[qualified]
	if rule == nil && slices.Contains(subdomains, qualified) {
		rule = metadata.NameIsDNSSubdomain
	}
	if rule == nil || kind.Custom || kind.Unknown {
		return nil
	}
	u := &unstructured.Unstructured{Object: object}
	problems := metadata.ValidateObjectMetaAccessor(u, kind.Namespaced, rule, field.NewPath("metadata"))
	problems = slices.DeleteFunc(problems, func(problem *field.Error) bool {
		value, _ := problem.BadValue.(string)
		isVariable := strings.Contains(value, "${") // which Flux and envsubst fill in later
		return !slices.Contains(checked, problem.Field) || isVariable || problem.Field == "metadata.name" && u.GetName() == ""
	})
	if len(problems) == 0 {
		return nil
	}
	slices.SortFunc(problems, func(a, b *field.Error) int { // a server has those of one field in random order
		return cmp.Or(slices.Index(checked, a.Field)-slices.Index(checked, b.Field), strings.Compare(a.Error(), b.Error()))
	})
	return &InvalidError{Text: fmt.Sprintf("%s %q is invalid: %v", qualified, u.GetName(), problems.ToAggregate()), Field: problems[0].Field}
}
