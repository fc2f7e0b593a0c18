package webhook

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// operation is an operation of a patch, with its path and a slash at the end, and its place.
type operation struct {
	path  string
	value any
	place int
}

// ordered returns operations in the order of their paths if that changes nothing. Libraries that compare
// two objects write operations in a random order.
func ordered(patch []any) []any {
	operations := make([]operation, len(patch))
	for i, item := range patch {
		fields, _ := item.(map[string]any)
		path, _ := fields["path"].(string)
		last := path[strings.LastIndexByte(path, '/')+1:]
		isIndex := last == "-" || strings.Trim(last, "0123456789") == "" // it moves other items
		if op := fields["op"]; isIndex || op != "add" && op != "remove" && op != "replace" {
			return patch
		}
		operations[i] = operation{path + "/", item, i}
	}
	slices.SortStableFunc(operations, func(a, b operation) int { return strings.Compare(a.path, b.path) })
	var around []operation // on the same field or on what contains it
	sorted := make([]any, len(patch))
	for i, o := range operations {
		for len(around) > 0 && !strings.HasPrefix(o.path, around[len(around)-1].path) {
			around = around[:len(around)-1]
		}
		if len(around) > 0 && around[len(around)-1].place > o.place {
			return patch // the field was written before what contains it
		}
		around = append(around, o)
		sorted[i] = o.value
	}
	return sorted
}

// Same reports whether two answers mean the same.
func Same(a, b policy.Answer) bool {
	var x, y map[string]any
	if json.Unmarshal(a.Body, &x) != nil || json.Unmarshal(b.Body, &y) != nil {
		return bytes.Equal(a.Body, b.Body) && a.Status == b.Status
	}
	for _, review := range []map[string]any{x, y} {
		response, _ := review["response"].(map[string]any)
		if patch, ok := readable(response["patch"]); ok {
			response["patch"] = string(manifest.JSON(ordered(patch)))
		}
	}
	return change.Equal(x, y) && a.Status == b.Status
}
