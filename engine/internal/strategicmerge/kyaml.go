package strategicmerge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// walk merges a patch into a value of the object, as kyaml's walk.Walker does. The result is nil
// if the value is to be deleted. If the object lacks the value, the patch takes its place, and is
// merged with itself.
func walk(dest, patch *node, t list, path change.Path) (*node, error) {
	how := isNull
	for _, n := range []*node{dest, patch} {
		if n.isMissing() {
			continue
		}
		if how == isNull {
			how = n.kind
		} else if how != n.kind {
			return nil, &Error{path, fmt.Sprintf("the object has %s here, the patch %s", how, n.kind)}
		}
	}
	switch keys, isKeyed := t.keys(); {
	case how == isList && isKeyed:
		return walkList(dest, patch, keys, t, path)
	case how == isList || how == isScalar:
		if patch != nil {
			return patch, nil
		}
		return dest, nil
	}
	return walkMap(dest, patch, t.of(dest, patch), path)
}

// of returns the type of a map. An object inside an object without a schema has its own.
func (t list) of(dest, patch *node) list {
	for _, n := range []*node{dest, patch} {
		if t.typ != nil || n.isMissing() {
			continue
		}
		if apiVersion, kind := n.at("apiVersion"), n.at("kind"); apiVersion != nil && kind != nil && isKnownKind(apiVersion.text(), kind.text()) {
			t.typ = schema.Builtin().Lookup(gvk.Parse(apiVersion.text(), kind.text())).Type()
		}
	}
	return t
}

func walkMap(dest, patch *node, t list, path change.Path) (*node, error) {
	how, ok := patch.mapDirective()
	switch {
	case dest.isMissing() && dest != nil && patch == nil:
		return &node{kind: isNull, stays: true}, nil
	case !dest.isMissing() && !ok:
		return nil, &Error{path.Key(directive), "expected merge, replace or delete"}
	case how == deletes:
		return nil, nil
	}
	dest = dest.under(patch, how)
	for _, key := range keysOf(dest, patch) {
		if key == "" {
			return nil, &Error{path, "kyaml cannot set an empty key"}
		}
		value, err := walk(dest.at(key), patch.at(key), t.at(key), path.Key(key))
		if err != nil {
			return nil, err
		}
		dest.set(key, value)
	}
	return dest, nil
}

// under returns the value that a patch is merged into: nil if the patch deletes it, and the patch itself
// if it replaces the value or the object lacks the value.
func (n *node) under(patch *node, how string) *node {
	switch {
	case n.isMissing() || how == replaces:
		return patch
	case how == deletes || patch != nil && patch.kind == isNull:
		return nil
	}
	return n
}

// mapDirective returns the directive of a patch, and deletes it. It is not ok if the directive is
// unknown.
func (n *node) mapDirective() (how string, ok bool) {
	if how, ok = n.directive(); ok && n != nil {
		delete(n.fields, directive)
	}
	return how, ok
}

// directive returns the value of $patch, or merge without $patch.
func (n *node) directive() (how string, ok bool) {
	value := n.at(directive)
	if value == nil {
		return merges, true
	}
	how = value.text()
	return how, slices.Contains([]string{merges, replaces, deletes}, how)
}

// listDirective returns the directive in the first item that has one, and deletes items with it.
func (n *node) listDirective() (how string, ok bool) {
	if n == nil {
		return merges, true
	}
	for _, item := range n.items {
		if item.kind != isMap || item.fields[directive] == nil {
			continue
		}
		if len(item.fields) > 1 {
			break
		}
		if how, ok = item.directive(); ok {
			n.put(nil, []string{directive}, []string{how})
		}
		return how, ok
	}
	return merges, true
}

// walkList merges lists whose items have keys, or are scalars.
func walkList(dest, patch *node, keys []string, t list, path change.Path) (*node, error) {
	how, ok := merges, true
	if !dest.isMissing() {
		how, ok = patch.listDirective()
	}
	if !ok {
		return nil, &Error{path, "expected $patch: merge, replace or delete"}
	}
	if dest = dest.under(patch, how); dest == nil {
		return nil, nil
	}
	if len(keys) == 0 {
		keys = []string{""}
	}
	l := lists{dest: dest, patch: patch, keys: keys, item: t.item(), path: path}
	l.identify()
	return l.merge()
}

// lists are two lists whose items have keys.
type lists struct {
	dest, patch *node
	keys        []string
	// values are the values of the keys of all items, those of the patch first. used are the keys
	// of which an item has a value.
	values [][]string
	used   []string
	item   list
	path   change.Path
}

// identify finds the values of the keys.
func (l *lists) identify() {
	for _, n := range []*node{l.patch, l.dest} {
		if n == nil {
			continue
		}
		for _, item := range n.items {
			values := item.valuesOf(l.keys)
			if !slices.ContainsFunc(l.values, func(other []string) bool { return slices.Equal(values, other) }) {
				l.values = append(l.values, values)
			}
		}
	}
	if len(l.keys) > 1 {
		complete(l.values)
	}
	for i, key := range l.keys {
		if slices.ContainsFunc(l.values, func(values []string) bool { return values[i] != "" }) {
			l.used = append(l.used, key)
		}
	}
	if len(l.used) == 0 {
		l.used = l.keys
	}
}

// valuesOf returns the values of keys; "" for a value that is missing or empty.
func (n *node) valuesOf(keys []string) []string {
	if keys[0] == "" {
		return []string{n.text()}
	}
	values := make([]string, len(keys))
	for i, key := range keys {
		if member := n.at(key); !member.isMissing() {
			values[i] = member.text()
		}
	}
	return values
}

// complete fills in missing values from values that agree in at least one key and differ in none.
func complete(all [][]string) {
	for i, values := range all {
		for j := range all {
			if merged := agreed(values, all[j]); merged != nil {
				all[i], all[j] = merged, merged
			}
		}
	}
}

func agreed(a, b []string) []string {
	common := false
	merged := make([]string, len(a))
	for i := range a {
		switch {
		case a[i] == b[i]:
			common = true
		case a[i] != "" && b[i] != "":
			return nil
		}
		merged[i] = cmp.Or(a[i], b[i])
	}
	if !common {
		return nil
	}
	return merged
}

// merge merges the items.
func (l *lists) merge() (*node, error) {
	if len(l.values) == 0 {
		return l.dest, nil
	}
	result := &node{kind: isList}
	for _, all := range l.values {
		values := l.usedOf(all)
		keys, own := given(l.used, values)
		item, err := walk(l.dest.find(keys, own), l.patch.find(keys, own), l.item, l.path)
		if err != nil {
			return nil, err
		}
		if item.isEmptyMap() {
			l.dest.put(nil, l.used, values)
			continue
		}
		for i, key := range l.used {
			if item.kind == isMap && item.fields[key] == nil && values[i] != "" {
				item.fields[key] = &node{kind: isScalar, scalar: values[i]}
			}
		}
		result.put(item, l.used, values)
	}
	for _, item := range l.dest.items {
		result.bring(item, l.used)
	}
	return result, nil
}

// usedOf returns the values of the keys that are used.
func (l *lists) usedOf(all []string) (values []string) {
	for i, key := range l.keys {
		if slices.Contains(l.used, key) {
			values = append(values, all[i])
		}
	}
	return values
}

// given returns the keys that have a value, and their values. If no key has a value, it returns all.
func given(keys, all []string) (names, values []string) {
	for i, key := range keys {
		if all[i] != "" {
			names, values = append(names, key), append(values, all[i])
		}
	}
	if len(names) == 0 {
		return keys, all
	}
	return names, values
}

// bring adds an item of the object to the merged list, or puts it in the place of the item with
// the same keys. With several keys it goes to the end.
func (n *node) bring(item *node, keys []string) {
	if keys[0] == "" {
		n.put(item, keys, []string{item.text()})
		return
	}
	var values []string
	for _, key := range keys {
		if member := item.at(key); member != nil {
			values = append(values, member.text())
		} else {
			n.items = append(n.items, item)
		}
	}
	if len(keys) > 1 {
		n.put(nil, keys, values)
	}
	n.put(item, keys, values)
}
