package krmfn

import (
	"context"
	"fmt"
	"io"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

const convertText = `Convert policies to another kind or version. Comments are kept. Documents that do not need
a conversion are printed unchanged.

Without --to, the result is admissionregistration.k8s.io/v1. The input may be policies and
bindings of older versions, or MutatingAdmissionPolicies as in the drafts KEP-3775 and early
KEP-3962, which no API server accepts.

With --to MutatingPolicy, mutate rules of Kyverno's ClusterPolicies and Policies become
Kyverno's MutatingPolicies and NamespacedMutatingPolicies, which are written in CEL. Policy
exceptions are converted, too.

With --to MutatingAdmissionPolicy, these rules and Kyverno's MutatingPolicies become
policies with bindings of the API server.

With --verify, both forms are run on manifests, and on objects that preadmit generates for
the branches of the policies. Every object with different results is an error. Otherwise,
messages say how many objects were compared, and which branches no object reached. The
policies are printed in both cases. With --verify=unordered, too, the order of items in
lists does not matter.

A policy that the new form cannot express is an error that says what to do.

Usage:
  %s

Policies come from the named files. Without files, or for -, they come from standard input.

Examples:
  preadmit convert policies/
  preadmit convert --to MutatingPolicy policies/
  preadmit convert --to MutatingPolicy --verify manifests/ policies/ > new.yaml

Flags (those with PATH take files and directories, and may be repeated):
%s
Exit status:
  0  success
  1  --verify found an object with different results
  2  a policy cannot be converted, or the input or the command line is wrong
`

func convertHelp(c *command, w io.Writer) { fmt.Fprintf(w, convertText, c.usage, flagsHelp(c)) }

// convert prints policies converted to another kind or version.
func (p *Process) convert(ctx context.Context, given arguments) int {
	var c config
	given.apply(&c)
	f := p.files(&c)
	streams := f.stream(given.operands, &c)
	a := &admission{}
	if c.options.To != "" {
		return p.migrate(ctx, p.sole(&c, f, streams), f, a, streams)
	}
	a.add(f.told(&c)...)
	if !source.HasErrors(a.diagnostics) {
		a.add(engine.Convert(streams)...)
	}
	p.report(a.diagnostics, noOutput, c.options.Verbose)
	if a.status() != exitDone {
		return a.status()
	}
	return p.emitManifests(streams, exitDone)
}

// migrate converts policies to the kind of --to, prints them, and verifies the result.
func (p *Process) migrate(ctx context.Context, c *config, f *files, a *admission, policies []*manifest.Stream) int {
	surroundings := f.cluster(c, f.set())
	paths, order := c.verified()
	manifests := f.set().manifests(paths)
	a.add(f.told(c)...)
	if source.HasErrors(a.diagnostics) {
		p.report(a.diagnostics, noOutput, c.options.Verbose)
		return exitInvalid
	}
	migrated, diagnostics := engine.Migrate(engine.Form(c.options.To), policies, surroundings, c.options.Engine)
	a.add(diagnostics...)
	if len(c.documents[settings.Verify].paths) == 0 || source.HasErrors(a.diagnostics) {
		p.report(a.diagnostics, noOutput, c.options.Verbose)
		if a.status() != exitDone {
			return a.status()
		}
		return p.emitManifests(migrated, exitDone)
	}
	proof, diagnostics := engine.Verify(ctx, policies, migrated, surroundings, manifests, order, c.options.Engine)
	a.add(diagnostics...)
	if proof == nil {
		p.report(a.diagnostics, noOutput, c.options.Verbose)
		return a.status()
	}
	if a.add(proof.Differences...); source.HasErrors(proof.Differences) {
		p.report(a.diagnostics, "the forms differ", c.options.Verbose)
		return p.emitManifests(migrated, exitDiffers)
	}
	p.report(a.diagnostics, noOutput, c.options.Verbose)
	p.tellProof(proof)
	return p.emitManifests(migrated, exitDone)
}

// unordered is the argument of --verify that ignores the order of items.
const unordered = "unordered"

// verified returns the paths of the manifests to verify with.
func (c *config) verified() (paths []path, order engine.Order) {
	for _, p := range c.documents[settings.Verify].paths {
		if p.name == unordered {
			order = engine.Unordered
		} else {
			paths = append(paths, p)
		}
	}
	return paths, order
}

// tellProof says how many objects were compared, and which branches they reached.
func (p *Process) tellProof(proof *engine.Proof) {
	fmt.Fprintf(p.Stderr, "preadmit: both forms give the same results for %s (%d changed) and %s\n",
		plural(proof.Objects, "manifest", "manifests"), proof.Changed, plural(proof.Counterexamples, "generated object", "generated objects"))
	reached, generated := 0, 0
	for _, b := range proof.Branches {
		switch {
		case b.Manifests > 0:
			reached++
		case b.Counterexamples > 0:
			generated++
		}
	}
	fmt.Fprintf(p.Stderr, "of %s, manifests reached %d and generated objects %d more\n", plural(len(proof.Branches), "branch", "branches"), reached, generated)
	if proof.Undefined > 0 {
		fmt.Fprintf(p.Stderr, "%s not verified because the kind has no schema: give the CustomResourceDefinition with --context\n", plural(proof.Undefined, "manifest was", "manifests were"))
	}
	for _, b := range proof.Branches {
		if b.Manifests+b.Counterexamples == 0 {
			fmt.Fprintf(p.Stderr, "  not verified, because no object reached it: policy %s: %s\n", source.Printable(b.Policy), source.Printable(b.Says))
		}
	}
}
