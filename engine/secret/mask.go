// Package secret keeps the values of Secrets out of what people read: it learns them
// from the Secrets of the input, and hides them wherever they occur, as they are
// written or decoded. It imports nothing of ours but change.
package secret

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/preadmit/preadmit/engine/change"
)

// Masked stands for a value that is not shown.
const Masked = "*****"

// shortest is how long a value must be, in bytes, to be recognised. Shorter ones occur
// everywhere.
const shortest = 6

// Mask hides the values of Secrets. The zero Mask hides nothing. What it learns must be
// complete before it hides anything; it may then be used concurrently.
type Mask struct {
	values map[string]bool
	once   sync.Once
	hide   *strings.Replacer
}

// LastApplied is the annotation in which kubectl keeps an object as it was applied.
const LastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Is reports whether an object is a Secret, or may be meant as one: whatever the version
// and the case, and also if its kind is no text.
func Is(object map[string]any) bool {
	kind, isText := object["kind"].(string)
	return IsKind(kind) || !isText && object["kind"] != nil
}

// IsKind reports whether objects of a kind are Secrets.
func IsKind(kind string) bool { return strings.EqualFold(kind, "Secret") }

// IsOpen reports whether a field of a Secret, with all that is in it, is no secret. The
// data may be in a field whose name is misspelt.
func IsOpen(field string) bool {
	return field == "apiVersion" || field == "kind" || field == "metadata" || field == "type"
}

// Learn adds the values of an object, if it is a Secret.
func (m *Mask) Learn(object map[string]any) {
	if Is(object) {
		m.LearnAll(object)
	}
}

// LearnTexts adds texts that policies made of sensitive values.
func (m *Mask) LearnTexts(texts []string) {
	for _, text := range texts {
		m.learn(text, false)
	}
}

// Texts are the scalars in a value as texts, but for booleans and null.
func Texts(value any) []string {
	var texts []string
	eachScalar(value, func(scalar any) bool {
		texts = append(texts, fmt.Sprint(scalar))
		return true
	})
	return texts
}

// OpenTexts are the scalars in the fields of a Secret that are open.
func OpenTexts(object map[string]any) []string {
	var texts []string
	for field, value := range object {
		if !IsOpen(field) {
			continue
		}
		if metadata, ok := value.(map[string]any); ok {
			value = change.CloneObject(metadata)
			_ = change.Apply(value.(map[string]any), []change.Change{{Op: change.Remove, Path: change.Keys("annotations", LastApplied)}}) // there may be none
		}
		texts = append(texts, Texts(value)...)
	}
	return texts
}

// LearnAll adds all values of a sensitive object, whatever it is.
func (m *Mask) LearnAll(object map[string]any) {
	for value, field := range scalars(object) {
		m.learn(value, field != "data")
	}
	text, _ := change.Keys("metadata", "annotations", LastApplied).Get(object)
	applied := map[string]any{}
	if text, ok := text.(string); ok && json.Unmarshal([]byte(text), &applied) == nil {
		m.LearnAll(applied)
	}
}

// Add adds what another mask hides.
func (m *Mask) Add(other *Mask) {
	if m.values == nil {
		m.values = map[string]bool{}
	}
	maps.Copy(m.values, other.values)
}

// With is a mask that hides the values of further objects, too.
func (m *Mask) With(objects []map[string]any) *Mask {
	all := &Mask{values: maps.Clone(m.values)}
	for _, object := range objects {
		all.Learn(object)
	}
	return all
}

// scalars are the values in the fields of a Secret that are not open, but for booleans
// and null, each with its field.
func scalars(object map[string]any) iter.Seq2[any, string] {
	return func(yield func(any, string) bool) {
		for _, field := range slices.Sorted(maps.Keys(object)) {
			if !IsOpen(field) && !eachScalar(object[field], func(value any) bool { return yield(value, field) }) {
				return
			}
		}
	}
}

func eachScalar(value any, yield func(any) bool) bool {
	switch v := value.(type) {
	case nil, bool:
		return true
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !eachScalar(v[key], yield) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !eachScalar(item, yield) })
	}
	return yield(value)
}

func (m *Mask) learn(value any, plain bool) {
	text := fmt.Sprint(value)
	m.add(text)
	if plain {
		m.add(base64.StdEncoding.EncodeToString([]byte(text)))
	}
	compact := strings.Join(strings.Fields(text), "")
	if decoded, err := base64.StdEncoding.DecodeString(compact); err == nil {
		m.add(compact)
		m.add(string(decoded))
	}
}

// add notes a value, also as it is where it is quoted or broken into lines.
func (m *Mask) add(value string) {
	forms := []string{value, strings.TrimSpace(value)}
	if quoted, err := json.Marshal(value); err == nil {
		forms = append(forms, string(quoted[1:len(quoted)-1]))
	}
	for line := range strings.Lines(value) {
		forms = append(forms, strings.TrimSpace(line))
	}
	for _, form := range forms {
		if len(form) < shortest {
			continue
		}
		if m.values == nil {
			m.values = map[string]bool{}
		}
		m.values[form] = true
	}
}

// replacer replaces all values in one pass over a text, the longest first where several
// begin at the same place.
func (m *Mask) replacer() *strings.Replacer {
	m.once.Do(func() {
		values := slices.SortedFunc(maps.Keys(m.values), func(a, b string) int {
			return cmp.Or(len(b)-len(a), strings.Compare(a, b))
		})
		pairs := make([]string, 0, 2*len(values))
		for _, value := range values {
			pairs = append(pairs, value, Masked)
		}
		m.hide = strings.NewReplacer(pairs...)
	})
	return m.hide
}

// IsEmpty reports whether there is nothing to hide.
func (m *Mask) IsEmpty() bool { return len(m.values) == 0 }

// Text hides the values in a text.
func (m *Mask) Text(text string) string {
	if len(m.values) == 0 {
		return text
	}
	return m.replacer().Replace(text)
}

// Holds reports whether a text contains a value.
func (m *Mask) Holds(text string) bool {
	return m.Text(text) != text
}

// HoldsAny reports whether a text contains any scalar in the data of the objects given,
// however short, as it is written or decoded. It is what a message about a Secret
// itself is held against.
func HoldsAny(text string, objects ...map[string]any) bool {
	for _, object := range objects {
		for value := range scalars(object) {
			written := fmt.Sprint(value)
			decoded, err := base64.StdEncoding.DecodeString(written)
			if written != "" && strings.Contains(text, written) || err == nil && len(decoded) > 0 && strings.Contains(text, string(decoded)) {
				return true
			}
		}
	}
	return false
}
