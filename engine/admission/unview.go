package admission

import (
	"encoding/base64"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/schema"
)

// Unview carries what differs between two views of an object over to the object as
// it was written. view is the View of object and mutated is the view that is wanted;
// values that View would derive may be left out of it.
//
// Only what differs is touched. A quantity that did not change keeps its text; what
// is written as null, or not at all because it is a default, is written where it
// changed; a list that has other items in object than in view is written whole. The
// key of a Secret that changed stays in stringData if it is there and the new value
// is text, and moves to data otherwise. Fields that are ServerOwned are left as they
// are. None of the arguments is modified.
//
// Unview(k, object, v, v) is equal to object. A default may depend on what changed,
// so that the view of the outcome is not yet mutated; then
//
//	object = Unview(k, object, view of object, mutated)
//
// is to be repeated, and pins the default.
func Unview(kind *schema.Kind, object, view, mutated map[string]any) map[string]any {
	u := unviewer{kind}
	out := u.object(nil, object, view, mutated, kind.Type())
	if kind.APIVersion() == "v1" && kind.Kind.Kind == "Secret" {
		restoreStringData(object, view, mutated, out)
	}
	return out
}

type unviewer struct{ kind *schema.Kind }

// object returns object with the differences between from and to.
func (u unviewer) object(path change.Path, object, from, to map[string]any, shape change.Shape) map[string]any {
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	for key := range from {
		if _, ok := to[key]; !ok && !ServerOwned(u.kind, path.Key(key)) {
			delete(out, key)
		}
	}
	for key, wanted := range to {
		had, ok := from[key]
		if ok && change.Equal(had, wanted) {
			continue
		}
		at := path.Key(key)
		if ServerOwned(u.kind, at) {
			continue
		}
		written := object[key]
		value := u.value(at, written, had, wanted, shape.Field(key))
		if written == nil && had != nil && isEmptyMap(value) {
			continue // nothing but removals of what was not written anyhow
		}
		out[key] = value
	}
	return out
}

func isEmptyMap(value any) bool {
	m, ok := value.(map[string]any)
	return ok && len(m) == 0
}

func (u unviewer) value(path change.Path, object, from, to any, shape change.Shape) any {
	switch to := to.(type) {
	case map[string]any:
		written, isMap := object.(map[string]any)
		had, wasMap := from.(map[string]any)
		if isMap && (wasMap || from == nil) || object == nil && wasMap {
			return u.object(path, written, had, to, shape)
		}
	case []any:
		written, _ := object.([]any)
		if from, ok := from.([]any); ok && len(written) == len(from) {
			return u.list(path, written, from, to, shape)
		}
	}
	return change.Clone(to)
}

func (u unviewer) list(path change.Path, object, from, to []any, shape change.Shape) []any {
	out := make([]any, len(to))
	for j, i := range change.Align(from, to, shape) {
		switch {
		case i < 0:
			out[j] = change.Clone(to[j])
		case change.Equal(from[i], to[j]):
			out[j] = object[i]
		default:
			out[j] = u.value(path.Index(j), object[i], from[i], to[j], shape.Item())
		}
	}
	return out
}

// restoreStringData takes the changes of keys that object has in stringData from
// data, where out has them, to stringData.
func restoreStringData(object, view, mutated, out map[string]any) {
	written := child(object, "stringData")
	if written == nil {
		return
	}
	plain, data := maps.Clone(child(out, "stringData")), maps.Clone(child(out, "data"))
	changed := false
	for key := range written {
		wanted, ok := child(mutated, "data")[key]
		if had := child(view, "data")[key]; ok && change.Equal(had, wanted) {
			continue
		}
		changed = true
		text, isText := plainText(wanted)
		switch {
		case !ok:
			delete(plain, key)
		case !isText:
			delete(plain, key)
			continue
		default:
			plain[key] = text
		}
		if old, ok := child(object, "data")[key]; ok && isText {
			data[key] = old
		} else {
			delete(data, key)
		}
	}
	if changed {
		setOrDelete(out, "stringData", plain)
		setOrDelete(out, "data", data)
	}
}

// setOrDelete sets a map that is not empty.
func setOrDelete(out map[string]any, name string, value map[string]any) {
	if len(value) == 0 {
		delete(out, name)
	} else {
		out[name] = value
	}
}

// plainText decodes base64 that holds text.
func plainText(value any) (string, bool) {
	encoded, ok := value.(string)
	data, err := base64.StdEncoding.DecodeString(encoded)
	return string(data), ok && err == nil && utf8.Valid(data)
}

// ServerOwned reports whether kube-apiserver 1.36.3 sets or drops a field itself, or
// refuses to be given it, when an object is created: whatever a policy writes there
// has no effect. The status is the server's where it is a subresource, but for
// Nodes.
func ServerOwned(kind *schema.Kind, path change.Path) bool {
	var names [3]string
	for i := range min(len(path), len(names)) {
		names[i] = path[i].Key
	}
	switch names[0] {
	case "metadata":
		return ownsMetadata(kind, names[1], names[2])
	case "spec":
		return kind.Group == "certificates.k8s.io" && kind.Kind.Kind == "CertificateSigningRequest" &&
			(names[1] == "username" || names[1] == "uid" || names[1] == "groups" || names[1] == "extra")
	case "status":
		return slices.Contains(kind.Subresources, "status") && kind.Resource != "nodes"
	}
	return false
}

func ownsMetadata(kind *schema.Kind, name, key string) bool {
	switch name {
	case "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "managedFields", "resourceVersion", "selfLink", "uid":
		return true
	case "generation":
		return countsGenerations(kind)
	case "annotations":
		return key == "deprecated.daemonset.template.generation" && kind.Group == "apps" && kind.Kind.Kind == "DaemonSet"
	}
	return false
}

// countsGenerations reports whether objects of a kind start with generation 1; the
// others keep what they are given.
func countsGenerations(kind *schema.Kind) bool {
	switch kind.Group {
	case "admissionregistration.k8s.io", "apiextensions.k8s.io", "apps", "batch", "flowcontrol.apiserver.k8s.io", "policy", "scheduling.k8s.io":
		return kind.Kind.Kind != "ControllerRevision"
	}
	switch kind.Resource {
	case "deviceclasses", "devicetaintrules", "endpointslices", "ingressclasses", "ingresses", "networkpolicies", "pods", "podtemplates",
		"replicationcontrollers", "resourceslices":
		return true
	}
	return kind.Custom
}
