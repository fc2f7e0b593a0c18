package engine

import (
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/builtin"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// input is the input of a run, sorted by the role of the documents.
type input struct {
	policies []*manifest.Document
	// local documents never reach a cluster. They are in the output unchanged, and are context.
	local []*manifest.Document
	// manifests are all other documents.
	manifests []*manifest.Document
	// secrets are the values that must not be shown. given are those that the input has; policies write
	// others.
	secrets, given *redact.Redactor
}

// sort assigns each document its role, and learns all secrets of the input.
func (s *Set) sort(streams []*manifest.Stream) *input {
	in := &input{secrets: &redact.Redactor{}}
	for _, d := range documentsOf(streams) {
		switch {
		case s.isPolicy(d.Kind()):
			in.policies = append(in.policies, d)
		case !s.settings.options.Plain && isLocal(d):
			in.local = append(in.local, d)
		default:
			in.manifests = append(in.manifests, d)
		}
	}
	for _, documents := range [][]*manifest.Document{s.context, s.old, in.local, in.manifests} {
		learn(in.secrets, documents)
	}
	in.given = in.secrets.With(nil)
	return in
}

// isLocal reports whether a document is for clients only and never reaches a cluster.
func isLocal(d *manifest.Document) bool {
	switch d.Kind().Group {
	case "kpt.dev", "kustomize.config.k8s.io", "preadmit.dev", given.Group:
		return true
	}
	return builtin.IsConfig(d.Kind()) || d.IsLocal()
}

var namespaceKind = gvk.Kind{Version: "v1", Kind: "Namespace"}

// checkIdentity reports missing fields that every object needs. l is the document after mutation
// trees, or nil if there are no trees.
func (s *Set) checkIdentity(d *manifest.Document, l *loaded) []source.Diagnostic {
	var diagnostics []source.Diagnostic
	missing := func(path ...string) { diagnostics = append(diagnostics, s.missingIdentity(d, change.Keys(path...))) }
	if d.Kind().Version == "" {
		missing("apiVersion")
	}
	if d.Kind().Kind == "" {
		missing("kind")
	}
	if len(diagnostics) > 0 || l == nil && d.Name() != "" {
		return diagnostics
	}
	var raw map[string]any
	if l == nil {
		raw = d.Object()
	} else {
		raw = l.raw
	}
	name, given := change.Keys("metadata", "name").Get(raw)
	if text, isText := name.(string); isText && text != "" {
		return nil
	}
	if given && name != nil && name != "" {
		wrong := source.Errorf(d.At(change.Keys("metadata", "name")), "manifest-invalid", "metadata.name is %s, not a string", change.Describe(name))
		switch name.(type) {
		case map[string]any, []any:
		default:
			wrong = d.Quoted(wrong.With("put it in quotes: kubectl reads y, n, on, off, yes, no and numbers as other values"), change.Keys("metadata", "name"))
		}
		return []source.Diagnostic{wrong}
	}
	if _, ok := change.Keys("metadata", "generateName").Get(raw); !ok {
		missing("metadata", "name")
	}
	return diagnostics
}
