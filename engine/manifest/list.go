package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// addUnit turns the roots of a unit into documents. It postpones the first unit until it is known
// whether the stream has another, because a ResourceList must be the only one.
func (r *reader) addUnit(u *unit) {
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
func (r *reader) addOnlyUnit() {
	if units := r.stream.units; len(units) == 1 {
		r.list(units[0], len(units[0].roots) == 1)
	}
}

// list turns the roots of a unit into documents. single means that the stream has no other root.
func (r *reader) list(u *unit, single bool) {
	switch {
	case len(u.aside) > 0 && !r.isListed(u, single):
		r.scan.failed, r.scan.failedAt = u.aside[0].why, u.aside[0].at
		u.roots = nil
		r.rewrite(u, false)
	case len(u.roots) == 1 && u.tape().hasAliases(u.roots[0]) && !r.plain && u.tape().isListedByAlias(u.roots[0]):
		r.scan.failed, r.scan.failedAt = outside, u.start
		u.roots = nil
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
	u.share()
	if u.isPlain() {
		u.release()
	} else if u.rewritten == nil {
		r.scan.nodes, r.scan.properties, r.scan.aliases = nil, nil, nil // they belong to the unit now
	}
}

// resourceList adds the items of the ResourceList d as documents, and reads its functionConfig.
func (r *reader) resourceList(d *Document) {
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
func (r *reader) add(d *Document) {
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

// isListed reports whether the items of u become documents.
func (r *reader) isListed(u *unit, single bool) bool {
	if len(u.roots) == 0 {
		return true // already refused
	}
	items, _ := u.tape().listOf(u.roots[0])
	return items >= 0 || single && isResourceList(u.tape(), u.roots[0])
}

// isListedByAlias reports whether a list at a root has an alias for items or their parents, so that
// several objects have the same text.
func (t *tape) isListedByAlias(root int) bool {
	items := t.lookup(root, "items")
	if list, _ := t.listOf(root); items < 0 || list < 0 && !isResourceList(t, root) {
		return false
	}
	if t.nodes[items].kind == alias {
		return true
	}
	for item := items + 1; item < int(t.nodes[items].next); item = int(t.nodes[item].next) {
		inner, _ := t.listOf(item)
		if inner >= 0 && t.nodes[item].kind == alias || t.isListedByAlias(item) {
			return true
		}
	}
	return false
}

// expand adds a document, or its items if it is a list.
func (r *reader) expand(d *Document) {
	if items, implied := d.unit.tape().listOf(d.root); items >= 0 {
		r.items(d, implied)
		return
	}
	r.add(d)
}

// items adds the items of the list d. Items without a key of implied get its value.
func (r *reader) items(d *Document, implied map[string]string) {
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
		if t.nodes[item].kind == opaque {
			r.itemAside(d.unit, item, implied)
			continue
		}
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

// itemAside reads an item that the scanner has set aside, as a separate unit.
func (r *reader) itemAside(u *unit, item int, implied map[string]string) {
	n := &u.tape().nodes[item]
	own := &unit{stream: u.stream, start: int(n.start), end: u.tape().nextLine(int(n.end)), lineBreak: u.lineBreak, column: int(n.column)}
	if i, _ := slices.BinarySearchFunc(u.aside, own.start, func(p problem, at int) int { return p.at - at }); i < len(u.aside) {
		r.scan.failed, r.scan.failedAt = u.aside[i].why, u.aside[i].at
	}
	u.items = append(u.items, own)
	r.rewrite(own, false)
	for _, root := range own.roots {
		d := &Document{unit: own, root: root, window: own.window(root)}
		d.imply(implied)
		r.expand(d)
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
	if _, err := checkValue(list); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	t := l.unit.tape()
	e := editor{t: t, style: t.styleOf(l.root, l.root, l.unit.lineBreak), tidy: true}
	e.setEntry(l.root, "results", list)
	l.unit.results = e.splices
	return nil
}
