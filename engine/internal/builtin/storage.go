package builtin

import (
	"slices"

	"github.com/preadmit/preadmit/engine/internal/podspec"
)

// storageClass sets the default class of a claim without a class.
func storageClass(c *call) error {
	if _, beta := podspec.Map(c.object, "metadata", "annotations")["volume.beta.kubernetes.io/storage-class"]; beta || c.spec()["storageClassName"] != nil {
		return nil
	}
	name, err := c.newestDefault(storage, "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
	if name != "" {
		c.spec()["storageClassName"] = name
	}
	return err
}

// finalizers prevent storage from being deleted while it is in use.
var finalizers = map[string]string{
	volumes.Kind:    "kubernetes.io/pv-protection",
	claims.Kind:     "kubernetes.io/pvc-protection",
	attributes.Kind: "kubernetes.io/vac-protection",
}

// protectStorage adds its finalizer to storage.
func protectStorage(c *call) error {
	if c.request.Kind.Kind.Kind == attributes.Kind && c.minor < attributeOn {
		return nil
	}
	metadata, finalizer := podspec.Ensure(c.object, "metadata"), finalizers[c.request.Kind.Kind.Kind]
	if list, _ := metadata["finalizers"].([]any); !slices.Contains(list, any(finalizer)) {
		podspec.Append(metadata, "finalizers", finalizer)
	}
	return nil
}
