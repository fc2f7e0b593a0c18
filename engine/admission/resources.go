package admission

import (
	"maps"
	"strings"
)

// defaultService is SetDefaults_Service.
func defaultService(_, out map[string]any) {
	spec := child(out, "spec")
	setAbsent(spec, "type", "ClusterIP")
	defaultSessionAffinity(spec)
	for _, port := range objects(spec, "ports") {
		if isZero(port["targetPort"]) {
			port["targetPort"] = port["port"]
		}
	}
	kind := text(spec, "type")
	loadBalancer := kind == "LoadBalancer"
	if loadBalancer || kind == "NodePort" || kind == "ClusterIP" && len(items(spec, "externalIPs")) > 0 {
		setAbsent(spec, "externalTrafficPolicy", "Cluster")
	}
	if loadBalancer || kind == "NodePort" || kind == "ClusterIP" {
		setAbsent(spec, "internalTrafficPolicy", "Cluster")
	}
	if loadBalancer {
		setAbsent(spec, "allocateLoadBalancerNodePorts", true)
		for _, ingress := range objects(child(child(out, "status"), "loadBalancer"), "ingress") {
			if _, ok := ingress["ip"]; ok {
				setAbsent(ingress, "ipMode", "VIP")
			}
		}
	}
}

// defaultSessionAffinity also drops the configuration of an affinity that is off.
func defaultSessionAffinity(spec map[string]any) {
	setAbsent(spec, "sessionAffinity", "None")
	switch spec["sessionAffinity"] {
	case "None":
		delete(spec, "sessionAffinityConfig")
	case "ClientIP":
		if child(child(spec, "sessionAffinityConfig"), "clientIP")["timeoutSeconds"] == nil {
			spec["sessionAffinityConfig"] = map[string]any{"clientIP": map[string]any{"timeoutSeconds": int64(10800)}}
		}
	}
}

// defaultNamespace is SetDefaults_Namespace: a label with the name.
func defaultNamespace(_, out map[string]any) {
	metadata := child(out, "metadata")
	if name := text(metadata, "name"); name != "" {
		ensure(metadata, "labels")["kubernetes.io/metadata.name"] = name
	}
}

// defaultNodeStatus is SetDefaults_NodeStatus.
func defaultNodeStatus(in, out map[string]any) {
	if capacity := child(out, "capacity"); capacity != nil && in["allocatable"] == nil {
		out["allocatable"] = maps.Clone(capacity)
	}
}

// defaultPersistentVolume is SetDefaults_PersistentVolume. It does not apply to the
// volume that a VolumeAttachment describes inline.
func defaultPersistentVolume(_, out map[string]any) {
	spec := child(out, "spec")
	setAbsent(spec, "persistentVolumeReclaimPolicy", "Retain")
	setAbsent(spec, "volumeMode", "Filesystem")
}

// defaultLimitRangeItem is SetDefaults_LimitRangeItem: what is missing of the limits
// of containers follows from what is given.
func defaultLimitRangeItem(_, out map[string]any) {
	if out["type"] != "Container" {
		return
	}
	limits, requests := map[string]any{}, map[string]any{}
	fillMissing(limits, child(out, "default"))
	fillMissing(limits, child(out, "max"))
	fillMissing(requests, child(out, "defaultRequest"))
	fillMissing(requests, limits)
	fillMissing(requests, child(out, "min"))
	if len(limits) > 0 {
		out["default"] = limits
	}
	if len(requests) > 0 {
		out["defaultRequest"] = requests
	}
}

// defaultNetworkPolicy is SetDefaults_NetworkPolicy.
func defaultNetworkPolicy(_, out map[string]any) {
	if out["policyTypes"] != nil {
		return
	}
	types := []any{"Ingress"}
	if len(items(out, "egress")) > 0 {
		types = append(types, "Egress")
	}
	out["policyTypes"] = types
}

// defaultSubject is SetDefaults_Subject.
func defaultSubject(_, out map[string]any) {
	if kind := out["kind"]; kind == "User" || kind == "Group" {
		setAbsent(out, "apiGroup", "rbac.authorization.k8s.io")
	}
}

// defaultDeviceRequest is SetDefaults_ExactDeviceRequest and
// SetDefaults_DeviceSubRequest.
func defaultDeviceRequest(_, out map[string]any) {
	setAbsent(out, "allocationMode", "ExactCount")
	if out["allocationMode"] == "ExactCount" {
		setAbsent(out, "count", int64(1))
	}
}

// defaultDeviceRequestV1beta1 is SetDefaults_DeviceRequest: without a class the
// request is made of subrequests.
func defaultDeviceRequestV1beta1(in, out map[string]any) {
	if text(out, "deviceClassName") != "" {
		defaultDeviceRequest(in, out)
	}
}

// defaultCustomResourceDefinition is SetDefaults_CustomResourceDefinition.
func defaultCustomResourceDefinition(_, out map[string]any) {
	spec := child(out, "spec")
	names := child(spec, "names")
	if kind := text(names, "kind"); kind != "" {
		setAbsent(names, "singular", strings.ToLower(kind))
		setAbsent(names, "listKind", kind+"List")
	}
	if spec["conversion"] == nil {
		spec["conversion"] = map[string]any{"strategy": "None"}
	}
	status := child(out, "status")
	if len(items(status, "storedVersions")) > 0 {
		return
	}
	for _, version := range objects(spec, "versions") {
		if version["storage"] == true {
			status["storedVersions"] = []any{version["name"]}
			return
		}
	}
}
