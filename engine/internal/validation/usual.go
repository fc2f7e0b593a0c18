package validation

import "strings"

// isUsual reports whether all servers accept metadata, whatever the kind. It is a shortcut: most metadata
// has only a short name, and labels and annotations of the usual form, which need no regular expressions.
func isUsual(metadata map[string]any) bool {
	for key, value := range metadata {
		text, isText := value.(string)
		texts, isMap := value.(map[string]any)
		switch key {
		case "namespace": // about which servers differ
		case "uid", "creationTimestamp":
			if !isText {
				return false
			}
		case "managedFields":
			if !isManaged(value) {
				return false
			}
		case "generation":
			if count, isNumber := value.(int64); !isNumber || count < 0 {
				return false
			}
		case "name":
			if !isText || len(text) > maxCronJob || !isUsualName(text) {
				return false
			}
		case "labels":
			if !isMap || !areUsual(texts, isUsualLabel) {
				return false
			}
		case "annotations":
			if !isMap || !areUsual(texts, func(string) bool { return true }) {
				return false
			}
		default:
			return false
		}
	}
	return metadata["name"] != nil
}

// isManaged reports whether managed fields are those that Created adds.
func isManaged(value any) bool {
	list, _ := value.([]any)
	if len(list) != 1 {
		return false
	}
	entry, _ := list[0].(map[string]any)
	return entry["manager"] == "unknown" && entry["operation"] == "Update" && entry["fieldsType"] == "FieldsV1" && entry["subresource"] == nil
}

// isUsualCustom is isUsual for the metadata of a custom resource, whose namespace servers validate, too.
func isUsualCustom(metadata map[string]any, namespaced bool) bool {
	namespace, _ := metadata["namespace"].(string)
	return isUsual(metadata) && (metadata["namespace"] != nil) == namespaced && (!namespaced || len(namespace) <= maxCronJob && isUsualName(namespace))
}

// maxUsual is how many bytes all labels or annotations may have. Servers accept four times as much.
const maxUsual = 1 << 16

// areUsual reports whether labels or annotations have keys of the usual form, and values that fit.
func areUsual(texts map[string]any, fits func(string) bool) bool {
	size := 0
	for key, value := range texts {
		text, isText := value.(string)
		domain, name, both := strings.Cut(key, "/")
		if !both {
			domain, name = "a", key
		}
		size += len(key) + len(text)
		if !isText || size > maxUsual || len(domain) > maxCronJob || name == "" || !isUsualLabel(name) || !fits(text) {
			return false
		}
		for part := range strings.SplitSeq(domain, ".") {
			if !isUsualName(part) {
				return false
			}
		}
	}
	return true
}

// isUsualName reports whether a text has small letters and digits, with dashes between them.
func isUsualName(text string) bool {
	for i := range len(text) {
		c := text[i]
		if isInside := 0 < i && i < len(text)-1; !isSmall(c) && !(isInside && c == '-') {
			return false
		}
	}
	return text != ""
}

// isUsualLabel reports whether a text may be the value of a label.
func isUsualLabel(text string) bool {
	for i := range len(text) {
		c := text[i]
		isInside := 0 < i && i < len(text)-1
		if !isSmall(c) && !('A' <= c && c <= 'Z') && !(isInside && (c == '-' || c == '_' || c == '.')) {
			return false
		}
	}
	return len(text) <= maxCronJob
}

func isSmall(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
