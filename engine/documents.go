package engine

import (
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/schema"
	"github.com/preadmit/preadmit/engine/source"
)

// sorted is the input of a run by what the documents are.
type sorted struct {
	policies []*manifest.Document
	// local documents never reach a cluster; they are emitted as they are, and give
	// context.
	local   []*manifest.Document
	targets []*target
}

// sortDocuments says what each document is.
func (s *Set) sortDocuments(streams []*manifest.Stream) sorted {
	var docs sorted
	for _, stream := range streams {
		for _, d := range stream.Documents() {
			if s.language(d.Kind()) >= 0 {
				docs.policies = append(docs.policies, d)
				continue
			}
			object := d.Object()
			if isLocal(d.Kind(), object) {
				docs.local = append(docs.local, d)
				continue
			}
			hidden := manifest.HideClientAnnotations(object)
			docs.targets = append(docs.targets, &target{Manifest: &Manifest{Document: d}, raw: object, hidden: hidden})
		}
	}
	return docs
}

const localConfig = "config.kubernetes.io/local-config"

// isLocal reports whether a document is for the tools only and never reaches a
// cluster.
func isLocal(kind gvk.Kind, object map[string]any) bool {
	switch kind.Group {
	case "kpt.dev", "kustomize.config.k8s.io", "preadmit.dev":
		return true
	}
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, _ := annotations[localConfig].(string)
	return value == "true"
}

// place says under what kind, namespace and name a cluster would keep a document.
type place struct {
	kind            *schema.Kind
	namespace, name string
}

// placeOf finds the place of a document. A kind that nobody defined is taken to be
// namespaced if the document names a namespace.
func (s *Set) placeOf(d *manifest.Document, schemas *schema.Registry) place {
	kind := schemas.Lookup(d.Kind())
	if kind == nil {
		kind = schemas.Unknown(d.Kind())
		kind.Namespaced = d.Namespace() != ""
	}
	p := place{kind: kind, name: d.Name()}
	if kind.Namespaced {
		if p.namespace = d.Namespace(); p.namespace == "" {
			p.namespace = s.settings.Namespace
		}
	}
	return p
}

// id names the object for people.
func (p place) id() string {
	parts := []string{p.kind.Group, p.kind.Kind.Kind, p.namespace, p.name}
	if p.kind.Group == "" {
		parts = parts[1:]
	}
	if p.namespace == "" {
		parts = append(parts[:len(parts)-2], p.name)
	}
	return strings.Join(parts, "/")
}

var namespaceKind = gvk.Kind{Version: "v1", Kind: "Namespace"}

// checkIdentity reports what a target must have to be an object.
func (t *target) checkIdentity() []source.Diagnostic {
	d := t.Document
	var diagnostics []source.Diagnostic
	missing := func(field string) {
		diagnostics = append(diagnostics, source.Errorf(d.At(nil), "manifest-invalid", "the document has no %s", field).
			With("every Kubernetes object has apiVersion, kind and metadata.name (or generateName)"))
	}
	if d.Kind().Version == "" {
		missing("apiVersion")
	}
	if d.Kind().Kind == "" {
		missing("kind")
	}
	if d.Name() == "" {
		if _, ok := change.Keys("metadata", "generateName").Get(t.raw); !ok && len(diagnostics) == 0 {
			missing("metadata.name")
		}
	}
	return diagnostics
}
