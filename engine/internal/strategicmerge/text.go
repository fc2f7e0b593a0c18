package strategicmerge

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// Read returns an object or a patch as kyaml reads it. It gets JSON, but takes it for YAML, to which
// U+0085 is the end of a line, also in a text: lines are folded. If the JSON is not YAML, the error is
// an *Error, and kyaml panics (MustParse). The memo may be nil.
func Read(memo *change.Memo, object map[string]any) (map[string]any, error) {
	if isRead(memo, object) {
		return object, nil
	}
	value, err := read(object, nil)
	if err != nil {
		return nil, err
	}
	result, _ := value.(map[string]any)
	return result, nil
}

// asItIs is what a memo remembers about maps that kyaml reads as they are.
var asItIs change.Fact

// isRead reports whether kyaml reads a value as it is.
func isRead(memo *change.Memo, value any) bool {
	switch value := value.(type) {
	case map[string]any:
		if _, known := memo.Recall(&asItIs, value); known {
			return true
		}
		for key, member := range value {
			if !isPlainText(key) || !isShort(key) || !isRead(memo, member) {
				return false
			}
		}
		memo.Note(&asItIs, value, 1)
	case []any:
		return !slices.ContainsFunc(value, func(item any) bool { return !isRead(memo, item) })
	case string:
		return isPlainText(value)
	}
	return true
}

// isPlainText reports whether JSON with a text is YAML of the same text.
func isPlainText(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x7f {
			return !strings.ContainsFunc(text[i:], isControl)
		}
	}
	return true
}

// isControl reports whether a character that JSON does not escape is no character of a text in YAML.
func isControl(c rune) bool { return 0x7f <= c && c < 0xa0 || c == 0xfffe || c == 0xffff }

// maxKey is the maximum length of a key in YAML, in characters of its JSON.
const maxKey = 1024

// isShort reports whether a key is not too long. A character takes at most six in JSON.
func isShort(key string) bool {
	if len(key) < maxKey/6 {
		return true
	}
	quoted, err := json.Marshal(key)
	return err == nil && utf8.RuneCount(quoted) <= maxKey
}

// read does the work of Read for any value.
func read(value any, path change.Path) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) { // the first error counts
			at := path.Key(key)
			if !isPlainText(key) || !isShort(key) {
				return nil, &Error{at, "the key is too long, or has control characters"}
			}
			after, err := read(value[key], at)
			if err != nil {
				return nil, err
			}
			object[key] = after
		}
		return object, nil
	case []any:
		items := make([]any, len(value))
		for i, item := range value {
			after, err := read(item, path.Index(i))
			if err != nil {
				return nil, err
			}
			items[i] = after
		}
		return items, nil
	case string:
		return fold(value, path)
	}
	return value, nil
}

// fold returns a text as kyaml reads it: the end of a line, with the spaces around it, becomes a space;
// n of them, with nothing in between, become n-1 new lines.
func fold(text string, path change.Path) (any, error) {
	folded, err := manifest.Value(string(manifest.JSON(text)))
	if err != nil {
		return nil, &Error{path, "the text has a control character, or the end of a YAML document"}
	}
	return folded, nil
}
