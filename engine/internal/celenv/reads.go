package celenv

import (
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/preadmit/preadmit/engine/change"
)

// Reads notes the values that the expressions of an Activation read. The zero Reads is empty.
type Reads struct {
	all []read
	// known are the paths of all, and entered the paths of values in which something was read.
	known, entered map[string]bool
}

// Read is a value that an expression has read.
type Read struct {
	// Path begins with the name of the variable, such as object.
	Path change.Path
	// Value is the value; it is nil if it is null or Absent.
	Value  any
	Absent bool
}

// read is a Read whose value is not converted yet.
type read struct {
	path   change.Path
	value  ref.Val
	absent bool
}

// Values returns what was read, in the order of the first read. A list or map counts only if it was read
// as a whole, tested for its presence, or if it is empty.
func (r *Reads) Values() []Read {
	var values []Read
	for _, one := range r.all {
		if !r.entered[one.path.Pointer()] {
			values = append(values, Read{Path: one.path, Value: plainValue(one.value), Absent: one.absent})
		}
	}
	return values
}

// plainValue returns the Go value of a CEL value; of a type that JSON lacks, it is the text.
func plainValue(value ref.Val) any {
	if value == nil {
		return nil
	}
	switch plain, err := everyLevel(unwatched(value)); plain := plain.(type) {
	case nil, bool, string, int64, float64, map[string]any, []any:
		return plain
	default:
		if err == nil && value.Type() != types.NullType {
			return fmt.Sprint(plain)
		}
	}
	return nil
}

// note notes that the value at a path was read, which is below the value at above; nil is no value.
func (r *Reads) note(above, path change.Path, value ref.Val, absent bool) {
	r.enter(above)
	key := path.Pointer()
	if r.known[key] {
		return
	}
	if r.known == nil {
		r.known = map[string]bool{}
	}
	r.known[key] = true
	r.all = append(r.all, read{path, value, absent})
}

// enter notes that something in the value at a path was read.
func (r *Reads) enter(path change.Path) {
	if r.entered == nil {
		r.entered = map[string]bool{}
	}
	r.entered[path.Pointer()] = true
}

// variable returns the value of a variable, whose reads are noted. What a variable copies from another
// one keeps the path of the original.
func (r *Reads) variable(name string, value any) any {
	if r == nil {
		return value
	}
	return r.watch(nil, change.Keys(name), plainAdapter.NativeToValue(value))
}

// watch notes a value, and returns it so that reads of what is in it are noted.
func (r *Reads) watch(above, path change.Path, value ref.Val) ref.Val {
	switch v := value.(type) {
	case *watchedMap, *watchedList:
		r.enter(above)
	case *types.Err, *types.Unknown:
	default:
		r.note(above, path, v, false)
	}
	return r.open(path, value)
}

// open returns a value so that reads of what is in it are noted, although itself is not.
func (r *Reads) open(path change.Path, value ref.Val) ref.Val {
	switch v := value.(type) {
	case *watchedMap, *watchedList:
	case traits.Mapper:
		return &watchedMap{v, r, path}
	case traits.Lister:
		return &watchedList{v, r, path}
	}
	return value
}

// unwatched returns a value whose reads are not noted.
func unwatched(value ref.Val) ref.Val {
	switch v := value.(type) {
	case *watchedMap:
		return v.Mapper
	case *watchedList:
		return v.Lister
	}
	return value
}

// watchedMap is a map whose reads are noted.
type watchedMap struct {
	traits.Mapper
	reads *Reads
	path  change.Path
}

// Find implements traits.Mapper.
func (m *watchedMap) Find(key ref.Val) (ref.Val, bool) {
	value, found := m.Mapper.Find(key)
	path := m.path.Key(fmt.Sprint(key.Value()))
	if found {
		return m.reads.watch(m.path, path, value), true
	}
	if value == nil { // no error
		m.reads.note(m.path, path, nil, true)
	}
	return value, false
}

// Get implements traits.Indexer.
func (m *watchedMap) Get(key ref.Val) ref.Val {
	if value, found := m.Find(key); found {
		return value
	}
	return m.Mapper.Get(key)
}

// Contains implements traits.Container.
func (m *watchedMap) Contains(key ref.Val) ref.Val {
	_, found := m.Find(key)
	if !found {
		return m.Mapper.Contains(key)
	}
	return types.True
}

// Equal implements ref.Val.
func (m *watchedMap) Equal(other ref.Val) ref.Val { return m.Mapper.Equal(unwatched(other)) }

// IsZeroValue implements traits.Zeroer.
func (m *watchedMap) IsZeroValue() bool { return m.Size() == types.IntZero }

// watchedList is a list whose reads are noted.
type watchedList struct {
	traits.Lister
	reads *Reads
	path  change.Path
}

// Get implements traits.Indexer.
func (l *watchedList) Get(index ref.Val) ref.Val {
	value := l.Lister.Get(index)
	if i, ok := index.(types.Int); ok && !types.IsError(value) {
		return l.reads.watch(l.path, l.path.Index(int(i)), value)
	}
	return value
}

// Iterator implements traits.Iterable.
func (l *watchedList) Iterator() traits.Iterator { return &watchedItems{list: l} }

// Add implements traits.Adder. The sum is a list of the items, whose reads are noted.
func (l *watchedList) Add(other ref.Val) ref.Val {
	list, ok := other.(traits.Lister)
	if !ok {
		return l.Lister.Add(other)
	}
	var items []ref.Val
	for _, part := range []traits.Lister{l, list} {
		for it := part.Iterator(); it.HasNext() == types.True; {
			items = append(items, it.Next())
		}
	}
	return types.NewRefValList(plainAdapter, items)
}

// Equal implements ref.Val.
func (l *watchedList) Equal(other ref.Val) ref.Val { return l.Lister.Equal(unwatched(other)) }

// IsZeroValue implements traits.Zeroer.
func (l *watchedList) IsZeroValue() bool { return l.Size() == types.IntZero }

// watchedItems iterates over a watchedList. A macro gets an item before it knows whether it needs it; if
// so, it asks for another one afterwards.
type watchedItems struct {
	opaque
	list *watchedList
	next int
}

// Equal implements ref.Val.
func (i *watchedItems) Equal(other ref.Val) ref.Val { return types.Bool(ref.Val(i) == other) }

// Value implements ref.Val.
func (i *watchedItems) Value() any { return nil }

// HasNext implements traits.Iterator.
func (i *watchedItems) HasNext() ref.Val {
	if i.next > 0 {
		i.list.Get(types.Int(i.next - 1)) // notes it
	}
	return types.Bool(types.Int(i.next) < i.list.Size().(types.Int))
}

// Next implements traits.Iterator.
func (i *watchedItems) Next() ref.Val {
	l := i.list
	i.next++
	return l.reads.open(l.path.Index(i.next-1), l.Lister.Get(types.Int(i.next-1)))
}
