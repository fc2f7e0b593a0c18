package strategicmerge

import (
	"encoding/json"
	"maps"
	"slices"
)

// mergePlain merges a patch that has no directives into an object. It is not ok if a list that
// merges by key, in the object or in the patch, has an item without a key, or two items with the
// same keys; or if the patch does not fit the object.
func mergePlain(object, patch map[string]any, t list) (merged map[string]any, ok bool) {
	if t.Type == nil && (isKnown(object) || isKnown(patch)) {
		return nil, false // an object inside an object has its own schema
	}
	if _, found := patch[directive]; found {
		return nil, false
	}
	for key, value := range object {
		if _, patched := patch[key]; !patched && !staysSame(value, t.at(key)) {
			return nil, false
		}
	}
	merged = maps.Clone(object)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, value := range patch {
		if value == nil {
			delete(merged, key)
		} else if merged[key], ok = mergePlainValue(object[key], value, t.at(key)); !ok {
			return nil, false
		}
	}
	return merged, true
}

func mergePlainValue(value, patch any, t list) (merged any, ok bool) {
	switch patch := patch.(type) {
	case map[string]any:
		object, isMap := value.(map[string]any)
		if !isMap && value != nil {
			return nil, false
		}
		return mergePlain(object, patch, t)
	case []any:
		items, isList := value.([]any)
		keys, isKeyed := t.keys()
		switch {
		case !isList && value != nil:
			return nil, false
		case isKeyed:
			return mergePlainList(items, patch, keys, t)
		}
		return patch, true
	}
	switch value.(type) {
	case map[string]any, []any:
		return nil, false
	case string:
		return quoted(patch), true
	}
	return patch, true
}

// quoted returns the value that a scalar of the patch becomes in place of a text: kyaml keeps the
// quotes of the text, so that a number or boolean becomes a text.
func quoted(scalar any) any {
	if _, isText := scalar.(string); isText {
		return scalar
	}
	return textOf(scalar)
}

// mergePlainList merges lists with keys. New items come first, in the order of the patch. In a
// list with one key, items that the patch mentions come with them.
func mergePlainList(items, patch []any, keys []string, t list) (merged []any, ok bool) {
	places, ok := identify(items, keys)
	if !ok {
		return nil, false
	}
	patched, ok := identify(patch, keys)
	if !ok {
		return nil, false
	}
	rest := slices.Clone(items)
	merged = []any{}
	for _, item := range patch {
		key := identity(item, keys)
		place, found := places[key]
		var old any
		if found {
			old = items[place]
		}
		value := item
		if len(keys) > 0 {
			if value, ok = mergePlainValue(old, item, t.item()); !ok {
				return nil, false
			}
		}
		if found && len(keys) > 1 {
			rest[place] = value
		} else {
			merged = append(merged, value)
		}
	}
	for i, item := range items {
		_, isPatched := patched[identity(item, keys)]
		if !isPatched && len(keys) > 0 && !staysSame(item, t.item()) {
			return nil, false
		}
		if !isPatched || len(keys) > 1 {
			merged = append(merged, rest[i])
		}
	}
	return merged, true
}

// identify returns the indexes of items by their keys. It is not ok if items lack a key, or share
// their keys.
func identify(items []any, keys []string) (places map[string]int, ok bool) {
	places = make(map[string]int, len(items))
	for i, item := range items {
		key := identity(item, keys)
		if _, twice := places[key]; twice || key == "" {
			return nil, false
		}
		places[key] = i
	}
	return places, true
}

// identity returns the keys of an item as one text; "" if it lacks one. Without keys, an item is a
// scalar.
func identity(item any, keys []string) string {
	if len(keys) == 0 {
		return textOf(item)
	}
	object, _ := item.(map[string]any)
	if len(keys) == 1 {
		return textOf(object[keys[0]])
	}
	all := ""
	for _, key := range keys {
		text := textOf(object[key])
		if text == "" {
			return ""
		}
		all += text + "\x00"
	}
	return all
}

// staysSame reports whether kyaml leaves a value as it is that the patch does not mention.
func staysSame(value any, t list) bool {
	switch value := value.(type) {
	case map[string]any:
		if t.Type == nil && isKnown(value) {
			return false
		}
		for key, member := range value {
			if !staysSame(member, t.at(key)) {
				return false
			}
		}
	case []any:
		keys, isKeyed := t.keys()
		if !isKeyed {
			return true
		}
		if _, ok := identify(value, keys); !ok {
			return false
		}
		return len(keys) == 0 || !slices.ContainsFunc(value, func(item any) bool { return !staysSame(item, t.item()) })
	}
	return true
}

// textOf returns the text of a scalar, by which kyaml compares keys; "" for other values.
func textOf(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case map[string]any, []any, nil:
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "" // values are JSON
	}
	return string(text)
}
