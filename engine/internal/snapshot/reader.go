package snapshot

import (
	"cmp"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/redact"
)

// Reader reads a snapshot during one admission, and records what the result depends on.
type Reader struct {
	snapshot *Snapshot
	// Owner is the admission that reads, for the Objects of the snapshot.
	Owner any
	asked bool
	err   error
	read  reading
}

// reading is what a reader has asked, the sensitive objects that it has read, and how often it has
// read any.
type reading struct {
	queries []Query
	asked   map[Query]bool
	objects []*redact.Objects
	known   map[*redact.Objects]bool
	times   int
}

// Query is a question about a snapshot: about one object, or with another Scope about which objects
// there are.
type Query struct {
	Scope           Scope
	Kind            gvk.Kind
	Namespace, Name string
}

// Scope is what a Query asks about.
type Scope int

// The scopes: an object; the names of the objects of a kind in a namespace, or everywhere if that is
// empty; and the kinds of all objects.
const (
	OneObject Scope = iota
	NamesOfKind
	AllKinds
)

// ask records a query.
func (r *reading) ask(q Query) {
	if r.asked[q] {
		return
	}
	if r.asked == nil {
		r.asked = map[Query]bool{}
	}
	r.asked[q] = true
	r.queries = append(r.queries, q)
}

// Reader returns a reader of the snapshot.
func (s *Snapshot) Reader(owner any) *Reader { return &Reader{snapshot: s, Owner: owner} }

// Ask records that a result depends on the snapshot.
func (r *Reader) Ask() { r.asked = true }

// Asked reports whether Ask was called.
func (r *Reader) Asked() bool { return r.asked }

// AddSensitive records that objects that were looked up are sensitive. Objects of the snapshot call
// it.
func (r *Reader) AddSensitive(objects *redact.Objects) {
	r.read.times++
	if r.read.known[objects] {
		return
	}
	if r.read.known == nil {
		r.read.known = map[*redact.Objects]bool{}
	}
	r.read.known[objects] = true
	r.read.objects = append(r.read.objects, objects)
}

// Queries returns what the reader has asked, each query once, in order.
func (r *Reader) Queries() []Query { return r.read.queries }

// Sensitive returns the objects passed to AddSensitive.
func (r *Reader) Sensitive() []*redact.Objects { return r.read.objects }

// SensitiveReads returns how often AddSensitive was called.
func (r *Reader) SensitiveReads() int { return r.read.times }

// Err returns the first error of an object that could not be made. A result computed without
// that object must not be used, even if the error was ignored.
func (r *Reader) Err() error { return r.err }

// Get returns an object, or nil if the snapshot lacks it.
func (r *Reader) Get(kind gvk.Kind, namespace, name string) (map[string]any, error) {
	return r.object(key{kind, namespace, name})
}

// List returns the objects of a kind in a namespace, or everywhere if the namespace
// is empty, sorted by namespace and name.
func (r *Reader) List(kind gvk.Kind, namespace string) ([]map[string]any, error) {
	return r.Select(kind, namespace, func(string, string) bool { return true })
}

// Select is List for the objects that wants accepts. Other objects are not made.
func (r *Reader) Select(kind gvk.Kind, namespace string, wants func(namespace, name string) bool) ([]map[string]any, error) {
	r.read.ask(Query{Scope: NamesOfKind, Kind: kind, Namespace: namespace})
	var objects []map[string]any
	for _, k := range r.snapshot.list(kind, namespace) {
		if !wants(k.namespace, k.name) {
			continue
		}
		object, err := r.object(k)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// Kinds returns the kinds of the objects in the snapshot, sorted.
func (r *Reader) Kinds() []gvk.Kind {
	r.read.ask(Query{Scope: AllKinds})
	if r.snapshot.objects == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(r.snapshot.sorted()), func(a, b gvk.Kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
}

func (r *Reader) object(k key) (map[string]any, error) {
	r.read.ask(Query{Kind: k.kind, Namespace: k.namespace, Name: k.name})
	if r.err != nil {
		return nil, r.err
	}
	object := r.snapshot.objects[k]
	if object == nil {
		return nil, nil
	}
	value, err := object(r)
	r.err = err
	return value, err
}

// Once returns the result of compute, which runs once for all readers. An error is not kept. The
// key must be of a type that the caller defines.
func (r *Reader) Once(key any, compute func() (any, error)) (any, error) {
	if known, ok := r.snapshot.made.Load(key); ok {
		known := known.(onceValue)
		return r.take(known), nil
	}
	before := r.read
	r.read = reading{}
	value, err := compute()
	result := onceValue{value: value, queries: r.read.queries}
	if len(r.read.objects) > 0 {
		result.sensitive = redact.Join(r.read.objects)
	}
	r.read = before
	if err == nil {
		known, _ := r.snapshot.made.LoadOrStore(key, result)
		result = known.(onceValue)
	}
	return r.take(result), err
}

// take returns a value of Once, and records what it depends on.
func (r *Reader) take(m onceValue) any {
	for _, q := range m.queries {
		r.read.ask(q)
	}
	if m.sensitive != nil {
		r.AddSensitive(m.sensitive)
	}
	return m.value
}

// onceValue is a value of Once, what its computation has asked, and the sensitive objects that it
// depends on, or nil.
type onceValue struct {
	value     any
	queries   []Query
	sensitive *redact.Objects
}
