package celenv

import (
	"context"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/preadmit/preadmit/engine/internal/admission"
)

// Reader is told about every scalar of an object that expressions get. An evaluation is
// deterministic, so that a scalar that it did not get cannot change its result. has() of a scalar
// gets it, and so does an expression that copies a whole map or list.
type Reader func(value any)

type readerKey struct{}

// WithReader returns a context whose evaluations tell a reader; nil tells none.
func WithReader(ctx context.Context, reader Reader) context.Context {
	return context.WithValue(ctx, readerKey{}, reader)
}

func readerIn(ctx context.Context) Reader {
	if ctx == nil {
		return nil
	}
	reader, _ := ctx.Value(readerKey{}).(Reader)
	return reader
}

// variableOf returns the value of a variable, which tells the reader if there is one. Go values
// are told as a whole.
func (a *Activation) variableOf(object map[string]any, goType admission.GoType) any {
	switch {
	case a.reader == nil || object == nil:
	case goType.IsStruct():
		a.reader.all(object)
	default:
		return observing{plainAdapter, a.reader}.NativeToValue(object)
	}
	return variableOf(object, goType)
}

// all tells every scalar in a value.
func (r Reader) all(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, item := range value {
			r.all(item)
		}
	case []any:
		for _, item := range value {
			r.all(item)
		}
	default:
		r(value)
	}
}

// observing is an adapter that tells a reader what it converts.
type observing struct {
	types.Adapter
	reader Reader
}

// NativeToValue implements types.Adapter.
func (o observing) NativeToValue(value any) ref.Val {
	switch value := value.(type) {
	case map[string]any:
		return &observedMap{&orderedMap{types.NewStringInterfaceMap(o, value)}, value, o.reader}
	case []any:
		return &observedList{types.NewDynamicList(o, value), value, o.reader}
	case string, bool, int64, float64:
		o.reader(value)
	}
	return o.Adapter.NativeToValue(value)
}

// native is a collection whose Value tells a reader about all of it.
type native interface{ unread() any }

// unread returns the Go value of a collection without telling a reader.
func unread(value ref.Val) any {
	if n, ok := value.(native); ok {
		return n.unread()
	}
	return value.Value()
}

// observedMap is a map of an object.
type observedMap struct {
	traits.Mapper
	object map[string]any
	reader Reader
}

func (m *observedMap) unread() any { return m.object }

// Value implements ref.Val.
func (m *observedMap) Value() any {
	m.reader.all(m.object)
	return m.object
}

// ConvertToNative implements ref.Val.
func (m *observedMap) ConvertToNative(want reflect.Type) (any, error) {
	m.reader.all(m.object)
	return m.Mapper.ConvertToNative(want)
}

// observedList is a list of an object.
type observedList struct {
	traits.Lister
	items  []any
	reader Reader
}

func (l *observedList) unread() any { return l.items }

// IsZeroValue implements traits.Zeroer.
func (l *observedList) IsZeroValue() bool { return len(l.items) == 0 }

// Value implements ref.Val.
func (l *observedList) Value() any {
	l.reader.all(l.items)
	return l.items
}

// ConvertToNative implements ref.Val.
func (l *observedList) ConvertToNative(want reflect.Type) (any, error) {
	l.reader.all(l.items)
	return l.Lister.ConvertToNative(want)
}
