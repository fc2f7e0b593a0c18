package admission

// child returns the struct or map that out holds under name; nil if it is missing.
func child(out map[string]any, name string) map[string]any {
	m, _ := out[name].(map[string]any)
	return m
}

// items returns the list that out holds under name; nil if it is missing.
func items(out map[string]any, name string) []any {
	list, _ := out[name].([]any)
	return list
}

// objects returns the structs among the items of a list.
func objects(out map[string]any, name string) []map[string]any {
	list := items(out, name)
	structs := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			structs = append(structs, m)
		}
	}
	return structs
}

// text returns the string that out holds under name; "" if it is missing.
func text(out map[string]any, name string) string {
	s, _ := out[name].(string)
	return s
}

// isZero reports whether a value is the zero value of its Go type. Empty lists and maps are
// zero.
func isZero(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case bool:
		return !value
	case int64:
		return value == 0
	case float64:
		return value == 0
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}
