package witness

import (
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/wildcard"
	"github.com/preadmit/preadmit/engine/policy"
)

// Present is any value of a field. Absent says that the object lacks the field.
var Present, Absent = present, absent

// Need is what a rule asks of a field before it changes the object.
type Need struct {
	// Path has the keys of the field, and the indexes of items.
	Path []string
	// Values are values of the field that make a difference: Present, Absent, or scalars.
	Values []any
	// Holds reports whether a value meets the need. A field that is Present is "example" to it, and one
	// that is Absent is nil.
	Holds func(value any) bool
}

// meets reports whether a value meets the need.
func (n Need) meets(value any) bool {
	switch value {
	case present:
		value = "example"
	case absent:
		value = nil
	}
	return n.Holds(value)
}

// Exists asks that a field is there.
func Exists(path []string) Need {
	return Need{path, []any{present}, func(value any) bool { return value != nil }}
}

// Lacks asks that a field is missing.
func Lacks(path []string) Need {
	return Need{path, []any{absent}, func(value any) bool { return value == nil }}
}

// Is asks that a field has a value.
func Is(path []string, wanted any) Need {
	return Need{path, []any{wanted}, func(value any) bool { return change.Equal(value, wanted) }}
}

// Differs asks that a field is missing or has another value.
func Differs(path []string, written any) Need {
	var other any = "other"
	switch written := written.(type) {
	case bool:
		other = !written
	case int64:
		other = written + 1
	case map[string]any, []any:
		other = present
	}
	return Need{path, []any{absent, other}, func(value any) bool { return !change.Equal(value, written) }}
}

// OneOf asks that a field is a text that one of some patterns matches.
func OneOf(path, patterns []string) Need {
	return Need{path, textsFor(patterns), func(value any) bool {
		text, _ := value.(string)
		return slices.ContainsFunc(patterns, func(p string) bool { return wildcard.Match(p, text) })
	}}
}

// NoneOf asks that no pattern matches a field, which may be missing.
func NoneOf(path, patterns []string) Need {
	return Need{path, []any{absent, "example", "other"}, func(value any) bool {
		text, _ := value.(string)
		return !slices.ContainsFunc(patterns, func(p string) bool { return wildcard.Match(p, text) })
	}}
}

// TextFor returns a text that matches a pattern with wildcards.
func TextFor(pattern string) string {
	if strings.Trim(pattern, "*") == "" {
		return "example"
	}
	return strings.NewReplacer("*", "", "?", "x").Replace(pattern)
}

// textsFor returns texts that match patterns, for each the shortest and a longer one.
func textsFor(patterns []string) (texts []any) {
	for _, p := range patterns {
		texts = append(texts, TextFor(p))
	}
	for _, p := range patterns {
		texts = append(texts, strings.NewReplacer("*", "example", "?", "y").Replace(p))
	}
	return texts
}

// Selected returns what a label selector asks of the labels at a path. The values of labels may be
// patterns.
func Selected(selector policy.Node, labels ...string) (needs []Need) {
	at := func(key string) []string { return append(slices.Clip(labels), TextFor(key)) }
	required := selector.At("matchLabels")
	for _, key := range slices.Sorted(maps.Keys(required.Object())) {
		needs = append(needs, OneOf(at(key), []string{required.At(key).Text()}))
	}
	for _, item := range selector.At("matchExpressions").Items() {
		label, values := at(item.At("key").Text()), item.At("values").Texts()
		switch item.At("operator").Text() {
		case "In":
			needs = append(needs, OneOf(label, values))
		case "Exists":
			needs = append(needs, Exists(label))
		case "NotIn":
			needs = append(needs, NoneOf(label, values))
		default:
			needs = append(needs, Lacks(label))
		}
	}
	return needs
}
