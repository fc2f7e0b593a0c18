package change

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Shape says how to compare the lists in a value. Lists without a Shape are compared by equal
// items.
type Shape interface {
	// Field returns the shape of the value of a map under name.
	Field(name string) Shape
	// Item returns the shape of the items of a list.
	Item() Shape
	// Keys returns the fields that identify the items of a list of maps. Without keys, only equal
	// items are the same item.
	Keys() []string
}

// Diff returns the changes that turn one object into another. It compares maps key by key in sorted
// order, and lists item by item. Two items are the same item if they agree in the keys of the
// list's shape, or, without keys, if they are equal. Items with repeated keys are matched in order.
// The items between two equal items are compared by position.
func Diff(from, to map[string]any, shape Shape) []Change {
	if sameMap(from, to) {
		return nil
	}
	var few [16]Element
	d := differ{path: few[:0]}
	d.object(from, to, shape)
	return d.changes
}

// differ collects changes. path is the path of the values being compared.
type differ struct {
	path    Path
	changes []Change
}

func (d *differ) add(c Change) {
	c.Path = append(make(Path, 0, len(d.path)), d.path...)
	d.changes = append(d.changes, c)
}

// value compares values that are not the same by Same, but may be equal.
func (d *differ) value(from, to any, shape Shape) {
	switch from := from.(type) {
	case map[string]any:
		if to, ok := to.(map[string]any); ok {
			d.object(from, to, shape)
			return
		}
	case []any:
		if to, ok := to.([]any); ok {
			d.list(from, to, shape)
			return
		}
	}
	d.add(Change{Op: Replace, Old: from, New: to})
}

func (d *differ) object(from, to map[string]any, shape Shape) {
	var few [8]string
	for _, key := range unsharedKeys(few[:0], from, to) {
		d.path = append(d.path, Key(key))
		before, had := from[key]
		after, has := to[key]
		switch {
		case !has:
			d.add(Change{Op: Remove, Old: before})
		case !had:
			d.add(Change{Op: Add, New: after})
		default:
			d.value(before, after, field(shape, key))
		}
		d.path = d.path[:len(d.path)-1]
	}
}

// unsharedKeys appends, sorted, the keys whose values are not the same in two maps.
func unsharedKeys(keys []string, a, b map[string]any) []string {
	if sameMap(a, b) {
		return nil
	}
	shared := 0
	for key, value := range a {
		other, ok := b[key]
		if !ok || !Same(value, other) {
			keys = append(keys, key)
		}
		if ok {
			shared++
		}
	}
	if shared < len(b) {
		for key := range b {
			if _, ok := a[key]; !ok {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

func (d *differ) list(from, to []any, shape Shape) {
	if sameList(from, to) {
		return
	}
	pairs := Align(from, to, shape)
	kept := make([]bool, len(from))
	for _, i := range pairs {
		if i >= 0 {
			kept[i] = true
		}
	}
	for i := len(from) - 1; i >= 0; i-- {
		if !kept[i] {
			d.addItem(i, Change{Op: Remove, Old: from[i]})
		}
	}
	d.moves(pairs, kept)
	for j, i := range pairs {
		if i < 0 {
			d.addItem(j, Change{Op: Add, New: to[j]})
		}
	}
	for j, i := range pairs {
		if i >= 0 && !Same(from[i], to[j]) {
			d.path = append(d.path, Index(j))
			d.value(from[i], to[j], item(shape))
			d.path = d.path[:len(d.path)-1]
		}
	}
}

// addItem adds a change to the item at index i.
func (d *differ) addItem(i int, c Change) {
	d.path = append(d.path, Index(i))
	d.add(c)
	d.path = d.path[:len(d.path)-1]
}

// moves puts the items that stay into their new order. The longest run in the right order stays in
// place. Each other item is moved to the place after its new predecessor.
func (d *differ) moves(pairs []int, kept []bool) {
	if inOrder(pairs) {
		return
	}
	current := make(counts, len(kept)+2) // how many items come after which item that stays in place
	for i := range kept {
		if kept[i] {
			current.add(i+1, 1)
		}
	}
	var wanted []int
	for _, i := range pairs {
		if i >= 0 {
			wanted = append(wanted, i)
		}
	}
	fixed := make([]bool, len(kept))
	for _, at := range increasing(wanted) {
		fixed[wanted[at]] = true
	}
	last := 0 // the position of the last fixed item, counted from 1
	for _, i := range wanted {
		if fixed[i] {
			last = i + 1
			continue
		}
		from := current.upTo(i)
		current.add(i+1, -1)
		at := current.upTo(last)
		current.add(last, 1)
		if from != at {
			d.addItem(at, Change{Op: Move, From: from})
		}
	}
}

// counts are numbers whose sums are quickly known (P. Fenwick, A New Data Structure for Cumulative
// Frequency Tables, 1994).
type counts []int

func (c counts) add(at, n int) {
	for at++; at < len(c); at += at & -at {
		c[at] += n
	}
}

// upTo returns the sum of the numbers up to and including one.
func (c counts) upTo(at int) int {
	sum := 0
	for at++; at > 0; at -= at & -at {
		sum += c[at]
	}
	return sum
}

// inOrder reports whether the items that stay are still in order.
func inOrder(pairs []int) bool {
	last := -1
	for _, i := range pairs {
		if i >= 0 && i < last {
			return false
		}
		last = max(last, i)
	}
	return true
}

// Align matches the items of two lists as Diff does. It returns, for each item of to, the index of
// the same item in from, or -1 for a new item.
func Align(from, to []any, shape Shape) []int {
	keys := listKeys(shape)
	if len(keys) == 0 || !areMaps(from) || !areMaps(to) {
		return alignByValue(from, to)
	}
	if pairs := alignInPlace(from, to, keys); pairs != nil {
		return pairs
	}
	pairs := alignByIdentity(identities(from, keys), identities(to, keys))
	pairRenamed(pairs, from, to, keys)
	return pairs
}

func areMaps(items []any) bool {
	for _, item := range items {
		if _, ok := item.(map[string]any); !ok {
			return false
		}
	}
	return true
}

// alignInPlace aligns two lists if one has the same items in the same places as the other, and
// perhaps more items at its end. Otherwise it returns nil.
func alignInPlace(from, to []any, keys []string) []int {
	for i := range min(len(from), len(to)) {
		a, b := from[i].(map[string]any), to[i].(map[string]any)
		for _, key := range keys {
			if !Equal(a[key], b[key]) {
				return nil
			}
		}
	}
	pairs := unpaired(len(to))
	for i := range min(len(from), len(to)) {
		pairs[i] = i
	}
	return pairs
}

func unpaired(n int) []int {
	pairs := make([]int, n)
	for j := range pairs {
		pairs[j] = -1
	}
	return pairs
}

// identities returns, for each item, a text that identifies the item by its keys. All items are
// maps.
func identities(items []any, keys []string) []string {
	ids := make([]string, len(items))
	seen := make(map[string]int, len(items))
	for i, it := range items {
		object, _ := it.(map[string]any)
		var id []byte
		for _, key := range keys {
			id = append(append(id, encode(object[key])...), 0)
		}
		ids[i] = string(id) + strconv.Itoa(seen[string(id)])
		seen[string(id)]++
	}
	return ids
}

func alignByIdentity(from, to []string) []int {
	index := make(map[string]int, len(from))
	for i, id := range from {
		index[id] = i
	}
	pairs := unpaired(len(to))
	for j, id := range to {
		if i, ok := index[id]; ok {
			pairs[j] = i
		}
	}
	return pairs
}

// pairRenamed pairs items in the same place of which little but the keys has changed.
func pairRenamed(pairs []int, from, to []any, keys []string) {
	paired := make([]bool, len(from))
	for _, i := range pairs {
		if i >= 0 {
			paired[i] = true
		}
	}
	last := -1 // the old item of the item before
	for j := range pairs {
		for _, i := range [...]int{last + 1, j} {
			if pairs[j] < 0 && i < len(from) && !paired[i] && isRenamed(from[i].(map[string]any), to[j].(map[string]any), keys) {
				pairs[j], paired[i] = i, true
			}
		}
		if pairs[j] >= 0 {
			last = pairs[j]
		}
	}
}

// isRenamed reports whether two items differ in nothing but their keys and what b has in addition, or
// whether more of the values in them are equal than not.
func isRenamed(a, b map[string]any, keys []string) bool {
	equal, differ := 0, 0
	for name, value := range a {
		if other, ok := b[name]; ok || !slices.Contains(keys, name) {
			same, not := compare(value, other)
			if equal += same; !slices.Contains(keys, name) {
				differ += not
			}
		}
	}
	if differ == 0 {
		return true
	}
	for name := range b {
		if _, ok := a[name]; !ok && !slices.Contains(keys, name) {
			differ++
		}
	}
	return equal > differ
}

// compare counts the values without children of a that are equal in b, and those that differ. What b
// has in addition counts as different, each entry or item once.
func compare(a, b any) (equal, differ int) {
	switch a := a.(type) {
	case map[string]any:
		b, _ := b.(map[string]any)
		for name, value := range a {
			same, not := compare(value, b[name])
			equal, differ = equal+same, differ+not
		}
		return equal, differ + max(0, len(b)-len(a))
	case []any:
		b, _ := b.([]any)
		for i, value := range a {
			var other any
			if i < len(b) {
				other = b[i]
			}
			same, not := compare(value, other)
			equal, differ = equal+same, differ+not
		}
		return equal, differ + max(0, len(b)-len(a))
	}
	if Equal(a, b) {
		return 1, 0
	}
	return 0, 1
}

// alignByValue pairs the longest common subsequence of equal items. It pairs the items between by
// position.
func alignByValue(from, to []any) []int {
	pairs := commonSubsequence(from, to)
	i := 0
	for j := 0; j < len(pairs); {
		if pairs[j] >= 0 {
			i = pairs[j] + 1
			j++
			continue
		}
		end := j
		for end < len(pairs) && pairs[end] < 0 {
			end++
		}
		limit := len(from)
		if end < len(pairs) {
			limit = pairs[end]
		}
		for ; j < end; j++ {
			if i < limit {
				pairs[j] = i
				i++
			}
		}
	}
	return pairs
}

// commonSubsequence pairs equal items at the ends of two lists, and a common subsequence of the items
// between.
func commonSubsequence(from, to []any) []int {
	pairs := unpaired(len(to))
	head := 0
	for head < len(from) && head < len(to) && Equal(from[head], to[head]) {
		pairs[head] = head
		head++
	}
	tail := 0
	for tail < len(from)-head && tail < len(to)-head && Equal(from[len(from)-1-tail], to[len(to)-1-tail]) {
		tail++
		pairs[len(to)-tail] = len(from) - tail
	}
	n, m := len(from)-tail-head, len(to)-tail-head
	if n == 0 || m == 0 || n == 1 && m == 1 {
		return pairs
	}
	for j, i := range Common(encodeAll(from[head:head+n]), encodeAll(to[head:head+m])) {
		if i >= 0 {
			pairs[head+j] = head + i
		}
	}
	return pairs
}

func encodeAll(items []any) []string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = encode(item)
	}
	return texts
}

// encode returns the same text for equal values, and different texts for different values.
func encode(value any) string {
	switch value := value.(type) {
	case string:
		return `"` + value
	case float64: // JSON would print 1.0 as 1
		return "f" + strconv.FormatFloat(value, 'g', -1, 64)
	case map[string]any, []any:
		text, err := json.Marshal(value)
		if err != nil {
			panic("change: a value that is not JSON: " + err.Error())
		}
		return string(text)
	default:
		text, _ := json.Marshal(value)
		return string(text)
	}
}

func field(shape Shape, name string) Shape {
	if shape == nil {
		return nil
	}
	return shape.Field(name)
}

func item(shape Shape) Shape {
	if shape == nil {
		return nil
	}
	return shape.Item()
}

func listKeys(shape Shape) []string {
	if shape == nil {
		return nil
	}
	return shape.Keys()
}
