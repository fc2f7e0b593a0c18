package jmespath

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

var objectFunctions = []function{
	{"keys", "o>a", "the names of the fields of an object", Keys},
	{"values", "o>a", "the values of an object", Values},
	{valuesFunction, "v", "", Values},
	{
		"items", "css>a", "the fields of an object, or the items of a list, as a list of objects with a key and a value, whose names are the arguments",
		items,
	},
	{"lookup", "cv", "the field of an object, or the item of a list", lookup},
	{"object_from_lists", "aa>o", "an object from a list of names and a list of values", objectFromLists},
	{"label_match", "oo>b", "whether labels have all fields of a selector", func(a []any) (any, error) {
		labels, object := a[0].(map[string]any), a[1].(map[string]any)
		for key, value := range labels {
			if other, ok := object[key]; !ok || !reflect.DeepEqual(other, value) {
				return false, nil
			}
		}
		return true, nil
	}},
	{"parse_json", "s", "the value of a text in JSON", func(a []any) (any, error) {
		var value any
		if err := json.Unmarshal([]byte(a[0].(string)), &value); err != nil {
			return nil, errors.New("the string is not JSON")
		}
		return value, nil
	}},
	{"parse_yaml", "s", "the value of a text in YAML", func(a []any) (any, error) {
		value, err := manifest.Value(a[0].(string))
		if err != nil {
			return nil, errors.New("the string is not YAML")
		}
		return Input(value), nil
	}},
}

// Keys is the function keys of JMESPath. The keys are sorted.
func Keys(a []any) (any, error) {
	return change.List(slices.Sorted(maps.Keys(a[0].(map[string]any)))), nil
}

// Values is the function values of JMESPath. The values are in the order of their keys; those of
// anything but an object are null.
func Values(a []any) (any, error) {
	object, ok := a[0].(map[string]any)
	if !ok {
		return nil, nil
	}
	list := make([]any, 0, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		list = append(list, object[key])
	}
	return list, nil
}

func items(a []any) (any, error) {
	key, value := a[1].(string), a[2].(string)
	list := []any{}
	switch input := a[0].(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(input)) {
			list = append(list, map[string]any{key: name, value: input[name]})
		}
	case []any:
		for i, item := range input {
			list = append(list, map[string]any{key: float64(i), value: item})
		}
	}
	return list, nil
}

func lookup(a []any) (any, error) {
	switch input := a[0].(type) {
	case map[string]any:
		key, ok := a[1].(string)
		if !ok {
			return nil, errors.New("argument 2 must be a string where argument 1 is an object")
		}
		return input[key], nil
	default:
		list := input.([]any)
		if _, ok := a[1].(float64); !ok {
			return nil, errors.New("argument 2 must be a number where argument 1 is a list")
		}
		i, err := whole(a[1])
		if err != nil || i < 0 || i >= len(list) {
			return nil, err
		}
		return list[i], nil
	}
}

func objectFromLists(a []any) (any, error) {
	keys, values := a[0].([]any), a[1].([]any)
	object := map[string]any{}
	for i, key := range keys {
		if kindOf(key)&(isString|isNumber) == 0 {
			return nil, errors.New("the keys must be strings or numbers")
		}
		var value any
		if i < len(values) {
			value = values[i]
		}
		object[textOf(key)] = value
	}
	return object, nil
}
