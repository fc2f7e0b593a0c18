package jsonpatch

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// document is an object that operations change. Maps and lists are copied when they are opened
// for changes, once, and then belong to the document.
type document struct {
	dialect Dialect
	// root is a map[string]any or an openMap, begun the object before the patch.
	root  any
	begun map[string]any
	// dropped is a copy of begun that operations of Kyverno change in vain.
	dropped *document
	used    usage
}

// Opened maps and lists are changed in place. Only opened values contain them: a plain map or
// list never contains an opened one.
type (
	openMap  map[string]any
	openList struct{ items []any }
)

// null is a null that an operation wrote, which hosts distinguish from a null of the object.
// Only opened maps and lists contain it.
type null struct{}

// open returns a map or list that can be changed in place; other values are returned unchanged.
func open(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := openMap(maps.Clone(value))
		if copied == nil {
			copied = openMap{}
		}
		return copied
	case []any:
		return &openList{slices.Clone(value)}
	}
	return value
}

// close returns the changed object. The opened maps and lists must not be used afterwards.
func (d *document) close() map[string]any {
	closed, _ := closed(d.root).(map[string]any)
	d.root = closed
	return closed
}

func closed(value any) any {
	switch value := value.(type) {
	case openMap:
		for key, member := range value {
			if isOpen(member) {
				value[key] = closed(member)
			}
		}
		return map[string]any(value)
	case *openList:
		for i, item := range value.items {
			if isOpen(item) {
				value.items[i] = closed(item)
			}
		}
		return value.items
	case null:
		return nil
	}
	return value
}

// isOpen reports whether a value must be closed.
func isOpen(value any) bool {
	switch value.(type) {
	case openMap, *openList, null:
		return true
	}
	return false
}

// clone copies a value as if it had been written to JSON and read again. A null that an
// operation wrote becomes a plain null, unless it is the whole value.
func clone(value any) any {
	if object, ok := mapOf(value); ok {
		copied := make(map[string]any, len(object))
		for key, member := range object {
			copied[key] = closed(clone(member))
		}
		return copied
	}
	if list, ok := listOf(value); ok {
		copied := make([]any, len(list))
		for i, item := range list {
			copied[i] = closed(clone(item))
		}
		return copied
	}
	return value
}

// Keys splits a JSON Pointer. It ignores text before the first slash, and keeps a tilde that
// escapes nothing.
func Keys(pointer string) []string {
	keys := strings.Split(pointer, "/")[1:]
	if strings.IndexByte(pointer, '~') >= 0 {
		for i, key := range keys {
			keys[i] = Unescape(key)
		}
	}
	return keys
}

// Unescape returns the key that is written as a part of a JSON Pointer.
func Unescape(key string) string { return unescapes.Replace(key) }

// Escape returns a key as a part of a JSON Pointer.
func Escape(key string) string { return escapes.Replace(key) }

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// isContainer reports whether keys can select members of a value.
func isContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any, openMap, *openList:
		return true
	}
	return false
}

func mapOf(value any) (map[string]any, bool) {
	switch value := value.(type) {
	case map[string]any:
		return value, true
	case openMap:
		return value, true
	}
	return nil, false
}

func listOf(value any) ([]any, bool) {
	switch value := value.(type) {
	case []any:
		return value, true
	case *openList:
		return value.items, true
	}
	return nil, false
}

var (
	errMissing      = errors.New("missing value")
	errInvalidIndex = errors.New("invalid index referenced")
	errInvalidState = errors.New("invalid state detected")
)

// position parses an index of a list with n items; a negative index counts from the end.
func position(key string, n int) (int, error) {
	i, err := strconv.Atoi(key)
	if err != nil {
		return 0, err
	}
	if i >= n || i < -n {
		return 0, fmt.Errorf("Unable to access invalid index: %d: %w", i, errInvalidIndex)
	}
	if i < 0 {
		i += n
	}
	return i, nil
}

// get returns the member that a key selects in a map or list. ok is false if a map lacks the
// key; err reports an invalid index.
func get(container any, key string) (member any, ok bool, err error) {
	if _, isNull := container.(null); isNull {
		return nil, false, nil
	}
	if object, isMap := mapOf(container); isMap {
		member, ok = object[key]
		return member, ok, nil
	}
	list, _ := listOf(container)
	i, err := position(key, len(list))
	if err != nil {
		return nil, false, err
	}
	return list[i], true, nil
}

// parent returns the value at all keys but the last, if it is a map, a list or a null of the
// patch, and otherwise nil.
func (d *document) parent(keys []string) any {
	at := d.root
	for _, key := range keys[:len(keys)-1] {
		if !isContainer(at) {
			return nil
		}
		at, _, _ = get(at, key)
	}
	if _, isNull := at.(null); isNull || isContainer(at) {
		return at
	}
	return nil
}

// locate splits a pointer to a member of a map or list.
func (d *document) locate(op, pointer string) ([]string, error) {
	keys := Keys(pointer)
	if len(keys) == 0 || d.dialect.parent(d, keys) == nil {
		return nil, fmt.Errorf(noPath[op], pointer, errMissing)
	}
	return keys, nil
}

// add applies the operation add.
func (d *document) add(op Operation) error {
	keys, err := d.locate(op.Op, op.Path)
	if err != nil || d.holds(keys, op.written()) {
		return err
	}
	parent, err := d.writable(keys, op)
	if err != nil {
		return err
	}
	if err := add(parent, last(keys), op.written()); err != nil {
		return fmt.Errorf(failedFor, op.Op, op.Path, err)
	}
	return nil
}

// transfer applies move and copy.
func (d *document) transfer(op Operation) error {
	if op.From == "" {
		return fmt.Errorf(noFrom, op.Op, errMissing)
	}
	from, err := d.locate(op.Op, op.From)
	if err != nil {
		return err
	}
	value, err := d.dialect.take(d, op, from)
	if err != nil {
		return err
	}
	keys := Keys(op.Path)
	if len(keys) == 0 || d.dialect.parent(d, keys) == nil {
		return fmt.Errorf(noDestination, op.Op, op.Path, errMissing)
	}
	if op.Op == "copy" {
		if value = clone(value); d.used.copy(value) {
			return d.dialect.tooLarge(d.used.copied)
		}
	}
	parent, err := d.writable(keys, op)
	if err != nil {
		return err
	}
	switch err := add(parent, last(keys), value); {
	case err != nil && op.Op == "copy":
		return fmt.Errorf(copyFailed, err)
	case err != nil:
		return fmt.Errorf(failedFor, op.Op, op.Path, err)
	}
	return nil
}

// writable opens and returns the map or list in which an operation writes. An API server crashes
// below a null of the patch.
func (d *document) writable(keys []string, op Operation) (any, error) {
	if d.dialect.parent(d, keys) == any(null{}) {
		return nil, Crash("the %s operation for %q writes below a null that an operation before it wrote: kube-apiserver crashes on it; let that operation write a map", op.Op, op.Path)
	}
	return d.opened(keys), nil
}

// opened is parent for an existing map or list, which it opens.
func (d *document) opened(keys []string) any {
	if d.dropped != nil && len(keys) > 1 && keys[0] == "" {
		return d.dropped.opened(keys[1:])
	}
	d.root = open(d.root)
	at := d.root
	for _, key := range keys[:len(keys)-1] {
		member, _, _ := get(at, key)
		if isContainer(member) && !isOpen(member) {
			member = open(member)
			put(at, key, member)
		}
		at = member
	}
	return at
}

// holds reports whether the parent is a map that already has the value at the last key: then
// nothing needs to be written or opened.
func (d *document) holds(keys []string, value any) bool {
	object, _ := mapOf(d.dialect.parent(d, keys))
	member, ok := object[last(keys)]
	return ok && change.Equal(member, value)
}

// put sets a member of an opened map, or an existing item of an opened list.
func put(container any, key string, member any) {
	switch container := container.(type) {
	case openMap:
		container[key] = member
	case *openList:
		if i, err := position(key, len(container.items)); err == nil {
			container.items[i] = member
		}
	}
}

// add sets a member of an opened map, or inserts an item into an opened list.
func add(container any, key string, member any) error {
	list, ok := container.(*openList)
	if !ok {
		put(container, key, member)
		return nil
	}
	if key == "-" {
		list.items = append(list.items, member)
		return nil
	}
	i, err := position(key, len(list.items)+1)
	if _, isNumber := strconv.Atoi(key); isNumber != nil {
		return fmt.Errorf("value was not a proper array index: '%s': %w", key, err)
	}
	if err == nil {
		list.items = slices.Insert(list.items, i, member)
	}
	return err
}

// remove removes an existing member of an opened map or list.
func remove(container any, key string) {
	switch container := container.(type) {
	case openMap:
		delete(container, key)
	case *openList:
		if i, err := position(key, len(container.items)); err == nil {
			container.items = slices.Delete(container.items, i, i+1)
		}
	}
}
