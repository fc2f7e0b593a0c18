package admission

import "maps"

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

// defaultReplicationController is SetDefaults_ReplicationController: selector and
// labels come from the template.
func defaultReplicationController(_, out map[string]any) {
	spec := child(out, "spec")
	labels := child(child(child(spec, "template"), "metadata"), "labels")
	if labels == nil {
		return
	}
	if _, ok := spec["selector"]; !ok {
		spec["selector"] = maps.Clone(labels)
	}
	inheritLabels(out, labels)
}
