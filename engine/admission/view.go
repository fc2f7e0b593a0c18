package admission

import (
	"cmp"
	"errors"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/schema"
)

// View returns an object as mutating admission sees it when it is created:
// decoded, normalised, defaulted and converted as kube-apiserver 1.36.3 does, without
// the metadata that the server sets itself. namespace is that of the request; it
// becomes metadata.namespace of a namespaced kind that has none. object is not
// modified.
//
// Errors are *FieldError values, joined and sorted by field.
func View(kind *schema.Kind, object map[string]any, namespace string) (map[string]any, error) {
	view, problems := see(kind, object, nil, true)
	if len(problems) > 0 {
		return nil, join(problems)
	}
	if metadata := child(view, "metadata"); metadata != nil {
		wipeMetadata(metadata)
		if !kind.Namespaced {
			delete(metadata, "namespace")
		}
	}
	if kind.Namespaced && namespace != "" {
		setAbsent(ensure(view, "metadata"), "namespace", namespace)
	}
	return view, nil
}

// Redefault returns an object that a policy has changed as the next expression sees
// it: decoded and defaulted again, but neither converted (stringData stays, and
// the alias serviceAccount does not follow serviceAccountName) nor robbed of
// metadata. Fields that the kind does not have are dropped without an error. View
// does the rest when the pass is over: the server converts then.
//
// stable is an object that Redefault returns as it is, or nil. What it shares with
// object need not be looked at again, and is shared by the result.
//
// The error is a *ConversionError.
func Redefault(kind *schema.Kind, object, stable map[string]any) (map[string]any, error) {
	view, problems := see(kind, object, stable, false)
	if len(problems) > 0 {
		return nil, &ConversionError{Kind: kind.Kind, Fields: problems}
	}
	return view, nil
}

// see decodes and defaults an object; on a request it converts it too.
func see(kind *schema.Kind, object, stable map[string]any, request bool) (map[string]any, []*FieldError) {
	d := decoder{kind: kind, converting: request, path: make(change.Path, 0, 16), stable: stable}
	var view map[string]any
	switch t := builtin(kind); {
	case t != nil:
		view = d.object(t, object)
		d.round()
	case request:
		view = d.custom(kind.Type(), object)
	default:
		view = change.CloneObject(object)
	}
	if kind.Custom {
		d.defaultCustom(kind.Type(), view, true)
	}
	slices.SortFunc(d.problems, func(a, b *FieldError) int { return comparePaths(a.Path, b.Path) })
	return view, d.problems
}

// builtin returns the Go type of a kind, nil if the kind has none that is known.
func builtin(kind *schema.Kind) *goType {
	if kind.Custom || kind.Unknown {
		return nil
	}
	return lookup(kind.APIVersion() + "." + kind.Kind.Kind)
}

func comparePaths(a, b change.Path) int { return cmp.Compare(a.String(), b.String()) }

func join(problems []*FieldError) error {
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// wipeMetadata drops what the server sets itself, and owner references that are
// there twice.
func wipeMetadata(metadata map[string]any) {
	for _, name := range []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "selfLink", "uid"} {
		delete(metadata, name)
	}
	references := items(metadata, "ownerReferences")
	var kept []any
	for _, r := range references {
		if !slices.ContainsFunc(kept, func(k any) bool { return change.Equal(k, r) }) {
			kept = append(kept, r)
		}
	}
	if len(kept) < len(references) {
		metadata["ownerReferences"] = kept
	}
}
