package gatekeeper

import (
	"maps"
	"reflect"
	"unsafe"

	"github.com/preadmit/preadmit/engine/change"
)

// aliases tracks the maps of an object that Gatekeeper shares between several places. Gatekeeper
// changes objects in place, and does not copy a value that a mutator assigns in several places.
// If a later mutator of the same request changes the value in one place, it changes everywhere.
// The zero value is ready for use.
type aliases struct {
	// shared maps each shared map to the mutator that assigned it. moved maps a shared map that
	// a walk changed to its changed copy.
	shared map[unsafe.Pointer]*mutator
	moved  map[unsafe.Pointer]map[string]any
	// owner is the mutator that assigned the shared map changed last.
	owner *mutator
}

func identity(m map[string]any) unsafe.Pointer { return reflect.ValueOf(m).UnsafePointer() }

// add marks all maps in a value that a mutator assigned as shared.
func (a *aliases) add(value any, by *mutator) {
	switch value := value.(type) {
	case map[string]any:
		if a.shared == nil {
			a.shared, a.moved = map[unsafe.Pointer]*mutator{}, map[unsafe.Pointer]map[string]any{}
		}
		a.shared[identity(value)] = by
		for _, item := range value {
			a.add(item, by)
		}
	case []any:
		for _, item := range value {
			a.add(item, by)
		}
	}
}

// latest returns the current copy of a map.
func (a *aliases) latest(m map[string]any) map[string]any {
	if len(a.moved) == 0 {
		return m
	}
	for next, ok := a.moved[identity(m)]; ok; next, ok = a.moved[identity(m)] {
		m = next
	}
	return m
}

// move records that a shared map was replaced by a changed copy.
func (a *aliases) move(from, to map[string]any) {
	if by := a.shared[identity(from)]; by != nil {
		a.shared[identity(to)] = by
		a.moved[identity(from)] = to
		a.owner = by
	}
}

// spread replaces all shared maps in an object by their current copies.
func (a *aliases) spread(object map[string]any) map[string]any {
	if len(a.moved) == 0 {
		return object
	}
	done := map[unsafe.Pointer]map[string]any{}
	result := a.spreadMap(object, done)
	clear(a.moved)
	return result
}

func (a *aliases) spreadMap(m map[string]any, done map[unsafe.Pointer]map[string]any) map[string]any {
	m = a.latest(m)
	if result, ok := done[identity(m)]; ok {
		return result
	}
	result := m
	for key, value := range m {
		next := a.spreadValue(value, done)
		if change.Same(value, next) {
			continue
		}
		if change.Same(result, m) {
			result = maps.Clone(m)
		}
		result[key] = next
	}
	done[identity(m)] = result
	if by := a.shared[identity(m)]; by != nil {
		a.shared[identity(result)] = by
	}
	return result
}

func (a *aliases) spreadValue(value any, done map[unsafe.Pointer]map[string]any) any {
	switch value := value.(type) {
	case map[string]any:
		return a.spreadMap(value, done)
	case []any:
		list := value
		for i, item := range value {
			list = change.WithItem(value, list, i, a.spreadValue(item, done))
		}
		return list
	}
	return value
}
