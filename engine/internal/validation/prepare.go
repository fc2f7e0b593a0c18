// Package validation is what an API server does with an object after mutating admission and before
// it stores the object. Created and Updated make the object that validating policies see, with the
// fields that the server sets. Values that a cluster draws are fixed here: uids are zero, times are the
// beginning of 1970, cluster IPs are 10.0.0.0. Server validates custom resources against their
// definitions, and the definitions.
//
// Preparation follows k8s.io/kubernetes v1.36.3 (pkg/registry) and k8s.io/apiserver v0.36.3
// (pkg/registry/rest), and is compared with recorded answers of kube-apiserver 1.36.3. Validation uses
// the packages of k8s.io/apiextensions-apiserver v0.36.3 that do not need those of a server.
//
// The files in order: prepare.go (all kinds), created.go (single kinds), update.go (the two objects
// of an update), metadata.go (names, labels and annotations of built-in kinds), usual.go (those of the
// usual form), custom.go (the
// validation of custom resources), openapi.go (their schemas), rules.go (x-kubernetes-validations),
// finalizers.go (warnings), definition.go (CustomResourceDefinitions), definitionparts.go (subresources,
// columns and selectable fields), client.go (webhooks), definitionschema.go, definitiondefaults.go and definitionrules.go
// (schemas, their defaults and rules).
package validation

import (
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/podspec"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/workload"
)

// Values that a cluster draws.
const (
	created   = "1970-01-01T00:00:00Z"
	revision  = "1"
	clusterIP = "10.0.0.0"
	nodePort  = int64(30000)
	// tokenVolume begins the name of the volume that the plug-in ServiceAccount adds to a Pod.
	tokenVolume = "kube-api-access-"
)

// Drawn reports whether a value is one of those that a cluster draws. An author may have written it,
// too; then a server does not change it.
func Drawn(value any) bool {
	switch value := value.(type) {
	case string:
		return value == clusterIP || value == created || strings.Contains(value, workload.UID) || strings.HasPrefix(value, tokenVolume)
	case int64:
		return value == nodePort
	}
	return false
}

// counted are the built-in kinds whose objects have a generation.
var counted = map[string]bool{
	"Pod": true, "PodTemplate": true, "ReplicationController": true,
	"Deployment.apps": true, "ReplicaSet.apps": true, "StatefulSet.apps": true, "DaemonSet.apps": true, "Job.batch": true, "CronJob.batch": true,
	"Ingress.networking.k8s.io": true, "IngressClass.networking.k8s.io": true, "NetworkPolicy.networking.k8s.io": true,
	"EndpointSlice.discovery.k8s.io": true, "PodDisruptionBudget.policy": true, "PriorityClass.scheduling.k8s.io": true,
	"ResourceSlice.resource.k8s.io": true, "DeviceClass.resource.k8s.io": true, "DeviceTaintRule.resource.k8s.io": true,
	"FlowSchema.flowcontrol.apiserver.k8s.io": true, "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io": true,
	"MutatingWebhookConfiguration.admissionregistration.k8s.io": true, "ValidatingWebhookConfiguration.admissionregistration.k8s.io": true,
	"MutatingAdmissionPolicy.admissionregistration.k8s.io": true, "MutatingAdmissionPolicyBinding.admissionregistration.k8s.io": true,
	"ValidatingAdmissionPolicy.admissionregistration.k8s.io": true, "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io": true,
	"CustomResourceDefinition.apiextensions.k8s.io": true,
}

// counts reports whether objects of a kind have a generation.
func counts(kind *schema.Kind) bool {
	if kind.Custom || kind.Unknown {
		return true
	}
	return counted[qualifiedName(kind)]
}

// qualifiedName returns the name of a kind with its group, as a server writes it.
func qualifiedName(kind *schema.Kind) string {
	if kind.Group == "" {
		return kind.Kind.Kind
	}
	return kind.Kind.Kind + "." + kind.Group
}

// preparations are what a server sets in objects of a kind when they are created.
var preparations = map[gvk.Kind]func(object map[string]any){
	{Version: "v1", Kind: "Namespace"}:        prepareNamespace,
	{Version: "v1", Kind: "Service"}:          prepareService,
	{Version: "v1", Kind: "PersistentVolume"}: func(volume map[string]any) { podspec.Ensure(volume, "status")["lastPhaseTransitionTime"] = created },
	workload.PodKind:                          func(pod map[string]any) { podspec.Ensure(pod, "status")["qosClass"] = qualityOf(pod) },
}

// phases are the phases of new objects.
var phases = map[gvk.Kind]string{
	{Version: "v1", Kind: "Namespace"}:             "Active",
	{Version: "v1", Kind: "PersistentVolume"}:      "Pending",
	{Version: "v1", Kind: "PersistentVolumeClaim"}: "Pending",
	workload.PodKind: "Pending",
}

// Created returns an object that is created, as a server gives it to validating admission. bare is the admission
// view of the object without a status.
func Created(kind *schema.Kind, admitted, bare map[string]any) map[string]any {
	object := preparedCopy(kind, admitted)
	if status, ok := bare["status"]; ok && status != nil {
		object["status"] = change.Clone(status)
	} else if hasStatus(kind) {
		delete(object, "status")
	} else if status, ok := admitted["status"]; ok {
		object["status"] = change.Clone(status)
	}
	metadata := podspec.Ensure(object, "metadata")
	metadata["uid"], metadata["creationTimestamp"], metadata["managedFields"] = workload.UID, created, managed(kind)
	if counts(kind) {
		metadata["generation"] = int64(1)
	}
	if phase := phases[kind.Kind]; phase != "" {
		podspec.Ensure(object, "status")["phase"] = phase
	}
	if prepare := preparations[kind.Kind]; prepare != nil {
		prepare(object)
	}
	return object
}

// preparedCopy returns an object as workload.Prepared does. Nothing but its metadata and status may be
// modified if it is a custom resource.
func preparedCopy(kind *schema.Kind, admitted map[string]any) map[string]any {
	if !kind.Custom {
		return workload.Prepared(kind.Kind, admitted)
	}
	object := maps.Clone(admitted)
	if metadata := podspec.Map(admitted, "metadata"); metadata != nil {
		object["metadata"] = maps.Clone(metadata)
	}
	if name := workload.Name(admitted); name != "" {
		podspec.Ensure(object, "metadata")["name"] = name
	}
	return object
}

// managed returns the managed fields of an object, without the fields.
func managed(kind *schema.Kind) []any {
	return []any{map[string]any{"manager": "unknown", "operation": "Update", "apiVersion": kind.APIVersion(), "time": created, "fieldsType": "FieldsV1", "fieldsV1": map[string]any{}}}
}

// hasStatus reports whether the status of a kind is not set with the object.
func hasStatus(kind *schema.Kind) bool {
	return slices.Contains(kind.Subresources, "status") && kind.Kind != gvk.Kind{Version: "v1", Kind: "Node"}
}
