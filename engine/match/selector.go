package match

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// Selector is a label selector. The zero Selector selects everything.
type Selector struct{ requirements []labels.Requirement }

// Matches reports whether the selector selects an object with these labels.
func (s Selector) Matches(set map[string]string) bool {
	return s.unmet(labels.Set(set)) == nil
}

// unmet returns the first requirement that the labels do not meet.
func (s Selector) unmet(set labels.Labels) *labels.Requirement {
	for i := range s.requirements {
		if !s.requirements[i].Matches(set) {
			return &s.requirements[i]
		}
	}
	return nil
}

var operators = map[string]selection.Operator{
	"=":            selection.Equals,
	"In":           selection.In,
	"NotIn":        selection.NotIn,
	"Exists":       selection.Exists,
	"DoesNotExist": selection.DoesNotExist,
}

// require adds a requirement. One that is not valid is left out: whoever reads the
// selector has found out why before.
func (s *Selector) require(key, operator string, values []string) {
	if r, err := labels.NewRequirement(key, operators[operator], values); err == nil {
		s.requirements = append(s.requirements, *r)
	}
}

// labelsOf returns the labels of an object.
func labelsOf(object map[string]any) labels.Labels {
	metadata, _ := object["metadata"].(map[string]any)
	set, _ := metadata["labels"].(map[string]any)
	return objectLabels(set)
}

// objectLabels are labels as an object has them.
type objectLabels map[string]any

// Lookup implements labels.Labels.
func (l objectLabels) Lookup(label string) (string, bool) {
	value, ok := l[label].(string)
	return value, ok
}

// Has implements labels.Labels.
func (l objectLabels) Has(label string) bool {
	_, ok := l.Lookup(label)
	return ok
}

// Get implements labels.Labels.
func (l objectLabels) Get(label string) string {
	value, _ := l.Lookup(label)
	return value
}
