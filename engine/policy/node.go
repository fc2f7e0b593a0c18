package policy

import "github.com/preadmit/preadmit/engine/change"

// Node is a value in the document of a policy and the path to it, by which messages say
// where it is.
type Node struct {
	// Value is nil if it is missing.
	Value any
	Path  change.Path
}

// At returns the value below keys; it has no value if there is none.
func (n Node) At(keys ...string) Node {
	for _, key := range keys {
		object, _ := n.Value.(map[string]any)
		n = Node{Value: object[key], Path: n.Path.Key(key)}
	}
	return n
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

// Given reports whether there is a value.
func (n Node) Given() bool { return n.Value != nil }

// Text returns a string, "" if it is something else.
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

// Object returns a map, nil if it is something else.
func (n Node) Object() map[string]any {
	object, _ := n.Value.(map[string]any)
	return object
}
