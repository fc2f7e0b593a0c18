package gatekeeper

import (
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/policy"
)

// exporter converts the result of the mutators to the object that a server gets. Gatekeeper
// sends a patch whose numbers are floating-point numbers. Values that no mutator changed stay
// the same.
type exporter struct {
	providers map[string]*provider
	// had are the items of the lists before the mutators, by the first item.
	had map[*any]*change.Set
}

// object exports an object; before is the object before the mutators.
func (e exporter) object(object, before map[string]any) map[string]any {
	exported, _ := e.value(object, before).(map[string]any)
	return exported
}

func (e exporter) value(value, before any) any {
	if change.Same(value, before) {
		return before
	}
	switch value := value.(type) {
	case float:
		if n, ok := before.(int64); ok && float(n) == value {
			return before // the patch sees equal numbers
		}
		return value.whole()
	case int64:
		return float(value).whole()
	case placeholder:
		if text, err := value.resolve(e.providers); err == nil {
			return text
		}
		return value.key
	case map[string]any:
		return e.fields(value, before)
	case []any:
		if value == nil {
			return nil
		}
		return e.items(value, before)
	}
	return value
}

func (e exporter) fields(object map[string]any, before any) map[string]any {
	old, _ := before.(map[string]any)
	exported := object
	for key, value := range object {
		next := e.value(value, old[key])
		if change.Same(value, next) {
			continue
		}
		if change.Same(exported, object) {
			exported = maps.Clone(object)
		}
		exported[key] = next
	}
	return exported
}

func (e exporter) items(list []any, before any) []any {
	old, _ := before.([]any)
	exported := list
	for i, item := range list {
		if i < len(old) && change.Same(item, old[i]) || e.itemsOf(old).Has(item) {
			continue
		}
		var previous any
		if i < len(old) {
			previous = old[i]
		}
		exported = change.WithItem(list, exported, i, e.value(item, previous))
	}
	return exported
}

// itemsOf returns the items of a list before the mutators.
func (e exporter) itemsOf(old []any) *change.Set {
	if len(old) == 0 {
		return &change.Set{}
	}
	if e.had[&old[0]] == nil {
		e.had[&old[0]] = change.NewSet(old)
	}
	return e.had[&old[0]]
}

// unresolved returns a failure for each placeholder without an answer.
func (e exporter) unresolved(value any, path change.Path) []policy.Failure {
	var failures []policy.Failure
	switch value := value.(type) {
	case placeholder:
		if _, err := value.resolve(e.providers); err != nil {
			failures = append(failures, value.failure(path, err))
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			failures = append(failures, e.unresolved(value[key], path.Key(key))...)
		}
	case []any:
		for i, item := range value {
			failures = append(failures, e.unresolved(item, path.Index(i))...)
		}
	}
	return failures
}
