package match

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// NewSelector reads a label selector that was not validated before (LabelSelectorAsSelector in
// k8s.io/apimachinery v0.36.3). The error is about the first invalid requirement, in the words
// of that library. Values of a wrong type are ignored.
func NewSelector(value any) (Selector, error) {
	text := (&decoder{}).selector(value, nil)
	var s Selector
	for _, label := range text.labels {
		s.requirements = append(s.requirements, requirement{label[0], "=", label[1:]})
		if err := s.requirements[len(s.requirements)-1].check(); err != nil {
			return Selector{}, err
		}
	}
	for _, e := range text.expressions {
		if !slices.Contains([]string{"In", "NotIn", "Exists", "DoesNotExist"}, e.operator) {
			return Selector{}, fmt.Errorf("%q is not a valid label selector operator", e.operator)
		}
		s.requirements = append(s.requirements, requirement(e))
		if err := s.requirements[len(s.requirements)-1].check(); err != nil {
			return Selector{}, err
		}
	}
	return s, nil
}

// check returns what is wrong with a requirement.
func (r *requirement) check() error {
	var problems field.ErrorList
	invalid := func(path *field.Path, value any, details ...string) {
		if len(details) > 0 {
			problems = append(problems, field.Invalid(path, value, strings.Join(details, "; ")))
		}
	}
	values := field.NewPath("values")
	invalid(field.NewPath("key"), r.key, content.IsLabelKey(r.key)...)
	switch r.operator {
	case "In", "NotIn":
		if len(r.values) == 0 {
			invalid(values, r.values, "for 'in', 'notin' operators, values set can't be empty")
		}
	case "Exists", "DoesNotExist":
		if len(r.values) > 0 {
			invalid(values, r.values, "values set must be empty for exists and does not exist")
		}
	}
	for i, value := range r.values {
		invalid(values.Index(i).Key(r.key), value, content.IsLabelValue(value)...)
	}
	return problems.ToAggregate()
}
