package match

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/unknown"
)

// Selector is a label selector. The zero Selector selects everything.
type Selector struct{ requirements []requirement }

// requirement is what a selector requires of one label. The operator is that of a match
// expression, or "=" for an entry of matchLabels.
type requirement struct {
	key, operator string
	values        []string
}

// labels returns the value of a label.
type labels func(key string) (value string, ok bool)

// Matches reports whether the selector selects an object with these labels.
func (s Selector) Matches(set map[string]string) bool {
	return s.unmet(labelsIn(set), unknown.Observer{}) == nil
}

// unmet returns the first requirement that the labels do not meet.
func (s Selector) unmet(of labels, o unknown.Observer) *requirement {
	for i := range s.requirements {
		r := &s.requirements[i]
		met := r.isMet(of)
		if len(r.values) > 0 {
			value, _ := of(r.key)
			met = o.Decide(met, value)
		}
		if !met {
			return r
		}
	}
	return nil
}

func (r *requirement) isMet(of labels) bool {
	value, ok := of(r.key)
	switch r.operator {
	case "Exists":
		return ok
	case "DoesNotExist":
		return !ok
	case "NotIn":
		return !ok || !slices.Contains(r.values, value)
	default:
		return ok && slices.Contains(r.values, value)
	}
}

// String prints the requirement in kubectl's syntax: "app=web", "app in (a,b)", "!app".
func (r *requirement) String() string {
	switch r.operator {
	case "Exists":
		return r.key
	case "DoesNotExist":
		return "!" + r.key
	case "=":
		return r.key + "=" + r.values[0]
	default:
		return r.key + " " + strings.ToLower(r.operator) + " (" + strings.Join(slices.Sorted(slices.Values(r.values)), ",") + ")"
	}
}

// labelsOf returns the labels of an object.
func labelsOf(object map[string]any) labels {
	metadata, _ := object["metadata"].(map[string]any)
	set, _ := metadata["labels"].(map[string]any)
	return func(key string) (string, bool) {
		value, ok := set[key].(string)
		return value, ok
	}
}

func labelsIn(set map[string]string) labels {
	return func(key string) (string, bool) {
		value, ok := set[key]
		return value, ok
	}
}

// Lack says why the selector does not select an object: "has no label team=web"; "" if it does.
// Some of the labels may not be known yet.
func (s Selector) Lack(set map[string]string, o unknown.Observer) string {
	if unmet := s.unmet(labelsIn(set), o); unmet != nil {
		return lacks(unmet)
	}
	return ""
}
