package admission

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// View returns an object as mutating admission sees it on creation: decoded, normalised,
// defaulted and converted as a server of the kind's version does, without the metadata that the
// server sets itself. namespace is the namespace of the request; it becomes metadata.namespace
// if a namespaced object has no namespace. object is not modified.
//
// memo may be nil. Values that it remembers as unchanged are not visited again.
//
// Errors are *FieldError values, joined and sorted by field.
func View(memo *change.Memo, kind *schema.Kind, object map[string]any, namespace string) (map[string]any, error) {
	seen, problems := see(memo, kind, object, true)
	if len(problems) > 0 {
		return nil, join(problems)
	}
	view := record{in: seen, out: seen}
	if metadata := view.child("metadata"); metadata.out != nil {
		wipeMetadata(&metadata)
		if !kind.Namespaced {
			metadata.remove("namespace")
		}
	}
	if kind.Namespaced && namespace != "" {
		metadata := view.ensure("metadata")
		metadata.setAbsent("namespace", namespace)
	}
	return view.out, nil
}

// Redefault returns an object that a policy has changed as the next expression sees it. The
// object is decoded and defaulted again, but not converted (stringData stays, and the alias
// serviceAccount does not follow serviceAccountName), and its metadata stays complete. Fields
// that the kind does not have are dropped without an error. View does the rest at the end of the
// pass, because the server converts then. memo is used as in View.
//
// The error is a *ConversionError, or that of KeepType.
func Redefault(memo *change.Memo, kind *schema.Kind, object map[string]any) (map[string]any, error) {
	object, err := KeepType(kind, object)
	if err != nil {
		return nil, err
	}
	view, problems := see(memo, kind, object, false)
	if len(problems) > 0 {
		return nil, &ConversionError{Kind: kind.Kind, Fields: problems}
	}
	return view, nil
}

// KeepType returns an object that a policy has changed with the apiVersion and kind of its kind. As
// in kube-apiserver 1.36.3, an object of a built-in kind keeps them if the policy has removed or
// emptied them, a custom resource is converted from another version, and anything else is an error:
// a *KindError if the server finds it only when it validates the object.
func KeepType(kind *schema.Kind, object map[string]any) (map[string]any, error) {
	apiVersion, isText := object["apiVersion"].(string)
	name, isName := object["kind"].(string)
	switch {
	case apiVersion == kind.APIVersion() && name == kind.Kind.Kind:
		return object, nil
	case !isText && object["apiVersion"] != nil, !isName && object["kind"] != nil:
		return object, nil // decoding refuses it
	case kind.GoType() == nil:
		return customType(kind, gvk.Parse(apiVersion, name), object)
	}
	kept := gvk.Parse(cmp.Or(apiVersion, kind.APIVersion()), cmp.Or(name, kind.Kind.Kind))
	if kept != kind.Kind {
		return nil, fmt.Errorf("a patch must not make a %s of the object", kept)
	}
	object = maps.Clone(object)
	object["apiVersion"], object["kind"] = kind.APIVersion(), kind.Kind.Kind
	return object, nil
}

// A KindError refuses a custom resource whose kind a policy has changed.
type KindError struct{ text string }

// Error returns the text of the API server's validation.
func (e *KindError) Error() string { return e.text }

// customType converts a custom resource whose apiVersion a policy has changed, as kube-apiserver
// 1.36.3 does: another version of the definition becomes that of the request, also if it is not
// served. Any other apiVersion is an error, and so is another kind.
func customType(kind *schema.Kind, made gvk.Kind, object map[string]any) (map[string]any, error) {
	switch {
	case made.Kind == "":
		text, err := json.Marshal(object)
		return nil, errors.Join(err, fmt.Errorf("Object 'Kind' is missing in '%s'", text))
	case strings.Contains(made.Version, "/"):
		return nil, fmt.Errorf("unexpected GroupVersion string: %s", made.APIVersion())
	case made.Group != kind.Group || kind.Definition == nil && made.Version != kind.Version:
		return nil, fmt.Errorf("failed to convert object: %s is unstructured and is not suitable for converting to %q", made, kind.APIVersion())
	case made.Version != kind.Version && kind.Definition.Versions == nil:
		return nil, fmt.Errorf("failed to convert object: a webhook converts %s to %q, and preadmit does not call it", made, kind.APIVersion())
	case made.Version != kind.Version && !slices.Contains(kind.Definition.Versions, made.Version):
		return nil, fmt.Errorf("failed to convert object: request to convert CR from an invalid group/version: %s", made.APIVersion())
	case made.Kind != kind.Kind.Kind:
		name := text(child(object, "metadata"), "name")
		return nil, &KindError{fmt.Sprintf("%s.%s %q is invalid: kind: Invalid value: %q: must be %s", made.Kind, made.Group, name, made.Kind, kind.Kind.Kind)}
	}
	object = maps.Clone(object)
	object["apiVersion"] = kind.APIVersion()
	return object, nil
}

// see decodes and defaults an object; if request is true it converts the object too.
func see(memo *change.Memo, kind *schema.Kind, object map[string]any, request bool) (map[string]any, []*FieldError) {
	t := kind.GoType()
	if t != nil && stays(memo, &t.Facts.Decoded, object, request) {
		return object, nil
	}
	d := decoders.Get().(*decoder)
	defer d.putBack()
	d.kind, d.converting, d.memo, d.path = kind, request, memo, d.steps[:0]
	view := object
	switch {
	case t != nil:
		view = d.object(t, object)
		for _, r := range d.finer {
			r.round(r.typ.rounded...)
		}
	case request:
		view = d.custom(kind.Type(), object)
	}
	if t := kind.Type(); kind.Custom && t != nil {
		view = d.defaultObject(t, view, true)
	}
	slices.SortFunc(d.problems, func(a, b *FieldError) int { return comparePaths(a.Path, b.Path) })
	return view, d.problems
}

// decoders are the decoders that are not in use.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

func (d *decoder) putBack() {
	*d = decoder{}
	decoders.Put(d)
}

func comparePaths(a, b change.Path) int { return cmp.Compare(a.String(), b.String()) }

func join(problems []*FieldError) error {
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// systemFields are the metadata that a server drops from an object that it creates, and sets itself.
var systemFields = []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "selfLink", "uid"}

// Held is View for an object that a server holds already, as the one before an update and those that policies
// look up: it has the metadata that the server has set.
func Held(memo *change.Memo, kind *schema.Kind, object map[string]any, namespace string) (map[string]any, error) {
	view, err := View(memo, kind, object, namespace)
	if err != nil {
		return nil, err
	}
	given, _ := object["metadata"].(map[string]any)
	seen, _ := view["metadata"].(map[string]any)
	metadata := maps.Clone(seen)
	for _, name := range systemFields {
		if value := given[name]; value != nil {
			metadata[name] = value
		}
	}
	if len(metadata) == len(seen) {
		return view, nil
	}
	view = maps.Clone(view)
	view["metadata"] = metadata
	return view, nil
}

// wipeMetadata drops the metadata that the server sets itself, and duplicate owner references.
func wipeMetadata(metadata *record) {
	for _, name := range systemFields {
		metadata.remove(name)
	}
	references := items(metadata.out, "ownerReferences")
	var kept []any
	for _, r := range references {
		if !slices.ContainsFunc(kept, func(k any) bool { return change.Equal(k, r) }) {
			kept = append(kept, r)
		}
	}
	if len(kept) < len(references) {
		metadata.set("ownerReferences", kept)
	}
}
