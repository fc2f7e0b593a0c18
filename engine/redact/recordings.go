package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/change"
)

// Recorded returns an object as a recording may have it: with masks in place of the data of a Secret,
// and of values in other texts, except names. Redactors that have learned the same values return the same.
func (r *Redactor) Recorded(object map[string]any) map[string]any {
	if r == nil || object == nil {
		return object
	}
	var hidden Hidden
	if IsSecret(object) {
		hidden = isData
	}
	if hidden == nil && r.hidesNothing() {
		return object
	}
	return r.recorded(hidden, nil, object).(map[string]any)
}

// recorded is Value for recordings: it keeps the rest of a text with a value, so that a change of the
// rest is noticed.
func (r *Redactor) recorded(hidden Hidden, path change.Path, value any) any {
	switch v := value.(type) {
	case nil, bool:
		return value
	case map[string]any:
		masked := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) { // of keys with the same mask, the last one counts
			masked[r.masked(key)] = r.recorded(hidden, path.Key(key), v[key])
		}
		return masked
	case []any:
		masked := make([]any, len(v))
		for i, item := range v {
			masked[i] = r.recorded(hidden, path.Index(i), item)
		}
		return masked
	}
	if hidden != nil && hidden(path) {
		return Mask
	}
	if text := fmt.Sprint(value); !isName(path) && r.holds(text) {
		return r.masked(text)
	}
	return value
}

// WithTexts returns a redactor that also hides texts that policies have written into one object, and may
// have computed from sensitive values.
func (r *Redactor) WithTexts(texts []string) *Redactor {
	if r == nil || len(texts) == 0 {
		return r
	}
	all := r.With(nil)
	for _, text := range texts {
		all.add(text, shortestPrivate)
	}
	return all
}

// Holds reports whether a text or a key in a value contains a hidden value, also within JSON or base64.
func (r *Redactor) Holds(value any) bool {
	return !r.hidesNothing() && someText(value, r.holds)
}

// In reports whether a text or a key in a value is a value of the objects, or contains one that is not too
// short to be there by chance, also within JSON or base64.
func (o *Objects) In(value any) bool {
	return someText(value, func(text string) bool {
		for hidden := range o.values {
			if text == hidden || len(hidden) >= shortestPrivate && strings.Contains(text, hidden) {
				return true
			}
		}
		return false
	})
}

// someText reports whether a condition holds for a text in a value, or in the JSON or base64 of such a text.
func someText(value any, is func(text string) bool) bool {
	switch value := value.(type) {
	case nil, bool:
		return false
	case map[string]any:
		for key, member := range value {
			if is(key) || someText(member, is) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(value, func(item any) bool { return someText(item, is) })
	}
	text := fmt.Sprint(value)
	if is(text) {
		return true
	}
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && len(decoded) > 0 && utf8.Valid(decoded) && someText(string(decoded), is) {
		return true
	}
	var inner any
	return strings.ContainsAny(text, `{["`) && json.Unmarshal([]byte(text), &inner) == nil && someText(inner, is)
}

// WithoutNames returns an object without its names, which are never secret.
func WithoutNames(object map[string]any) map[string]any {
	object = change.CloneObject(object)
	for _, path := range namePaths {
		_ = change.Apply(object, []change.Change{{Op: change.Remove, Path: path}}) // it may be missing
	}
	return object
}
