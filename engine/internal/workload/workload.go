// Package workload computes the objects that Kubernetes' controllers make from a stored object:
// a ReplicaSet from a Deployment, a Pod from the ReplicaSet, and so on, as in
// kube-controller-manager 1.36.3. A cluster makes as many Pods as the object requests, one after
// the other; here it is always the first Pod, whatever replicas, suspend and paused say.
//
// Values that a cluster generates are replaced by values that no cluster has: random suffixes of
// names are 00000, uids are zero, times are the beginning of 1970, and the node of a DaemonSet's
// Pod is node-00000. Hashes are the same as in a cluster.
//
// Objects are JSON values in the form in which the server stores them. No function modifies its
// arguments.
//
// The files in order: workload.go (the table of controllers), names.go (generated values),
// deployment.go, pods.go, statefulset.go, daemonset.go and job.go (the objects that controllers
// make), hash.go (of templates), stored.go (what the server adds when it stores an object),
// invalid.go (what the server refuses), endless.go (why a controller would never finish).
package workload

import (
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
)

// Made is an object that a controller makes, as the controller sends it to the server.
type Made struct {
	Kind   gvk.Kind
	Object map[string]any
	// Account is the service account in kube-system that the controller uses.
	Account string
	// From is the path in the owner from which the object is made.
	From change.Path
	// Later are owner references that the controller adds after the object was created.
	Later []any
}

// The kinds of the objects that controllers make, and of their owners.
var (
	DeploymentKind            = gvk.Kind{Group: "apps", Version: "v1", Kind: "Deployment"}
	ReplicaSetKind            = gvk.Kind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	StatefulSetKind           = gvk.Kind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	DaemonSetKind             = gvk.Kind{Group: "apps", Version: "v1", Kind: "DaemonSet"}
	JobKind                   = gvk.Kind{Group: "batch", Version: "v1", Kind: "Job"}
	CronJobKind               = gvk.Kind{Group: "batch", Version: "v1", Kind: "CronJob"}
	ReplicationControllerKind = gvk.Kind{Version: "v1", Kind: "ReplicationController"}
	PodKind                   = gvk.Kind{Version: "v1", Kind: "Pod"}
	ClaimKind                 = gvk.Kind{Version: "v1", Kind: "PersistentVolumeClaim"}
)

// controller is one of Kubernetes' controllers.
type controller struct {
	account string
	make    func(owner map[string]any, minor int) []Made
	// endless returns the reason why the controller never finishes, given its owner and an
	// object that it made, after admission.
	endless func(owner, made map[string]any, minor int) (change.Path, string)
}

// controllers are the controllers by the kind of their owners.
var controllers = map[gvk.Kind]controller{
	DeploymentKind:            {"deployment-controller", replicaSet, endlessReplicaSet},
	ReplicaSetKind:            {"replicaset-controller", replicaPod, endlessReplica},
	ReplicationControllerKind: {"replication-controller", replicaPod, endlessReplica},
	StatefulSetKind:           {"statefulset-controller", statefulPod, endlessStateful},
	DaemonSetKind:             {"daemon-set-controller", daemonPod, endlessDaemon},
	JobKind:                   {"job-controller", jobPod, endlessJobPod},
	CronJobKind:               {"cronjob-controller", cronJob, nil},
}

// Controls reports whether a controller makes objects for objects of a kind.
func Controls(kind gvk.Kind) bool {
	_, ok := controllers[kind]
	return ok
}

// Make returns the objects that the controller of a kind makes for an object that a server of
// Kubernetes 1.minor stores.
func Make(kind gvk.Kind, owner map[string]any, minor int) []Made {
	c := controllers[kind]
	made := c.make(owner, minor)
	for i := range made {
		made[i].Account = c.account
	}
	return made
}

// Endless returns the reason why the controller of an owner makes objects of a kind again and
// again, and the field that is the reason. admitted is such an object after admission. The
// reason is "" if the controller finishes.
func Endless(kind gvk.Kind, owner map[string]any, made gvk.Kind, admitted map[string]any, minor int) (change.Path, string) {
	endless := controllers[kind].endless
	if endless == nil || made == ClaimKind {
		return nil, ""
	}
	return endless(owner, admitted, minor)
}
