package schema

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/preadmit/preadmit/engine/change"
)

// DecodeError reports that the API server cannot decode an object into the Go type of
// its kind.
type DecodeError struct {
	// Fields are the wrong fields.
	Fields []FieldError
	text   string
}

// Error returns the API server's text, without the prefix "Internal error occurred: " that it
// has in a response.
func (e *DecodeError) Error() string { return e.text }

// StrictDecode returns the error of the API server when it decodes an object strictly into the
// Go type of a built-in kind, as it does with the result of a JSON patch (k8s.io/apimachinery
// v0.36.3, runtime/serializer/json):
//
//	json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32
//	strict decoding error: unknown field "spec.nope"
//
// The server names the first wrong value in the order of its JSON, StrictDecode the first in
// sorted order. The server also names Go types that the schema does not contain (v1.PullPolicy,
// which is a string here). StrictDecode returns nil for custom resources, which are not decoded
// into Go types. An error is a *DecodeError.
//
// memo may be nil. Values that it remembers as decoded are not checked again.
func (k *Kind) StrictDecode(memo *change.Memo, object map[string]any) error {
	if k.Custom || k.Unknown || k.Type() == nil {
		return nil
	}
	if !change.Reference && decodes(memo, k.Type(), object) {
		return nil
	}
	for _, name := range []string{"apiVersion", "kind"} { // the server checks these first
		if v := object[name]; v != nil && jsonKind(v) != "string" {
			text := "couldn't get version/kind; json parse error: json: cannot unmarshal " + jsonKind(v) + " into Go struct field ." + name + " of type string"
			return &DecodeError{[]FieldError{{change.Keys(name), text}}, text}
		}
	}
	d := decoder{}
	d.value(k.Type(), object)
	if d.failed != nil {
		return &DecodeError{[]FieldError{*d.failed}, d.failed.Text}
	}
	if len(d.unknown) == 0 {
		return nil
	}
	texts := make([]string, len(d.unknown))
	for i, p := range d.unknown {
		texts[i] = p.Text
	}
	return &DecodeError{d.unknown, "strict decoding error: " + strings.Join(texts, ", ")}
}

// decodes reports whether a strict decoder certainly accepts a value. Most values are accepted;
// this check does not visit them in order.
func decodes(memo *change.Memo, t *Type, v any) bool {
	s := acceptance{memo: memo}
	return s.value(t, v)
}

// acceptance checks whether a strict decoder accepts values.
type acceptance struct {
	memo *change.Memo
	// looked counts the visited values.
	looked int
}

func (a *acceptance) value(t *Type, v any) bool {
	a.looked++
	switch {
	case v == nil || t == nil || t.Scalar == Untyped || t.Name == fieldsV1:
		return true
	case t.Scalar != NotScalar:
		return isScalarOf(t, v)
	}
	if _, known := a.memo.Recall(&t.Facts.decodes, v); known {
		return true
	}
	before := a.looked
	if !a.composite(t, v) {
		return false
	}
	if a.looked-before >= worth {
		a.memo.Note(&t.Facts.decodes, v, 0)
	}
	return true
}

func (a *acceptance) composite(t *Type, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return !t.IsList && a.object(t, v)
	case []any:
		return t.IsList && !slices.ContainsFunc(v, func(item any) bool { return !a.value(t.Elem, item) })
	}
	return false
}

func (a *acceptance) object(t *Type, object map[string]any) bool {
	for key, v := range object {
		of := t.Elem
		if f := t.Declared(key); f != nil {
			of = f.Type
		} else if of == nil && !t.Preserve {
			return false
		}
		if !a.value(of, v) {
			return false
		}
	}
	return true
}

// isScalarOf reports whether a strict decoder accepts a value as a scalar of the type.
func isScalarOf(t *Type, v any) bool {
	if _, isText := v.(string); isText && t.Scalar == String && t.Format == "" {
		return true // the usual case
	}
	var d decoder
	d.scalar(t, v)
	return d.failed == nil
}

// Check returns the errors of a strict decoder about an object of the type, in the decoder's
// words: the first value of a wrong type, if any, and then the undeclared fields, sorted.
func (t *Type) Check(object any) []FieldError {
	d := decoder{}
	d.value(t, object)
	if d.failed != nil {
		return append([]FieldError{*d.failed}, d.unknown...)
	}
	return d.unknown
}

// decoder visits a value as Go's JSON decoder does.
type decoder struct {
	path change.Path
	// owner is the Go type of the struct whose field is decoded. fields are the names of the
	// fields on the way to it, without list indexes and map keys.
	owner  string
	fields []string

	unknown []FieldError
	// failed is the error: the first value of a wrong type, after which decoding continues, or
	// the error of a type's own decoder, which ends decoding (stopped).
	failed  *FieldError
	stopped bool
}

func (d *decoder) fail(message string) {
	if d.failed == nil {
		d.failed = &FieldError{slices.Clone(d.path), message}
	}
}

// stop ends decoding with the error of a type's own decoder, which replaces earlier errors.
func (d *decoder) stop(message string) {
	d.failed, d.stopped = &FieldError{slices.Clone(d.path), message}, true
}

// mismatch returns the message about a JSON value that does not fit a Go type.
func (d *decoder) mismatch(got, want string) string {
	if len(d.fields) == 0 {
		return "json: cannot unmarshal " + got + " into Go value of type " + want
	}
	return "json: cannot unmarshal " + got + " into Go struct field " + d.owner + "." + strings.Join(d.fields, ".") + " of type " + want
}

func (d *decoder) value(t *Type, v any) {
	switch {
	case v == nil || t == nil || d.stopped || t.Scalar == Untyped || t.Name == fieldsV1:
	case t.Scalar != NotScalar:
		d.scalar(t, v)
	case t.IsList:
		list, ok := v.([]any)
		if !ok {
			d.fail(d.mismatch(jsonKind(v), t.GoName()))
			return
		}
		for i, item := range list {
			d.path = append(d.path, change.Index(i))
			d.value(t.Elem, item)
			d.path = d.path[:len(d.path)-1]
		}
	default:
		object, ok := v.(map[string]any)
		if !ok {
			d.fail(d.mismatch(jsonKind(v), t.GoName()))
			return
		}
		d.object(t, object)
	}
}

// fieldsV1 is a type whose JSON is not decoded further.
const fieldsV1 = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1"

func (d *decoder) object(t *Type, object map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if d.stopped {
			return
		}
		d.path = append(d.path, change.Key(key))
		switch f := t.Declared(key); {
		case f != nil:
			owner := d.owner
			d.owner, d.fields = typeName(t), append(d.fields, key)
			d.value(f.Type, object[key])
			d.owner, d.fields = owner, d.fields[:len(d.fields)-1]
		case t.Elem != nil:
			d.value(t.Elem, object[key])
		case !t.Preserve:
			d.unknown = append(d.unknown, FieldError{slices.Clone(d.path), "unknown field " + strconv.Quote(dotted(d.path))})
		}
		d.path = d.path[:len(d.path)-1]
	}
}

// dotted prints a path as the decoder does: it does not quote keys.
func dotted(path change.Path) string {
	var b strings.Builder
	for i, e := range path {
		switch {
		case e.IsIndex():
			b.WriteString("[" + strconv.Itoa(e.Index) + "]")
		case i > 0:
			b.WriteString("." + e.Key)
		default:
			b.WriteString(e.Key)
		}
	}
	return b.String()
}

func (d *decoder) scalar(t *Type, v any) {
	kind := jsonKind(v)
	switch t.Scalar {
	case String:
		d.text(t, v)
	case Boolean:
		if kind != "bool" {
			d.fail(d.mismatch(kind, "bool"))
		}
	case Number:
		if kind != "number" {
			d.fail(d.mismatch(kind, "float64"))
		}
	case Integer:
		if problem := integer(v, t.GoName()); problem != "" {
			d.fail(d.mismatch(problem, t.GoName()))
		}
	case IntOrString:
		if kind == "string" {
			return
		}
		if problem := integer(v, "int32"); problem != "" {
			d.stop(d.mismatch(problem, "int32"))
		}
	case Quantity:
		if problem := quantityProblem(v); problem != "" {
			d.stop(problem)
		}
	}
}

// text checks a string, including its format as bytes or a time.
func (d *decoder) text(t *Type, v any) {
	s, ok := v.(string)
	switch t.Format {
	case "byte":
		if !ok {
			d.fail(d.mismatch(jsonKind(v), "[]uint8"))
		} else if _, err := base64.StdEncoding.DecodeString(s); err != nil {
			d.fail(err.Error())
		}
	case "date-time":
		layout := time.RFC3339
		if strings.HasSuffix(t.Name, ".MicroTime") {
			layout = "2006-01-02T15:04:05.000000Z07:00"
		}
		if !ok {
			d.stop(d.mismatch(jsonKind(v), "string"))
		} else if _, err := time.Parse(layout, s); err != nil {
			d.stop(err.Error())
		}
	default:
		if !ok {
			d.fail(d.mismatch(jsonKind(v), "string"))
		}
	}
}

// integer returns what is wrong with a value for an integer field of a Go type.
func integer(v any, goType string) (problem string) {
	var text string
	switch v := v.(type) {
	case int64:
		text = strconv.FormatInt(v, 10)
	case float64:
		number, _ := json.Marshal(v)
		text = string(number)
	default:
		return jsonKind(v)
	}
	bits := 64
	if goType == "int32" {
		bits = 32
	}
	if _, err := strconv.ParseInt(text, 10, bits); err != nil {
		return "number " + text
	}
	return ""
}

// jsonKind returns the decoder's name for the type of a JSON value.
func jsonKind(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case nil:
		return "null"
	default:
		return "number"
	}
}

// GoName returns the type as Go prints it, as far as the schema contains it: components are named
// after the package and name of their Go types, and a named type of string is "string".
func (t *Type) GoName() string {
	switch {
	case t.IsList:
		return "[]" + t.Elem.GoName()
	case t.Name != "":
		words := strings.Split(t.Name, ".")
		return strings.Join(words[max(0, len(words)-2):], ".")
	case t.Scalar == Integer && t.Format == "int32":
		return "int32"
	case t.Scalar == Integer:
		return "int64"
	case t.Scalar == Number:
		return "float64"
	case t.Scalar == Boolean:
		return "bool"
	case t.Scalar == String && t.Format == "byte":
		return "[]uint8"
	case t.Scalar == String:
		return "string"
	case t.Elem != nil:
		return "map[string]" + t.Elem.GoName()
	default:
		return "interface {}"
	}
}

// typeName returns the name of a struct's Go type without its package.
func typeName(t *Type) string {
	return t.Name[strings.LastIndexByte(t.Name, '.')+1:]
}

// quantityProblem returns what is wrong with a value for a quantity, in the words of
// k8s.io/apimachinery v0.36.3, pkg/api/resource.
func quantityProblem(v any) string {
	const format = `quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`
	s, ok := v.(string)
	if !ok {
		number, err := json.Marshal(v)
		if err != nil || jsonKind(v) != "number" {
			return format
		}
		s = string(number)
	}
	if s = strings.TrimSpace(s); s == "" {
		return format
	}
	if s[0] == '+' || s[0] == '-' {
		s = s[1:]
	}
	s = strings.TrimLeft(s, digits)
	if rest, found := strings.CutPrefix(s, "."); found {
		s = strings.TrimLeft(rest, digits)
	}
	if slices.Contains(quantitySuffixes, s) {
		return ""
	}
	letters := strings.TrimLeft(s, "eEinumkKMGTP")
	if letters != "" && (letters[0] == '+' || letters[0] == '-') {
		letters = letters[1:]
	}
	if strings.TrimLeft(letters, digits) != "" {
		return format
	}
	if _, err := strconv.ParseInt(s[1:], 10, 64); err != nil || s[0] != 'e' && s[0] != 'E' {
		return "unable to parse quantity's suffix"
	}
	return ""
}

const digits = "0123456789"

var quantitySuffixes = []string{"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
