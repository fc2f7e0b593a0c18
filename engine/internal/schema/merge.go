package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	smd "sigs.k8s.io/structured-merge-diff/v4/schema"
	"sigs.k8s.io/structured-merge-diff/v4/typed"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
)

// NoSchemaError reports that a patch changes fields of a kind without a schema. A merge without
// a schema would lose data.
type NoSchemaError struct {
	Kind gvk.Kind
	// Fields are the fields that the patch changes, sorted.
	Fields []string
}

func (e *NoSchemaError) Error() string {
	return fmt.Sprintf("error applying patch: there is no schema of %s; without it only metadata can be merged, but the patch has .%s",
		e.Kind, strings.Join(e.Fields, ", ."))
}

// Merge merges the value of an ApplyConfiguration into an object as k8s.io/apiserver v0.36.3
// does (pkg/admission/plugin/policy/mutating/patch). The result shares the unchanged parts of
// live and patch; if nothing changes, it may be live itself. The server's next steps, conversion
// to the Go type and defaulting, are not part of Merge.
//
// If the server refuses the patch, the error has the server's text, with its lists sorted. The
// error is a *NoSchemaError if a schema is missing.
//
// Values of the patch that are not JSON are refused in the words of the server, provided they
// have the Go types that the server sees, which are those of CEL's Value(): structpb.NullValue
// for null, uint64, []byte, time.Time, time.Duration, and, inside a map or list literal,
// map[ref.Val]ref.Val and []ref.Val.
//
// memo may be nil. Values that it remembers as conforming to the type are not checked again.
func (k *Kind) Merge(memo *change.Memo, live, patch map[string]any, rule KeyRule) (map[string]any, error) {
	return k.merge(memo, live, patch, rule, true)
}

// Apply is Merge for patches that may contain atomic lists, maps and structs, which are replaced
// as a whole. Kyverno v1.19.0 merges like this with useServerSideApply.
func (k *Kind) Apply(memo *change.Memo, live, patch map[string]any, rule KeyRule) (map[string]any, error) {
	return k.merge(memo, live, patch, rule, false)
}

func (k *Kind) merge(memo *change.Memo, live, patch map[string]any, rule KeyRule, guarded bool) (map[string]any, error) {
	patch = maps.Clone(patch)
	for _, name := range []string{"apiVersion", "kind"} { // the patch does not change these
		delete(patch, name)
		if v, found := live[name]; found {
			patch[name] = v
		}
	}
	if k.Unknown || k.Type() == nil {
		return k.mergeMetadata(memo, live, patch, rule, guarded)
	}
	merged, err := k.lazy.merger.merge(memo, k.Type(), rule, live, patch, guarded)
	if err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	return merged, nil
}

// mergeMetadata merges the metadata that every object has.
func (k *Kind) mergeMetadata(memo *change.Memo, live, patch map[string]any, rule KeyRule, guarded bool) (map[string]any, error) {
	known := map[string]any{}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(patch)) {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			others = append(others, name)
		}
	}
	if others != nil {
		return nil, &NoSchemaError{Kind: k.Kind, Fields: others}
	}
	for name := range patch {
		if v, found := live[name]; found {
			known[name] = v
		}
	}
	merged, err := metadataMerger.merge(memo, metadataType(), rule, known, patch, guarded)
	if err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	if change.Same(merged["metadata"], live["metadata"]) {
		return live, nil
	}
	all := maps.Clone(live)
	maps.Copy(all, merged)
	return all, nil
}

var (
	metadataMerger lazyMerger
	metadataType   = sync.OnceValue(func() *Type { return &Type{Fields: typeMeta()} })
)

// merger merges objects of one type with the library.
type merger struct{ typ typed.ParseableType }

type lazyMerger struct {
	once   sync.Once
	merger merger
}

func (l *lazyMerger) get(root *Type) *merger {
	l.once.Do(func() {
		schema, ref := newAtoms(root)
		l.merger = merger{typed.ParseableType{Schema: schema, TypeRef: ref}}
	})
	return &l.merger
}

// merge merges simple cases with mergePlain, in a tenth of the time, and leaves the rest to the
// library.
func (l *lazyMerger) merge(memo *change.Memo, root *Type, rule KeyRule, live, patch map[string]any, guarded bool) (map[string]any, error) {
	if rule == AnyKey && !change.Reference && conforms(memo, root, live) {
		if merged, ok := mergePlain(root, live, patch); ok {
			return merged.(map[string]any), nil
		}
	}
	return l.get(root).merge(rule, live, patch, guarded)
}

// merge merges with the library; guarded refuses atomic values in the patch.
func (m *merger) merge(rule KeyRule, live, patch map[string]any, guarded bool) (map[string]any, error) {
	patchValue, err := m.typed(patch, false)
	if err != nil {
		return nil, fmt.Errorf("failed to convert patch object to typed object: %w", err)
	}
	if atomic := m.atomic(nil, "", m.typ.TypeRef, patch); guarded && len(atomic) > 0 {
		return nil, fmt.Errorf("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: %s", strings.Join(atomic, ", "))
	}
	liveValue, err := m.typed(live, rule == AnyKey)
	if err != nil {
		return nil, fmt.Errorf("failed to convert original object to typed object: %w", err)
	}
	merged, err := liveValue.Merge(patchValue)
	if err != nil {
		return nil, fmt.Errorf("failed to merge patch: %w", err)
	}
	object, ok := merged.AsValue().Unstructured().(map[string]any)
	if !ok {
		return nil, errors.New("failed to merge patch: the result is not an object")
	}
	return object, nil
}

// typed checks an object. The library decides, but its errors are computed here first, in a
// fixed order.
func (m *merger) typed(object map[string]any, duplicates bool) (*typed.TypedValue, error) {
	c := checker{schema: m.typ.Schema, duplicates: duplicates}
	if errs := c.value(m.typ.TypeRef, object); len(errs) > 0 {
		return nil, errs
	}
	if duplicates {
		return m.typ.FromUnstructured(object, typed.AllowDuplicates)
	}
	return m.typ.FromUnstructured(object)
}

// atomic lists the paths of a patch that hold an atomic list, map or struct, including nested
// ones. An ApplyConfiguration must have none, because it would replace values that it does not
// mention. The values of maps are not visited.
func (m *merger) atomic(found []string, path string, ref smd.TypeRef, v any) []string {
	atom, _ := m.typ.Schema.Resolve(ref)
	switch v := v.(type) {
	case map[string]any:
		if atom.Map == nil {
			break
		}
		if atom.Map.ElementRelationship == smd.Atomic {
			found = append(found, path)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if f, declared := atom.Map.FindField(key); declared {
				found = m.atomic(found, path+"."+key, f.Type, v[key])
			}
		}
	case []any:
		if atom.List == nil {
			break
		}
		if atom.List.ElementRelationship == smd.Atomic {
			found = append(found, path)
		}
		for i, item := range v {
			found = m.atomic(found, path+"["+strconv.Itoa(i)+"]", atom.List.ElementType, item)
		}
	}
	return found
}
