package krmfn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/cluster"
	"github.com/preadmit/preadmit/internal/output"
	"github.com/preadmit/preadmit/internal/settings"
)

// snapshot writes what decides how a cluster changes objects.
func (p *Process) snapshot(ctx context.Context, given arguments) int {
	var c config
	given.apply(&c)
	switch {
	case len(given.operands) > 0:
		return p.misused(misusef("argument-invalid", "unexpected argument %q; --output names the directory or file", given.operands[0]), "preadmit snapshot --help")
	case c.options.Output == "" && !c.options.PrintRole:
		return p.misused(misusef("argument-invalid", "expected --output with a directory or a file, as in: preadmit snapshot -o cluster/"), "preadmit snapshot --help")
	}
	f := p.files(&c)
	from := p.source(&c, f)
	if problems := f.told(&c); source.HasErrors(problems) {
		p.report(problems, nothingWritten, false)
		return exitInvalid
	}
	if c.options.PrintRole {
		return p.printRole(ctx, &c, from)
	}
	out, err := openSnapshot(ctx, p.absolute(c.options.Output), c.options.Output, p.Stderr)
	if err != nil {
		p.report([]source.Diagnostic{output.Unwritable(c.options.Output, err)}, nothingWritten, false)
		return exitInvalid
	}
	defer out.close()
	found, problems := p.gather(ctx, &c, from, out.put)
	if !source.HasErrors(problems) {
		problems = append(problems, out.commit()...)
	}
	if source.HasErrors(problems) {
		p.report(problems, nothingWritten, false)
		return exitInvalid
	}
	p.report(problems, "", false)
	fmt.Fprintf(p.Stderr, "preadmit: %s of %s; %s written, %d removed\n", plural(found.Objects, "object", "objects"), plural(found.Kinds, "kind", "kinds"), plural(out.written, "file", "files"), out.removed)
	return exitDone
}

const nothingWritten = "nothing written"

// source returns where the objects of a cluster come from.
func (p *Process) source(c *config, f *files) cluster.Source {
	if paths := c.documents[settings.Dump].paths; len(paths) > 0 {
		return cluster.NewDump(f.set().manifests(paths))
	}
	return p.kubectl(c)
}

// kubectl returns the cluster of the options.
func (p *Process) kubectl(c *config) *cluster.Kubectl {
	name := cmp.Or(c.options.Kubectl, "kubectl")
	return &cluster.Kubectl{Context: c.options.KubeContext, Run: func(ctx context.Context, args []string, stdin []byte) ([]byte, string, error) {
		var stderr limit.Buffer
		stdout, err := p.start(ctx, &Program{Args: append([]string{name}, args...), Dir: p.Dir, Stdin: strings.NewReader(string(stdin)), Stderr: &stderr})
		return stdout, string(stderr.Bytes()), err
	}}
}

// gather reads the objects of a snapshot. What the server forbids is an error, and so are files without policies.
func (p *Process) gather(ctx context.Context, c *config, from cluster.Source, put func(cluster.Stored) error) (*cluster.Snapshot, []source.Diagnostic) {
	if p.StderrIsTerminal {
		progress := newProgress(p.Stderr, p.Now)
		defer progress.end()
		quiet, n := put, 0
		put = func(s cluster.Stored) error {
			n++
			progress.show("%d objects", n)
			return quiet(s)
		}
	}
	isComplete := len(c.documents[settings.Dump].paths) == 0 || c.options.AllowNoPolicies
	found, err := cluster.Gather(ctx, from, c.wanted(), func(s cluster.Stored) error {
		apiVersion, _ := s.Object["apiVersion"].(string)
		isComplete = isComplete || engine.IsPolicyGroup(gvk.Parse(apiVersion, "").Group)
		return put(s)
	})
	problems := found.Diagnostics
	if !isComplete {
		problems = append(problems, withoutPolicy(c.documents[settings.Dump].paths[0]))
	}
	if err != nil {
		problems = append(problems, failedRequest(err))
	}
	for _, rule := range found.Missing {
		problems = append(problems, source.Errorf(source.Position{}, "cluster-forbidden", "you may not %s %s", rule.Verb, source.Name(strings.TrimSuffix(rule.Resource+"."+rule.Group, "."))).
			With("a ClusterRole needs the rule "+rule.String()+"; --print-role prints all rules"))
	}
	return found, problems
}

// wanted returns what a snapshot has.
func (c *config) wanted() cluster.Wanted {
	o := &c.options
	return cluster.Wanted{Definitions: o.Definitions, Secrets: o.Secrets, Resources: o.Resources, Plugins: o.Engine.AdmissionPlugins, KubernetesVersion: o.Engine.KubernetesVersion}
}

// failedRequest returns the diagnostic for a request that has failed.
func failedRequest(err error) source.Diagnostic {
	var refused *cluster.Error
	advice := ""
	if errors.As(err, &refused) && refused.Reason == "" {
		advice = "kubectl says so: check the kubeconfig, or name a context with --context"
	}
	return source.Errorf(source.Position{}, "cluster-failed", "the cluster cannot be read: %v", err).With(advice)
}

// printRole prints a ClusterRole with what a snapshot needs.
func (p *Process) printRole(ctx context.Context, c *config, from cluster.Source) int {
	found, err := cluster.Gather(ctx, from, c.wanted(), func(cluster.Stored) error { return nil })
	if err != nil {
		p.report([]source.Diagnostic{failedRequest(err)}, "no role", false)
		return exitInvalid
	}
	if len(found.Missing) > 0 {
		fmt.Fprintf(p.Stderr, "preadmit: you may not read %s, so the role may lack what policies look up; print it again with the role\n", plural(len(found.Missing), "resource", "resources"))
	}
	return p.write(func(w io.Writer) {
		io.WriteString(w, "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: preadmit-snapshot\nrules:\n")
		for _, line := range roleRules(found.Needed) {
			io.WriteString(w, "- "+line+"\n")
		}
		io.WriteString(w, "- {nonResourceURLs: [/metrics], verbs: [get]} # optional: feature gates\n")
	})
}

// roleRules returns the rules of a ClusterRole, one for the resources of each group.
func roleRules(rules []cluster.Rule) []string {
	joined := map[cluster.Rule][]string{}
	for _, r := range rules {
		key := r
		if key.Resource = ""; r.Name != "" {
			key.Resource = r.Resource
		}
		if !slices.Contains(joined[key], r.Resource) {
			joined[key] = append(joined[key], r.Resource)
		}
	}
	keys := slices.SortedFunc(maps.Keys(joined), func(a, b cluster.Rule) int {
		return slices.Compare([]string{a.Group, a.Resource, a.Name}, []string{b.Group, b.Resource, b.Name})
	})
	var lines []string
	for _, key := range keys {
		slices.Sort(joined[key])
		names := ""
		if key.Name != "" {
			names = fmt.Sprintf(", resourceNames: [%q]", key.Name)
		}
		lines = append(lines, fmt.Sprintf("{apiGroups: [%q], resources: [%s], verbs: [%s]%s}", key.Group, strings.Join(joined[key], ", "), key.Verb, names))
	}
	return lines
}

const snapshotText = `Write what decides how a cluster changes objects: its policies with their bindings, exceptions and
configurations, configurations of webhooks, Namespaces, the CustomResourceDefinitions of the
kinds that policies name, and the objects that policies and the admission plug-ins of a stock
server look up, such as params, ConfigMaps and LimitRanges. preadmit.yaml in the snapshot has
the version of the cluster. Give the snapshot to other commands with -p.

preadmit asks the cluster through kubectl, with your credentials. It only reads. Fields that the server
sets, such as status and managedFields, are left out, so that a snapshot of an unchanged cluster has
the same bytes. Files of an earlier snapshot are replaced or removed only if all answers are complete.
Other files in the directory stay.

Secrets are left out unless --secrets is given.

Usage:
  %s

Examples:
  preadmit snapshot -o cluster/
  preadmit snapshot --context production -o production.yaml
  preadmit snapshot --from must-gather/ -o cluster/
  preadmit snapshot --print-role | kubectl apply -f -
  preadmit diff -p cluster/ manifests/

Flags:
%s
Exit status:
  0  the snapshot is written
  2  the cluster cannot be read completely, or the snapshot cannot be written; nothing has changed
`

func snapshotHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, snapshotText, c.usage, flagsHelp(c))
}
