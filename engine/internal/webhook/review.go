package webhook

import (
	"crypto/sha256"
	"fmt"
	"maps"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

const (
	admissionGroup = "admission.k8s.io"
	reviewKind     = "AdmissionReview"
)

// review returns the AdmissionReview that a server sends.
func (c *call) review(r *policy.Request) map[string]any {
	request := r.Attributes(c.to.Kind, c.to.Kind)
	request["object"] = bare(c.to.InVersion(r.Object))
	if r.OldObject != nil {
		request["oldObject"] = bare(c.to.InVersion(r.OldObject))
	}
	delete(request, "uid")
	request["uid"] = uid(c.webhook.name, request)
	return map[string]any{"apiVersion": admissionGroup + "/" + c.webhook.version(), "kind": reviewKind, "request": request}
}

// drawn are the fields of metadata that a server draws.
var drawn = []string{"uid", "creationTimestamp", "managedFields", "resourceVersion", "generation"}

// bare returns an object without the fields that a server draws, as recordings have it.
func bare(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	for _, key := range drawn {
		delete(metadata, key)
	}
	if metadata != nil {
		object["metadata"] = metadata
	}
	return object
}

// uid returns the uid of a request. Equal requests have the same.
func uid(w policy.WebhookName, request map[string]any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", w.Configuration, w.Name, manifest.JSON(request)))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// uidOf returns the uid of the request in a review.
func uidOf(review map[string]any) string {
	value, _ := change.Keys("request", "uid").Get(review)
	text, _ := value.(string)
	return text
}
