package admission

import (
	"errors"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// custom decodes a custom resource as k8s.io/apiextensions-apiserver v0.36.3 does
// (pkg/apiserver/schema: pruning, defaulting, objectmeta). It drops undeclared fields and nulls
// that are not allowed, and reads and writes metadata as ObjectMeta, also in embedded objects.
// Without a schema (t is nil) it treats only metadata.
func (d *decoder) custom(t *schema.Type, object map[string]any) map[string]any {
	if t == nil || d.kind.Unknown || !d.kind.Custom {
		return d.withMetadata(object)
	}
	return d.pruneObject(t, object, true)
}

func (d *decoder) withMetadata(object map[string]any) map[string]any {
	r := record{in: object, out: object}
	if metadata, ok := object["metadata"]; ok {
		r.set("metadata", d.metadata(metadata))
	}
	return r.out
}

// DropMalformed returns a custom resource that policies have changed as kube-apiserver 1.36.3 stores
// it: without the fields of its metadata that ObjectMeta cannot have
// (k8s.io/apiextensions-apiserver v0.36.3, pkg/apiserver/schema/objectmeta). It is an error if the
// metadata is not a map.
func DropMalformed(kind *schema.Kind, object map[string]any) (map[string]any, error) {
	given, ok := object["metadata"]
	if !kind.Custom || !ok {
		return object, nil
	}
	fields, ok := given.(map[string]any)
	if !ok {
		return nil, errors.New("Internal error occurred: system metadata was not initialized")
	}
	r := record{in: object, out: object}
	metadata := record{in: fields, out: fields}
	for key, value := range fields {
		d := decoder{kind: kind}
		if d.metadata(map[string]any{key: value}); len(d.problems) > 0 {
			metadata.remove(key)
		}
	}
	r.set("metadata", metadata.out)
	return r.out, nil
}

// metadata reads and writes the metadata of an object.
func (d *decoder) metadata(in any) any {
	d.path = append(d.path, change.Key("metadata"))
	out := d.item(objectMeta(), in)
	d.path = d.path[:len(d.path)-1]
	return out
}

// prune returns a value of a custom resource without the fields that its schema drops. With a
// nil type, the schema says nothing about the value, and everything inside is dropped.
func (d *decoder) prune(t *schema.Type, in any) any {
	switch value := in.(type) {
	case map[string]any:
		return d.pruneObject(t, value, false)
	case []any:
		if t != nil && (t.Preserve && !t.IsList || d.stays(&t.Facts.Pruned, in)) {
			return in
		}
		before, out := d.mark(), value
		for i, item := range value {
			d.looked++
			d.path = append(d.path, change.Index(i))
			out = change.WithItem(value, out, i, d.prune(t.ItemType(), item))
			d.path = d.path[:len(d.path)-1]
		}
		if !change.Same(in, out) {
			return out
		}
		if t != nil {
			d.note(&t.Facts.Pruned, in, before)
		}
	}
	return in
}

func (d *decoder) pruneObject(t *schema.Type, in map[string]any, root bool) map[string]any {
	remember := t != nil && !root // the root has other rules, and always changes anyway
	if remember && d.stays(&t.Facts.Pruned, in) {
		return in
	}
	before, r := d.mark(), record{in: in, out: in}
	for key, value := range in {
		d.looked++
		if (root || t != nil && t.Embedded) && isTypeMeta(key) {
			r.set(key, d.typeMeta(key, value))
			continue
		}
		of, nullable, declared := declaration(t, key)
		switch {
		case declared && (value != nil || nullable):
			d.path = append(d.path, change.Key(key))
			r.set(key, d.prune(of, value))
			d.path = d.path[:len(d.path)-1]
		case declared || t == nil || !t.Preserve:
			r.remove(key)
		}
	}
	if remember && !r.isUnshared() {
		d.note(&t.Facts.Pruned, in, before)
	}
	return r.out
}

func isTypeMeta(key string) bool {
	return key == "apiVersion" || key == "kind" || key == "metadata"
}

// typeMeta decodes one of the fields that every object has.
func (d *decoder) typeMeta(key string, value any) any {
	if key == "metadata" {
		return d.metadata(value)
	}
	if _, ok := value.(string); !ok {
		d.path = append(d.path, change.Key(key))
		d.wrongType(stringType, value)
		d.path = d.path[:len(d.path)-1]
	}
	return value
}

// declaration returns the type of the value under key in an object of a custom resource.
// nullable says that a null there stays, because it is allowed or because a default will replace
// it.
func declaration(t *schema.Type, key string) (of *schema.Type, nullable, declared bool) {
	if f := t.Declared(key); f != nil {
		return f.Type, f.Nullable || f.Default != nil, true
	}
	if t == nil || !hasValues(t) {
		return nil, false, false
	}
	if isAnything(t.Elem) {
		return nil, true, true
	}
	return t.Elem, t.ElemNullable || t.ElemDefault != nil, true
}

// hasValues reports whether the schema says something about undeclared fields
// (additionalProperties). If it does not, Elem only says what a merge may write: fields of
// objects that prune, or plain untyped values in objects that preserve.
func hasValues(t *schema.Type) bool {
	if t.IsList || t.Prunes || t.Elem == nil {
		return false
	}
	return !t.Preserve || t.Elem.Scalar != schema.Untyped || t.Elem.Preserve || t.Elem.Prunes
}

// isAnything reports whether the type is that of additionalProperties: true.
func isAnything(t *schema.Type) bool { return t.Scalar == schema.Untyped && t.Prunes }

// defaultCustom returns a value with the defaults of a schema. A default replaces a missing
// value and a null that is not allowed.
func (d *decoder) defaultCustom(t *schema.Type, in any) any {
	switch value := in.(type) {
	case map[string]any:
		if t != nil {
			return d.defaultObject(t, value, false)
		}
	case []any:
		if t.ItemType() == nil || d.stays(&t.Facts.Defaulted, in) {
			return in
		}
		before, out := d.mark(), value
		for i, item := range value {
			d.looked++
			out = change.WithItem(value, out, i, d.defaultElem(t, item))
		}
		if !change.Same(in, out) {
			return out
		}
		d.note(&t.Facts.Defaulted, in, before)
	}
	return in
}

func (d *decoder) defaultObject(t *schema.Type, in map[string]any, root bool) map[string]any {
	if !root && d.stays(&t.Facts.Defaulted, in) {
		return in
	}
	before, r := d.mark(), record{in: in, out: in}
	whole := root || t.Embedded
	for i := range t.Fields {
		f := &t.Fields[i]
		if whole && isTypeMeta(f.Name) || f.Default == nil {
			continue
		}
		if given, ok := in[f.Name]; !ok || given == nil && !f.Nullable {
			r.set(f.Name, d.defaultCustom(f.Type, d.prune(f.Type, f.Default)))
		}
	}
	for key, item := range in {
		d.looked++
		if whole && isTypeMeta(key) {
			continue
		}
		switch f := t.Declared(key); {
		case f == nil && hasValues(t):
			r.set(key, d.defaultElem(t, item))
		case f != nil && item != nil:
			r.set(key, d.defaultCustom(f.Type, item))
		}
	}
	if !root && !r.isUnshared() {
		d.note(&t.Facts.Defaulted, in, before)
	}
	return r.out
}

// defaultElem defaults an item of a list, or a value of a map, and everything in it.
func (d *decoder) defaultElem(t *schema.Type, item any) any {
	if item == nil && !t.ElemNullable && t.ElemDefault != nil {
		item = d.prune(t.Elem, t.ElemDefault)
	}
	return d.defaultCustom(t.Elem, item)
}
