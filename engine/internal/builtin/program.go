package builtin

import (
	"errors"
	"iter"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Programs returns the plug-ins with the given names, on a server of Kubernetes 1.minor with a
// configuration, as two programs: one changes objects, and one refuses them at the end. Without
// names the result is empty.
func Programs(names []string, minor int, config Config) []policy.Program {
	admitting := &program{hook: policy.Hook{Point: policy.BuiltIn}, minor: minor, config: config, run: func(p *plugin) func(*call) error { return p.admit }}
	validating := &program{hook: policy.Hook{Point: policy.Validating}, minor: minor, config: config, run: func(p *plugin) func(*call) error { return p.validate }}
	for _, p := range plugins {
		if !slices.Contains(names, p.name) {
			continue
		}
		if p.admit != nil {
			admitting.plugins = append(admitting.plugins, p)
		}
		if p.validate != nil {
			validating.plugins = append(validating.plugins, p)
		}
	}
	var programs []policy.Program
	for _, p := range []*program{admitting, validating} {
		if len(p.plugins) > 0 {
			programs = append(programs, p)
		}
	}
	return programs
}

// program has the plug-ins that run at one point.
type program struct {
	hook    policy.Hook
	minor   int
	config  Config
	plugins []*plugin
	run     func(*plugin) func(*call) error
}

// Hook implements policy.Program.
func (p *program) Hook() policy.Hook { return p.hook }

// Covers implements policy.Program.
func (p *program) Covers(r *policy.Request) bool { return len(p.about(r)) > 0 }

// about returns the plug-ins that apply to a request.
func (p *program) about(r *policy.Request) []*plugin {
	var about []*plugin
	for _, plugin := range p.plugins {
		if plugin.covers(r.Kind.Kind) && (plugin.updates || r.Operation == policy.Create) {
			about = append(about, plugin)
		}
	}
	return about
}

// Plan implements policy.Program.
func (p *program) Plan(r *policy.Request) policy.Plan {
	var plan policy.Plan
	for _, plugin := range p.about(r) {
		plan.Invocations = append(plan.Invocations, &invocation{plugin, p})
	}
	return plan
}

// Reads implements policy.Program.
func (p *program) Reads() []policy.Read {
	var reads []policy.Read
	for _, plugin := range p.plugins {
		for _, kind := range plugin.reads {
			reads = append(reads, policy.Read{Kind: kind, By: policy.ID{Plugin: plugin.name}})
		}
	}
	return reads
}

// Selects implements policy.Program.
func (p *program) Selects() []policy.Selected { return nil }

// Check implements policy.Program.
func (p *program) Check(*schema.Registry, *policy.Kept) []source.Diagnostic { return nil }

// Parts implements policy.Program. Plug-ins are not policies of the user.
func (p *program) Parts() []policy.Part { return nil }

// Existing implements policy.Program.
func (p *program) Existing() policy.Follower { return nil }

// invocation is a plug-in that runs on a request.
type invocation struct {
	plugin  *plugin
	program *program
}

// ID implements policy.Invocation.
func (i *invocation) ID() policy.ID { return policy.ID{Plugin: i.plugin.name} }

// Reinvocable implements policy.Invocation. A server runs all plug-ins again.
func (i *invocation) Reinvocable() bool { return true }

// Conditions implements policy.Invocation.
func (i *invocation) Conditions(*policy.Request) (*policy.NotApplied, *policy.Failure) {
	return nil, nil
}

// Deny implements policy.Invocation.
func (i *invocation) Deny(err error) policy.Failure {
	failure := policy.Failure{ID: i.ID(), Err: err, Abort: true}
	var missing *missing
	if errors.As(err, &missing) {
		failure.Advice = missing.advice
	}
	var answered *answered
	if errors.As(err, &answered) {
		failure.Status = answered.status
	}
	return failure
}

// Steps implements policy.Invocation.
func (i *invocation) Steps(r *policy.Request) iter.Seq[policy.Step] {
	return func(yield func(policy.Step) bool) {
		step := policy.Step{ID: i.ID()}
		c := &call{request: r, object: change.CloneObject(r.Object), minor: i.program.minor, config: &i.program.config}
		if err := i.program.run(i.plugin)(c); err != nil {
			failure := i.Deny(err)
			step.Failure = &failure
		} else if step.Object = c.object; change.Equal(c.object, r.Object) {
			step.Object = r.Object
		}
		step.Annotations = c.annotations
		for _, text := range c.warnings {
			step.Warnings = append(step.Warnings, source.Span{Text: text})
		}
		yield(step)
	}
}
