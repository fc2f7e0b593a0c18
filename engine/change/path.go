package change

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Element is one step of a Path: a key of a map, or an index of a list.
type Element struct {
	Key   string
	Index int // -1 for a key
}

// Key returns the element that selects the value of a map under name.
func Key(name string) Element { return Element{Key: name, Index: -1} }

// Index returns the element that selects an item of a list, counting from 0.
func Index(i int) Element { return Element{Index: i} }

// IsIndex reports whether e selects an item of a list.
func (e Element) IsIndex() bool { return e.Index >= 0 }

// Path leads from the root of an object to a value in it. The empty path is the root.
type Path []Element

// Keys returns a path of map keys.
func Keys(names ...string) Path {
	p := make(Path, len(names))
	for i, name := range names {
		p[i] = Key(name)
	}
	return p
}

// Key returns p extended by a map key. The result shares no memory with p.
func (p Path) Key(name string) Path { return p.extended(Key(name)) }

// Index returns p extended by a list index. The result shares no memory with p.
func (p Path) Index(i int) Path { return p.extended(Index(i)) }

func (p Path) extended(e Element) Path {
	longer := make(Path, len(p)+1)
	copy(longer, p)
	longer[len(p)] = e
	return longer
}

// String returns the path in the form of Kubernetes field paths: "spec.containers[0].image", and
// "metadata.labels[example.com/team]" for a key that is not a plain name.
func (p Path) String() string {
	var b strings.Builder
	for i, e := range p {
		switch {
		case e.IsIndex():
			b.WriteString("[" + strconv.Itoa(e.Index) + "]")
		case isName(e.Key):
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(e.Key)
		default:
			b.WriteString("[" + e.Key + "]")
		}
	}
	return b.String()
}

func isName(key string) bool {
	for i := 0; i < len(key); i++ {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == '$':
		case i > 0 && ('0' <= c && c <= '9' || c == '-'):
		default:
			return false
		}
	}
	return key != ""
}

// Pointer returns the path as a JSON Pointer (RFC 6901).
func (p Path) Pointer() string {
	var b strings.Builder
	for _, e := range p {
		b.WriteByte('/')
		if e.IsIndex() {
			b.WriteString(strconv.Itoa(e.Index))
		} else {
			b.WriteString(pointerEscapes.Replace(e.Key))
		}
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// HasPrefix reports whether p leads to the value at q or to a value inside it.
func (p Path) HasPrefix(q Path) bool {
	return len(p) >= len(q) && slices.Equal(p[:len(q)], q)
}

// Get returns the value at the path, and whether the path exists.
func (p Path) Get(value any) (any, bool) {
	for _, e := range p {
		if e.IsIndex() {
			list, ok := value.([]any)
			if !ok || e.Index >= len(list) {
				return nil, false
			}
			value = list[e.Index]
			continue
		}
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		if value, ok = object[e.Key]; !ok {
			return nil, false
		}
	}
	return value, true
}

// ParsePath parses a path as String returns it: "spec.containers[0].image",
// "metadata.labels[example.com/team]". Quotes around a key in brackets are dropped.
func ParsePath(text string) (Path, error) {
	var p Path
	for rest := text; rest != ""; {
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			end := strings.IndexByte(inner, ']')
			if end < 0 {
				return nil, fmt.Errorf("%q is not a field path: a bracket is not closed", text)
			}
			key := inner[:end]
			if i, err := strconv.Atoi(key); err == nil && i >= 0 {
				p = append(p, Index(i))
			} else {
				p = append(p, Key(strings.Trim(key, `"'`)))
			}
			rest = strings.TrimPrefix(inner[end+1:], ".")
			continue
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		if end == 0 {
			return nil, fmt.Errorf("%q is not a field path: a name is empty", text)
		}
		p = append(p, Key(rest[:end]))
		rest = strings.TrimPrefix(rest[end:], ".")
	}
	return p, nil
}
