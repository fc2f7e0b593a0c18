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

// defaultImageVolumeSource is the part of SetDefaults_Volume for image volumes.
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

// defaultPod is SetDefaults_Pod: what is defaulted in a Pod but not in the template
// of one.
func defaultPod(r *record) {
	spec := r.child("spec")
	spec.each("containers", defaultRequests)
	spec.each("initContainers", defaultRequests)
	if r.typ.minor >= 34 {
		defaultPodResources(&spec)
	}
	defaultPodNetwork(&spec)
}

// defaultPodSince37 is SetDefaults_Pod of 1.37, which leaves the resources of the whole Pod
// until policies have added all containers. It also ends a Pod within a second that would
// end in the past.
func defaultPodSince37(r *record) {
	spec := r.child("spec")
	if seconds, _ := spec.out["terminationGracePeriodSeconds"].(int64); seconds < 0 {
		spec.set("terminationGracePeriodSeconds", int64(1))
	}
	spec.each("containers", defaultRequests)
	spec.each("initContainers", defaultRequests)
	defaultPodNetwork(&spec)
}

// defaultPodResources completes the resources of a whole Pod.
func defaultPodResources(spec *record) {
	resources := spec.child("resources")
	if resources.out == nil {
		return
	}
	pod := podResources{containers: objects(spec.out, "containers"), initContainers: objects(spec.out, "initContainers")}
	pod.defaultHugePageLimits(&resources)
	pod.defaultRequests(&resources)
	resources.round("limits", "requests") // sums may be finer than what has been rounded
}

// defaultPodNetwork is what SetDefaults_Pod says about services and ports.
func defaultPodNetwork(spec *record) {
	spec.setAbsent("enableServiceLinks", true)
	if spec.out["hostNetwork"] == true {
		spec.each("containers", defaultHostPorts)
		spec.each("initContainers", defaultHostPorts)
	}
}

// defaultServiceAccountName is the part of SetDefaults_PodSpec for the names of the service
// account, since 1.37.
func defaultServiceAccountName(r *record) { convertPodSpec(nil, r) }

// defaultPodIPs is SetDefaults_PodStatus, since 1.37.
func defaultPodIPs(r *record) { convertPodStatus(nil, r) }

// defaultRequests makes a container request what it is limited to.
func defaultRequests(container *record) {
	resources := container.child("resources")
	resources.fill("requests", child(resources.out, "limits"))
}

// fill copies the values of keys that the map under name lacks from others, the first of
// which comes first.
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

// defaultHostPorts opens the ports of a container in the host's network.
func defaultHostPorts(container *record) {
	container.each("ports", func(port *record) {
		if _, ok := port.out["hostPort"]; !ok && !isZero(port.out["containerPort"]) {
			port.set("hostPort", port.out["containerPort"])
		}
	})
}

// podResources are the containers that the resources of a whole Pod are defaulted
// from, as k8s.io/component-helpers/resource v0.36.3 sums them up.
type podResources struct {
	containers, initContainers []map[string]any
}

// defaultHugePageLimits limits the huge pages of a Pod to the sum over its
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

// defaultRequests makes a Pod that has limits request what its containers do, or
// else what it is limited to.
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

// aggregate sums up the limits or requests of the containers: the containers and
// sidecars together, but at least what each init container needs beside the
// sidecars started before it.
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
