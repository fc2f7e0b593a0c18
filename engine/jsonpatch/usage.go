package jsonpatch

import (
	"encoding/json"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/preadmit/preadmit/engine/limit"
)

// usage is what a patch has used so far.
type usage struct{ copied, converted int }

// copy counts the value that an operation copies, in bytes of JSON as servers do.
func (u *usage) copy(object map[string]any, op Operation) int {
	if value, ok := find(object, op.From); ok {
		text, _ := json.Marshal(value) // values are JSON
		u.copied += len(text)
	}
	return u.copied
}

// odd counts an operation for which the whole object becomes JSON and is read again.
func (u *usage) odd(object map[string]any) error {
	size, _ := limit.Size(object, limit.PatchBytes)
	if u.converted += size; u.converted <= limit.PatchBytes {
		return nil
	}
	return limit.Exceeded(limit.Patch, "let operations name what is there, or patch a smaller object",
		"the operations of the JSON Patch that make what is missing, times the size of the object, exceed %d MiB", limit.PatchBytes>>20)
}

// serverCopied is the error of an API server.
func serverCopied(size int) error {
	return jsonpatch.NewAccumulatedCopySizeError(limit.CopyBytes, int64(size))
}

func kyvernoCopied(size int) error {
	return limit.Exceeded(limit.Patch, "do not copy an object into itself", "the copy operations of the JSON Patch add %d bytes, more than %d MiB", size, limit.CopyBytes>>20)
}
