package admission

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// Unview applies the differences between two views of an object to the object in the manifest.
// view is the View of object, and mutated is the wanted view; mutated may lack values that View
// would add.
//
// Unview changes only what differs between the views. A quantity that did not change keeps its
// text. A null, or a default that is not in object, is written where it changed. A list whose
// items in object and view differ is written whole. A key of a Secret that changed moves from
// stringData to data, where a server keeps it. Fields that are ServerOwned do not change. None
// of the arguments is modified.
//
// Unview(k, object, v, v) is equal to object. The View of the result may differ from mutated,
// because a default may depend on what changed: see Pin.
func Unview(kind *schema.Kind, object, view, mutated map[string]any) map[string]any {
	return unviewer{kind: kind, limit: math.MaxInt}.unview(object, view, mutated)
}

// Unviews returns Unview for the steps of one object, which gets the result of the step before. It
// modifies what earlier steps have made.
func Unviews(kind *schema.Kind) func(object, view, mutated map[string]any) map[string]any {
	return unviewer{kind: kind, limit: math.MaxInt, copies: change.Copies{}}.unview
}

// Pin returns object with every value that must be written for its View in a namespace to equal
// mutated, except for fields that are ServerOwned. object is manifest with the changes of
// policies; mutated must be a view. Where writing the value that differs is not enough, because
// a default or another field overrules it, Pin writes the whole map around it, and then the map
// around that.
//
// Every value that manifest does not have is in the form in which the server stores it, and a
// map has all keys that it has on the server. Changes that make no difference to the view are
// undone: see Stored. None of the arguments is modified.
//
// memo is used as in View. The error names a field in which the views still differ.
func Pin(memo *change.Memo, kind *schema.Kind, manifest, object map[string]any, namespace string, mutated map[string]any) (map[string]any, error) {
	u := unviewer{kind: kind, limit: math.MaxInt}
	var pinned map[string]any // object, once its view is mutated
	for range maxRounds {
		view, err := View(memo, kind, object, namespace)
		if err != nil {
			return nil, err
		}
		path := u.difference(view, mutated)
		switch {
		case path == nil:
			// For a Secret, this also moves stringData to data.
			next := storer{completing: !isSecret(kind)}.stored(kind, manifest, object, view)
			if pinned != nil || change.Equal(next, object) {
				return object, nil
			}
			pinned, object = object, next
			continue
		case pinned != nil:
			return pinned, nil
		}
		next := u.unview(object, view, mutated)
		for ; change.Equal(next, object); next = u.unview(object, view, mutated) {
			if u.limit = min(u.limit, len(path)) - 1; u.limit < 0 {
				return nil, fmt.Errorf("%s: cannot be written so that it has this value on the server", path)
			}
		}
		object = next
	}
	return nil, fmt.Errorf("the manifest does not lead to the object of the server after %d rounds", maxRounds)
}

// maxRounds bounds the work of Pin. Each round pins what depends on the round before. More than
// three rounds were never seen.
const maxRounds = 10

type unviewer struct {
	kind *schema.Kind
	// limit is the length of paths at which maps that differ are written whole.
	limit int
	// copies are the maps that earlier steps have made, nil if they must not be modified.
	copies change.Copies
}

// difference returns the longest path at which two views differ in a field that is not
// ServerOwned; nil if the views agree.
func (u unviewer) difference(view, mutated map[string]any) change.Path {
	if change.Equal(view, mutated) {
		return nil
	}
	var longest change.Path
	for _, c := range change.Diff(view, mutated, u.kind.Type()) {
		if len(c.Path) > len(longest) && !ServerOwned(u.kind, c.Path) && !u.stored(c) {
			longest = c.Path
		}
	}
	return longest
}

// stored reports whether a server stores both values of a change in the same way: in built-in
// kinds, an empty list becomes null, and a null in a map of bytes becomes "".
func (u unviewer) stored(c change.Change) bool {
	return c.Op == change.Replace && u.kind.GoType() != nil && (c.Old == nil || c.New == nil) && isZero(c.Old) && isZero(c.New)
}

func (u unviewer) unview(object, view, mutated map[string]any) map[string]any {
	if !isSecret(u.kind) {
		return u.object(make(change.Path, 0, depth), object, view, mutated, u.kind.Type())
	}
	view, mutated = foldStringData(view), foldStringData(mutated)
	out := u.object(make(change.Path, 0, depth), object, view, mutated, u.kind.Type())
	dropStringData(object, view, mutated, out)
	return out
}

// object applies the differences between from and to to object. Siblings share the memory of their
// paths.
func (u unviewer) object(path change.Path, object, from, to map[string]any, shape change.Shape) map[string]any {
	if len(path) >= u.limit {
		return u.whole(path, object, to)
	}
	out := u.copies.Object(object)
	common := 0
	for key, wanted := range to {
		had, ok := from[key]
		if ok {
			common++
		}
		if ok && change.Equal(had, wanted) {
			continue
		}
		at := append(path, change.Key(key))
		if ServerOwned(u.kind, at) {
			continue
		}
		written := object[key]
		value := u.value(at, written, had, wanted, shape.Field(key))
		if written == nil && had != nil && isEmptyMap(value) {
			continue // only removals of values that object does not have
		}
		out[key] = value
	}
	if common == len(from) {
		return out
	}
	for key := range from {
		if _, ok := to[key]; !ok && !ServerOwned(u.kind, append(path, change.Key(key))) {
			delete(out, key)
		}
	}
	return out
}

// whole returns to in place of object, except for fields that are ServerOwned and the namespace
// of the request.
func (u unviewer) whole(path change.Path, object, to map[string]any) map[string]any {
	out := make(map[string]any, len(to))
	for key, value := range to {
		if at := path.Key(key); at.String() == "metadata" {
			out[key] = u.whole(at, child(object, key), child(to, key))
		} else if at.String() != "metadata.namespace" && !ServerOwned(u.kind, at) {
			out[key] = change.Clone(value)
		}
	}
	for key, value := range object {
		if at := path.Key(key); at.String() == "metadata.namespace" || ServerOwned(u.kind, at) {
			out[key] = value
		}
	}
	return out
}

// depth is the length of most paths.
const depth = 12

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
			out[j] = u.value(append(path, change.Index(j)), object[i], from[i], to[j], shape.Item())
		}
	}
	return out
}

// dropStringData removes the keys from the stringData of out whose value has changed: stringData
// would win over data.
func dropStringData(object, view, mutated, out map[string]any) {
	kept := maps.Clone(child(object, "stringData"))
	maps.DeleteFunc(kept, func(key string, _ any) bool {
		wanted, ok := child(mutated, "data")[key]
		return !ok || !change.Equal(child(view, "data")[key], wanted)
	})
	switch {
	case len(kept) == len(child(object, "stringData")):
	case len(kept) == 0:
		delete(out, "stringData")
	default:
		out["stringData"] = kept
	}
}

// ServerOwned reports whether kube-apiserver 1.36.3 sets, drops or refuses a field when an
// object is created, so that a policy cannot set it. The server owns status where status is a
// subresource, except for Nodes.
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

// Status is the subresource whose requests change only the status of an object.
const Status = "status"

// Unstored is why a server never stores what a policy writes to a field.
type Unstored struct {
	Text string
	// Instead is the resource whose requests change the field; "" if the server sets it itself.
	Instead string
}

// NotStored returns why kube-apiserver 1.36.3 never stores what a policy writes to a field in requests for any of the
// subresources of an object, or for the object itself if that is ""; nil if it may store it. No subresources means that
// they are not known.
//
// In requests for the status, the strategies of all kinds take the spec from the stored object, that of deployments
// also the labels, and that of custom resources everything but the status.
func NotStored(kind *schema.Kind, subresources []string, path change.Path) (first *Unstored) {
	for i, name := range subresources {
		found := notStoredIn(kind, name, path)
		if found == nil {
			return nil
		}
		if i == 0 {
			first = found
		}
	}
	return first
}

func notStoredIn(kind *schema.Kind, subresource string, path change.Path) *Unstored {
	hasStatus := slices.Contains(kind.Subresources, Status)
	if len(path) == 0 || !hasStatus && (subresource == Status || path[0].Key == Status) {
		return nil
	}
	top, status := path[0].Key, kind.Resource+"/"+Status
	switch {
	case subresource == "" && top == Status && ServerOwned(kind, path):
		return &Unstored{onlyIn(kind, path, kind.Resource, status), status}
	case subresource == "" && ServerOwned(kind, path) && !slices.ContainsFunc(bookkeeping, path.HasPrefix):
		return &Unstored{fmt.Sprintf("an API server sets %s of %s itself", path, kind.Title()), ""}
	case subresource == Status && kind.Custom && top != Status && !slices.ContainsFunc(bookkeeping, path.HasPrefix),
		subresource == Status && top == "spec",
		subresource == Status && kind.Group == "apps" && kind.Resource == "deployments" && path.HasPrefix(change.Keys("metadata", "labels")):
		return &Unstored{onlyIn(kind, path, status, kind.Resource), kind.Resource}
	}
	return nil
}

func onlyIn(kind *schema.Kind, path change.Path, in, instead string) string {
	return fmt.Sprintf("an API server does not store %s of %s in requests for %s, only in those for %s", path, kind.Title(), in, instead)
}

// bookkeeping are fields that policies may write with an effect, although objects are not created with them.
var bookkeeping = append(slices.Clone(Unwritable), change.Keys("metadata", "managedFields"), change.Keys("metadata", "resourceVersion"))

// Unwritable are the fields that kube-apiserver 1.36.3 keeps if a policy sets them, but drops from
// manifests.
var Unwritable = []change.Path{change.Keys("metadata", "deletionTimestamp"), change.Keys("metadata", "deletionGracePeriodSeconds")}

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

// countsGenerations reports whether objects of a kind start with generation 1. Objects of other
// kinds keep the generation they are given.
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
