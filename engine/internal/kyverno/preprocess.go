package kyverno

import (
	"errors"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/strategicmerge"
	"github.com/preadmit/preadmit/engine/internal/unknown"
)

// This file does with the anchors of a strategic merge patch what Kyverno v1.19.0 does
// (pkg/engine/mutate/patch), defects included. Kyverno changes the patch in place while it
// compares it with the object, and merges what is left of the patch. The names of deviations
// are those in deviations.go.

// pattern is a part of a patch that can be changed in place.
type pattern struct {
	// keys are the keys of a map in the order in which Kyverno visits them; values are their
	// values, or the items of a list. Other values are in scalar.
	keys   []string
	values []*pattern
	isMap  bool
	isList bool
	scalar any
}

func newPattern(value any) *pattern {
	switch value := value.(type) {
	case map[string]any:
		p := &pattern{isMap: true}
		for _, key := range sortedKeys(value) {
			p.set(key, newPattern(value[key]))
		}
		return p
	case []any:
		p := &pattern{isList: true}
		for _, item := range value {
			p.values = append(p.values, newPattern(item))
		}
		return p
	}
	return &pattern{scalar: value}
}

// clone returns newPattern of the value of a pattern.
func (p *pattern) clone() *pattern {
	parts, keys, values := p.size()
	memory := patterns{make([]pattern, 0, parts), make([]string, 0, keys), make([]*pattern, 0, values)}
	return memory.clone(p)
}

// size returns the number of parts of a pattern, of their keys and of their values.
func (p *pattern) size() (parts, keys, values int) {
	parts, keys, values = 1, len(p.keys), len(p.values)
	for _, value := range p.values {
		a, b, c := value.size()
		parts, keys, values = parts+a, keys+b, values+c
	}
	return parts, keys, values
}

// patterns is the memory for a copy of a pattern.
type patterns struct {
	parts  []pattern
	keys   []string
	values []*pattern
}

func (m *patterns) clone(p *pattern) *pattern {
	for i := 1; i < len(p.keys); i++ {
		if p.keys[i-1] >= p.keys[i] { // a key was renamed or added
			return newPattern(p.value())
		}
	}
	m.parts = append(m.parts, *p)
	copied := &m.parts[len(m.parts)-1]
	copied.keys, m.keys = cut(append(m.keys, p.keys...), len(m.keys))
	copied.values, m.values = cut(append(m.values, p.values...), len(m.values))
	for i, value := range p.values {
		copied.values[i] = m.clone(value)
	}
	return copied
}

// cut returns the items of a list from an index, without room for more, and the whole list.
func cut[T any](list []T, from int) (items, whole []T) {
	return list[from:len(list):len(list)], list
}

// isSettled reports whether a patch has no anchor and no empty map. Then resolve returns the patch
// itself, unless it does not fit the object.
func isSettled(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if a, _ := ParseAnchor(key); a != NoAnchor || !isSettled(member) {
				return false
			}
		}
		return len(value) > 0
	case []any:
		return !slices.ContainsFunc(value, func(item any) bool { return !isSettled(item) })
	case string:
		return !isConditionKey(value)
	}
	return true
}

// fits returns the error of compare for a patch that is settled.
func fits(patch, value any) error {
	switch patch := patch.(type) {
	case map[string]any:
		object, _ := value.(map[string]any)
		for key, member := range patch {
			if err := fits(member, object[key]); err != nil {
				return err
			}
		}
	case []any:
		if _, isList := value.([]any); isList || value == nil || len(patch) == 0 {
			return nil
		}
		if _, isMap := patch[0].(map[string]any); isMap {
			return errNotAList
		}
	}
	return nil
}

// value reverses newPattern.
func (p *pattern) value() any {
	switch {
	case p.isMap:
		object := make(map[string]any, len(p.keys))
		for i, key := range p.keys {
			object[key] = p.values[i].value()
		}
		return object
	case p.isList:
		items := make([]any, len(p.values))
		for i, item := range p.values {
			items[i] = item.value()
		}
		return items
	}
	return p.scalar
}

func (p *pattern) set(key string, value *pattern) {
	if i := slices.Index(p.keys, key); i >= 0 {
		p.values[i] = value
		return
	}
	p.keys, p.values = append(p.keys, key), append(p.values, value)
}

func (p *pattern) delete(i int) {
	p.values = slices.Delete(p.values, i, i+1)
	if p.isMap {
		p.keys = slices.Delete(p.keys, i, i+1)
	}
}

// deleteIf deletes the members of a map for which a function says so.
func (p *pattern) deleteIf(is func(i int) (bool, error)) error {
	for i := 0; i < len(p.keys); {
		switch deletes, err := is(i); {
		case err != nil:
			return err
		case deletes:
			p.delete(i)
		default:
			i++
		}
	}
	return nil
}

// hasAnchor reports whether a key anywhere in the pattern has one of the anchors. Kyverno takes a
// text like "(x)" for a condition, too.
func (p *pattern) hasAnchor(is func(Anchor) bool) bool {
	for i, value := range p.values {
		if p.isMap {
			if a, _ := ParseAnchor(p.keys[i]); a != NoAnchor && is(a) {
				return true
			}
		}
		if value.hasAnchor(is) {
			return true
		}
	}
	text, _ := p.scalar.(string)
	return isConditionKey(text)
}

// isDecided reports whether an anchor means something in a patch.
func isDecided(a Anchor) bool { return a == Condition || a == Global || a == Add }

var (
	errNotAList   = errors.New("the object has no list where the patch has one")
	errDeletion   = crash("when it deletes the items with anchors from the list of the patch")
	errSingleText = errors.New("the patch is not a map")
)

// crash is an error that ends a call of Kyverno's webhook without an answer.
type crash string

// Error implements error.
func (c crash) Error() string { return "Kyverno crashes " + string(c) }

// readAsYAML returns an object or a patch as Kyverno reads it: see linesFolded.
func readAsYAML(memo *change.Memo, object map[string]any) (map[string]any, error) {
	read, err := strategicmerge.Read(memo, object)
	if err != nil {
		return nil, crash("if it cannot read JSON as YAML: " + err.Error())
	}
	return read, nil
}

// form is a strategic merge patch in the form in which it is applied to objects.
type form struct {
	value map[string]any
	// err says that Kyverno cannot read the patch.
	err error
	// pattern is nil if resolve returns the patch itself.
	pattern *pattern
	// anchored says that the patch has anchors.
	anchored bool
}

// newForm reads a patch, which is a map: see reader.patches.
func newForm(value any) (f form) {
	object, _ := value.(map[string]any)
	if f.value, f.err = readAsYAML(nil, object); !isSettled(value) {
		f.pattern, f.anchored = newPattern(f.value), HasAnchors(value)
	}
	return f
}

// resolve returns the patch without its anchors for an object, or the condition that does not
// hold.
func (f form) resolve(object map[string]any, o unknown.Observer) (map[string]any, *unmet, error) {
	switch {
	case f.err != nil:
		return nil, nil, f.err
	case f.pattern == nil:
		return f.value, nil, fits(f.value, object)
	}
	p := f.pattern.clone()
	if failed, err := p.compare(object, true, o); failed != nil {
		return nil, failed, nil
	} else if err != nil {
		return nil, nil, err
	}
	if err := p.deleteIf(func(i int) (bool, error) { return p.values[i].deleteAnchors(isConditionKey(p.keys[i])) }); err != nil {
		return nil, nil, err
	}
	patch, _ := p.value().(map[string]any)
	return patch, nil, nil
}

// compare compares a part of the patch with the same part of the object. It returns the condition
// that does not hold, with its path from here.
func (p *pattern) compare(value any, present bool, o unknown.Observer) (*unmet, error) {
	switch {
	case p.isMap:
		return p.compareMap(value, o)
	case p.isList && len(p.values) > 0 && p.values[0].isMap:
		return p.compareList(value, present, o)
	}
	return nil, nil
}

func (p *pattern) compareMap(value any, o unknown.Observer) (*unmet, error) {
	object, _ := value.(map[string]any)
	p.decideAdditions(object)
	for _, global := range []bool{true, false} {
		for i := range p.keys {
			if a, bare := ParseAnchor(p.keys[i]); isConditionKey(p.keys[i]) && (a == Global) == global {
				if m := p.values[i].holds(object, bare, o); m != nil {
					return (&unmet{*m, p.keys[i], global}).below(change.Key(bare)), nil
				}
			}
		}
	}
	for i, key := range p.keys {
		if a, _ := ParseAnchor(key); isDecided(a) {
			continue
		}
		member, present := object[key]
		if failed, err := p.values[i].compare(member, present, o); failed != nil || err != nil {
			return failed.below(change.Key(key)), err
		}
	}
	return nil, nil
}

// below returns the condition with a longer path; nil for nil.
func (u *unmet) below(e change.Element) *unmet {
	if u != nil {
		u.mismatch.path = slices.Insert(u.mismatch.path, 0, e)
	}
	return u
}

// decideAdditions turns a key with +( ) into a plain key if the object lacks it, and deletes it
// otherwise. It returns the number of such keys. The pattern has no +( ) afterwards: see
// firstItemDecides.
func (p *pattern) decideAdditions(object map[string]any) (count int) {
	for i := 0; i < len(p.keys); {
		a, bare := ParseAnchor(p.keys[i])
		_, present := object[bare]
		if a == Add {
			count++
		}
		if a == Add && present {
			p.delete(i)
			continue
		}
		if a == Add {
			p.keys[i] = bare
		}
		i++
	}
	return count
}

// holds evaluates a condition. If its pattern adds missing values, it holds whenever the key is
// present.
func (p *pattern) holds(object map[string]any, key string, o unknown.Observer) *mismatch {
	value, present := object[key]
	if !present {
		return &mismatch{text: "is missing"}
	}
	if p.isMap {
		below, _ := value.(map[string]any)
		if p.decideAdditions(below) > 0 {
			return nil
		}
	}
	wanted := compared(p.value())
	found := matchPattern(compared(value), wanted, nil)
	switch {
	case !o.IsActive() || !comparesUnknown(value, wanted, o) || o.Choose(found == nil) == (found == nil):
		return found
	case found == nil:
		return &mismatch{text: "may not match"}
	}
	return nil
}

// compared returns a value as Kyverno compares it with the pattern of a condition: scalars as
// text, numbers below as they are in JSON.
func compared(value any) any {
	switch value := value.(type) {
	case map[string]any, []any:
		return number.Floats(value)
	case nil:
		return "null"
	case string:
		return value
	default:
		return jmespath.Text(value)
	}
}

// compareList adds a copy of each item with anchors for each item of the object's list that meets
// its conditions. All items share one copy of the pattern: see firstItemDecides.
func (p *pattern) compareList(value any, present bool, o unknown.Observer) (*unmet, error) {
	list, isList := value.([]any)
	if present && value != nil && !isList {
		return nil, errNotAList
	}
	if !present {
		list = []any{nil}
	}
	for _, item := range slices.Clone(p.values) {
		if !item.hasAnchor(isDecided) {
			continue
		}
		isGate := item.hasAnchor(func(a Anchor) bool { return a == Global })
		shared := item.clone()
		passed, gate := false, (*unmet)(nil)
		for i, member := range list {
			failed, err := shared.compare(member, present, o)
			failed = failed.below(change.Index(i))
			switch {
			case err != nil:
				return nil, err
			case failed != nil && !failed.global:
			case failed != nil && present:
				gate = failed
			case failed != nil:
				return failed, nil
			case isGate:
				passed = true
			case present:
				if err := p.addNamed(shared, member); err != nil {
					return nil, err
				}
			}
		}
		if !passed && gate != nil {
			return gate, nil
		}
	}
	return nil, nil
}

// addNamed adds a copy of a pattern for an item of the object, with the name of the item: see
// namedItemsOnly and nameIgnored.
func (p *pattern) addNamed(shared *pattern, item any) error {
	object, _ := item.(map[string]any)
	name := object["name"]
	if name == nil || change.Equal(name, map[string]any{}) || change.Equal(name, []any{}) {
		return nil
	}
	copied := shared.clone()
	empty, err := copied.deleteAnchors(true)
	if err != nil || empty {
		return err
	}
	if !copied.isMap {
		return errSingleText
	}
	copied.set("name", newPattern(name))
	p.values = append(p.values, copied)
	return nil
}

// deleteAnchors deletes conditions, and reports whether nothing remains: see conditionWritten and
// emptyMapDropped. single says to delete scalars, too.
func (p *pattern) deleteAnchors(single bool) (empty bool, err error) {
	switch {
	case p.isMap:
		return p.deleteFromMap()
	case p.isList:
		return p.deleteFromList()
	}
	return single, nil
}

// deleteFromMap deletes conditions from a map. Values in a condition that are not anchors remain,
// as part of the patch.
func (p *pattern) deleteFromMap() (empty bool, err error) {
	err = p.deleteIf(func(i int) (bool, error) {
		if !isConditionKey(p.keys[i]) {
			return false, nil
		}
		if empty, err := p.values[i].deleteAnchors(true); err != nil || empty {
			return empty, err
		}
		_, bare := ParseAnchor(p.keys[i])
		if plain := slices.Index(p.keys, bare); plain > i {
			p.delete(plain) // of two values for a key, the first counts
		}
		p.keys[i] = bare
		return false, nil
	})
	if err != nil {
		return false, err
	}
	err = p.deleteIf(func(i int) (bool, error) { return p.values[i].deleteAnchors(false) })
	return len(p.keys) == 0, err
}

// deleteFromList deletes the items with anchors at their indexes before the first deletion: see
// itemsLost.
func (p *pattern) deleteFromList() (empty bool, err error) {
	before := slices.Clone(p.values)
	for i, item := range before {
		remove := item.hasAnchor(isDecided)
		if !remove {
			if remove, err = item.deleteAnchors(false); err != nil {
				return false, err
			}
		}
		if !remove {
			continue
		}
		if i >= len(p.values) {
			return false, errDeletion
		}
		p.delete(i)
	}
	return len(before) > 0 && len(p.values) == 0, nil
}
