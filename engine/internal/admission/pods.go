package admission

import (
	"maps"
	"strings"
)

// defaultContainer is SetDefaults_Container without its constants.
func defaultContainer(r *record) {
	if r.out["imagePullPolicy"] == nil {
		r.set("imagePullPolicy", pullPolicy(text(r.out, "image")))
	}
}

// defaultImageVolumeSource is the part of SetDefaults_Volume about image volumes.
func defaultImageVolumeSource(r *record) {
	if r.out["pullPolicy"] == nil {
		r.set("pullPolicy", pullPolicy(text(r.out, "reference")))
	}
}

func pullPolicy(image string) string {
	if isLatest(image) {
		return "Always"
	}
	return "IfNotPresent"
}

// defaultVolume is SetDefaults_Volume: a volume without a source is an emptyDir.
func defaultVolume(r *record) {
	for key := range r.out {
		if key != "name" {
			return
		}
	}
	r.set("emptyDir", map[string]any{})
}

// defaultPod is SetDefaults_Pod: defaults of a Pod that do not apply to Pod templates.
func defaultPod(r *record) {
	spec := r.child("spec")
	spec.each("containers", defaultRequests)
	spec.each("initContainers", defaultRequests)
	defaultPodResources(&spec)
	defaultPodNetwork(&spec)
}

// defaultPodSince37 is SetDefaults_Pod of 1.37, which does not default the resources of the
// whole Pod before policies have added all containers. It also replaces a negative termination
// grace period by one second.
func defaultPodSince37(r *record) {
	spec := r.child("spec")
	if seconds, _ := spec.out["terminationGracePeriodSeconds"].(int64); seconds < 0 {
		spec.set("terminationGracePeriodSeconds", int64(1))
	}
	spec.each("containers", defaultRequests)
	spec.each("initContainers", defaultRequests)
	defaultPodNetwork(&spec)
}

// defaultPodResources defaults the resources of a whole Pod.
func defaultPodResources(spec *record) {
	resources := spec.child("resources")
	if resources.out == nil {
		return
	}
	pod := podResources{containers: objects(spec.out, "containers"), initContainers: objects(spec.out, "initContainers")}
	pod.defaultHugePageLimits(&resources)
	pod.defaultRequests(&resources)
	resources.round("limits", "requests") // sums may have finer digits than their rounded summands
}

// defaultPodNetwork is the part of SetDefaults_Pod about services and ports.
func defaultPodNetwork(spec *record) {
	spec.setAbsent("enableServiceLinks", true)
	if spec.out["hostNetwork"] == true {
		spec.each("containers", defaultHostPorts)
		spec.each("initContainers", defaultHostPorts)
	}
}

// defaultServiceAccountName is the part of SetDefaults_PodSpec about the name of the service
// account, since 1.37.
func defaultServiceAccountName(r *record) { convertPodSpec(nil, r) }

// defaultPodIPs is SetDefaults_PodStatus, since 1.37.
func defaultPodIPs(r *record) { convertPodStatus(nil, r) }

// defaultRequests sets the missing requests of a container to its limits.
func defaultRequests(container *record) {
	resources := container.child("resources")
	resources.fill("requests", child(resources.out, "limits"))
}

// fill copies entries from others to the map under name, for keys that the map lacks. Earlier
// maps win.
func (r *record) fill(name string, others ...map[string]any) {
	for _, other := range others {
		if len(other) == 0 {
			continue
		}
		m := r.ensure(name)
		for key, value := range other {
			if _, ok := m.out[key]; !ok {
				m.set(key, value)
			}
		}
	}
}

// defaultHostPorts sets the host ports of a container in the network of the host to its
// container ports.
func defaultHostPorts(container *record) {
	container.each("ports", func(port *record) {
		if _, ok := port.out["hostPort"]; !ok && !isZero(port.out["containerPort"]) {
			port.set("hostPort", port.out["containerPort"])
		}
	})
}

// podResources are the containers from which the resources of a whole Pod are defaulted. They
// are summed up as k8s.io/component-helpers/resource v0.36.3 does.
type podResources struct {
	containers, initContainers []map[string]any
}

// defaultHugePageLimits limits the huge pages of a Pod to the sum of the limits of its
// containers.
func (p podResources) defaultHugePageLimits(resources *record) {
	limits, requests := child(resources.out, "limits"), child(resources.out, "requests")
	if len(limits) == 0 && len(requests) == 0 {
		return
	}
	missing := map[string]any{}
	for name, sum := range p.aggregate("limits") {
		_, limited := limits[name]
		_, requested := requests[name]
		if isHugePages(name) && !limited && !requested {
			missing[name] = sum.String()
		}
	}
	resources.fill("limits", missing)
}

// defaultRequests sets the missing requests of a Pod with limits to the requests of its
// containers, or else to its limits.
func (p podResources) defaultRequests(resources *record) {
	limits := child(resources.out, "limits")
	if len(limits) == 0 {
		return
	}
	sums, limited := map[string]any{}, map[string]any{}
	for name, sum := range p.aggregate("requests") {
		if name == "cpu" || name == "memory" {
			sums[name] = sum.String()
		}
	}
	for name, limit := range limits {
		if name == "cpu" || name == "memory" || isHugePages(name) {
			limited[name] = limit
		}
	}
	resources.fill("requests", sums, limited)
}

func isHugePages(resource string) bool { return strings.HasPrefix(resource, "hugepages-") }

// aggregate sums up the limits or requests of the containers and sidecars. The result is at
// least what each init container needs together with the sidecars that started before it.
func (p podResources) aggregate(name string) resourceList {
	sum := resourceList{}
	for _, c := range p.containers {
		sum.add(resourcesOf(c, name))
	}
	sidecars, peak := resourceList{}, resourceList{}
	for _, c := range p.initContainers {
		needs := resourcesOf(c, name)
		if text(c, "restartPolicy") == "Always" {
			sum.add(needs)
			sidecars.add(needs)
			peak.atLeast(sidecars)
			continue
		}
		during := maps.Clone(needs)
		during.add(sidecars)
		peak.atLeast(during)
	}
	sum.atLeast(peak)
	return sum
}

func resourcesOf(container map[string]any, name string) resourceList {
	return parseResourceList(child(child(container, "resources"), name))
}
