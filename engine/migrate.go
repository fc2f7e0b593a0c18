package engine

import (
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/migrate"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// Form is a kind of policy that other policies are converted to.
type Form = migrate.Target

// The forms.
const (
	MutatingPolicies          = migrate.MutatingPolicy
	MutatingAdmissionPolicies = migrate.MutatingAdmissionPolicy
)

// Migrate converts Kyverno's policies among documents. Form MutatingPolicies converts the mutate
// rules of ClusterPolicies and Policies to MutatingPolicies, with their exceptions. The other form
// converts these and MutatingPolicies to MutatingAdmissionPolicies with bindings. All other
// documents stay unchanged. CustomResourceDefinitions in the context define kinds that rules name.
// If any diagnostic is an error, a part of a policy has no equivalent, and the streams lack that
// part.
func Migrate(form Form, policies, context []*manifest.Stream, options Options) ([]*manifest.Stream, []source.Diagnostic) {
	s, diagnostics := newSet(policies, context, options, nil)
	if s == nil || source.HasErrors(diagnostics) {
		return nil, diagnostics
	}
	m := migrate.New(form, s.settings.kyverno, s.schemas)
	for _, d := range documentsOf(policies) {
		if kyverno.IsPolicy(d.Kind()) {
			diagnostics = append(diagnostics, m.Policy(d)...)
		}
	}
	var migrated []*manifest.Stream
	for _, stream := range policies {
		var texts []string
		for _, d := range stream.Documents() {
			written, problems := m.Write(d)
			diagnostics = append(diagnostics, problems...)
			texts = append(texts, written...)
		}
		read, problems := manifest.Read(stream.Name(), []byte(strings.Join(texts, "---\n")))
		diagnostics = append(diagnostics, problems...)
		migrated = append(migrated, read)
	}
	if !source.HasErrors(diagnostics) {
		diagnostics = append(diagnostics, refused(m, policies, migrated, context, options)...)
	}
	source.Sort(diagnostics)
	return migrated, diagnostics
}

// refused returns what a server or Kyverno would refuse in converted policies, at the original
// policies, and in policies that were not converted.
func refused(m *migrate.Migration, policies, migrated, context []*manifest.Stream, options Options) (diagnostics []source.Diagnostic) {
	_, problems := Compile(migrated, context, options)
	for _, p := range problems {
		if p.Severity != source.Error {
			continue
		}
		message, _, _ := strings.Cut(p.Message, "\n")
		at, excerpt, what := source.Position{File: p.At.File}, "", "this has no equivalent: the converted policy would be refused"
		for _, d := range documentsOf(policies) {
			if converted, found := m.Origin(d, p.Subject); found {
				var path change.Path
				if !converted {
					what = "the policy is refused"
					path, _ = change.ParsePath(p.Field)
				}
				at, excerpt = d.At(path), d.Excerpt(d.At(path))
			}
		}
		d := source.Errorf(at, "policy-not-convertible", "%s: %s: %s", what, p.Field, message).With("rewrite that part first")
		d.Subject, d.Excerpt = p.Subject, excerpt
		diagnostics = append(diagnostics, d)
	}
	return diagnostics
}
