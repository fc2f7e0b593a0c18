package manifest

import (
	"bytes"
	"encoding/json"
)

// JSON is the canonical JSON of a value that was read: sorted, compact, without a line
// break at its end.
func JSON(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic("manifest: a value that was read cannot be written: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
