package admission

import (
	_ "embed" // for the tables
	"strings"
	"sync"
	"sync/atomic"

	"github.com/preadmit/preadmit/engine/change"
)

//go:generate go -C gotypes run . ../gotypes.txt

// goTypes tells how the Go types of the Kubernetes API 1.36.3 are written as JSON;
// gotypes/main.go explains the format. The text is searched, not parsed, and a
// type's line is read when the type is first met.
//
//go:embed gotypes.txt
var goTypes string

// A goType is a struct type of the API.
type goType struct {
	name   string
	fields []goField // in Go's order
	byName map[string]*goField
	// written are the fields that appear even when they are absent.
	written []*goField
	// defaults are the constants that absent fields take.
	defaults []constant
	// rounded are the resource lists among the fields, rounded up to milli.
	rounded []string
	rule    rule
	convert conversion
	// stays: a struct stays as it is.
	stays change.Fact
}

// A goField is a field of a goType.
type goField struct {
	name string
	// zero says how the field is written when it is absent: '!' with its zero
	// value, '^' as null, '~', '?' and '*' not at all. An explicit zero is dropped
	// too for '~' and '?', and kept for '*'.
	zero  byte
	value goValue
}

// A goValue is the type of a field, item or map value.
type goValue struct {
	code byte     // one of the codes in gotypes/main.go, or 0 for a struct
	elem *goValue // of '[' and '{'
	name string   // of a struct
	typ  atomic.Pointer[goType]
	// stays: a list or map stays as it is.
	stays change.Fact
}

// object returns the struct type of v.
func (v *goValue) object() *goType {
	if t := v.typ.Load(); t != nil {
		return t
	}
	t := lookup(v.name)
	v.typ.Store(t)
	return t
}

var readTypes sync.Map // name -> *goType

// lookup returns the type of a name, which for a kind is its apiVersion, a dot and
// the kind; nil if the table has no such type.
func lookup(name string) *goType {
	if t, ok := readTypes.Load(name); ok {
		return t.(*goType)
	}
	line, ok := findLine(goTypes, name)
	if !ok {
		return nil
	}
	t, _ := readTypes.LoadOrStore(name, readType(name, line))
	return t.(*goType)
}

// findLine returns what follows name on its line in a sorted table.
func findLine(table, name string) (rest string, ok bool) {
	low, high := 0, len(table)
	for low < high {
		middle := (low + high) / 2
		start := strings.LastIndexByte(table[:middle], '\n') + 1
		end := middle + strings.IndexByte(table[middle:], '\n')
		key, rest, _ := strings.Cut(table[start:end], " ")
		switch strings.Compare(key, name) {
		case 0:
			return rest, true
		case -1:
			low = end + 1
		default:
			high = start
		}
	}
	return "", false
}

func readType(name, line string) *goType {
	words := strings.Fields(line)
	t := &goType{
		name:    name,
		fields:  make([]goField, len(words)),
		byName:  make(map[string]*goField, len(words)),
		rule:    ruleOf(name),
		convert: conversionOf(name),
	}
	for i, word := range words {
		at := strings.IndexAny(word, "!~?*^")
		f := &t.fields[i]
		f.name, f.zero = word[:at], word[at]
		readValue(&f.value, word[at+1:])
		t.byName[f.name] = f
		if f.zero == '!' || f.zero == '^' {
			t.written = append(t.written, f)
		}
	}
	readDefaults(t)
	return t
}

func readValue(v *goValue, text string) {
	switch {
	case text[0] == '[' || text[0] == '{':
		v.code, v.elem = text[0], &goValue{}
		readValue(v.elem, text[1:])
	case len(text) == 1:
		v.code = text[0]
	default:
		v.name = text
	}
}
