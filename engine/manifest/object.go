package manifest

import (
	"encoding/json"

	"github.com/preadmit/preadmit/engine/source"
)

// FromObjects returns a stream of objects that are not in a file, each as a separate document. The
// objects may contain everything that encoding/json can encode, and are not kept. Positions have a
// line number for each object.
func FromObjects(name string, objects ...map[string]any) (*Stream, []source.Diagnostic) {
	var text []byte
	var problems []source.Diagnostic
	for i, object := range objects {
		if object == nil {
			object = map[string]any{}
		}
		line, err := json.Marshal(object)
		if err != nil {
			problems = append(problems, source.Errorf(source.Position{File: name}, "manifest-invalid", "object %d cannot be encoded: %v", i, err).
				With("give an object of maps, lists, strings, numbers and booleans, as encoding/json decodes one"))
			continue
		}
		text = append(append(text, line...), "\n---\n"...)
	}
	stream, diagnostics := Read(name, text)
	return stream, append(problems, diagnostics...)
}
