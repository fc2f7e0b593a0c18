package manifest

import "strings"

// clientAnnotations are annotations in which clients, such as kustomize, keep data about a manifest
// while they run preadmit. A cluster never sees them, so policies do not see them either, and they
// are returned unchanged. A name that ends in "/" is a prefix.
var clientAnnotations = []string{
	// kustomize v5.8 and kpt v1.0 (kyaml): the source of an item.
	"internal.config.kubernetes.io/",
	"config.kubernetes.io/index",
	"config.kubernetes.io/path",
	"config.kubernetes.io/id",
	"config.k8s.io/id",
	// kustomize v5.8: ids, and buildMetadata.
	"kustomize.config.k8s.io/",
	"config.kubernetes.io/origin",
	"alpha.config.kubernetes.io/transformations",
	// Helm v4: the template of a post-rendered object.
	"postrenderer.helm.sh/postrender-filename",
}

// localConfig is the annotation of kustomize and kpt for documents that only clients use.
const localConfig = "config.kubernetes.io/local-config"

// IsLocal reports whether the document is marked as used by clients only, so that it never reaches
// a cluster.
func (d *Document) IsLocal() bool { return d.local }

func isClientAnnotation(name string) bool {
	for _, known := range clientAnnotations {
		if name == known || strings.HasSuffix(known, "/") && strings.HasPrefix(name, known) {
			return true
		}
	}
	return false
}

// HideClientAnnotations removes the annotations of clients from an object and returns them. It
// removes the annotations map as well if the map becomes empty.
func HideClientAnnotations(object map[string]any) (hidden map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for name, value := range annotations {
		if isClientAnnotation(name) {
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

// RestoreClientAnnotations puts back the annotations that HideClientAnnotations has removed.
func RestoreClientAnnotations(object, hidden map[string]any) {
	if len(hidden) == 0 {
		return
	}
	metadata := child(object, "metadata")
	annotations := child(metadata, "annotations")
	for name, value := range hidden {
		annotations[name] = value
	}
}

// child returns the map under a key, and creates it if it is missing.
func child(object map[string]any, key string) map[string]any {
	value, ok := object[key].(map[string]any)
	if !ok {
		value = map[string]any{}
		object[key] = value
	}
	return value
}
