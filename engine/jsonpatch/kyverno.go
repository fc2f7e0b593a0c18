package jsonpatch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// Kyverno is the dialect of Kyverno v1.19.0, which uses json-patch/v5:
//
//   - add makes the maps and lists that are missing on the way to its target: a list
//     where the next key is an index or `-`
//   - remove of what is missing does nothing
//   - a negative index counts from the end of a list; add puts -1 behind its end
//
// and, as its documentation promises but its code does not do, replace of a missing
// key adds it.
var Kyverno = Dialect{odd: oddKyverno, copied: kyvernoCopied}

// maxIndex bounds the indexes in pointers: a list that add makes is filled with nulls
// up to them.
const maxIndex = 10000

func oddKyverno(object map[string]any, op Operation) (map[string]any, error) {
	for _, key := range strings.Split(op.Path, "/") {
		if i, err := strconv.Atoi(key); op.Op != "remove" && err == nil && i > maxIndex {
			if _, found := find(object, op.Path); !found {
				return nil, fmt.Errorf("the index %d in %s is too large", i, op.Path)
			}
		}
	}
	if op.Path == "" && (op.Op == "add" || op.Op == "replace") {
		if value, ok := op.Value.(map[string]any); ok {
			return value, nil
		}
		return nil, errors.New("the whole object can be replaced by a map only")
	}
	options := jsonpatch.NewApplyOptions()
	options.SupportNegativeIndices = true
	options.AllowMissingPathOnRemove = true
	options.EnsurePathExistsOnAdd = true
	if op.Op == "replace" {
		parent, key := locateV4(object, op.Path)
		value, _ := memberV4(parent, key)
		if _, isList := parent.([]any); !isList && value == nil {
			op.Op = "add"
		}
	}
	return libraryWith(options, object, op)
}
