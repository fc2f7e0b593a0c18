package jsonpatch

import (
	"encoding/json"

	"github.com/preadmit/preadmit/engine/limit"
)

// usage counts the resources that a patch has used.
type usage struct{ copied, padded int }

// copy counts a value that an operation copies, in bytes of JSON as servers do, and reports
// whether the total is too large.
func (u *usage) copy(value any) bool {
	text, _ := json.Marshal(closed(value)) // values are JSON
	u.copied += len(text)
	return u.copied > limit.CopyBytes
}

// pad counts nulls that fill a list.
func (u *usage) pad(n int) error {
	if u.padded += n; u.padded <= limit.Padding {
		return nil
	}
	return limit.Exceeded(limit.Patch, "let operations add to the end of lists", "the operations of the JSON Patch fill up lists with more than %d nulls", limit.Padding)
}
