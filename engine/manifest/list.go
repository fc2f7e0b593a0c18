package manifest

import (
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// list turns the roots of all units into documents.
func (r *reader) list() {
	s := r.stream
	single := len(s.units) == 1 && len(s.units[0].roots) == 1
	for _, u := range s.units {
		for _, root := range u.roots {
			d := &Document{unit: u, root: root, window: u.window(root)}
			if single && isResourceList(u.tape, root) {
				s.list = &ResourceList{unit: u, root: root}
				r.items(d, nil)
				if at := u.tape.lookup(root, "functionConfig"); at >= 0 && u.tape.nodes[at].kind.isMap() {
					column := int(u.tape.nodes[root].column)
					config := &Document{unit: u, root: at, at: change.Keys("functionConfig"), window: valueWindow(u.tape, at, column), column: column}
					s.list.config = config
					u.docs = append(u.docs, config)
				}
				continue
			}
			r.expand(d)
		}
	}
}

// expand adds a document, or the items of one that is a list.
func (r *reader) expand(d *Document) {
	t := d.unit.tape
	kind := t.lookupString(d.root, "kind")
	items := t.lookup(d.root, "items")
	if kind == "List" && t.lookupString(d.root, "apiVersion") == "v1" {
		r.items(d, nil)
		return
	}
	if strings.HasSuffix(kind, "List") && items >= 0 && t.nodes[items].kind.isSequence() && t.lookupString(d.root, "metadata", "name") == "" {
		// The items of a typed list may leave out what the list says.
		r.items(d, map[string]string{
			"apiVersion": t.lookupString(d.root, "apiVersion"),
			"kind":       strings.TrimSuffix(kind, "List"),
		})
		return
	}
	d.unit.docs = append(d.unit.docs, d)
	r.stream.docs = append(r.stream.docs, d)
}

// items adds the items of the list d. Those that lack a key of implied are taken
// to have it.
func (r *reader) items(d *Document, implied map[string]string) {
	t := d.unit.tape
	items := t.lookup(d.root, "items")
	if items < 0 || t.nodes[items].kind.isScalar() && t.value(items) == nil {
		return
	}
	at := append(d.at[:len(d.at):len(d.at)], change.Key("items"))
	if !t.nodes[items].kind.isSequence() {
		r.refuseAt(d.positionOf(items, at), badItems)
		return
	}
	index := 0
	for item := items + 1; item < int(t.nodes[items].next); item = int(t.nodes[item].next) {
		path := at.Index(index)
		index++
		it := &Document{unit: d.unit, root: item, at: path, window: itemWindow(t, items, item), column: int(t.nodes[items].column)}
		if !t.nodes[item].kind.isMap() {
			r.refuseAt(it.positionOf(item, path), badItem)
			continue
		}
		for _, name := range [...]string{"apiVersion", "kind"} {
			if value := implied[name]; value != "" {
				it.implied = append(it.implied, [2]string{name, value})
			}
		}
		r.expand(it)
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

// ResourceList is the document that kustomize and kpt hand to a function. Its items
// are the documents of the stream.
type ResourceList struct {
	unit   *unit
	root   int
	config *Document
}

// ResourceList returns the list that the stream consists of, or nil if the stream
// is anything but one document of kind ResourceList.
func (s *Stream) ResourceList() *ResourceList { return s.list }

// FunctionConfig returns the configuration of the function, or nil if there is
// none. It is not among the documents of the stream.
func (l *ResourceList) FunctionConfig() *Document { return l.config }

// SetResults replaces the results of the list, or adds them as its last key. With
// no results, none are added and those of the input are removed.
func (l *ResourceList) SetResults(results []map[string]any) error {
	list := make([]any, len(results))
	for i := range results {
		list[i] = change.CloneObject(results[i])
	}
	if _, err := checkValue(list); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	t := l.unit.tape
	e := editor{t: t, style: t.styleOf(l.root, l.root, l.unit.lineBreak())}
	e.setEntry(l.root, "results", list)
	l.unit.results = e.splices
	return nil
}
