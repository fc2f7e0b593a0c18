package tfprovider

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// plain converts a decoded value to a value that can be encoded as JSON. It replaces unknown values
// by the results of replace.
func plain(value any, replace func(unknown) any) any {
	switch v := value.(type) {
	case unknown:
		return replace(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i], replace)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key := range v {
			object[key] = plain(v[key], replace)
		}
		return object
	}
	return value
}

// fromJSON converts a value of a document to a Terraform value. Like jsondecode, it converts lists
// to tuples and maps to objects.
func fromJSON(ctx context.Context, value any) (attr.Value, error) {
	switch v := value.(type) {
	case nil:
		return types.DynamicNull(), nil
	case unknown:
		return unknownValue(v.kind), nil
	case json.Number:
		return numberValue(v)
	case string:
		return types.StringValue(v), nil
	case bool:
		return types.BoolValue(v), nil
	case []any:
		kinds, items := make([]attr.Type, len(v)), make([]attr.Value, len(v))
		for i := range v {
			item, err := fromJSON(ctx, v[i])
			if err != nil {
				return nil, err
			}
			kinds[i], items[i] = item.Type(ctx), item
		}
		return checked(types.TupleValue(kinds, items))
	case map[string]any:
		kinds, fields := map[string]attr.Type{}, map[string]attr.Value{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			field, err := fromJSON(ctx, v[key])
			if err != nil {
				return nil, err
			}
			kinds[key], fields[key] = field.Type(ctx), field
		}
		return checked(types.ObjectValue(kinds, fields))
	}
	return nil, fmt.Errorf("a %T is not a value of a document", value)
}

// unknownValue returns an unknown Terraform value of the right type.
func unknownValue(s valueKind) attr.Value {
	switch s {
	case someText:
		return types.StringUnknown()
	case someNumber:
		return types.NumberUnknown()
	case someBool:
		return types.BoolUnknown()
	}
	return types.DynamicUnknown()
}

// precision is the precision of Terraform's numbers in bits.
const precision = 512

// numberValue returns a number of a document with all its digits.
func numberValue(text json.Number) (attr.Value, error) {
	f, _, err := big.ParseFloat(text.String(), 10, precision, big.ToNearestEven)
	if err != nil {
		return nil, fmt.Errorf("%s is not a number: %w", text, err)
	}
	return types.NumberValue(f), nil
}

// checked returns a value, or its diagnostics as an error.
func checked[V attr.Value](value V, problems diag.Diagnostics) (attr.Value, error) {
	for _, problem := range problems.Errors() {
		return nil, fmt.Errorf("%s: %s", problem.Summary(), problem.Detail())
	}
	return value, nil
}

// readJSON decodes the JSON of a document. Numbers keep their digits.
func readJSON(text string) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}
