package gatekeeper

import (
	"maps"
	"reflect"
	"unsafe"

	"github.com/preadmit/preadmit/engine/change"
)

// aliases are the maps of an object that are one and the same map to Gatekeeper, which
// changes objects in place: a value that a mutator assigns in several places is not copied
// for each of them. What a later mutator of the same request changes in one of the places
// is changed in all. The zero value is ready for use.
type aliases struct {
	// shared are the maps with the mutators that assigned them, moved what those among them
	// have become that a walk changed.
	shared map[unsafe.Pointer]*mutator
	moved  map[unsafe.Pointer]map[string]any
	// owner is the mutator that assigned the map that was changed last.
	owner *mutator
}

func identity(m map[string]any) unsafe.Pointer { return reflect.ValueOf(m).UnsafePointer() }

// add makes all maps in a value shared that a mutator assigned.
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

// latest is what a map has become.
func (a *aliases) latest(m map[string]any) map[string]any {
	if len(a.moved) == 0 {
		return m
	}
	for next, ok := a.moved[identity(m)]; ok; next, ok = a.moved[identity(m)] {
		m = next
	}
	return m
}

// move notes that a map has become another one.
func (a *aliases) move(from, to map[string]any) {
	if by := a.shared[identity(from)]; by != nil {
		a.shared[identity(to)] = by
		a.moved[identity(from)] = to
		a.owner = by
	}
}

// spread puts what shared maps have become wherever they are in an object.
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
			list = replace(list, value, i, a.spreadValue(item, done))
		}
		return list
	}
	return value
}
