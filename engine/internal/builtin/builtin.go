// Package builtin is the admission plug-ins that are part of the API server, as those of
// Kubernetes 1.36.3 that change objects, or refuse them for what they would change. A server
// runs them before all policies, and again if any policy changed the object; their refusals
// are in its words.
//
// What they look up must be in the input: a ServiceAccount, PriorityClass or RuntimeClass that
// is not given does not exist, but for those that every cluster has. Plug-ins that are
// configured by files of the server, or cached what had been there before, act as without.
//
// The files in order: builtin.go (the table), program.go (plug-ins as programs), call.go (one
// plug-in and one object), and one file for each plug-in, in the order of the server:
// limitranger.go, serviceaccount.go, pullimages.go, nodeselector.go, priority.go,
// tolerations.go (three of them), storage.go (two), runtimeclass.go, ingressclass.go and
// topology.go.
package builtin

import (
	"slices"

	"github.com/preadmit/preadmit/engine/gvk"
)

// plugin is an admission plug-in.
type plugin struct {
	name string
	// since is the first minor version in which a stock server has it; 0 for none.
	since int
	// on are the kinds that it is about, without versions.
	on []gvk.Kind
	// updates says that it is about updates, too.
	updates bool
	// reads are the kinds of objects that it looks up.
	reads []gvk.Kind
	// admit changes the object of a call, and validate refuses it when all has been
	// changed; either may be nil.
	admit, validate func(c *call) error
}

// The kinds that plug-ins are about, and those that they look up.
var (
	pods       = gvk.Kind{Kind: "Pod"}
	claims     = gvk.Kind{Kind: "PersistentVolumeClaim"}
	volumes    = gvk.Kind{Kind: "PersistentVolume"}
	ingresses  = gvk.Kind{Group: "networking.k8s.io", Kind: "Ingress"}
	attributes = gvk.Kind{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}
	limitRange = gvk.Kind{Version: "v1", Kind: "LimitRange"}
	account    = gvk.Kind{Version: "v1", Kind: "ServiceAccount"}
	node       = gvk.Kind{Version: "v1", Kind: "Node"}
	priority   = gvk.Kind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"}
	runtime    = gvk.Kind{Group: "node.k8s.io", Version: "v1", Kind: "RuntimeClass"}
	storage    = gvk.Kind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}
	ingress    = gvk.Kind{Group: "networking.k8s.io", Version: "v1", Kind: "IngressClass"}
	onPods     = []gvk.Kind{pods}
	noLookups  []gvk.Kind
)

// The minor versions in which stock servers have plug-ins, or parts of them.
const (
	always      = 1
	notByStock  = 0
	topologyOn  = 35
	attributeOn = 34
)

// plugins are the plug-ins in the order in which a server runs them.
var plugins = []*plugin{
	{"LimitRanger", always, []gvk.Kind{pods, claims}, true, []gvk.Kind{limitRange}, limitDefaults, limits},
	{"ServiceAccount", always, onPods, false, []gvk.Kind{account}, serviceAccount, mountableSecrets},
	{"AlwaysPullImages", notByStock, onPods, true, noLookups, pullImages, pulledImages},
	{"PodNodeSelector", notByStock, onPods, false, noLookups, nodeSelector, nil},
	{"Priority", always, onPods, true, []gvk.Kind{priority}, podPriority, nil},
	{"DefaultTolerationSeconds", always, onPods, true, noLookups, tolerationSeconds, nil},
	{"PodTolerationRestriction", notByStock, onPods, true, noLookups, tolerationRestriction, allowedTolerations},
	{"ExtendedResourceToleration", notByStock, onPods, true, noLookups, extendedResources, nil},
	{"DefaultStorageClass", always, []gvk.Kind{claims}, false, []gvk.Kind{storage}, storageClass, nil},
	{"StorageObjectInUseProtection", always, []gvk.Kind{volumes, claims, attributes}, false, noLookups, protectStorage, nil},
	{"RuntimeClass", always, onPods, false, []gvk.Kind{runtime}, runtimeClass, overhead},
	{"DefaultIngressClass", always, []gvk.Kind{ingresses}, false, []gvk.Kind{ingress}, ingressClass, nil},
	{"PodTopologyLabels", topologyOn, onPods, false, []gvk.Kind{node}, topologyLabels, nil},
}

// Names are the plug-ins that are known, in the order in which a server runs them.
func Names() []string {
	var names []string
	for _, p := range plugins {
		names = append(names, p.name)
	}
	return names
}

// Default are those that a stock server of Kubernetes 1.minor runs.
func Default(minor int) []string {
	var names []string
	for _, p := range plugins {
		if p.since > 0 && minor >= p.since {
			names = append(names, p.name)
		}
	}
	return names
}

// covers reports whether the plug-in is about objects of a kind.
func (p *plugin) covers(kind gvk.Kind) bool {
	kind.Version = ""
	return slices.Contains(p.on, kind)
}
