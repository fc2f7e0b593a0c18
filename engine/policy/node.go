package policy

import (
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// Node is a value in the document of a policy, with its path. The path gives messages a position.
type Node struct {
	// Value is nil if the document does not have the path.
	Value any
	Path  change.Path
}

// NodeAt returns the node at keys of a document. It builds nothing else of the document.
func NodeAt(d *manifest.Document, keys ...string) Node {
	return Node{Value: d.Value(keys...), Path: change.Keys(keys...)}
}

// At returns the node below keys. It has no value if the path does not exist.
func (n Node) At(keys ...string) Node {
	path := make(change.Path, len(n.Path), len(n.Path)+len(keys))
	copy(path, n.Path)
	for _, key := range keys {
		object, _ := n.Value.(map[string]any)
		n.Value, path = object[key], append(path, change.Key(key))
	}
	n.Path = path
	return n
}

// Has reports whether the node below a key has a value.
func (n Node) Has(key string) bool {
	object, _ := n.Value.(map[string]any)
	return object[key] != nil
}

// Key returns the last key of the path; "" for the root and for an item of a list.
func (n Node) Key() string {
	if len(n.Path) == 0 {
		return ""
	}
	return n.Path[len(n.Path)-1].Key
}

// Items returns the items of a list.
func (n Node) Items() []Node {
	list, _ := n.Value.([]any)
	nodes := make([]Node, len(list))
	for i := range list {
		nodes[i] = Node{Value: list[i], Path: n.Path.Index(i)}
	}
	return nodes
}

// Below returns the members of a map in the order of their keys, or the items of a list.
func (n Node) Below() []Node {
	nodes := n.Items()
	for _, key := range slices.Sorted(maps.Keys(n.Object())) {
		nodes = append(nodes, n.At(key))
	}
	return nodes
}

// Given reports whether the node has a value.
func (n Node) Given() bool { return n.Value != nil }

// Text returns the value if it is a string, or else "".
func (n Node) Text() string {
	text, _ := n.Value.(string)
	return text
}

// Texts returns the strings of a list.
func (n Node) Texts() []string {
	var texts []string
	for _, item := range n.Items() {
		texts = append(texts, item.Text())
	}
	return texts
}

// Object returns the value if it is a map, or else nil.
func (n Node) Object() map[string]any {
	object, _ := n.Value.(map[string]any)
	return object
}
