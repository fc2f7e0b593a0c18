package krmfn

import (
	"context"
	"fmt"
	"io"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// convertKinds are the kinds that policies can be converted to.
var convertKinds = []string{string(engine.MutatingPolicies), string(engine.MutatingAdmissionPolicies)}

const convertText = `Print policies in another form. Comments stay, and what is no such policy is printed as
it was.

Without flags it is the form of admissionregistration.k8s.io/v1: MutatingAdmissionPolicies
in the forms of KEP-3775 and of early versions of KEP-3962, which no API server accepts,
and policies and bindings of older versions.

With --to MutatingPolicy it is Kyverno's form in CEL: the mutate rules of ClusterPolicies
and Policies become MutatingPolicies and NamespacedMutatingPolicies, and exceptions from
them become exceptions from those. With --to MutatingAdmissionPolicy it is that of API
servers, with bindings, for these and for MutatingPolicies of Kyverno. With --verify both forms are run on manifests, and each
object on which they differ is an error. Without one it is said on how many objects that
rests, and what no object came to: for that, objects are made up.

A policy that cannot be said in the new form is an error, which says what to do.

Usage:
  %s

Policies come from the files named, from standard input for -, or if none is named.

Examples:
  preadmit convert policies/
  preadmit convert --to MutatingPolicy policies/
  preadmit convert --to MutatingPolicy --verify manifests/ policies/ > new.yaml

Flags (those with PATH take files and directories, and may be repeated):
%s
Exit status:
  0  the policies are printed
  1  the forms differ on a manifest
  2  a policy cannot be converted, or the input or the command line is wrong
`

func convertHelp(c *command, w io.Writer) { fmt.Fprintf(w, convertText, c.usage, flagsHelp(c)) }

// convert prints policies in another form.
func (p *Process) convert(ctx context.Context, given arguments) int {
	var c config
	given.apply(&c)
	if c.to == "" && len(c.verify) > 0 {
		return p.misused(misusef("argument-invalid", "--verify needs --to"), "preadmit convert --help")
	}
	f := p.files(&c)
	streams := f.stream(given.operands, &c)
	a := &admission{}
	if c.to != "" {
		return p.migrate(ctx, &c, f, a, streams)
	}
	a.add(f.told(&c)...)
	if !source.HasErrors(a.diagnostics) {
		a.add(engine.Convert(streams)...)
	}
	p.report(a.diagnostics, noOutput)
	if a.status() != exitDone {
		return a.status()
	}
	return p.emitManifests(streams, exitDone)
}

// migrate prints the mutate rules of Kyverno in CEL.
func (p *Process) migrate(ctx context.Context, c *config, f *files, a *admission, policies []*manifest.Stream) int {
	set := f.set()
	surroundings := append(set.manifests(c.context.paths), c.context.inline...)
	c.engine.Old = f.set().manifests(c.old.paths)
	c.engine.Values = f.set().manifests(c.values.paths)
	c.engine.UserInfo = f.set().manifests(c.userInfo.paths)
	c.engine.OpenAPI = f.set().openAPI(c.openAPI)
	manifests := f.set().manifests(c.verify)
	a.add(f.told(c)...)
	if source.HasErrors(a.diagnostics) {
		p.report(a.diagnostics, noOutput)
		return exitInvalid
	}
	migrated, diagnostics := engine.Migrate(engine.Form(c.to), policies, surroundings, c.engine)
	a.add(diagnostics...)
	var proof *engine.Proof
	if len(c.verify) > 0 && !source.HasErrors(a.diagnostics) {
		proof, diagnostics = engine.Verify(ctx, policies, migrated, surroundings, manifests, c.engine)
		a.add(diagnostics...)
		if proof != nil {
			a.add(proof.Differences...)
		}
	}
	p.report(a.diagnostics, noOutput)
	switch {
	case proof != nil && source.HasErrors(proof.Differences):
		return exitDiffers
	case a.status() != exitDone:
		return a.status()
	case proof != nil:
		p.tellProof(proof)
	}
	return p.emitManifests(migrated, exitDone)
}

// tellProof says on what a proof rests.
func (p *Process) tellProof(proof *engine.Proof) {
	fmt.Fprintf(p.Stderr, "preadmit: both forms do the same to %s, of which they change %d, and to %s\n",
		plural(proof.Objects, "manifest", "manifests"), proof.Changed, plural(proof.Witnesses, "object that is made up", "objects that are made up"))
	reached, madeUp := 0, 0
	for _, b := range proof.Branches {
		switch {
		case b.Manifests > 0:
			reached++
		case b.Witnesses > 0:
			madeUp++
		}
	}
	fmt.Fprintf(p.Stderr, "of %s, manifests reached %d, and objects that are made up %d more\n", plural(len(proof.Branches), "branch", "branches"), reached, madeUp)
	if proof.Undefined > 0 {
		fmt.Fprintf(p.Stderr, "nothing is proved of %s whose kind nobody defines: give the CustomResourceDefinitions with --context\n", plural(proof.Undefined, "manifest", "manifests"))
	}
	for _, b := range proof.Branches {
		if b.Manifests+b.Witnesses == 0 {
			fmt.Fprintf(p.Stderr, "  not proved, as nothing reached it: policy %s: %s\n", b.Policy, b.Says)
		}
	}
}
