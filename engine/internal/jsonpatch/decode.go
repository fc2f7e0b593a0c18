package jsonpatch

import (
	"encoding/json"

	kjson "sigs.k8s.io/json"
)

// Patch is a JSON Patch as gopkg.in/evanphx/json-patch.v4 v4.13.0 decodes it. Its name is part of
// error texts.
type Patch []map[string]*json.RawMessage

// Decode reads a JSON Patch. Error texts are those of the API server's library. An operation that
// lacks op or path is decoded, but applying it fails.
func Decode(data []byte) ([]Operation, error) {
	var patch Patch
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	operations := make([]Operation, len(patch))
	for i, fields := range patch {
		if err := operations[i].decode(fields); err != nil {
			return nil, err
		}
	}
	return operations, nil
}

func (op *Operation) decode(fields map[string]*json.RawMessage) error {
	const unknown = "unknown"
	if op.Op = unknown; fields["op"] != nil && json.Unmarshal(*fields["op"], &op.Op) != nil {
		op.Op = unknown
	}
	if path := fields["path"]; path == nil || json.Unmarshal(*path, &op.Path) != nil {
		op.pathless = errMissing
	}
	if from := fields["from"]; from != nil && json.Unmarshal(*from, &op.From) != nil {
		op.From = "" // it counts as missing
	}
	value, given := fields["value"]
	op.NoValue = !given
	if value == nil {
		return nil
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(*value, &op.Value)
}
