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
			if s.isPolicy(d.Kind()) {
				docs.policies = append(docs.policies, d)
				continue
			}
			object := d.Object()
			if !s.settings.Plain && isLocal(d.Kind(), object) {
				docs.local = append(docs.local, d)
				continue
			}
			var hidden map[string]any
			if !s.settings.Plain {
				hidden = manifest.HideClientAnnotations(object)
			}
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
	return s.placeAs(d.Kind(), d.Namespace(), d.Name(), schemas)
}

// placeAs finds the place of an object that says these things of itself.
func (s *Set) placeAs(said gvk.Kind, namespace, name string, schemas *schema.Registry) place {
	kind := schemas.Lookup(said)
	if kind == nil {
		kind = schemas.Unknown(said)
		kind.Namespaced = namespace != ""
	}
	p := place{kind: kind, name: name}
	if kind.Namespaced {
		if p.namespace = namespace; p.namespace == "" {
			p.namespace = s.settings.Namespace
		}
	}
	return p
}

// textAt returns the string at a path of keys, or "".
func textAt(object map[string]any, path ...string) string {
	value, _ := change.Keys(path...).Get(object)
	text, _ := value.(string)
	return text
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
	if textAt(t.raw, "metadata", "name") == "" {
		if _, ok := change.Keys("metadata", "generateName").Get(t.raw); !ok && len(diagnostics) == 0 {
			missing("metadata.name")
		}
	}
	return diagnostics
}
