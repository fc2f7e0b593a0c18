package cluster

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
)

var (
	namespaceKind  = gvk.Kind{Version: "v1", Kind: "Namespace"}
	definitionKind = gvk.Kind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	secretKind     = gvk.Kind{Version: "v1", Kind: "Secret"}
	nodeKind       = gvk.Kind{Version: "v1", Kind: "Node"}
)

// Description is the name of the file that describes the cluster.
const Description = "preadmit.yaml"

func kindOf(object map[string]any) gvk.Kind {
	return gvk.Parse(textAt(object, "apiVersion"), textAt(object, "kind"))
}

func textAt(object map[string]any, keys ...string) string {
	value, _ := change.Keys(keys...).Get(object)
	text, _ := value.(string)
	return text
}

// Path returns the path of the file of an object in a snapshot.
func Path(object map[string]any) string {
	kind := kindOf(object)
	if kind == engine.ClusterKind {
		return Description
	}
	dir := strings.TrimSuffix(kind.Kind+"."+kind.Group, ".")
	return path.Join(dir, fileName(textAt(object, "metadata", "namespace")), fileName(textAt(object, "metadata", "name"))+".yaml")
}

// fileName returns a name that is the name of a file on all systems. A file kustomization.yaml would
// be a kustomization.
func fileName(name string) string {
	var b strings.Builder
	for i, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	if b.String() == "kustomization" {
		return "%6bustomization"
	}
	return b.String()
}

// tidy returns an object without what changes although nobody has changed the object: what the server
// sets, its status, and the certificates of webhooks, which their programs renew.
func tidy(object map[string]any) map[string]any {
	object = engine.Declared(object)
	kind := kindOf(object)
	switch kind.Kind {
	case namespaceKind.Kind:
		if kind == namespaceKind {
			delete(object, "spec")
		}
	case definitionKind.Kind:
		object = without(object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		items, _ := object["webhooks"].([]any)
		kept := make([]any, len(items))
		for i, item := range items {
			kept[i] = item
			if webhook, isMap := item.(map[string]any); isMap {
				kept[i] = without(webhook, "clientConfig", "caBundle")
			}
		}
		object["webhooks"] = kept
	}
	return object
}

// without returns a copy of an object without a field.
func without(object map[string]any, keys ...string) map[string]any {
	below, isMap := object[keys[0]].(map[string]any)
	switch {
	case len(keys) == 1:
		object = maps.Clone(object)
		delete(object, keys[0])
	case isMap:
		object = maps.Clone(object)
		object[keys[0]] = without(below, keys[1:]...)
	}
	return object
}

// marked returns a Secret with marks in place of its values. They have the length of the values.
func marked(secret map[string]any) map[string]any {
	secret = maps.Clone(secret)
	data, _ := secret["data"].(map[string]any)
	marks := map[string]any{}
	for key, value := range data {
		text, _ := value.(string)
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			decoded = []byte(text)
		}
		marks[key] = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", len(decoded))))
	}
	if data != nil {
		secret["data"] = marks
	}
	if metadata, _ := secret["metadata"].(map[string]any); metadata["annotations"] != nil {
		metadata = maps.Clone(metadata)
		delete(metadata, "annotations") // tools keep values there
		secret["metadata"] = metadata
	}
	return secret
}
