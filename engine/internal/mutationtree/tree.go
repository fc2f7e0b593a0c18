package mutationtree

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// A tree is a compiled mutation tree.
type tree struct {
	at change.Path
	// Exactly one of these is set; a tree without any of them is null.
	fields *[]field
	items  *[]tree
	scalar expression
}

// field is an entry of a map in a tree. Entries keep their written order.
type field struct {
	key string
	// replaces says that the key was written in brackets.
	replaces bool
	tree     tree
}

// replaceSyntax is the syntax of a key whose value is replaced.
var replaceSyntax = lazyregexp.New(`^\[(.+)\]$`)

// parseTree compiles the value of a tree.
func (c *compiler) parseTree(value any, language string, at change.Path) tree {
	switch value := value.(type) {
	case nil:
		return tree{at: at}
	case map[string]any:
		return c.parseFields(value, language, at)
	case []any:
		items := make([]tree, len(value))
		for i := range value {
			items[i] = c.parseTree(value[i], language, at.Index(i))
		}
		return tree{at: at, items: &items}
	default:
		return tree{at: at, scalar: c.parseScalar(value, language, at)}
	}
}

func (c *compiler) parseFields(object map[string]any, language string, at change.Path) tree {
	fields := make([]field, 0, len(object))
	written := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at := at.Key(key)
		f := field{key: key, tree: c.parseTree(object[key], language, at)}
		if m := escapeSyntax().FindStringSubmatch(key); m != nil {
			f.key = m[1]
		} else if m := replaceSyntax().FindStringSubmatch(key); m != nil {
			f.key, f.replaces = m[1], true
		} else if expressionSyntax().MatchString(key) {
			c.fail(at, "a key in parentheses is reserved", `write \`+key+`\ for a key with this text`)
		}
		if other, twice := written[f.key]; twice {
			c.fail(at, fmt.Sprintf("%s and %s are the same field", other, key), "keep one of the two")
		}
		written[f.key] = key
		fields = append(fields, f)
	}
	return tree{at: at, fields: &fields}
}

// evaluation is one application of a tree.
type evaluation struct {
	ctx      context.Context
	bindings *bindings
}

// evaluationError reports which part of a tree failed.
type evaluationError struct {
	at  change.Path
	err error
}

func (e *evaluationError) Error() string { return e.err.Error() }

func (e *evaluationError) Unwrap() error { return e.err }

// merge returns the result of applying a tree to a value; keep is false if the result is to be
// removed. given is false if there was no value.
func (e *evaluation) merge(t tree, value any, given bool) (result any, keep bool, err error) {
	switch {
	case t.fields != nil:
		result, err = e.mergeFields(*t.fields, value)
		return result, true, err
	case t.items != nil:
		result, err = e.compute(t, value)
		return result, true, err
	case t.scalar == nil:
		return nil, given && value == nil, nil
	}
	result, err = e.evaluate(t, value)
	if patch, ok := result.(map[string]any); ok && err == nil {
		if _, isText := t.scalar.(literal); !isText {
			return mergePlain(patch, value), true, nil
		}
	}
	if result == nil {
		return nil, given && value == nil, err
	}
	return result, true, err
}

// mergeFields merges the fields of a tree into a value. A value that is not a map is replaced.
// The value is not modified.
func (e *evaluation) mergeFields(fields []field, value any) (map[string]any, error) {
	old, _ := value.(map[string]any)
	merged := maps.Clone(old)
	if merged == nil {
		merged = map[string]any{}
	}
	for _, f := range fields {
		before, given := old[f.key]
		var after any
		var err error
		keep := true
		if f.replaces {
			after, err = e.compute(f.tree, before)
		} else {
			after, keep, err = e.merge(f.tree, before, given)
		}
		if err != nil {
			return nil, err
		}
		if keep {
			merged[f.key] = after
		} else {
			delete(merged, f.key)
		}
	}
	return merged, nil
}

// compute returns the value of a tree without merging. Its expressions see the old value at
// their place.
func (e *evaluation) compute(t tree, value any) (any, error) {
	switch {
	case t.fields != nil:
		old, _ := value.(map[string]any)
		object := make(map[string]any, len(*t.fields))
		for _, f := range *t.fields {
			computed, err := e.compute(f.tree, old[f.key])
			if err != nil {
				return nil, err
			}
			object[f.key] = computed
		}
		return object, nil
	case t.items != nil:
		old, _ := value.([]any)
		list := make([]any, len(*t.items))
		for i, item := range *t.items {
			var before any
			if i < len(old) {
				before = old[i]
			}
			computed, err := e.compute(item, before)
			if err != nil {
				return nil, err
			}
			list[i] = computed
		}
		return list, nil
	case t.scalar == nil:
		return nil, nil
	}
	return e.evaluate(t, value)
}

func (e *evaluation) evaluate(t tree, value any) (any, error) {
	result, err := t.scalar.evaluate(e.ctx, value, e.bindings)
	if err != nil {
		return nil, &evaluationError{t.at, err}
	}
	return result, nil
}

// mergePlain merges a map that an expression computed: nulls remove, and its strings are not
// parsed.
func mergePlain(patch map[string]any, value any) map[string]any {
	old, _ := value.(map[string]any)
	merged := maps.Clone(old)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, after := range patch {
		before, given := old[key]
		switch after := after.(type) {
		case nil:
			if given && before != nil {
				delete(merged, key)
			}
		case map[string]any:
			merged[key] = mergePlain(after, before)
		default:
			merged[key] = after
		}
	}
	return merged
}
