// Package podspec has the changes to Pods that both controllers and built-in admission plug-ins
// make: to containers and to tolerations. Objects are JSON values in the form in which a server
// stores them. Functions that change an object change it in place.
//
// The files in order: podspec.go (fields), tolerations.go.
package podspec

// Map returns the map at keys of an object; nil if it is missing.
func Map(object map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		object, _ = object[key].(map[string]any)
	}
	return object
}

// Ensure returns the map at keys of an object, and creates it if it is missing.
func Ensure(object map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		inner, _ := object[key].(map[string]any)
		if inner == nil {
			inner = map[string]any{}
			object[key] = inner
		}
		object = inner
	}
	return object
}

// Text returns the string at keys of an object; "" if it is missing.
func Text(object map[string]any, keys ...string) string {
	last := len(keys) - 1
	text, _ := Map(object, keys[:last]...)[keys[last]].(string)
	return text
}

// Bool returns the boolean at keys of an object; ok is false if it is missing.
func Bool(object map[string]any, keys ...string) (value, ok bool) {
	last := len(keys) - 1
	value, ok = Map(object, keys[:last]...)[keys[last]].(bool)
	return value, ok
}

// Int returns the whole number at keys of an object; ok is false if it is missing.
func Int(object map[string]any, keys ...string) (value int64, ok bool) {
	last := len(keys) - 1
	value, ok = Map(object, keys[:last]...)[keys[last]].(int64)
	return value, ok
}

// Maps returns the maps in a list of an object.
func Maps(object map[string]any, key string) []map[string]any {
	list, _ := object[key].([]any)
	maps := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}

// Append adds an item to a list of an object.
func Append(object map[string]any, key string, item any) {
	list, _ := object[key].([]any)
	object[key] = append(list[:len(list):len(list)], item)
}

// Containers returns the init containers of a pod's spec, and then its containers.
func Containers(spec map[string]any) []map[string]any {
	return append(Maps(spec, "initContainers"), Maps(spec, "containers")...)
}
