package manifest

import (
	"slices"
	"strings"
)

// kustomizeAnnotations are annotations in which kustomize v5.8 and kpt v1.0 keep data about the
// items of a function, or of an exec plugin, while it runs. A name that ends in "/" is a prefix.
var kustomizeAnnotations = []string{
	// kyaml: the source of an item.
	"internal.config.kubernetes.io/",
	"config.kubernetes.io/index",
	"config.kubernetes.io/path",
	"config.kubernetes.io/id",
	"config.k8s.io/id",
	// kustomize: ids, and buildMetadata.
	"kustomize.config.k8s.io/",
	"config.kubernetes.io/origin",
	"alpha.config.kubernetes.io/transformations",
}

// helmAnnotations is the annotation in which Helm v4 keeps the template of an object while a
// post-renderer runs. Helm writes to standard input.
var helmAnnotations = []string{"postrenderer.helm.sh/postrender-filename"}

// localConfig is the annotation of kustomize and kpt for documents that only clients use.
const localConfig = "config.kubernetes.io/local-config"

// IsLocal reports whether the document is marked as used by clients only, so that it never reaches
// a cluster.
func (d *Document) IsLocal() bool { return d.local }

// MarkPlugin tells that an exec plugin of kustomize got the stream.
func (s *Stream) MarkPlugin() { s.plugin = true }

// clientAnnotations are the annotations that the client that runs preadmit has added to the
// stream, and removes later. A cluster never sees them. In any other stream it does: they are part
// of the manifests.
func (s *Stream) clientAnnotations() []string {
	switch {
	case s.list != nil || s.plugin:
		return kustomizeAnnotations
	case s.name == "-":
		return helmAnnotations
	}
	return nil
}

// HideClientAnnotations removes the annotations of the client that runs preadmit from the object of
// the document and returns them. It removes the annotations map as well if the map becomes empty.
func (d *Document) HideClientAnnotations(object map[string]any) (hidden map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	clients := d.Stream().clientAnnotations()
	for name, value := range annotations {
		isClients := func(known string) bool {
			return name == known || strings.HasSuffix(known, "/") && strings.HasPrefix(name, known)
		}
		if slices.ContainsFunc(clients, isClients) {
			if hidden == nil {
				hidden = map[string]any{}
			}
			hidden[name] = value
			delete(annotations, name)
		}
	}
	if hidden != nil && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return hidden
}
