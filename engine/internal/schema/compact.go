package schema

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/release"
)

// builtinText describes the built-in API of Kubernetes 1.36: a line for each kind, resource and
// type, sorted by bytes:
//
//	k <apiVersion> <kind>     TAB <component> <resource> <scope> <subresource,…>
//	r <apiVersion> <resource> TAB <kind>
//	t <component>             TAB <type>
//
// Missing resources and subresources are written "-"; the scope is C or N. A type is written as
//
//	s i n b I q u     a string, integer, number, boolean, int-or-string, quantity,
//	                  or anything; ":" and the format may follow
//	&name             the type of a component
//	[type] <type>     a list, a map
//	{name type,…}     a struct, fields sorted; a field may end in "*" (required) and
//	                  in "=" and its default as JSON
//
// each followed by "!" (atomic map), "+" (set), "@key/key" (list of maps by keys) and
// "~strategy/mergekey", with "|" for the commas of the strategy. In the structs that are Go types,
// a field has the character of its Zero in place of the blank, and "#" with the order of the fields
// in Go comes first; see Field and GoFields. Attributes after the name of a
// component apply only to that reference.
//
//go:embed builtin.txt
var builtinText string

// differences are the lines of other versions that differ.
//
//go:embed versions
var differences embed.FS

var builtinTable = release.NewTable(builtinText, "\t", differences, "versions/1.%d.txt")

// libraries are the libraries of all versions, by release.Index.
var libraries = func() (all [release.Count]*library) {
	for i := range all {
		all[i] = &library{minor: release.Oldest + i}
	}
	return all
}()

// untyped is the type of values that may be of any type.
var untyped = &Type{Scalar: Untyped}

// library reads kinds and types of Kubernetes 1.minor from the text, when they are first used. A
// nil library is empty.
type library struct {
	minor int
	mu    sync.Mutex
	kinds map[gvk.Kind]*Kind
	types map[string]*Type
}

func (l *library) text() string { return builtinTable.For(l.minor) }

func (l *library) lookup(name gvk.Kind) *Kind {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.kinds[name]; k != nil {
		return k
	}
	line, found := findLine(l.text(), "k "+name.APIVersion()+" "+name.Kind+"\t")
	if !found {
		return nil
	}
	return l.readKind(name, line)
}

// readKind returns the kind that a line describes. It parses the line only once.
func (l *library) readKind(name gvk.Kind, line string) *Kind {
	if k := l.kinds[name]; k != nil {
		return k
	}
	words := strings.Split(line, " ")
	component := words[0]
	k := &Kind{Kind: name, Minor: l.minor, Namespaced: words[2] == "N"}
	if words[1] != "-" {
		k.Resource = words[1]
	}
	if words[3] != "-" {
		k.Subresources = strings.Split(words[3], ",")
	}
	k.lazy = &lazyType{load: func() *Type { return l.typeNamed(component) }}
	if l.kinds == nil {
		l.kinds = map[gvk.Kind]*Kind{}
	}
	l.kinds[name] = k
	return k
}

func (l *library) lookupResource(r gvk.Resource) *Kind {
	if l == nil {
		return nil
	}
	apiVersion := gvk.Kind{Group: r.Group, Version: r.Version}.APIVersion()
	kind, found := findLine(l.text(), "r "+apiVersion+" "+r.Resource+"\t")
	if !found {
		return nil
	}
	return l.lookup(gvk.Kind{Group: r.Group, Version: r.Version, Kind: kind})
}

// all returns every kind.
func (l *library) all() []*Kind {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var kinds []*Kind
	for line := range linesWith(l.text(), "k ") {
		key, rest, _ := strings.Cut(line, "\t")
		words := strings.Split(key, " ")
		kinds = append(kinds, l.readKind(gvk.Parse(words[1], words[2]), rest))
	}
	return kinds
}

// versions returns the kinds of a resource in all its versions.
func (l *library) versions(group, resource string) []*Kind {
	if l == nil {
		return nil
	}
	prefix := "r " + group + "/"
	if group == "" {
		prefix = "r v"
	}
	var kinds []*Kind
	for line := range linesWith(l.text(), prefix) {
		key, kind, _ := strings.Cut(line, "\t")
		words := strings.Split(key, " ")
		name := gvk.Parse(words[1], kind)
		if name.Group == group && words[2] == resource {
			kinds = append(kinds, l.lookup(name))
		}
	}
	return kinds
}

// findLine returns the rest of the line that begins with prefix.
func findLine(text, prefix string) (rest string, found bool) {
	rest, found = strings.CutPrefix(text[lowerBound(text, prefix):], prefix)
	rest, _, _ = strings.Cut(rest, "\n")
	return rest, found
}

// linesWith iterates over the lines that begin with prefix.
func linesWith(text, prefix string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text[lowerBound(text, prefix):]) {
			if !strings.HasPrefix(line, prefix) || !yield(strings.TrimSuffix(line, "\n")) {
				return
			}
		}
	}
}

// lowerBound returns the start of the first line that is not less than key. The lines of text
// are sorted.
func lowerBound(text, key string) int {
	low, high := 0, len(text) // both at the start of a line
	for low < high {
		middle := low + (high-low)/2
		start := strings.LastIndexByte(text[low:middle], '\n') + 1 + low
		end := strings.IndexByte(text[start:], '\n') + 1 + start
		if text[start:end] < key {
			low = end
		} else {
			high = start
		}
	}
	return low
}

// typeNamed returns the type of a component, with all types that it refers to; nil if the
// component is missing.
func (l *library) typeNamed(component string) *Type {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.types[component]; t != nil {
		return t
	}
	if _, found := findLine(l.text(), "t "+component+"\t"); !found {
		return nil
	}
	r := typeReader{library: l}
	root := r.component(component)
	for len(r.queue) > 0 {
		t := r.queue[0]
		r.queue = r.queue[1:]
		r.rest, _ = findLine(l.text(), "t "+t.Name+"\t")
		name := t.Name
		*t = r.typ()
		t.Name = name
	}
	for _, v := range r.variants {
		v.complete()
	}
	return root
}

// A variant is the type of a component with other attributes at a reference. It can be completed
// when all components have been read.
type variant struct {
	of, typ *Type
	set     func(*Type)
}

func (v variant) complete() {
	*v.typ = *v.of
	v.set(v.typ)
}

// typeReader parses types.
type typeReader struct {
	library  *library
	rest     string
	queue    []*Type
	variants []variant
}

// component returns the type of a component. The text of a new component is parsed later.
func (r *typeReader) component(name string) *Type {
	if t := r.library.types[name]; t != nil {
		return t
	}
	if r.library.types == nil {
		r.library.types = map[string]*Type{}
	}
	t := &Type{Name: name}
	r.library.types[name] = t
	r.queue = append(r.queue, t)
	return t
}

// pointer parses a type and returns a pointer to it.
func (r *typeReader) pointer() *Type {
	if r.rest[0] == '&' {
		r.rest = r.rest[1:]
		of := r.component(r.word())
		if attributes := r.attributes(); attributes != nil {
			typ := new(Type)
			r.variants = append(r.variants, variant{of, typ, attributes})
			return typ
		}
		return of
	}
	t := r.typ()
	if t.Scalar == Untyped && t.Format == "" && !t.AtomicMap && t.Strategy == "" {
		return untyped
	}
	return &t
}

// typ parses a type that is written in place.
func (r *typeReader) typ() Type {
	var t Type
	c := r.rest[0]
	r.rest = r.rest[1:]
	switch c {
	case '{':
		t.Fields = r.fields()
	case '[':
		t.IsList = true
		t.Elem = r.pointer()
		r.expect(']')
	case '<':
		t.Elem = r.pointer()
		r.expect('>')
	default:
		scalar := strings.IndexByte(scalarLetters, c)
		if scalar < 0 {
			r.damaged()
		}
		t.Scalar = Scalar(scalar) + String
		if r.skip(':') {
			t.Format = r.word()
		}
	}
	if r.skip('#') {
		t.Minor, t.order, r.rest = r.library.minor, r.rest[:len(t.Fields)], r.rest[len(t.Fields):]
	}
	if set := r.attributes(); set != nil {
		set(&t)
	}
	return t
}

// scalarLetters are the letters of String, Integer and the following scalars.
const scalarLetters = "sinbIqu"

func (r *typeReader) fields() []Field {
	fields := make([]Field, 0, 8)
	for !r.skip('}') {
		var f Field
		end := strings.IndexAny(r.rest, " !~?*^")
		f.Name = r.rest[:end]
		if zero := r.rest[end]; zero != ' ' {
			f.Zero = Zero(zero)
		}
		r.rest = r.rest[end+1:]
		f.Type = r.pointer()
		f.Required = r.skip('*')
		if r.skip('=') {
			f.Default = r.json()
		}
		fields = append(fields, f)
		r.skip(',')
	}
	return slices.Clip(fields)
}

// attributes parses the attributes after a type; nil if there are no attributes.
func (r *typeReader) attributes() func(*Type) {
	var a Type
	before := len(r.rest)
	a.AtomicMap = r.skip('!')
	if r.skip('+') {
		a.List = Set
	}
	if r.skip('@') {
		a.List, a.ListKeys = Associative, strings.Split(r.word(), "/")
	}
	if r.skip('~') {
		a.Strategy, a.MergeKey, _ = strings.Cut(r.word(), "/")
		a.Strategy = strings.ReplaceAll(a.Strategy, "|", ",")
	}
	if len(r.rest) == before {
		return nil
	}
	return func(t *Type) {
		t.AtomicMap = t.AtomicMap || a.AtomicMap
		if a.List != Atomic {
			t.List, t.ListKeys = a.List, a.ListKeys
		}
		if a.Strategy != "" {
			t.Strategy, t.MergeKey = a.Strategy, a.MergeKey
		}
	}
}

// json parses a JSON value up to the end of its field.
func (r *typeReader) json() any {
	depth, end := 0, 0
	for quoted := false; ; end++ {
		switch c := r.rest[end]; {
		case quoted && c == '\\':
			end++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case depth == 0 && (c == ',' || c == '}'):
			text := r.rest[:end]
			r.rest = r.rest[end:]
			return readDefault(text)
		}
	}
}

func readDefault(text string) any {
	switch text { // the usual values need no decoder
	case `""`:
		return ""
	case "{}":
		return map[string]any{}
	case "0":
		return int64(0)
	}
	value, err := number.Decode(text)
	if err != nil {
		panic(fmt.Sprintf("schema: the embedded text has the default %s: %v", text, err))
	}
	return value
}

func (r *typeReader) word() string {
	end := strings.IndexAny(r.rest, ",]>}=*@~!+")
	if end < 0 {
		end = len(r.rest)
	}
	word := r.rest[:end]
	r.rest = r.rest[end:]
	return word
}

func (r *typeReader) skip(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *typeReader) expect(c byte) {
	if !r.skip(c) {
		r.damaged()
	}
}

// damaged panics: the generator never writes such a text.
func (r *typeReader) damaged() {
	panic(fmt.Sprintf("schema: the embedded text is damaged before %.40q", r.rest))
}

// Component returns the type of an OpenAPI component of Kubernetes 1.minor; nil if it has no such
// component.
func Component(minor int, name string) *Type { return libraries[release.Index(minor)].typeNamed(name) }
