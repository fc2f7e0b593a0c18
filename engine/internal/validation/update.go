package validation

import (
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/podspec"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/workload"
)

// Updated returns the two objects of an update as a server gives them to validating admission.
func Updated(kind *schema.Kind, admitted, old map[string]any) (object, stored map[string]any) {
	object, stored = change.CloneObject(admitted), change.CloneObject(old)
	before := podspec.Ensure(stored, "metadata")
	setMissing(before, "uid", workload.UID)
	setMissing(before, "creationTimestamp", created)
	setMissing(before, "resourceVersion", revision)
	setMissing(before, "managedFields", managed(kind))
	if counts(kind) {
		setMissing(before, "generation", int64(1))
	}
	after := podspec.Ensure(object, "metadata")
	for _, key := range []string{"uid", "creationTimestamp", "resourceVersion", "generation", "managedFields"} {
		if value, ok := before[key]; ok {
			after[key] = value
		}
	}
	if hasStatus(kind) {
		delete(object, "status")
		if status, ok := stored["status"]; ok {
			object["status"] = change.Clone(status)
		}
	}
	if generation, ok := before["generation"].(int64); ok && counts(kind) && hasNewSpec(kind, object, stored) {
		after["generation"] = generation + 1
	}
	return object, stored
}

// hasNewSpec reports whether an update counts the generation up. For custom resources, everything
// but metadata and status counts.
func hasNewSpec(kind *schema.Kind, object, stored map[string]any) bool {
	if !kind.Custom && !kind.Unknown {
		return !change.Equal(object["spec"], stored["spec"])
	}
	return !change.Equal(without(object), without(stored))
}

func without(object map[string]any) map[string]any {
	rest := map[string]any{}
	for key, value := range object {
		if key != "metadata" && key != "status" {
			rest[key] = value
		}
	}
	return rest
}

func setMissing(m map[string]any, key string, value any) {
	if m[key] == nil {
		m[key] = value
	}
}
