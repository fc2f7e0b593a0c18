package schema

import (
	_ "embed" // the table
	"strings"
	"sync"
)

// enumsText has the values of enumerated fields of built-in kinds; gotypes/enums describes it.
//
//go:embed enums.txt
var enumsText string

var enums = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(enumsText) {
		words := strings.Fields(line)
		all[words[0]+" "+words[1]] = words[2:]
	}
	return all
})

// Enum returns the values that a text in a field of the type may have, besides the empty one, or the items
// of a list in the field. It is nil if any are possible.
func (t *Type) Enum(field string) []string {
	declared := t.Declared(field)
	if declared == nil {
		return nil
	}
	of := declared.Type
	for of.IsList {
		field += "[]"
		of = of.Elem
	}
	if of.Bounds != nil {
		return of.Bounds.Enum
	}
	return enums()[t.Name+" "+field]
}
