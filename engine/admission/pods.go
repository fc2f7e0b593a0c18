package admission

import (
	"maps"
	"strings"
)

// defaultContainer is SetDefaults_Container without its constants.
func defaultContainer(_, out map[string]any) {
	setAbsent(out, "imagePullPolicy", pullPolicy(text(out, "image")))
}

// defaultImageVolumeSource is the part of SetDefaults_Volume for image volumes.
func defaultImageVolumeSource(_, out map[string]any) {
	setAbsent(out, "pullPolicy", pullPolicy(text(out, "reference")))
}

func pullPolicy(image string) string {
	if isLatest(image) {
		return "Always"
	}
	return "IfNotPresent"
}

// defaultVolume is SetDefaults_Volume: a volume without a source is an emptyDir.
func defaultVolume(_, out map[string]any) {
	for key := range out {
		if key != "name" {
			return
		}
	}
	out["emptyDir"] = map[string]any{}
}

// defaultPod is SetDefaults_Pod: what is defaulted in a Pod but not in the template
// of one.
func defaultPod(_, out map[string]any) {
	spec := child(out, "spec")
	containers, initContainers := objects(spec, "containers"), objects(spec, "initContainers")
	for _, c := range containers {
		defaultRequests(c)
	}
	for _, c := range initContainers {
		defaultRequests(c)
	}
	if resources := child(spec, "resources"); resources != nil {
		pod := podResources{containers: containers, initContainers: initContainers}
		pod.defaultHugePageLimits(resources)
		pod.defaultRequests(resources)
	}
	setAbsent(spec, "enableServiceLinks", true)
	if spec["hostNetwork"] == true {
		for _, c := range containers {
			defaultHostPorts(c)
		}
		for _, c := range initContainers {
			defaultHostPorts(c)
		}
	}
}

// defaultRequests makes a container request what it is limited to.
func defaultRequests(container map[string]any) {
	resources := child(container, "resources")
	limits := child(resources, "limits")
	if len(limits) == 0 {
		return
	}
	requests := child(resources, "requests")
	if requests == nil {
		requests = make(map[string]any, len(limits))
		resources["requests"] = requests
	}
	fillMissing(requests, limits)
}

// fillMissing copies the values of keys that a map lacks from another.
func fillMissing(to, from map[string]any) {
	for key, value := range from {
		if _, ok := to[key]; !ok {
			to[key] = value
		}
	}
}

// defaultHostPorts opens the ports of a container in the host's network.
func defaultHostPorts(container map[string]any) {
	for _, port := range objects(container, "ports") {
		if _, ok := port["hostPort"]; !ok && !isZero(port["containerPort"]) {
			port["hostPort"] = port["containerPort"]
		}
	}
}

// podResources are the containers that the resources of a whole Pod are defaulted
// from, as k8s.io/component-helpers/resource v0.36.3 sums them up.
type podResources struct {
	containers, initContainers []map[string]any
}

// defaultHugePageLimits limits the huge pages of a Pod to the sum over its
// containers.
func (p podResources) defaultHugePageLimits(resources map[string]any) {
	limits, requests := child(resources, "limits"), child(resources, "requests")
	if len(limits) == 0 && len(requests) == 0 {
		return
	}
	for name, sum := range p.aggregate("limits") {
		_, limited := limits[name]
		_, requested := requests[name]
		if isHugePages(name) && !limited && !requested {
			if limits == nil {
				limits = map[string]any{}
				resources["limits"] = limits
			}
			limits[name] = sum.String()
		}
	}
}

// defaultRequests makes a Pod that has limits request what its containers do, or
// else what it is limited to.
func (p podResources) defaultRequests(resources map[string]any) {
	limits := child(resources, "limits")
	if len(limits) == 0 {
		return
	}
	requests := maps.Clone(child(resources, "requests"))
	if requests == nil {
		requests = map[string]any{}
	}
	for name, sum := range p.aggregate("requests") {
		if _, ok := requests[name]; !ok && (name == "cpu" || name == "memory") {
			requests[name] = sum.String()
		}
	}
	for name, limit := range limits {
		if _, ok := requests[name]; !ok && (name == "cpu" || name == "memory" || isHugePages(name)) {
			requests[name] = limit
		}
	}
	if len(requests) > 0 {
		resources["requests"] = requests
	}
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
