package strategicmerge

import (
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/internal/schema"
)

// kinds121 are the kinds of the schema of Kubernetes 1.21 that a server still serves, by
// apiVersion.
var kinds121 = map[string]string{
	"admissionregistration.k8s.io/v1": "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
	"apiextensions.k8s.io/v1":         "CustomResourceDefinition",
	"apiregistration.k8s.io/v1":       "APIService",
	"apps/v1":                         "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
	"authentication.k8s.io/v1":        "TokenRequest TokenReview",
	"authorization.k8s.io/v1":         "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
	"autoscaling/v1":                  "HorizontalPodAutoscaler Scale",
	"batch/v1":                        "CronJob Job",
	"certificates.k8s.io/v1":          "CertificateSigningRequest",
	"coordination.k8s.io/v1":          "Lease",
	"discovery.k8s.io/v1":             "EndpointSlice",
	"events.k8s.io/v1":                "Event",
	"networking.k8s.io/v1":            "Ingress IngressClass NetworkPolicy",
	"node.k8s.io/v1":                  "RuntimeClass",
	"policy/v1":                       "PodDisruptionBudget",
	"rbac.authorization.k8s.io/v1":    "ClusterRole ClusterRoleBinding Role RoleBinding",
	"scheduling.k8s.io/v1":            "PriorityClass",
	"storage.k8s.io/v1":               "CSIDriver CSINode StorageClass VolumeAttachment",
	"v1":                              "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
}

// isKnown reports whether the schema has the kind of an object.
func isKnown(object map[string]any) bool {
	apiVersion, given := object["apiVersion"].(string)
	if !given {
		return false
	}
	kind, _ := object["kind"].(string)
	return isKnownKind(apiVersion, kind)
}

func isKnownKind(apiVersion, kind string) bool { return known121()[[2]string{apiVersion, kind}] }

// known121 returns the pairs of apiVersion and kind in kinds121.
var known121 = sync.OnceValue(func() map[[2]string]bool {
	pairs := map[[2]string]bool{}
	for apiVersion, kinds := range kinds121 {
		for kind := range strings.FieldsSeq(kinds) {
			pairs[[2]string{apiVersion, kind}] = true
		}
	}
	return pairs
})

// newer are lists that merge by key since a later version than 1.21. In 1.21 they do not exist,
// or are replaced as a whole.
var newer = []string{
	"matchConditions", "resourceClaims", "schedulingGates", "x-kubernetes-validations",
	"allocatedResourcesStatus", "hostIPs", "resourceClaimStatuses",
}

// list is the type of a value, and the name of the field that has it.
type list struct {
	typ           *schema.Type
	field, parent string
}

// at returns the type of a field of a map.
func (t list) at(key string) list {
	return list{t.typ.FieldType(key), key, t.field}
}

// item returns the type of the items.
func (t list) item() list { return list{t.typ.ItemType(), t.field, t.parent} }

// keys returns the fields that identify the items of a list that merges. A list of scalars has no
// keys.
func (t list) keys() (keys []string, merges bool) {
	if t.typ == nil || !strings.HasPrefix(t.typ.Strategy, "merge") && !strings.HasSuffix(t.typ.Strategy, ",merge") || isNewer(t.field, t.parent) {
		return nil, false
	}
	if t.typ.MergeKey == "" {
		return nil, true
	}
	keys = []string{t.typ.MergeKey}
	if slices.Contains(t.typ.ListKeys, t.typ.MergeKey) {
		for _, key := range t.typ.ListKeys {
			if key != t.typ.MergeKey {
				keys = append(keys, key)
			}
		}
	}
	return keys, true
}

func isNewer(field, parent string) bool {
	return slices.Contains(newer, field) || field == "ports" && parent == "ephemeralContainers" ||
		field == "volumeMounts" && strings.HasSuffix(parent, "Statuses")
}

// IsNewer reports whether [Merge] replaces a list that merges by key since a later version than 1.21.
// fields are those on the way to it.
func IsNewer(fields []string) bool {
	n := len(fields)
	return n > 1 && isNewer(fields[n-1], fields[n-2])
}

// uniqueItems are the types of items whose keys a server requires to be unique, in kinds whose other
// lists do not merge by key (validation.go of pkg/apis/core, admissionregistration and storage in
// Kubernetes 1.36). In kinds with a pod, the variables of a container may have a key twice.
var uniqueItems = []string{
	"io.k8s.api.admissionregistration.v1.MutatingWebhook", "io.k8s.api.admissionregistration.v1.ValidatingWebhook",
	"io.k8s.api.core.v1.ServicePort", "io.k8s.api.storage.v1.CSINodeDriver",
}

const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// MayJoin reports whether [Merge] may make one item of two in an object of a kind that a server accepts,
// outside its metadata and status.
func MayJoin(k *schema.Kind) bool {
	if k.Kind.Kind == "*" {
		return true
	}
	seen := map[*schema.Type]bool{}
	var joins func(list) bool
	joins = func(t list) bool {
		if t.typ == nil || seen[t.typ] || t.typ.Name == objectMeta {
			return false
		}
		seen[t.typ] = true
		if keys, _ := t.keys(); len(keys) > 0 && !slices.Contains(uniqueItems, t.typ.Elem.Name) {
			return true
		}
		return joins(t.item()) || slices.ContainsFunc(t.typ.FieldNames(), func(name string) bool { return joins(t.at(name)) })
	}
	return isKnownKind(k.APIVersion(), k.Kind.Kind) && slices.ContainsFunc(k.Type().FieldNames(), func(name string) bool {
		return name != "status" && joins(list{typ: k.Type()}.at(name))
	})
}
