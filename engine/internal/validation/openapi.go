package validation

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/common"
	openapi "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// openAPI returns a schema as the validation of values reads it, on a server of Kubernetes 1.minor.
func openAPI(s *structural.Structural, minor int) *spec.Schema {
	converted := s.ToKubeOpenAPI()
	complete(converted, minor)
	return converted
}

// complete gives the schemas of ints or strings their types, and removes the formats that a server
// does not enforce, in a schema and all schemas in it.
func complete(s *spec.Schema, minor int) {
	if s == nil {
		return
	}
	if _, ok := s.Extensions["x-kubernetes-int-or-string"]; ok {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	if !enforces(minor, s) {
		s.Format = ""
	}
	for name, property := range s.Properties {
		complete(&property, minor)
		s.Properties[name] = property
	}
	for _, nested := range [][]spec.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range nested {
			complete(&nested[i], minor)
		}
	}
	complete(s.Not, minor)
	if s.Items != nil {
		complete(s.Items.Schema, minor)
	}
	if s.AdditionalProperties != nil {
		complete(s.AdditionalProperties.Schema, minor)
	}
}

// The first minor versions whose servers enforce formats of numbers, and formats of names of
// Kubernetes, which they know since the version before.
const formatsNumbersSince, formatsNamesSince = 36, 35

// formats are the formats of strings that servers know, without dashes. They are those of
// k8s.io/apiextensions-apiserver v0.36.3, pkg/apiserver/validation/formats.go.
var formats = []string{
	"bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5",
	"isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime",
}

// enforces reports whether a server of Kubernetes 1.minor enforces the format of a schema.
func enforces(minor int, s *spec.Schema) bool {
	kind := ""
	if len(s.Type) == 1 {
		kind = s.Type[0]
	}
	switch kind {
	case "", "string":
		name := strings.ReplaceAll(s.Format, "-", "")
		return slices.Contains(formats, name) || minor >= formatsNamesSince && (name == "k8sshortname" || name == "k8slongname")
	case "integer":
		return minor >= formatsNumbersSince && (s.Format == "int32" || s.Format == "int64")
	case "number":
		return minor >= formatsNumbersSince && (s.Format == "float" || s.Format == "double")
	}
	return false
}

// validateSchema returns how an object violates its schema. correlated is the object with the object
// before an update, whose errors remain accepted; nil if the object is new.
func validateSchema(s *spec.Schema, object map[string]any, correlated *common.CorrelatedObject) field.ErrorList {
	var result *validate.Result
	if correlated == nil {
		result = validate.NewSchemaValidator(s, nil, "", strfmt.Default).Validate(object)
	} else {
		result = ratcheting{schema: s, formats: strfmt.Default, correlated: correlated}.Validate(object)
	}
	return fieldErrors(nil, result)
}

// validateValue returns how the value at a path violates its schema.
func validateValue(at *field.Path, s *spec.Schema, value any) field.ErrorList {
	return fieldErrors(at, validate.NewSchemaValidator(s, nil, "", strfmt.Default).Validate(value))
}

// fieldErrors returns the errors of a server about the value at a path.
func fieldErrors(at *field.Path, result *validate.Result) (problems field.ErrorList) {
	for _, err := range result.Errors {
		problems = append(problems, fieldError(at, err))
	}
	return problems
}

// fieldError converts an error of the validation of values to that of a server.
func fieldError(at *field.Path, err error) *field.Error {
	var invalid *openapi.Validation
	if !errors.As(err, &invalid) {
		return field.Invalid(at, "", err.Error())
	}
	if name := strings.TrimPrefix(invalid.Name, "."); name != "" {
		at = at.Child(name)
	}
	value := invalid.Value
	if value == nil {
		value = ""
	}
	switch invalid.Code() {
	case openapi.RequiredFailCode:
		return field.Required(at, "")
	case openapi.EnumFailCode:
		return field.NotSupported(at, invalid.Value, texts(invalid.Values))
	case openapi.TooLongFailCode:
		return field.TooLong(at, "", count(invalid.Valid))
	case openapi.MaxItemsFailCode, openapi.TooManyPropertiesCode:
		return field.TooMany(at, count(invalid.Value), count(invalid.Valid))
	case openapi.InvalidTypeCode:
		return field.TypeInvalid(at, value, err.Error())
	}
	return field.Invalid(at, value, err.Error())
}

// count returns a number in an error, or -1.
func count(value any) int {
	if n, ok := value.(int64); ok {
		return int(n)
	}
	return -1
}

// texts returns the values of an enum as errors show them.
func texts(values []any) (shown []string) {
	for _, value := range values {
		text, ok := value.(string)
		if !ok {
			encoded, _ := json.Marshal(value) // it was read from JSON
			text = string(encoded)
		}
		shown = append(shown, text)
	}
	return shown
}

// ratcheting validates a value, and accepts what is as it was before an update. It implements
// validate.ValueValidator.
type ratcheting struct {
	schema     *spec.Schema
	root       any
	path       string
	formats    strfmt.Registry
	options    []validate.Option
	correlated *common.CorrelatedObject
}

// Validate implements validate.ValueValidator.
func (r ratcheting) Validate(any) *validate.Result {
	options := append([]validate.Option{func(o *validate.SchemaValidatorOptions) {
		o.NewValidatorForField = func(name string, s *spec.Schema, root any, path string, formats strfmt.Registry, options ...validate.Option) validate.ValueValidator {
			child := r.correlated.Key(name)
			if r.path == "" && (name == "kind" || name == "apiVersion") {
				child = nil // both objects are converted to the same version
			}
			return nested(child, s, root, path, formats, options)
		}
		o.NewValidatorForIndex = func(i int, s *spec.Schema, root any, path string, formats strfmt.Registry, options ...validate.Option) validate.ValueValidator {
			return nested(r.correlated.Index(i), s, root, path, formats, options)
		}
	}}, r.options...)
	result := validate.NewSchemaValidator(r.schema, r.root, r.path, r.formats, options...).Validate(r.correlated.Value)
	if result.IsValid() || !r.correlated.CachedDeepEqual() {
		return result
	}
	accepted := &validate.Result{}
	accepted.MergeAsWarnings(result)
	return accepted
}

// nested returns the validator of a value in another one. child is nil if it is not known what the
// value was before.
func nested(child *common.CorrelatedObject, s *spec.Schema, root any, path string, formats strfmt.Registry, options []validate.Option) validate.ValueValidator {
	if child == nil {
		return validate.NewSchemaValidator(s, root, path, formats, options...)
	}
	return ratcheting{s, root, path, formats, options, child}
}

// SetPath implements validate.ValueValidator. It is not called.
func (r ratcheting) SetPath(string) {}

// Applies implements validate.ValueValidator.
func (r ratcheting) Applies(any, reflect.Kind) bool { return true }
