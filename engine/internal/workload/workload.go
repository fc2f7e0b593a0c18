// Package workload is what Kubernetes' controllers make of an object that a server holds:
// of a Deployment its ReplicaSet, of that its Pod, and so on, as kube-controller-manager
// 1.36.3 does. A cluster makes as many Pods as the object says, one after the other; here it
// is always the first one, whatever replicas, suspend and paused say.
//
// What a cluster makes up is written in a form that no cluster has: random suffixes of names
// are 00000, uids zero, times the beginning of 1970, and the node of a DaemonSet's Pod is
// node-00000. Hashes are those of a cluster.
//
// Objects are as JSON has them, in the form in which the server stores them. Nothing here
// changes what it is given.
//
// The files in order: workload.go (the table of controllers), names.go (what is made up),
// deployment.go, pods.go, statefulset.go, daemonset.go and job.go (what they make),
// hash.go (of templates), stored.go (what the server adds when it stores an object),
// invalid.go (what it refuses), endless.go (what keeps a controller from coming to an end).
package workload

import (
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
)

// Made is an object that a controller makes, as it sends it to the server.
type Made struct {
	Kind   gvk.Kind
	Object map[string]any
	// Account is the service account in kube-system that the controller uses.
	Account string
	// From is where in its owner what the object is made of is.
	From change.Path
	// Later are owner references that the controller adds when the object is there.
	Later []any
}

// The kinds that controllers make, and make others of.
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
	// endless says why the controller goes on for ever after what became of an object that
	// it has made for its owner.
	endless func(owner, made map[string]any, minor int) (change.Path, string)
}

// controllers are the controllers of kinds.
var controllers = map[gvk.Kind]controller{
	DeploymentKind:            {"deployment-controller", replicaSet, endlessReplicaSet},
	ReplicaSetKind:            {"replicaset-controller", replicaPod, endlessReplica},
	ReplicationControllerKind: {"replication-controller", replicaPod, endlessReplica},
	StatefulSetKind:           {"statefulset-controller", statefulPod, endlessStateful},
	DaemonSetKind:             {"daemon-set-controller", daemonPod, endlessDaemon},
	JobKind:                   {"job-controller", jobPod, endlessJobPod},
	CronJobKind:               {"cronjob-controller", cronJob, nil},
}

// Controls reports whether a controller makes anything of objects of a kind.
func Controls(kind gvk.Kind) bool {
	_, ok := controllers[kind]
	return ok
}

// Make is what the controller of a kind makes of an object that a server of Kubernetes 1.minor
// holds.
func Make(kind gvk.Kind, owner map[string]any, minor int) []Made {
	c := controllers[kind]
	made := c.make(owner, minor)
	for i := range made {
		made[i].Account = c.account
	}
	return made
}

// Endless says why the controller of an owner, given what admission has left of an object
// that it made, makes another one, and so on for ever; and which field is the reason. The
// reason is "" if it does not.
func Endless(kind gvk.Kind, owner map[string]any, made gvk.Kind, admitted map[string]any, minor int) (change.Path, string) {
	endless := controllers[kind].endless
	if endless == nil || made == ClaimKind {
		return nil, ""
	}
	return endless(owner, admitted, minor)
}
