package krmfn

import (
	"context"
	"fmt"
	"io"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// pods prints what the cluster will run: what controllers make of manifests, as policies
// change it.
func (p *Process) pods(ctx context.Context, given arguments) int {
	var c config
	given.apply(&c)
	c.pods = true
	if len(c.engine.AdmissionPlugins) == 0 {
		c.engine.AdmissionPlugins = []string{"default"}
	}
	f := p.files(&c)
	a := p.admit(ctx, &c, f, f.stream(given.operands, &c), nil)
	var running []*manifest.Stream
	if a.status() == exitDone {
		if running = a.outcome.Running(); len(running) == 0 && !c.allowEmpty {
			a.add(source.Errorf(source.Position{}, "empty-stream", "there are no controllers and no Pods in the input").
				With("a controller is a Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob or ReplicationController; allow it with --allow-empty"))
		}
	}
	p.report(a.diagnostics, noOutput)
	if a.status() != exitDone {
		return a.status()
	}
	return p.print(&c, running)
}

const podsText = `Print what the cluster will run: for every controller among the manifests (Deployment,
ReplicaSet, StatefulSet, DaemonSet, Job, CronJob, ReplicationController) what Kubernetes'
controllers make of it, down to the Pods, each admitted with the policies as a request of
its controller. Pods that are given are printed, too.

Usage:
  %s

Of every template there is one Pod, the first one, whatever replicas, suspend and paused
say. Objects are complete: they have the defaults of the API. What a cluster makes up has
a form that no cluster has: random suffixes of names are 00000, uids are zeros, times the
beginning of 1970, and the node of a DaemonSet's Pod is node-00000. Hashes are those of
the cluster. Not printed are the ControllerRevisions, which hold the history.

The admission plug-ins of a stock server act, too, unless --admission-plugins says
otherwise. What they look up (ServiceAccounts, LimitRanges, PriorityClasses, RuntimeClasses,
StorageClasses) must be among the manifests or given with --context; what is not given does
not exist, but for the ServiceAccounts named default and the PriorityClasses of the system.

A policy that changes what a controller made so that it makes another one, and so on for
ever, is named: as one that changes the template of ReplicaSets.

Examples:
  preadmit pods -p policies/ deployment.yaml
  kustomize build . | preadmit pods -p policies/ -o json - | jq .spec.containers

Flags (those with PATH take files and directories, and may be repeated):
%s
%s
%s`

func podsHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, podsText, c.usage, flagsHelp(c), environmentText, statusText)
}
