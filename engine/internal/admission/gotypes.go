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

// goTypes describes how the Go types of the Kubernetes API 1.36.3 are written as JSON;
// gotypes/main.go explains the format. The text is searched, not parsed: the line of a type is
// read when the type is first used.
//
//go:embed gotypes.txt
var goTypes string

// differences holds the lines of other versions that differ.
//
//go:embed versions
var differences embed.FS

var typesTable = release.NewTable(goTypes, " ", differences, "versions/gotypes-1.%d.txt")

// A catalog reads the types of Kubernetes 1.minor.
type catalog struct {
	minor int
	read  sync.Map // name -> *goType
}

// catalogs are the catalogs of all versions, by release.Index.
var catalogs = func() (all [release.Count]*catalog) {
	for i := range all {
		all[i] = &catalog{minor: release.Oldest + i}
	}
	return all
}()

// catalogOf returns the types of the version that a kind is built into, and those of the default
// version for a kind that is not built in.
func catalogOf(kind *schema.Kind) *catalog { return catalogs[release.Index(kind.Minor)] }

// A goType is a struct type of the API.
type goType struct {
	name   string
	minor  int       // the minor version of Kubernetes
	fields []goField // in Go's order
	byName map[string]*goField
	// written are the fields that are written even when they are absent.
	written []*goField
	// defaults are the constant defaults of absent fields.
	defaults []constant
	// rounded are the resource lists among the fields, rounded up to milli.
	rounded []string
	rule    rule
	convert conversion
	// stays: decoding does not change the struct.
	stays change.Fact
}

// A goField is a field of a goType.
type goField struct {
	name string
	// zero says how the field is written when it is absent: '!' as its zero value, '^' as null;
	// with '~', '?' and '*' it is omitted. '~' and '?' omit an explicit zero too; '*' keeps it.
	zero  byte
	value goValue
}

// A goValue is the type of a field, item or map value.
type goValue struct {
	code byte     // one of the codes in gotypes/main.go, or 0 for a struct
	elem *goValue // of '[' and '{'
	name string   // of a struct
	of   *catalog // the catalog with the struct
	typ  atomic.Pointer[goType]
	// stays: decoding does not change the list or map.
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

// lookup returns the type of a name; nil if the table has no such type. The name of a kind is
// its apiVersion, a dot and the kind.
func (c *catalog) lookup(name string) *goType {
	if t, ok := c.read.Load(name); ok {
		return t.(*goType)
	}
	line, ok := findLine(typesTable.For(c.minor), name)
	if !ok {
		line, ok = findLine(requestTypes, name)
	}
	if !ok {
		return nil
	}
	t, _ := c.read.LoadOrStore(name, c.readType(name, line))
	return t.(*goType)
}

// findLine returns the rest of the line of a sorted table that starts with name.
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
