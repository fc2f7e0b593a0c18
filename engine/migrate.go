package engine

import (
	"strings"

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
	s, diagnostics := newSet(policies, context, options)
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
		diagnostics = append(diagnostics, refused(migrated, context, options)...)
	}
	source.Sort(diagnostics)
	return migrated, diagnostics
}

// refused returns what a server or Kyverno would refuse in converted policies.
func refused(policies, context []*manifest.Stream, options Options) []source.Diagnostic {
	_, problems := Compile(policies, context, options)
	var diagnostics []source.Diagnostic
	for _, p := range problems {
		if p.Severity != source.Error {
			continue
		}
		message, _, _ := strings.Cut(p.Message, "\n")
		d := source.Errorf(source.Position{File: p.At.File}, "policy-not-convertible", "this has no equivalent: the converted policy would be refused: %s: %s", p.Field, message).
			With("rewrite that part first")
		d.Subject = p.Subject
		diagnostics = append(diagnostics, d)
	}
	return diagnostics
}
