// Package secret hides the values of Secrets in output. A Mask learns the values from the Secrets
// of the input, and hides them in texts, encoded or decoded. The package imports only change of
// this module.
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

// Masked replaces a hidden value.
const Masked = "*****"

// shortest is the smallest length in bytes of a value that is hidden in texts. Shorter values occur
// everywhere by chance.
const shortest = 6

// Mask hides the values of Secrets. The zero Mask hides nothing. It must learn all values before it
// hides any. From then on, it is safe for concurrent use.
type Mask struct {
	values map[string]bool
	once   sync.Once
	hide   *strings.Replacer
}

// LastApplied is the annotation in which kubectl keeps the last applied object.
const LastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Is reports whether an object is a Secret or may be meant as one. It ignores the version of the
// object and the case of the kind, and returns true if the kind is set but not a string.
func Is(object map[string]any) bool {
	kind, isText := object["kind"].(string)
	return IsKind(kind) || !isText && object["kind"] != nil
}

// IsKind reports whether objects of a kind are Secrets.
func IsKind(kind string) bool { return strings.EqualFold(kind, "Secret") }

// IsOpen reports whether a field of a Secret contains no secret values. Unknown fields are not
// open, because the name of a data field may be misspelt.
func IsOpen(field string) bool {
	return field == "apiVersion" || field == "kind" || field == "metadata" || field == "type"
}

// Learn adds the values of an object if it is a Secret.
func (m *Mask) Learn(object map[string]any) {
	if Is(object) {
		m.LearnAll(object)
	}
}

// LearnTexts adds texts that policies have computed from sensitive values.
func (m *Mask) LearnTexts(texts []string) {
	for _, text := range texts {
		m.learn(text, false)
	}
}

// Texts returns the scalars in a value as texts, except booleans and null.
func Texts(value any) []string {
	var texts []string
	eachScalar(value, func(scalar any) bool {
		texts = append(texts, fmt.Sprint(scalar))
		return true
	})
	return texts
}

// OpenTexts returns the scalars in the open fields of a Secret.
func OpenTexts(object map[string]any) []string {
	var texts []string
	for field, value := range object {
		if !IsOpen(field) {
			continue
		}
		if metadata, ok := value.(map[string]any); ok {
			value = change.CloneObject(metadata)
			_ = change.Apply(value.(map[string]any), []change.Change{{Op: change.Remove, Path: change.Keys("annotations", LastApplied)}}) // it may be missing
		}
		texts = append(texts, Texts(value)...)
	}
	return texts
}

// LearnAll adds all values of a sensitive object of any kind.
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

// Add adds the values of another mask.
func (m *Mask) Add(other *Mask) {
	if m.values == nil {
		m.values = map[string]bool{}
	}
	maps.Copy(m.values, other.values)
}

// With returns a mask that also hides the values of further objects.
func (m *Mask) With(objects []map[string]any) *Mask {
	all := &Mask{values: maps.Clone(m.values)}
	for _, object := range objects {
		all.Learn(object)
	}
	return all
}

// scalars yields the values in the fields of a Secret that are not open, each with the name of its
// field. Booleans and null are left out.
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

// add adds a value, and the forms that it has when it is quoted or broken into lines.
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

// replacer replaces all values in one pass over a text. If several values begin at the same place,
// it replaces the longest.
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

// IsEmpty reports whether the mask hides nothing.
func (m *Mask) IsEmpty() bool { return len(m.values) == 0 }

// Text hides the values in a text.
func (m *Mask) Text(text string) string {
	if len(m.values) == 0 {
		return text
	}
	return m.replacer().Replace(text)
}

// Holds reports whether a text contains a hidden value.
func (m *Mask) Holds(text string) bool {
	return m.Text(text) != text
}

// HoldsAny reports whether a text contains any scalar in the data of objects, however short,
// encoded or decoded. Messages about a Secret are checked with it.
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
