package jsonpatch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// library has json-patch/v5 carry out an operation as it does by default.
func library(object map[string]any, op Operation) (map[string]any, error) {
	return libraryWith(jsonpatch.NewApplyOptions(), object, op)
}

func libraryWith(options *jsonpatch.ApplyOptions, object map[string]any, op Operation) (map[string]any, error) {
	fields := map[string]any{"op": op.Op, "path": op.Path, "from": op.From, "value": exact(op.Value)}
	encoded, err := json.Marshal([]any{fields})
	if err != nil {
		return nil, fmt.Errorf("the value for %s is not JSON: %w", op.Path, err)
	}
	patch, err := jsonpatch.DecodePatch(encoded)
	if err != nil {
		return nil, err
	}
	document, err := json.Marshal(exact(object))
	if err != nil {
		return nil, fmt.Errorf("the object is not JSON: %w", err)
	}
	if document, err = patch.ApplyWithOptions(document, options); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var result map[string]any
	if err := decoder.Decode(&result); err != nil {
		return nil, fmt.Errorf("the patched object is not an object: %w", err)
	}
	return numbers(result).(map[string]any), nil
}

// exact writes the float64s in a value so that numbers can tell them from integers.
// The library keeps the text of what it does not touch.
func exact(value any) any {
	switch value := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key, member := range value {
			copied[key] = exact(member)
		}
		return copied
	case []any:
		copied := make([]any, len(value))
		for i, item := range value {
			copied[i] = exact(item)
		}
		return copied
	case float64:
		text := strconv.FormatFloat(value, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return json.Number(text)
	}
	return value
}

// numbers gives the numbers in a decoded value their types, in place.
func numbers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			value[key] = numbers(member)
		}
	case []any:
		for i, item := range value {
			value[i] = numbers(item)
		}
	case json.Number:
		if i, err := strconv.ParseInt(value.String(), 10, 64); err == nil {
			return i
		}
		f, _ := value.Float64()
		return f
	}
	return value
}
