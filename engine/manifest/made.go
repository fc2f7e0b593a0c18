package manifest

import (
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// Made returns a stream with one object that was not read but computed, after a comment. at returns
// the position that a value at a path comes from.
func Made(name, comment string, object map[string]any, at func(change.Path) source.Position) *Stream {
	text := "# " + source.Printable(comment) + "\n" + string(YAML(object))
	s, _ := Read(name, []byte(text)) // never fails
	s.origin = at
	return s
}
