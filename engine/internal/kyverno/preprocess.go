package kyverno

import (
	"errors"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/strategicmerge"
)

// This file reproduces how Kyverno v1.19.0 treats a strategic merge patch with anchors, defects
// included. Kyverno changes the patch in place while it compares it with the object
// (PreProcessPattern in pkg/engine/mutate/patch), and then merges the rest of the patch.

// sequence is a list of a patch that can grow and shrink in place.
type sequence struct{ items []any }

// mutable returns a copy of a value of a patch that can be changed in place.
func mutable(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, member := range value {
			copied[key] = mutable(member)
		}
		return copied
	case []any:
		copied := &sequence{make([]any, len(value))}
		for i, item := range value {
			copied.items[i] = mutable(item)
		}
		return copied
	}
	return value
}

// immutable reverses mutable.
func immutable(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, member := range value {
			copied[key] = immutable(member)
		}
		return copied
	case *sequence:
		copied := make([]any, len(value.items))
		for i, item := range value.items {
			copied[i] = immutable(item)
		}
		return copied
	}
	return value
}

var (
	errCondition       = errors.New("a condition does not hold")
	errGlobalCondition = errors.New("a global condition does not hold")
	errNotAList        = errors.New("the object has no list where the patch has one")
	errCrash           = errors.New("it crashes when it deletes items of the patch")
	errNoPatch         = errors.New("what it leaves of the patch does not fit the object")
)

// asInKyverno returns the object as Kyverno v1.19.0 would change it.
func asInKyverno(pattern, object map[string]any, t *schema.Type) (map[string]any, error) {
	patch := mutable(pattern).(map[string]any)
	switch err := preprocess(patch, object, true); {
	case errors.Is(err, errCondition) || errors.Is(err, errGlobalCondition):
		return object, nil
	case err != nil:
		return nil, err
	}
	for key, member := range patch {
		remove, err := deleteAnchors(member, isConditionKey(key))
		if err != nil {
			return nil, err
		}
		if remove {
			delete(patch, key)
		}
	}
	merged, err := strategicmerge.Merge(object, immutable(patch).(map[string]any), t)
	if err != nil {
		return nil, errNoPatch
	}
	return merged, nil
}

// preprocess compares a part of the patch with the same part of the object.
func preprocess(pattern, value any, present bool) error {
	switch pattern := pattern.(type) {
	case map[string]any:
		return preprocessMap(pattern, value)
	case *sequence:
		if len(pattern.items) > 0 {
			if _, ok := pattern.items[0].(map[string]any); ok {
				return preprocessList(pattern, value, present)
			}
		}
	}
	return nil
}

func preprocessMap(pattern map[string]any, value any) error {
	object, _ := value.(map[string]any)
	decideAdditions(pattern, object)
	for _, global := range []bool{true, false} {
		for key, condition := range pattern {
			a, bare := parseAnchor(key)
			if !isConditionKey(key) || (a == globalAnchor) != global || holdsInKyverno(condition, object, bare) {
				continue
			}
			if global {
				return errGlobalCondition
			}
			return errCondition
		}
	}
	for _, key := range slices.Sorted(maps.Keys(pattern)) {
		if a, _ := parseAnchor(key); a != noAnchor {
			continue
		}
		member, present := object[key]
		if err := preprocess(pattern[key], member, present); err != nil {
			return err
		}
	}
	return nil
}

// decideAdditions turns a key with +( ) into a plain key if the object lacks it, and deletes it
// otherwise. It returns the number of such keys.
func decideAdditions(pattern, object map[string]any) int {
	count := 0
	for _, key := range slices.Collect(maps.Keys(pattern)) {
		a, bare := parseAnchor(key)
		if a != addAnchor {
			continue
		}
		count++
		if _, present := object[bare]; !present {
			pattern[bare] = pattern[key]
		}
		delete(pattern, key)
	}
	return count
}

func holdsInKyverno(condition any, object map[string]any, key string) bool {
	value, present := object[key]
	if !present {
		return false
	}
	if adding, ok := condition.(map[string]any); ok {
		below, _ := value.(map[string]any)
		if decideAdditions(adding, below) > 0 {
			return true
		}
	}
	return matchPattern(value, immutable(condition), nil) == nil
}

// preprocessList adds a copy of each item with anchors for each item of the object's list that
// meets its conditions. The items of the object share one copy of the pattern, so that a
// decision for one item also applies to later items.
func preprocessList(pattern *sequence, value any, present bool) error {
	list, ok := value.([]any)
	if present && value != nil && !ok {
		return errNotAList
	}
	if !present {
		list = []any{nil}
	}
	for _, item := range slices.Clone(pattern.items) {
		if !hasAnchorsLoosened(item) {
			continue
		}
		isGate := hasAnchor(immutable(item), func(a anchor) bool { return a == globalAnchor })
		shared, passed, failed := mutable(immutable(item)), false, error(nil)
		for _, member := range list {
			err := preprocess(shared, member, present)
			switch {
			case errors.Is(err, errCondition):
			case errors.Is(err, errGlobalCondition) && present:
				failed = err
			case err != nil:
				return err
			case isGate:
				passed = true
			case present:
				if err := pattern.addNamed(shared, member); err != nil {
					return err
				}
			}
		}
		if !passed && failed != nil {
			return failed
		}
	}
	return nil
}

// addNamed adds a copy of a pattern for an item of the object, if the item has a name.
func (s *sequence) addNamed(pattern, item any) error {
	object, _ := item.(map[string]any)
	name := object["name"]
	if name == nil || name == "" {
		return nil
	}
	copied, isMap := mutable(immutable(pattern)).(map[string]any)
	empty, err := deleteAnchors(copied, true)
	if err != nil || empty || !isMap {
		return err
	}
	copied["name"] = name
	s.items = append(s.items, copied)
	return nil
}

func hasAnchorsLoosened(value any) bool {
	return hasAnchor(immutable(value), func(a anchor) bool { return isDecided(a) })
}

// isDecided reports whether an anchor is allowed in a patch.
func isDecided(a anchor) bool { return a == conditionAnchor || a == globalAnchor || a == addAnchor }

// deleteAnchors deletes conditions, and reports whether nothing remains. single says to delete
// scalars, too.
func deleteAnchors(value any, single bool) (remove bool, err error) {
	switch value := value.(type) {
	case map[string]any:
		return deleteInMap(value)
	case *sequence:
		return value.deleteAnchors()
	}
	return single, nil
}

// deleteInMap deletes conditions from a map. Values in a condition that are not anchors remain,
// as part of the patch.
func deleteInMap(patch map[string]any) (remove bool, err error) {
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		if !isConditionKey(key) {
			continue
		}
		remove, err := deleteAnchors(patch[key], true)
		if err != nil {
			return false, err
		}
		if !remove {
			_, bare := parseAnchor(key)
			patch[bare] = patch[key]
		}
		delete(patch, key)
	}
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		remove, err := deleteAnchors(patch[key], false)
		if err != nil {
			return false, err
		}
		if remove {
			delete(patch, key)
		}
	}
	return len(patch) == 0, nil
}

// deleteAnchors deletes the items with anchors. Their indexes are those before the first
// deletion.
func (s *sequence) deleteAnchors() (remove bool, err error) {
	before := slices.Clone(s.items)
	for i, item := range before {
		remove := hasAnchorsLoosened(item)
		if !remove {
			if remove, err = deleteAnchors(item, false); err != nil {
				return false, err
			}
		}
		if !remove {
			continue
		}
		if i >= len(s.items) {
			return false, errCrash
		}
		s.items = slices.Delete(s.items, i, i+1)
	}
	return len(before) > 0 && len(s.items) == 0, nil
}

// sameForServer reports whether a server stores two objects of a built-in kind alike: it does
// not distinguish empty values from missing values.
func sameForServer(a, b any) bool { return change.Equal(tidied(a), tidied(b)) }

// tidied returns a value without nulls and without empty maps and lists.
func tidied(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := map[string]any{}
		for key, member := range value {
			if member = tidied(member); member != nil {
				copied[key] = member
			}
		}
		if len(copied) > 0 {
			return copied
		}
		return nil
	case []any:
		if len(value) == 0 {
			return nil
		}
		copied := make([]any, len(value))
		for i, item := range value {
			copied[i] = tidied(item)
		}
		return copied
	}
	return value
}
