package manifest

import (
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// Made is the stream of one object that was not read but made of others, after a comment.
// at says where the value at a path comes from.
func Made(name, comment string, object map[string]any, at func(change.Path) source.Position) *Stream {
	text := "# " + source.Printable(comment) + "\n" + string(YAML(object))
	s, _ := Read(name, []byte(text)) // which was just written
	s.origin = at
	return s
}
