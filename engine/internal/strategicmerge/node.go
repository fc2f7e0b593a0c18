package strategicmerge

import (
	"maps"
	"slices"
)

// node is a value that can be changed in place. kyaml merges such nodes, and an object and a patch
// may share them. A missing value is nil.
type node struct {
	kind   kind
	fields map[string]*node
	items  []*node
	scalar any
	// stays says that a null is a value of the object, which does not delete its field.
	stays bool
}

type kind string

const (
	isNull   kind = "null"
	isMap    kind = "a map"
	isList   kind = "a list"
	isScalar kind = "a single value"
)

// newNode copies a value.
func newNode(value any) *node {
	switch value := value.(type) {
	case nil:
		return &node{kind: isNull}
	case map[string]any:
		n := &node{kind: isMap, fields: make(map[string]*node, len(value))}
		for key, member := range value {
			n.fields[key] = newNode(member)
		}
		return n
	case []any:
		n := &node{kind: isList}
		for _, item := range value {
			n.items = append(n.items, newNode(item))
		}
		return n
	}
	return &node{kind: isScalar, scalar: value}
}

// immutable copies a node to a value.
func (n *node) immutable() any {
	switch n.kind {
	case isMap:
		object := make(map[string]any, len(n.fields))
		for key, member := range n.fields {
			object[key] = member.immutable()
		}
		return object
	case isList:
		items := make([]any, len(n.items))
		for i, item := range n.items {
			items[i] = item.immutable()
		}
		return items
	}
	return n.scalar
}

// isMissing reports whether a value is missing or null.
func (n *node) isMissing() bool { return n == nil || n.kind == isNull }

// isEmptyMap reports whether a value is missing, null or an empty map.
func (n *node) isEmptyMap() bool { return n.isMissing() || n.kind == isMap && len(n.fields) == 0 }

// at returns the value of a field, nil if the node has no such field.
func (n *node) at(key string) *node {
	if n == nil {
		return nil
	}
	return n.fields[key]
}

// text returns the text by which kyaml compares a value.
func (n *node) text() string {
	if n.kind == isNull {
		return "null"
	}
	return textOf(n.scalar)
}

// set sets a field. A null deletes it, unless it stays.
func (n *node) set(key string, value *node) {
	if value == nil || value.kind == isNull && !value.stays {
		delete(n.fields, key)
		return
	}
	if before := n.fields[key]; before != nil && value.kind == isScalar {
		if _, isText := before.scalar.(string); isText {
			value.scalar = quoted(value.scalar)
		}
	}
	n.fields[key] = value
}

// keysOf returns the fields of two nodes in order.
func keysOf(a, b *node) []string {
	all := map[string]*node{}
	for _, n := range []*node{a, b} {
		if n != nil {
			maps.Copy(all, n.fields)
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// matches reports whether the node is an item with the values of keys. The key "" means the item
// itself. If any is set, an empty value means any value.
func (n *node) matches(keys, values []string, any bool) bool {
	if keys[0] == "" {
		return n.text() == values[0]
	}
	if n.kind != isMap {
		return false
	}
	for i, key := range keys {
		member := n.fields[key]
		if member == nil || member.text() != values[i] && !(any && values[i] == "") {
			return false
		}
	}
	return true
}

// find returns the first item of a list with the values of keys, or nil.
func (n *node) find(keys, values []string) *node {
	if n == nil || n.kind != isList {
		return nil
	}
	for _, item := range n.items {
		if item.matches(keys, values, false) {
			return item
		}
	}
	return nil
}

// put replaces all items of a list that have the values of keys, or adds the item if there are
// none. Without an item it deletes them. If there are fewer values than keys, the last value
// decides for the other keys; without values, all other items are lost. Items that are null or
// empty are lost, too.
func (n *node) put(item *node, keys, values []string) {
	found := false
	var kept []*node
	for _, other := range n.items {
		switch {
		case other.isEmptyMap():
		case other.kind != isMap && keys[0] != "" && len(values) > 0 && values[0] != "":
			kept = append(kept, other)
		case len(values) == 0:
		case !other.matches(keys[:len(values)], values, true):
			kept = append(kept, other)
		default:
			found = true
			if item != nil {
				kept = append(kept, item)
			}
		}
	}
	n.items = kept
	if !found && !item.isMissing() {
		n.items = append(n.items, item)
	}
}
