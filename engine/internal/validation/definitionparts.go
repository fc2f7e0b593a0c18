package validation

import (
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkSubresources checks the paths of the subresource scale.
func checkSubresources(s *apiextensions.CustomResourceSubresources, at *field.Path) (problems field.ErrorList) {
	if s == nil || s.Scale == nil {
		return nil
	}
	problems = append(problems, checkReplicas(at.Child("scale.specReplicasPath"), s.Scale.SpecReplicasPath, ".spec")...)
	problems = append(problems, checkReplicas(at.Child("scale.statusReplicasPath"), s.Scale.StatusReplicasPath, ".status")...)
	selector := s.Scale.LabelSelectorPath
	if selector == nil || *selector == "" {
		return problems
	}
	at = at.Child("scale.labelSelectorPath")
	switch wrong := checkPath(at, *selector); {
	case len(wrong) > 0:
		problems = append(problems, wrong...)
	case !strings.HasPrefix(*selector, ".spec.") && !strings.HasPrefix(*selector, ".status."):
		problems = append(problems, field.Invalid(at, selector, "should be a json path under either .spec or .status"))
	}
	return problems
}

// checkReplicas checks the path of a number of replicas, which is below another one.
func checkReplicas(at *field.Path, path, below string) field.ErrorList {
	if path == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	if wrong := checkPath(at, path); len(wrong) > 0 {
		return wrong
	}
	if !strings.HasPrefix(path, below+".") {
		return field.ErrorList{field.Invalid(at, path, "should be a json path under "+below)}
	}
	return nil
}

// checkPath checks a path that is not empty.
func checkPath(at *field.Path, path string) field.ErrorList {
	if !strings.HasPrefix(path, ".") {
		return field.ErrorList{field.Invalid(at, path, "must be a simple json path starting with .")}
	}
	return nil
}

// The types and formats of columns, sorted.
var (
	columnTypes   = []string{"boolean", "date", "integer", "number", "string"}
	columnFormats = []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}
)

// checkColumns checks the columns that kubectl prints.
func checkColumns(columns []apiextensions.CustomResourceColumnDefinition, at *field.Path) (problems field.ErrorList) {
	for i, column := range columns {
		at := at.Index(i)
		if column.Name == "" {
			problems = append(problems, field.Required(at.Child("name"), ""))
		}
		if types := "must be one of " + strings.Join(columnTypes, ","); column.Type == "" {
			problems = append(problems, field.Required(at.Child("type"), types))
		} else if !slices.Contains(columnTypes, column.Type) {
			problems = append(problems, field.Invalid(at.Child("type"), column.Type, types))
		}
		if column.Format != "" && !slices.Contains(columnFormats, column.Format) {
			problems = append(problems, field.Invalid(at.Child("format"), column.Format, "must be one of "+strings.Join(columnFormats, ",")))
		}
		if at := at.Child("JSONPath"); column.JSONPath == "" {
			problems = append(problems, field.Required(at, ""))
		} else {
			problems = append(problems, checkPath(at, column.JSONPath)...)
		}
	}
	return problems
}

// maxSelectable is the maximum number of fields that selectors can name.
const maxSelectable = 8

// checkSelectable checks the fields that selectors can name. It leaves paths with brackets alone.
func (d *definition) checkSelectable(selectable []apiextensions.SelectableField, of *apiextensions.CustomResourceValidation, at *field.Path) (problems field.ErrorList) {
	if len(selectable) == 0 || of == nil || of.OpenAPIV3Schema == nil {
		return nil
	}
	s, err := structural.NewStructural(of.OpenAPIV3Schema)
	if err != nil {
		return nil
	}
	unique := map[string]bool{}
	for i, f := range selectable {
		at := at.Index(i).Child("jsonPath")
		name, found := fieldPath(f.JSONPath, s)
		switch {
		case f.JSONPath == "":
			problems = append(problems, field.Required(at, ""))
			continue
		case strings.ContainsAny(f.JSONPath, "['"):
			continue
		case found == nil && strings.HasPrefix(f.JSONPath, "."):
			problems = append(problems, field.Invalid(at, f.JSONPath, "is an invalid path: does not refer to a valid field"))
			continue
		case found == nil:
			continue
		}
		if strings.HasPrefix(f.JSONPath, ".metadata") {
			problems = append(problems, field.Invalid(at, f.JSONPath, "must not point to fields in metadata"))
		}
		if !slices.Contains([]string{"string", "boolean", "integer"}, found.Type) {
			problems = append(problems, field.Invalid(at, f.JSONPath, "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."))
		}
		if unique[name] {
			problems = append(problems, field.Duplicate(at, f.JSONPath))
		}
		unique[name] = true
	}
	if len(unique) > maxSelectable {
		problems = append(problems, field.TooMany(at, len(unique), maxSelectable))
	}
	return problems
}
