package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
)

// A FieldError reports a value that its field cannot have. Its text names types, never values,
// because the object may be a Secret.
type FieldError struct {
	Kind gvk.Kind
	Path change.Path
	// Problem says what is wrong and what was expected.
	Problem string
	// server is the reason that the API server would give.
	server string
}

// Error returns the path and the problem.
func (e *FieldError) Error() string { return e.Path.String() + ": " + e.Problem }

// A ConversionError reports that the result of a mutation is not a valid object of its kind.
type ConversionError struct {
	Kind gvk.Kind
	// Fields are the invalid values, sorted by path.
	Fields []*FieldError
}

// Error returns the text of the API server, which gives one reason and no path.
func (e *ConversionError) Error() string {
	return fmt.Sprintf("unable to convert unstructured object to %s/%s, Kind=%s: %s", e.Kind.Group, e.Kind.Version, e.Kind.Kind, e.Fields[0].server)
}

// Unwrap returns the field errors.
func (e *ConversionError) Unwrap() []error {
	errs := make([]error, len(e.Fields))
	for i, f := range e.Fields {
		errs[i] = f
	}
	return errs
}

// wrongType records that a value is not of the type v.
func (d *decoder) wrongType(v *goValue, in any) (any, bool) {
	d.problem(FieldError{
		Problem: fmt.Sprintf("expected %s, got %s", expected(v), change.Describe(in)),
		server:  refusal(v, in),
	})
	return nil, false
}

func expected(v *goValue) string {
	switch v.code {
	case 0:
		return "a map"
	case '[':
		return "a list"
	case '{':
		return "a map"
	case 'b':
		return "a boolean"
	case 'i', 'l':
		return "a whole number"
	case 'f':
		return "a number"
	case 'x':
		return "a whole number or a string"
	case 'q':
		return `a quantity such as 500m, "2" or 128Mi`
	case 't', 'm':
		return "a time as a string"
	case 'y':
		return "a string in base64"
	case 'B':
		return "a boolean or a schema"
	}
	return "a string"
}

// refusal returns the reason that k8s.io/apimachinery v0.36.3 gives when it converts an
// unstructured object. Only the names of string types differ.
func refusal(v *goValue, in any) string {
	switch v.code {
	case 0:
		return "cannot restore struct from: " + goKind(in)
	case '[', 'y':
		return "cannot restore slice from " + goKind(in)
	case '{':
		return "cannot restore map from " + goKind(in)
	case 'q':
		return resource.ErrFormatWrong.Error()
	case 't', 'm':
		return fmt.Sprintf("json: cannot unmarshal %s into Go value of type string", jsonKind(in))
	case 'x':
		if _, fraction := in.(float64); fraction {
			return fmt.Sprintf("json: cannot unmarshal number %v into Go value of type int32", in)
		}
		return fmt.Sprintf("json: cannot unmarshal %s into Go value of type int32", jsonKind(in))
	case 'B':
		return "boolean or JSON schema expected"
	}
	target := goTarget(v)
	if !isConvertible(in, target) {
		return "unrecognized type: " + target
	}
	return fmt.Sprintf("cannot convert %T to %s", in, target)
}

// isConvertible reports whether Go converts a value to a type, even if the conversion changes
// the meaning of the value.
func isConvertible(in any, target string) bool {
	switch in.(type) {
	case int64:
		return target != "bool"
	case float64:
		return target != "bool" && target != "string"
	}
	return goKind(in) == target
}

func goKind(in any) string {
	switch in.(type) {
	case map[string]any:
		return "map"
	case []any:
		return "slice"
	}
	return fmt.Sprintf("%T", in)
}

func jsonKind(in any) string {
	switch in.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case int64, float64:
		return "number"
	}
	return fmt.Sprintf("%T", in)
}

func goTarget(v *goValue) string {
	switch v.code {
	case 'b':
		return "bool"
	case 'i':
		return "int32"
	case 'l':
		return "int64"
	case 'f':
		return "float64"
	}
	return "string"
}
