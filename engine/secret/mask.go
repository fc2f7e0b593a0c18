// Package secret keeps the values of Secrets out of what people read: it learns them
// from the Secrets of the input, and hides them wherever they occur, as they are
// written or decoded. It imports nothing of ours but change.
package secret

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
)

// Masked stands for a value that is not shown.
const Masked = "*****"

// shortest is how long a value must be, in bytes, to be recognised. Shorter ones occur
// everywhere.
const shortest = 6

// Mask hides the values of Secrets. The zero Mask hides nothing.
type Mask struct {
	values []string // the longest first
}

// Is reports whether an object is a Secret.
func Is(object map[string]any) bool {
	return object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

// Learn adds the values of an object, if it is a Secret.
func (m *Mask) Learn(object map[string]any) {
	if !Is(object) {
		return
	}
	for _, field := range []string{"data", "stringData"} {
		values, _ := object[field].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			m.learn(values[name], field == "stringData")
		}
	}
	slices.SortStableFunc(m.values, func(a, b string) int { return len(b) - len(a) })
}

func (m *Mask) learn(value any, plain bool) {
	if value == nil {
		return
	}
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

// add notes a value, also as it stands where it is quoted or broken into lines.
func (m *Mask) add(value string) {
	forms := []string{value, strings.TrimSpace(value)}
	if quoted, err := json.Marshal(value); err == nil {
		forms = append(forms, string(quoted[1:len(quoted)-1]))
	}
	for line := range strings.Lines(value) {
		forms = append(forms, strings.TrimSpace(line))
	}
	for _, form := range forms {
		if len(form) >= shortest && !slices.Contains(m.values, form) {
			m.values = append(m.values, form)
		}
	}
}

// Text hides the values in a text.
func (m *Mask) Text(text string) string {
	for _, value := range m.values {
		text = strings.ReplaceAll(text, value, Masked)
	}
	return text
}

// Holds reports whether a text contains a value.
func (m *Mask) Holds(text string) bool {
	return slices.ContainsFunc(m.values, func(value string) bool { return strings.Contains(text, value) })
}

// HoldsAny reports whether a text contains any scalar in the data of the objects given,
// however short, as it is written or decoded. It is what a message about a Secret
// itself is held against.
func HoldsAny(text string, objects ...map[string]any) bool {
	for _, object := range objects {
		for _, field := range []string{"data", "stringData"} {
			values, _ := change.Keys(field).Get(object)
			if data, ok := values.(map[string]any); ok && holdsAny(text, data) {
				return true
			}
		}
	}
	return false
}

func holdsAny(text string, data map[string]any) bool {
	for _, value := range data {
		written := fmt.Sprint(value)
		if value == nil || written == "" {
			continue
		}
		decoded, err := base64.StdEncoding.DecodeString(written)
		if strings.Contains(text, written) || err == nil && len(decoded) > 0 && strings.Contains(text, string(decoded)) {
			return true
		}
	}
	return false
}
