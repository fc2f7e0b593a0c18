package schema

import (
	_ "embed" // the table
	"strings"
	"sync"
)

// goNamesText has the names of Go types that only errors of decoding need; gotypes/names.go
// describes it. It is a table of Kubernetes 1.36. Fields that only other versions have are named
// after their kinds.
//
//go:embed gonames.txt
var goNamesText string

// goName is how Go names a field besides its JSON name.
type goName struct {
	// embedded is the embedded struct that has the field. typ is the type of the field if it is or
	// consists of a named type that is not a struct, as in v1.PullPolicy, []v1.IPFamily.
	embedded, typ string
}

// goNames has the names by struct and field.
var goNames = sync.OnceValue(func() map[string]map[string]goName {
	names := map[string]map[string]goName{}
	for line := range strings.Lines(goNamesText) {
		words := strings.Fields(line)
		fields := map[string]goName{}
		for _, word := range words[1:] {
			var n goName
			word, n.typ, _ = strings.Cut(word, "=")
			word, n.embedded, _ = strings.Cut(word, ">")
			fields[word] = n
		}
		names[words[0]] = fields
	}
	return names
})

// nameOf returns how Go names a field of a struct.
func nameOf(t *Type, field string) goName { return goNames()[t.Name][field] }
