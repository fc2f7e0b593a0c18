package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/preadmit/preadmit/engine/internal/podspec"
)

// prepareNamespace adds the finalizer that every namespace has.
func prepareNamespace(namespace map[string]any) {
	spec := podspec.Ensure(namespace, "spec")
	if finalizers, _ := spec["finalizers"].([]any); !slices.Contains(finalizers, any("kubernetes")) {
		spec["finalizers"] = append(slices.Clip(finalizers), "kubernetes")
	}
}

// prepareService allocates cluster IPs and node ports of a Service in a cluster with IPv4.
func prepareService(service map[string]any) {
	spec := podspec.Ensure(service, "spec")
	kind := podspec.Text(spec, "type")
	if kind == "ExternalName" {
		return
	}
	ip := podspec.Text(spec, "clusterIP")
	if ip == "" {
		ip = clusterIP
		spec["clusterIP"] = ip
	}
	if _, ok := spec["clusterIPs"]; !ok {
		spec["clusterIPs"] = []any{ip}
	}
	policy, families := "SingleStack", []any{"IPv4"}
	if ip == "None" && len(podspec.Map(spec, "selector")) == 0 {
		policy, families = "RequireDualStack", []any{"IPv4", "IPv6"}
	}
	setMissing(spec, "ipFamilyPolicy", policy)
	if podspec.Text(spec, "ipFamilyPolicy") == "RequireDualStack" {
		families = []any{"IPv4", "IPv6"}
	}
	setMissing(spec, "ipFamilies", families)
	if allocate, ok := podspec.Bool(spec, "allocateLoadBalancerNodePorts"); kind == "NodePort" || kind == "LoadBalancer" && (allocate || !ok) {
		for i, port := range podspec.Maps(spec, "ports") {
			if number, _ := podspec.Int(port, "nodePort"); number == 0 {
				port["nodePort"] = nodePort + int64(i)
			}
		}
	}
}

// qualityOf returns the quality of service class of a Pod. Only CPU and memory count.
func qualityOf(pod map[string]any) string {
	spec := podspec.Map(pod, "spec")
	all := []map[string]any{podspec.Map(spec, "resources")} // those of the Pod replace those of its containers
	if all[0] == nil {
		all = nil
		for _, container := range podspec.Containers(spec) {
			all = append(all, podspec.Map(container, "resources"))
		}
	}
	requests, limits, guaranteed := map[string]resource.Quantity{}, map[string]resource.Quantity{}, true
	for _, resources := range all {
		add(requests, podspec.Map(resources, "requests"))
		guaranteed = add(limits, podspec.Map(resources, "limits")) == len(computed) && guaranteed
	}
	if len(requests) == 0 && len(limits) == 0 {
		return "BestEffort"
	}
	for name, request := range requests {
		limit, ok := limits[name]
		guaranteed = guaranteed && ok && limit.Cmp(request) == 0
	}
	if guaranteed && len(requests) == len(limits) {
		return "Guaranteed"
	}
	return "Burstable"
}

// computed are the resources that count for the quality of service.
var computed = []string{"cpu", "memory"}

// add adds quantities that are not zero to sums, and returns how many there are.
func add(sums map[string]resource.Quantity, quantities map[string]any) int {
	count := 0
	for _, name := range computed {
		text, _ := quantities[name].(string)
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Sign() <= 0 {
			continue
		}
		q.Add(sums[name])
		sums[name] = q
		count++
	}
	return count
}
