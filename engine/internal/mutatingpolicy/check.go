package mutatingpolicy

import (
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Check implements policy.Program. It checks a policy for the kinds that it matches, and not for
// the pod controllers to which Kyverno extends it.
func (p *program) Check(schemas *schema.Registry, _ *policy.Kept) []source.Diagnostic {
	isHidden := func(k *schema.Kind) bool { return policy.IsHidden(k.Kind) }
	var found []source.Diagnostic
	for _, u := range p.units {
		d := u.policy
		if u.autogen != "" || d.off != "" {
			continue
		}
		spec := policy.NodeAt(d.document, "spec")
		if d.ignore == p.ignore {
			found = append(found, d.checkDeviations(spec)...)
			found = append(found, d.checkControllers(spec)...)
		}
		checked := policydoc.Checked{Document: d.document, Env: p.language.environment(d.kind), Scope: d.scope}
		constraints := u.constraints
		if d.targets != nil && d.targets.isExplicit {
			constraints = d.targets.rules
			spec = withoutConditions(spec)
		}
		if constraints == nil {
			continue // an expression finds the targets
		}
		checked.AddPolicy(spec)
		if d.targets != nil && d.targets.isExplicit {
			for _, item := range spec.At("targetMatchConditions").Items() {
				checked.Add(item.At("expression"), celenv.Expression{})
			}
		}
		for _, finding := range checked.Check(policydoc.Requests{Kinds: policydoc.KindsOf(constraints, schemas, isHidden), Subresources: constraints.Subresources()}) {
			if finding.Code == celenv.AtomicList {
				if d.serverSideApply {
					continue
				}
				finding.Advice = "use a JSONPatch, or set evaluation.useServerSideApply, or Kyverno fails"
			}
			found = append(found, finding)
		}
	}
	return found
}

// checkControllers reports the controllers of autogen to which Kyverno extends no policy.
func (d *definition) checkControllers(spec policy.Node) (found []source.Diagnostic) {
	var known []string
	for _, c := range controllers {
		for _, r := range c.resources {
			known = append(known, r.Resource)
		}
	}
	for _, chosen := range spec.At("autogen", "podControllers", "controllers").Items() {
		if name := chosen.Text(); !slices.Contains(known, name) {
			at := d.document.At(chosen.Path)
			found = append(found, source.Diagnostic{
				At: at, Severity: source.Warning, Code: "name-unknown", Subject: "policy " + d.name, Field: chosen.Path.String(),
				Message: fmt.Sprintf("Kyverno extends policies to no controller %q", name), Excerpt: d.document.Excerpt(at),
			}.Advised(source.Suggest(name, known)))
		}
	}
	return found
}

// withoutConditions returns the spec of a policy without the conditions about its trigger.
func withoutConditions(spec policy.Node) policy.Node {
	fields := map[string]any{}
	for name, value := range spec.Object() {
		if name != "matchConditions" {
			fields[name] = value
		}
	}
	return policy.Node{Value: fields, Path: spec.Path}
}
