package krmfn

import (
	"context"
	"fmt"
	"io"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// pods prints the objects that the cluster will run: those that controllers create from the
// manifests, as policies change them.
func (p *Process) pods(ctx context.Context, given arguments) int {
	var c config
	given.apply(&c)
	c.options.Pods = true
	c.stock = true
	f := p.files(&c)
	a := p.admit(ctx, &c, f, f.stream(given.operands, &c), nil)
	p.decide(ctx, &c, a, nil, true)
	var running []*manifest.Stream
	if a.status() == exitDone {
		if running = a.outcome.Running(); len(running) == 0 && !c.options.AllowEmpty {
			a.add(source.Errorf(source.Position{}, "empty-stream", "there are no controllers and no Pods in the input").
				With("expected a Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob, ReplicationController or Pod; --allow-empty accepts input without them"))
		}
	}
	p.report(a.diagnostics, noOutput, c.options.Verbose)
	if a.status() != exitDone {
		return a.status()
	}
	return p.print(&c, running)
}

const podsText = `Print the objects that the cluster will run. For every workload among the manifests
(Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob, ReplicationController),
preadmit creates the objects that Kubernetes' controllers create, down to the Pods, and runs
the policies on each as a request of its controller. Pods among the manifests are printed,
too.

Usage:
  %s

Each template gives one Pod, the first one, whatever the values of replicas, suspend and
paused are. Objects have all API defaults. Values that a cluster would generate are fixed:
random suffixes of names are 00000, uids are zeros, times are the beginning of 1970, and the
node of a DaemonSet's Pod is node-00000. Hashes are the same as in a cluster.
ControllerRevisions, which hold the history, are not printed.

The admission plug-ins of a stock server run, too, unless --admission-plugins says
otherwise. Objects that they look up (ServiceAccounts, LimitRanges, PriorityClasses,
RuntimeClasses, StorageClasses) must be among the manifests or given with --context;
otherwise they do not exist. The ServiceAccount default and the PriorityClasses of the
system always exist.

preadmit reports a policy that would make a controller create new objects forever, such as
a policy that changes the template of ReplicaSets.

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
