package engine

import (
	"strings"

	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/migrate"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// Migrate says the mutate rules of Kyverno's ClusterPolicies and Policies among documents as
// MutatingPolicies, and their exceptions as exceptions from these. Everything else is as it
// was. What the context defines is known of the kinds that rules are about. If any
// diagnostic is an error, a part of a policy has no equivalent, and the streams lack it.
func Migrate(policies, context []*manifest.Stream, options Options) ([]*manifest.Stream, []source.Diagnostic) {
	s, diagnostics := newSet(policies, context, options)
	if s == nil || source.HasErrors(diagnostics) {
		return nil, diagnostics
	}
	m := migrate.New(s.settings.kyverno, s.schemas)
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
	source.Sort(diagnostics)
	return migrated, diagnostics
}
