package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/schema"
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
	// of is the type of the field, if the value has another one.
	of *schema.Type
}

// Fits reports whether a scalar would be no problem.
func (e *FieldError) Fits(value any) bool {
	_, isText := value.(string)
	return e.of != nil && len(e.of.Check(value)) == 0 && isText == (kindOf(e.of) == goString)
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

// wrongType records that a value is not of the type t.
func (d *decoder) wrongType(t *schema.Type, in any) (any, bool) {
	d.problem(FieldError{
		Problem: fmt.Sprintf("expected %s, got %s", expected(t), change.Describe(in)),
		server:  refusal(t, in),
		of:      t,
	})
	return nil, false
}

func expected(t *schema.Type) string {
	switch kindOf(t) {
	case goStruct:
		return "a map"
	case goList:
		return "a list"
	case goMap:
		return "a map"
	case goBool:
		return "a boolean"
	case goInt32, goInt64:
		return "a whole number"
	case goFloat:
		return "a number"
	case goIntOrString:
		return "a whole number or a string"
	case goQuantity:
		return `a quantity such as 500m, "2" or 128Mi`
	case goTime, goMicroTime:
		return "a time as a string"
	case goBytes:
		return "a string in base64"
	case schemaOrBool:
		return "a boolean or a schema"
	}
	return "a string"
}

// refusal returns the reason that k8s.io/apimachinery v0.36.3 gives when it converts an
// unstructured object. Only the names of string types differ.
func refusal(t *schema.Type, in any) string {
	switch kindOf(t) {
	case goStruct:
		return "cannot restore struct from: " + kindName(in)
	case goList, goBytes:
		return "cannot restore slice from " + kindName(in)
	case goMap:
		return "cannot restore map from " + kindName(in)
	case goQuantity:
		if err := number.Encodable(in); err != nil {
			return "error encoding resource.Quantity to json: " + err.Error()
		}
		return resource.ErrFormatWrong.Error()
	case goTime, goMicroTime:
		return fmt.Sprintf("json: cannot unmarshal %s into Go value of type string", schema.JSONKind(in))
	case goIntOrString:
		if err := number.Encodable(in); err != nil {
			return "error encoding intstr.IntOrString to json: " + err.Error()
		}
		if _, fraction := in.(float64); fraction {
			return fmt.Sprintf("json: cannot unmarshal number %v into Go value of type int32", in)
		}
		return fmt.Sprintf("json: cannot unmarshal %s into Go value of type int32", schema.JSONKind(in))
	case schemaOrBool:
		return "boolean or JSON schema expected"
	}
	target := t.GoName()
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
	return kindName(in) == target
}

func kindName(in any) string {
	switch in.(type) {
	case map[string]any:
		return "map"
	case []any:
		return "slice"
	}
	return fmt.Sprintf("%T", in)
}
