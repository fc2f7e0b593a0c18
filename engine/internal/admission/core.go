package admission

import "maps"

// defaultService is SetDefaults_Service.
func defaultService(r *record) {
	spec := r.child("spec")
	spec.setAbsent("type", "ClusterIP")
	defaultSessionAffinity(&spec)
	spec.each("ports", func(port *record) {
		if isZero(port.out["targetPort"]) {
			port.set("targetPort", port.out["port"])
		}
	})
	kind := text(spec.out, "type")
	loadBalancer := kind == "LoadBalancer"
	if loadBalancer || kind == "NodePort" || kind == "ClusterIP" && len(items(spec.out, "externalIPs")) > 0 {
		spec.setAbsent("externalTrafficPolicy", "Cluster")
	}
	if loadBalancer || kind == "NodePort" || kind == "ClusterIP" {
		spec.setAbsent("internalTrafficPolicy", "Cluster")
	}
	if !loadBalancer {
		return
	}
	spec.setAbsent("allocateLoadBalancerNodePorts", true)
	status := r.child("status")
	balancer := status.child("loadBalancer")
	balancer.each("ingress", func(ingress *record) {
		if _, ok := ingress.out["ip"]; ok {
			ingress.setAbsent("ipMode", "VIP")
		}
	})
}

// defaultSessionAffinity also drops the sessionAffinityConfig if the affinity is None.
func defaultSessionAffinity(spec *record) {
	spec.setAbsent("sessionAffinity", "None")
	switch spec.out["sessionAffinity"] {
	case "None":
		spec.remove("sessionAffinityConfig")
	case "ClientIP":
		if child(child(spec.out, "sessionAffinityConfig"), "clientIP")["timeoutSeconds"] == nil {
			spec.set("sessionAffinityConfig", map[string]any{"clientIP": map[string]any{"timeoutSeconds": int64(10800)}})
		}
	}
}

// defaultNamespace is SetDefaults_Namespace: a label with the name.
func defaultNamespace(r *record) {
	metadata := r.child("metadata")
	if name := text(metadata.out, "name"); name != "" {
		labels := metadata.ensure("labels")
		labels.set("kubernetes.io/metadata.name", name)
	}
}

// defaultNodeStatus is SetDefaults_NodeStatus.
func defaultNodeStatus(r *record) {
	if capacity := child(r.out, "capacity"); capacity != nil && r.in["allocatable"] == nil {
		r.set("allocatable", maps.Clone(capacity))
	}
}

// defaultPersistentVolume is SetDefaults_PersistentVolume. It does not apply to the
// volume that a VolumeAttachment describes inline.
func defaultPersistentVolume(r *record) {
	spec := r.child("spec")
	spec.setAbsent("persistentVolumeReclaimPolicy", "Retain")
	spec.setAbsent("volumeMode", "Filesystem")
}

// defaultLimitRangeItem is SetDefaults_LimitRangeItem: missing limits of containers follow from
// the limits that are set.
func defaultLimitRangeItem(r *record) {
	if r.out["type"] != "Container" {
		return
	}
	r.fill("default", child(r.out, "max"))
	r.fill("defaultRequest", child(r.out, "default"), child(r.out, "min"))
}

// defaultReplicationController is SetDefaults_ReplicationController: the selector and the labels
// come from the template.
func defaultReplicationController(r *record) {
	spec := r.child("spec")
	labels := child(child(child(spec.out, "template"), "metadata"), "labels")
	if labels == nil {
		return
	}
	if _, ok := spec.out["selector"]; !ok {
		spec.set("selector", maps.Clone(labels))
	}
	inheritLabels(r, labels)
}
