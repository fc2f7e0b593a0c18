package jsonpatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	evanphx "github.com/evanphx/json-patch/v5"

	"github.com/preadmit/preadmit/engine/limit"
)

// Kyverno is the dialect of Kyverno v1.19.0, which uses json-patch/v5 v5.9.11:
//
//   - add creates missing maps and lists on the way to its target: a list if the next key is an
//     index or `-`
//
//   - remove of a missing value does nothing
//
//   - a negative index counts from the end of a list; add with -1 appends
//
//   - nothing can be added below a null that the patch wrote, and such a null equals nothing
//
//   - an empty key is there, with the value null, whatever the map or list has; as the first key, it
//     selects a copy of the object before the patch; another pointer through an empty key leads nowhere
//
// As the code, and not as Kyverno's documentation says, replace of a missing key fails.
var Kyverno = Dialect{
	(*document).addV5, (*document).removeV5, (*document).replaceV5, (*document).testV5, (*document).parentV5, (*document).takeV5,
	func(copied int) error {
		return limit.Exceeded(limit.Patch, "do not copy an object into itself", "the copy operations of the JSON Patch add %d bytes, more than %d MiB", copied, limit.CopyBytes>>20)
	},
}

// Rewrites reports whether Kyverno's patch changes the JSON of an object, whose keys are sorted, even if
// the object stays the same: a key that is removed and added again is then the last of its map.
func Rewrites(object map[string]any, patch []byte) bool {
	before, err := json.Marshal(object)
	if err != nil {
		return false
	}
	operations, err := evanphx.DecodePatch(patch)
	if err != nil {
		return false
	}
	after, err := operations.ApplyWithOptions(before, &evanphx.ApplyOptions{SupportNegativeIndices: true, AllowMissingPathOnRemove: true, EnsurePathExistsOnAdd: true})
	return err == nil && !bytes.Equal(before, after)
}

// maxIndex is the maximum index in a pointer: add fills a new list with nulls up to the index.
const maxIndex = 10000

// parentV5 is parent, but finds neither a null nor an empty key, except the first one of several: it selects
// a copy of the object before the patch, which is dropped.
func (d *document) parentV5(keys []string) any {
	if d.begun != nil && len(keys) > 1 && keys[0] == "" {
		if d.dropped == nil {
			d.dropped = &document{root: d.begun}
		}
		return d.dropped.parentV5(keys[1:])
	}
	if parent := d.parent(keys); isContainer(parent) && !slices.Contains(keys[:len(keys)-1], "") {
		return parent
	}
	return nil
}

// memberV5 returns the member that the last key selects. A missing key of a map is an error.
func (d *document) memberV5(keys []string) (any, error) {
	key := last(keys)
	if key == "" && len(keys) == 1 && d.begun != nil {
		return d.begun, nil
	} else if key == "" {
		return nil, nil
	}
	member, ok, err := get(d.parentV5(keys), key)
	if err == nil && !ok {
		err = fmt.Errorf("unable to get nonexistent key: %s: %w", key, errMissing)
	}
	return member, err
}

func (d *document) addV5(op Operation) error {
	if op.Path == "" {
		return d.replaceAll(op)
	}
	if err := d.ensure(op.Path); err != nil {
		return err
	}
	return d.add(op)
}

func (d *document) replaceAll(op Operation) error {
	value, ok := op.Value.(map[string]any)
	if !ok {
		return errors.New("the whole object can be replaced by a map only")
	}
	d.root = value
	return nil
}

// ensure creates the missing maps and lists on the way to the target of a pointer.
func (d *document) ensure(pointer string) error {
	written := strings.Split(pointer, "/")[1:]
	keys := Keys(pointer)
	for n := 1; n < len(keys); n++ {
		if d.parentV5(keys[:n]) == nil {
			return fmt.Errorf(noPath["add"], pointer, errMissing)
		}
		switch member, err := d.memberV5(keys[:n]); {
		case err != nil || member == nil:
			if err := d.make(keys[:n], written[n-1], written[n], pointer); err != nil {
				return err
			}
		case !isContainer(member):
			return fmt.Errorf("%s leads through a value that is neither a map nor a list: %w", pointer, errInvalidState)
		}
	}
	return nil
}

// make creates the value at keys: a map, or a list if the next key is an index or "-". Like
// Kyverno, it uses the key as written; Kyverno then does not find a key with escapes again.
func (d *document) make(keys []string, written, next, pointer string) error {
	parent := d.opened(keys)
	if list, ok := listOf(parent); ok {
		if i, err := strconv.Atoi(written); err == nil && i > len(list) {
			if err := d.pad(parent.(*openList), i-len(list), i, pointer); err != nil {
				return err
			}
		}
	}
	made := any(openMap{})
	i, err := strconv.Atoi(next)
	if err == nil || next == "-" {
		if i < -1 {
			return fmt.Errorf("Unable to ensure path for negative index other than -1: %d: %w", i, errInvalidIndex)
		}
		list := &openList{}
		if err := d.pad(list, max(i, 0), i, pointer); err != nil {
			return err
		}
		made = list
	}
	if err := add(parent, written, made); err != nil || written == "-" || written != last(keys) {
		return fmt.Errorf(noPath["add"], pointer, errMissing)
	}
	return nil
}

// pad appends n nulls to a list, for an index in a pointer.
func (d *document) pad(list *openList, n, index int, pointer string) error {
	if index > maxIndex {
		return fmt.Errorf("the index %d in %s is too large", index, pointer)
	}
	for range n {
		list.items = append(list.items, null{})
	}
	return d.used.pad(n)
}

func (d *document) removeV5(op Operation) error {
	keys := Keys(op.Path)
	if len(keys) == 0 {
		return fmt.Errorf(noPath[op.Op], op.Path, errMissing)
	}
	parent := d.parentV5(keys)
	if parent == nil {
		return nil
	}
	_, ok, err := get(parent, last(keys))
	switch {
	case err == nil && !ok, errors.Is(err, errInvalidIndex):
		return nil
	case err != nil:
		return fmt.Errorf(failedFor, op.Op, op.Path, err)
	}
	remove(d.opened(keys), last(keys))
	return nil
}

func (d *document) replaceV5(op Operation) error {
	if op.Path == "" {
		return d.replaceAll(op)
	}
	keys, err := d.locate(op.Op, op.Path)
	if err != nil {
		return err
	}
	if _, err := d.memberV5(keys); err != nil {
		return fmt.Errorf(noMember, op.Path, errMissing)
	}
	if _, _, err := get(d.parentV5(keys), last(keys)); err != nil {
		return fmt.Errorf("error in remove for path: '%s': %w", op.Path, err) // in Kyverno's words
	}
	put(d.opened(keys), last(keys), op.written())
	return nil
}

func (d *document) testV5(op Operation) error {
	value := d.root
	if op.Path != "" {
		keys, err := d.locate(op.Op, op.Path)
		if err != nil {
			return err
		}
		if value, err = d.memberV5(keys); err != nil && !errors.Is(err, errMissing) {
			return fmt.Errorf(failedFor, op.Op, op.Path, err)
		}
	}
	if value == nil && op.Value == nil || value != nil && op.Value != nil && equal(value, op.Value, func(any) bool { return false }) {
		return nil
	}
	return failed(op)
}

func (d *document) takeV5(op Operation, from []string) (any, error) {
	value, err := d.memberV5(from)
	if op.Op == "move" && err == nil {
		_, _, err = get(d.parentV5(from), last(from))
	}
	switch {
	case err != nil && op.Op == "copy":
		return nil, fmt.Errorf(copyFrom, op.From, err)
	case err != nil:
		return nil, fmt.Errorf(failedFor, op.Op, last(from), err)
	case op.Op == "move":
		remove(d.opened(from), last(from))
	}
	return value, nil
}
