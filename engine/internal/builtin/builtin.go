// Package builtin implements admission plug-ins of the API server, as in Kubernetes 1.36.3:
// those that change objects, with the validation of what they change, and PodSecurity. A server runs them before
// all policies, and again if a policy changed the object. Refusals have the texts of the server.
//
// Objects that plug-ins look up must be in the input: a ServiceAccount, PriorityClass or
// RuntimeClass that is missing does not exist, except for those that every cluster has. Plug-ins
// behave as without configuration files of the server, except PodSecurity, and without cached objects.
//
// The files in order: builtin.go (the table), program.go (plug-ins as programs), call.go (one plug-in and one
// object), config.go (the configuration of PodSecurity), and one file for each plug-in, in the order of the
// server: limitranger.go, serviceaccount.go, pullimages.go, podsecurity.go, podsecurityfields.go, nodeselector.go,
// priority.go, tolerations.go (three of them), storage.go (two), runtimeclass.go, ingressclass.go and topology.go.
package builtin

import (
	"slices"

	"github.com/preadmit/preadmit/engine/gvk"
)

// plugin is an admission plug-in.
type plugin struct {
	name string
	// since is the first minor version in which a default server enables it; 0 if no version
	// does.
	since int
	// on are the kinds to which it applies, without versions.
	on []gvk.Kind
	// updates says that it also applies to updates.
	updates bool
	// reads are the kinds of objects that it looks up.
	reads []gvk.Kind
	// admit changes the object of a call; validate refuses it after all changes. Either may be
	// nil.
	admit, validate func(c *call) error
}

// The kinds to which plug-ins apply, and the kinds that they look up.
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
	judged     = []gvk.Kind{
		pods,
		{Kind: "Namespace"},
		{Kind: "ReplicationController"},
		{Kind: "PodTemplate"},
		{Group: "apps", Kind: "ReplicaSet"},
		{Group: "apps", Kind: "Deployment"},
		{Group: "apps", Kind: "StatefulSet"},
		{Group: "apps", Kind: "DaemonSet"},
		{Group: "batch", Kind: "Job"},
		{Group: "batch", Kind: "CronJob"},
	}
	noLookups []gvk.Kind
)

// The minor versions in which default servers enable plug-ins, or parts of plug-ins.
const (
	always      = 1
	notByStock  = 0
	topologyOn  = 35
	attributeOn = 34
)

// PodSecurity is the name of the plug-in that judges Pods by the Pod Security Standards.
const PodSecurity = "PodSecurity"

// plugins are the plug-ins in the order in which a server runs them.
var plugins = []*plugin{
	{"LimitRanger", always, []gvk.Kind{pods, claims}, true, []gvk.Kind{limitRange}, limitDefaults, limits},
	{"ServiceAccount", always, onPods, false, []gvk.Kind{account}, serviceAccount, mountableSecrets},
	{"AlwaysPullImages", notByStock, onPods, true, noLookups, pullImages, pulledImages},
	{PodSecurity, always, judged, true, noLookups, nil, podSecurity},
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

// Names returns the names of the supported plug-ins, in the order in which a server runs them.
func Names() []string {
	var names []string
	for _, p := range plugins {
		names = append(names, p.name)
	}
	return names
}

// Default returns the names of the plug-ins that a default server of Kubernetes 1.minor runs.
func Default(minor int) []string {
	var names []string
	for _, p := range plugins {
		if p.since > 0 && minor >= p.since {
			names = append(names, p.name)
		}
	}
	return names
}

// covers reports whether the plug-in applies to objects of a kind.
func (p *plugin) covers(kind gvk.Kind) bool {
	kind.Version = ""
	return slices.Contains(p.on, kind)
}
