package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// addUnit turns the roots of a unit into documents. It postpones the first unit until it is known
// whether the stream has another, because a ResourceList must be the only one.
func (r *streamReader) addUnit(u *unit) {
	s := r.stream
	if u.rewritten == nil {
		u.know(r.scan.tape())
	}
	if s.units = append(s.units, u); len(s.units) == 1 {
		return
	}
	if len(s.units) == 2 {
		r.list(s.units[0], false)
	}
	r.list(u, false)
}

// addOnlyUnit adds the only unit of a stream.
func (r *streamReader) addOnlyUnit() {
	if units := r.stream.units; len(units) == 1 {
		r.list(units[0], len(units[0].roots) == 1)
	}
}

// list turns the roots of a unit into documents. single means that the stream has no other root.
func (r *streamReader) list(u *unit, single bool) {
	if at := r.sharedAt(u, single); at >= 0 {
		u.roots, r.scan.failed, r.scan.failedAt = nil, outside, at
		r.rewrite(u, false)
	}
	for _, root := range u.roots {
		switch d := (&Document{unit: u, root: root, window: u.window(root)}); {
		case r.plain:
			r.add(d)
		case single && isResourceList(u.tape(), root):
			r.resourceList(d)
		default:
			r.expand(d)
		}
	}
	if u.isPlain() {
		u.release()
	} else if u.rewritten == nil {
		r.scan.nodes, r.scan.anchors, r.scan.aliases = nil, nil, nil // they belong to the unit now
	}
}

// resourceList adds the items of the ResourceList d as documents, and reads its functionConfig.
func (r *streamReader) resourceList(d *Document) {
	u, t := d.unit, d.unit.tape()
	list := &ResourceList{unit: u, root: d.root}
	r.stream.list = list
	r.items(d, nil)
	if at := t.lookup(d.root, "functionConfig"); at >= 0 && t.nodes[t.real(at)].kind.isMap() {
		column := int(t.nodes[d.root].column)
		list.config = &Document{unit: u, root: at, at: change.Keys("functionConfig"), window: valueWindow(t, at, column), column: column}
		list.config.identify()
		u.docs = append(u.docs, list.config)
	}
}

// add adds a document to its unit and to the stream.
func (r *streamReader) add(d *Document) {
	d.identify()
	d.unit.docs = append(d.unit.docs, d)
	r.stream.docs = append(r.stream.docs, d)
}

// listOf returns the index of the items of the list at a root, or -1 if the root is not a list.
// implied are the values that the items of a typed list may omit.
func (t *tape) listOf(root int) (items int, implied map[string]string) {
	kind, version := t.lookupString(root, "kind"), t.lookupString(root, "apiVersion")
	items = t.lookup(root, "items")
	switch {
	case kind == "List" && version == "v1":
		return max(items, 0), nil
	case strings.HasSuffix(kind, "List") && items >= 0 && t.nodes[items].kind.isSequence() && t.lookupString(root, "metadata", "name") == "":
		return items, map[string]string{"apiVersion": version, "kind": strings.TrimSuffix(kind, "List")}
	}
	return -1, nil
}

// sharedAt returns the position of an alias for text outside of its document in u, or -1. Such text
// belongs to several documents, so it cannot be edited for one of them.
func (r *streamReader) sharedAt(u *unit, single bool) int {
	if r.plain || len(u.roots) != 1 || !u.tape().hasAliases(u.roots[0]) {
		return -1
	}
	t, root := u.tape(), u.roots[0]
	docs := t.listed(nil, root, single)
	slices.Sort(docs)
	// of returns the index of the last document that starts at or before a node, if it has the node.
	of := func(i int) int {
		at, found := slices.BinarySearch(docs, i)
		if !found {
			at--
		}
		if at >= 0 && i < int(t.nodes[docs[at]].next) {
			return at
		}
		return -1
	}
	first, _ := slices.BinarySearch(t.aliases, int32(root))
	for _, alias := range t.aliases[first:] {
		if of(int(alias)) != of(t.real(int(alias))) {
			return int(t.nodes[alias].start)
		}
	}
	return -1
}

// listed adds the documents that the node at index i becomes. An alias is a document of its own.
func (t *tape) listed(docs []int, i int, single bool) []int {
	isResourceList := single && isResourceList(t, i)
	if list, _ := t.listOf(i); t.nodes[i].kind == alias || list < 0 && !isResourceList {
		return append(docs, i)
	}
	if config := t.lookup(i, "functionConfig"); isResourceList && config >= 0 {
		docs = append(docs, config)
	}
	items := t.lookup(i, "items")
	switch {
	case items < 0:
	case t.nodes[items].kind == alias:
		return append(docs, items)
	case t.nodes[items].kind.isSequence():
		for item := items + 1; item < int(t.nodes[items].next); item = int(t.nodes[item].next) {
			docs = t.listed(docs, item, false)
		}
	}
	return docs
}

// expand adds a document, or its items if it is a list.
func (r *streamReader) expand(d *Document) {
	if items, implied := d.unit.tape().listOf(d.root); items >= 0 {
		r.items(d, implied)
		return
	}
	r.add(d)
}

// items adds the items of the list d. Items without a key of implied get its value.
func (r *streamReader) items(d *Document, implied map[string]string) {
	t := d.unit.tape()
	items := t.lookup(d.root, "items")
	if items < 0 || t.nodes[items].kind.isScalar() && t.value(items) == nil {
		return
	}
	at := append(d.at[:len(d.at):len(d.at)], change.Key("items"))
	if !t.nodes[items].kind.isSequence() {
		r.refuseAt(d.positionOf(items, at), badItems)
		return
	}
	r.documents-- // the list does not count, only its items
	index := 0
	for item := items + 1; item < int(t.nodes[items].next) && !r.full(int(t.nodes[item].start)); item = int(t.nodes[item].next) {
		if !r.another(int(t.nodes[item].start)) {
			return
		}
		path := at.Index(index)
		index++
		it := &Document{unit: d.unit, root: item, at: path, window: itemWindow(t, items, item), column: int(t.nodes[items].column)}
		if !t.nodes[t.real(item)].kind.isMap() {
			r.refuseAt(it.positionOf(item, path), badItem)
			continue
		}
		it.imply(implied)
		r.expand(it)
	}
}

// imply records the values that a list implies for its item.
func (d *Document) imply(implied map[string]string) {
	for _, name := range [...]string{"apiVersion", "kind"} {
		if value := implied[name]; value != "" {
			d.implied = append(d.implied, [2]string{name, value})
		}
	}
}

// resourceListVersions are the API versions of a ResourceList that kustomize and
// kpt send.
var resourceListVersions = [...]string{
	"config.kubernetes.io/v1", "config.kubernetes.io/v1beta1", "config.kubernetes.io/v1alpha1",
}

func isResourceList(t *tape, root int) bool {
	if t.lookupString(root, "kind") != "ResourceList" {
		return false
	}
	version := t.lookupString(root, "apiVersion")
	for _, known := range resourceListVersions {
		if version == known {
			return true
		}
	}
	return false
}

// ResourceList is the document that kustomize and kpt pass to a function. Its items are the
// documents of the stream.
type ResourceList struct {
	unit   *unit
	root   int
	config *Document
}

// ResourceList returns the list of the stream, or nil if the stream is not exactly one document of
// kind ResourceList.
func (s *Stream) ResourceList() *ResourceList { return s.list }

// FunctionConfig returns the configuration of the function, or nil if the list has none. It is not
// one of the documents of the stream.
func (l *ResourceList) FunctionConfig() *Document { return l.config }

// SetResults replaces the results of the list, or adds them as its last key. Empty results remove
// the results of the input.
func (l *ResourceList) SetResults(results []map[string]any) error {
	list := make([]any, len(results))
	for i := range results {
		list[i] = change.CloneObject(results[i])
	}
	if _, err := checkValue(nil, list); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	t := l.unit.tape()
	e := editor{t: t, style: t.styleOf(l.root, l.root, l.unit.lineBreak), tidy: true}
	e.setEntry(l.root, "results", list)
	l.unit.results = e.splices
	return nil
}
