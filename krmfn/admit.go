package krmfn

import (
	"context"
	"slices"
	"time"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// admission is one run of the engine, with all that there is to say about it.
type admission struct {
	// outcome is nil if the run never began.
	outcome     *engine.Outcome
	diagnostics []source.Diagnostic
	known       map[source.Diagnostic]bool
}

// status is the exit status.
func (a *admission) status() int {
	switch {
	case a.outcome != nil && a.outcome.Denied && !a.outcome.Invalid:
		return exitDenied
	case source.HasErrors(a.diagnostics):
		return exitInvalid
	}
	return exitDone
}

// add adds diagnostics, each once: what is wrong with the policies is found again when
// there are policies among the manifests.
func (a *admission) add(diagnostics ...source.Diagnostic) {
	for _, d := range diagnostics {
		if !a.known[d] {
			a.known[d] = true
			a.diagnostics = append(a.diagnostics, d)
		}
	}
}

// admit reads what the options name and runs the policies on manifests, which are
// edited if all went well. lone is a policy that was given by itself, or nil.
func (p *Process) admit(ctx context.Context, c *config, f *files, manifests []*manifest.Stream, lone *manifest.Document) *admission {
	a := &admission{known: map[source.Diagnostic]bool{}}
	for _, name := range p.Policies {
		c.policies.paths = append(c.policies.paths, path{name: name, label: "PREADMIT_POLICIES"})
	}
	given := f.set()
	policies := append(given.manifests(c.policies.paths), c.policies.inline...)
	surroundings := append(given.manifests(c.context.paths), c.context.inline...)
	c.engine.Old = append(f.set().manifests(c.old.paths), c.old.inline...)
	c.engine.Trees = f.set().trees(c.trees)
	c.engine.OpenAPI = f.set().openAPI(c.openAPI)
	a.add(f.diagnostics...)
	a.add(checkPolicies(policies)...)
	if source.HasErrors(a.diagnostics) {
		return a
	}
	everything := append(append(policies[:len(policies):len(policies)], surroundings...), manifests...)
	if lone != nil {
		binding, notes := bindAlone(lone, everything)
		if binding != nil {
			policies = append(policies, binding)
		}
		a.add(notes...)
	}
	if !hasPolicies(everything) && len(c.engine.Trees) == 0 {
		a.add(source.Warningf(source.Position{}, "no-policies", "there is no policy, so nothing changes").
			With("give policies with -p, in PREADMIT_POLICIES, in the functionConfig, or among the manifests"))
	}
	set, diagnostics := engine.Compile(policies, surroundings, c.engine)
	if hasPolicies(manifests) {
		diagnostics = slices.DeleteFunc(diagnostics, isUnsettled)
	}
	a.add(diagnostics...)
	if set == nil {
		return a
	}
	p.run(ctx, set, manifests, a)
	return a
}

// isUnsettled reports whether policies among the manifests may void a warning of
// Compile. Run finds it again if they do not.
func isUnsettled(d source.Diagnostic) bool {
	return d.Code == "policy-without-binding" || d.Code == "binding-without-policy"
}

// run runs a compiled set.
func (p *Process) run(ctx context.Context, set *engine.Set, manifests []*manifest.Stream, a *admission) {
	var observe func(done, total int)
	if p.StderrIsTerminal {
		progress := newProgress(p.Stderr, time.Now)
		defer progress.end()
		observe = progress.observe
	}
	a.outcome = set.Run(ctx, manifests, observe)
	a.add(a.outcome.Diagnostics...)
	if err := ctx.Err(); err != nil {
		a.outcome.Invalid = true
		a.add(source.Errorf(source.Position{}, "interrupted", "the run did not finish: %v", err))
	}
}
