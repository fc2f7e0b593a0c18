package match

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// validator collects the errors of the API server, in its order and words.
type validator struct{ errors []Problem }

func (v *validator) add(e *field.Error, path change.Path) {
	v.addAs(path.String(), e, path)
}

// addAs adds an error about a field that the server names less exactly than by its path.
func (v *validator) addAs(printed string, e *field.Error, path change.Path) {
	v.errors = append(v.errors, Problem{Path: path, Field: printed, Text: e.ErrorBody()})
}

// unsupported adds an error about a value that is not supported.
func (v *validator) unsupported(printed, value string, path change.Path, supported []string) {
	v.addAs(printed, field.NotSupported(nil, enum(value), supported), path)
	if near := source.Nearest(value, supported); near != "" {
		v.errors[len(v.errors)-1].Advice = source.Meant(value, near)
	}
}

func (v *validator) required(path change.Path, detail string) {
	v.add(field.Required(nil, detail), path)
	v.errors[len(v.errors)-1].Missing = true
}

func (v *validator) invalid(path change.Path, value any, detail string) {
	v.add(field.Invalid(nil, value, detail), path)
}

// enum is a string that the server prints as JSON, not as Go does.
type enum string

func (v *validator) oneOf(value string, path change.Path, supported ...string) {
	if !slices.Contains(supported, value) {
		v.unsupported(path.String(), value, path, supported)
	}
}

func (v *validator) rules(rules []rule, path change.Path) {
	for i := range rules {
		v.rule(&rules[i], path.Index(i))
	}
}

func (v *validator) rule(r *rule, path change.Path) {
	names := path.Key("resourceNames")
	for i, name := range r.names {
		for _, problem := range content.IsPathSegmentName(name) {
			v.invalid(names.Index(i), name, problem)
		}
		if slices.Contains(r.names[:i], name) {
			v.add(field.Duplicate(nil, name), names.Index(i))
		}
	}
	operations := path.Key("operations")
	v.wildcard(r.operations, operations, "operations")
	for i, operation := range r.operations {
		v.oneOf(operation, operations.Index(i), "*", "CONNECT", "CREATE", "DELETE", "UPDATE")
	}
	v.wildcard(r.groups, path.Key("apiGroups"), "API groups")
	versions := path.Key("apiVersions")
	v.wildcard(r.versions, versions, "API versions")
	for i, version := range r.versions {
		if version == "" {
			v.required(versions.Index(i), "")
		}
	}
	v.resources(r.resources, path.Key("resources"))
	v.oneOf(r.scope, path.Key("scope"), "*", "Cluster", "Namespaced")
}

// wildcard checks that a list has items, and only one item if that is "*".
func (v *validator) wildcard(items []string, path change.Path, what string) {
	if len(items) == 0 {
		v.required(path, "")
	}
	if len(items) > 1 && slices.Contains(items, "*") {
		v.invalid(path, items, "if '*' is present, must not specify other "+what)
	}
}

// resources finds resources that an earlier entry covers. Like the server, it reports plain
// resources only after a "*".
func (v *validator) resources(resources []string, path change.Path) {
	if len(resources) == 0 {
		v.required(path, "")
	}
	plainLast := false
	for i, resource := range resources {
		at := path.Index(i)
		if resource == "" {
			v.required(at, "")
			continue
		}
		name, sub, found := strings.Cut(resource, "/")
		if !found {
			plainLast = resource != "*"
			continue
		}
		for _, wide := range []string{name + "/*", "*/" + sub} {
			if slices.Contains(resources[:i], wide) {
				v.invalid(at, resource, fmt.Sprintf("if '%s' is present, must not specify %s", wide, resource))
			}
		}
	}
	if len(resources) > 1 && slices.Contains(resources, "*/*") {
		v.invalid(path, resources, "if '*/*' is present, must not specify other resources")
	}
	if plainLast && slices.Contains(resources, "*") {
		v.invalid(path, resources, "if '*' is present, must not specify other resources without subresources")
	}
}

// mutating checks that rules cover only requests that can be mutated. The server checks this
// last, and does not name the rule with the problem.
func (v *validator) mutating(rules []rule, supported []string) {
	for i, r := range rules {
		for j, operation := range r.operations {
			if !slices.Contains(supported, operation) {
				v.unsupported("resourceRules.operations", operation, change.Keys("resourceRules").Index(i).Key("operations").Index(j), supported)
			}
		}
	}
}

// selector returns a selector with the requirements that are valid.
func (v *validator) selector(s selectorText, path change.Path) Selector {
	var selector Selector
	labels := path.Key("matchLabels")
	for _, label := range s.labels {
		known := len(v.errors)
		for i, problems := range [][]string{content.IsLabelKey(label[0]), content.IsLabelValue(label[1])} {
			for _, problem := range problems {
				v.addAs(labels.String(), field.Invalid(nil, label[i], problem), labels.Key(label[0]))
			}
		}
		if len(v.errors) == known {
			selector.requirements = append(selector.requirements, requirement{label[0], "=", label[1:]})
		}
	}
	for i, e := range s.expressions {
		known := len(v.errors)
		v.expression(e, path.Key("matchExpressions").Index(i))
		if len(v.errors) == known {
			selector.requirements = append(selector.requirements, requirement(e))
		}
	}
	return selector
}

func (v *validator) expression(e expression, path change.Path) {
	switch e.operator {
	case "In", "NotIn":
		if len(e.values) == 0 {
			v.required(path.Key("values"), "must be specified when `operator` is 'In' or 'NotIn'")
		}
	case "Exists", "DoesNotExist":
		if len(e.values) > 0 {
			v.add(field.Forbidden(nil, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"), path.Key("values"))
			v.errors[len(v.errors)-1].Needless = true
		}
	default:
		v.invalid(path.Key("operator"), enum(e.operator), "not a valid selector operator")
		v.errors[len(v.errors)-1].Missing = e.operator == ""
		if near := source.Nearest(e.operator, []string{"In", "NotIn", "Exists", "DoesNotExist"}); near != "" && e.operator != "" {
			v.errors[len(v.errors)-1].Advice = source.Meant(e.operator, near)
		}
	}
	for _, problem := range content.IsLabelKey(e.key) {
		v.invalid(path.Key("key"), e.key, problem)
	}
	for i, value := range e.values {
		for _, problem := range content.IsLabelValue(value) {
			v.invalid(path.Key("values").Index(i), value, problem)
		}
	}
}
