package admission

import "strings"

// defaultNetworkPolicy is SetDefaults_NetworkPolicy.
func defaultNetworkPolicy(r *record) {
	if r.out["policyTypes"] != nil {
		return
	}
	types := []any{"Ingress"}
	if len(items(r.out, "egress")) > 0 {
		types = append(types, "Egress")
	}
	r.set("policyTypes", types)
}

// defaultSubject is SetDefaults_Subject.
func defaultSubject(r *record) {
	if kind := r.out["kind"]; kind == "User" || kind == "Group" {
		r.setAbsent("apiGroup", "rbac.authorization.k8s.io")
	}
}

// defaultDeviceRequest is SetDefaults_ExactDeviceRequest and
// SetDefaults_DeviceSubRequest.
func defaultDeviceRequest(r *record) {
	r.setAbsent("allocationMode", "ExactCount")
	if r.out["allocationMode"] == "ExactCount" {
		r.setAbsent("count", int64(1))
	}
}

// defaultDeviceRequestV1beta1 is SetDefaults_DeviceRequest: a request without a class consists
// of subrequests.
func defaultDeviceRequestV1beta1(r *record) {
	if text(r.out, "deviceClassName") != "" {
		defaultDeviceRequest(r)
	}
}

// defaultCustomResourceDefinition is SetDefaults_CustomResourceDefinition.
func defaultCustomResourceDefinition(r *record) {
	spec, status := r.child("spec"), r.child("status")
	names := spec.child("names")
	if kind := text(names.out, "kind"); kind != "" {
		names.setAbsent("singular", strings.ToLower(kind))
		names.setAbsent("listKind", kind+"List")
	}
	spec.setAbsent("conversion", map[string]any{"strategy": "None"})
	if len(items(status.out, "storedVersions")) > 0 {
		return
	}
	for _, version := range objects(spec.out, "versions") {
		if version["storage"] == true {
			status.set("storedVersions", []any{version["name"]})
			return
		}
	}
}
