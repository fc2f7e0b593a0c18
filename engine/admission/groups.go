package admission

import "strings"

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
