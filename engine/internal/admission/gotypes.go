package admission

import (
	"embed"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/release"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

//go:generate bash gotypes/generate

// goTypes tells how the Go types of the Kubernetes API 1.36.3 are written as JSON;
// gotypes/main.go explains the format. The text is searched, not parsed, and a
// type's line is read when the type is first met.
//
//go:embed gotypes.txt
var goTypes string

// differences have the types of other versions.
//
//go:embed versions
var differences embed.FS

var typesTable = release.NewTable(goTypes, " ", differences, "versions/gotypes-1.%d.txt")

// A catalog reads the types of Kubernetes 1.minor.
type catalog struct {
	minor int
	read  sync.Map // name -> *goType
}

// catalogs are those of all versions, by release.Index.
var catalogs = func() (all [release.Count]*catalog) {
	for i := range all {
		all[i] = &catalog{minor: release.Oldest + i}
	}
	return all
}()

// catalogOf returns the types of the version that a kind is built into; for one that is
// not, those of the default version.
func catalogOf(kind *schema.Kind) *catalog { return catalogs[release.Index(kind.Minor)] }

// A goType is a struct type of the API.
type goType struct {
	name   string
	minor  int       // of the version that it is of
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
	of   *catalog // that has the struct
	typ  atomic.Pointer[goType]
	// stays: a list or map stays as it is.
	stays change.Fact
}

// object returns the struct type of v.
func (v *goValue) object() *goType {
	if t := v.typ.Load(); t != nil {
		return t
	}
	t := v.of.lookup(v.name)
	v.typ.Store(t)
	return t
}

// lookup returns the type of a name, which for a kind is its apiVersion, a dot and
// the kind; nil if the table has no such type.
func (c *catalog) lookup(name string) *goType {
	if t, ok := c.read.Load(name); ok {
		return t.(*goType)
	}
	line, ok := findLine(typesTable.For(c.minor), name)
	if !ok {
		return nil
	}
	t, _ := c.read.LoadOrStore(name, c.readType(name, line))
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

func (c *catalog) readType(name, line string) *goType {
	words := strings.Fields(line)
	t := &goType{
		name:    name,
		minor:   c.minor,
		fields:  make([]goField, len(words)),
		byName:  make(map[string]*goField, len(words)),
		rule:    ruleOf(name, c.minor),
		convert: conversionOf(name, c.minor),
	}
	for i, word := range words {
		at := strings.IndexAny(word, "!~?*^")
		f := &t.fields[i]
		f.name, f.zero = word[:at], word[at]
		c.readValue(&f.value, word[at+1:])
		t.byName[f.name] = f
		if f.zero == '!' || f.zero == '^' {
			t.written = append(t.written, f)
		}
	}
	readDefaults(t)
	return t
}

func (c *catalog) readValue(v *goValue, text string) {
	switch {
	case text[0] == '[' || text[0] == '{':
		v.code, v.elem = text[0], &goValue{}
		c.readValue(v.elem, text[1:])
	case len(text) == 1:
		v.code = text[0]
	default:
		v.name, v.of = text, c
	}
}
