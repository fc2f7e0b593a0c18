package schema

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// DecodeError reports that the API server cannot decode an object into the Go type of
// its kind.
type DecodeError struct {
	// Fields are the wrong fields.
	Fields []Problem
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
// sorted order. Of a custom resource, which is not decoded into a Go type, only apiVersion and kind
// are checked. An error is a *DecodeError.
//
// memo may be nil. Values that it remembers as decoded are not checked again.
func (k *Kind) StrictDecode(memo *change.Memo, object map[string]any) error {
	failed, unknown := k.decode(memo, object)
	if failed != nil {
		return &DecodeError{[]Problem{*failed}, failed.Text}
	}
	if len(unknown) == 0 {
		return nil
	}
	texts := make([]string, len(unknown))
	for i, p := range unknown {
		texts[i] = p.Text
	}
	return &DecodeError{unknown, "strict decoding error: " + strings.Join(texts, ", ")}
}

// Decode is like StrictDecode, but unknown fields are no error: the server drops them.
func (k *Kind) Decode(memo *change.Memo, object map[string]any) error {
	if failed, _ := k.decode(memo, object); failed != nil {
		return &DecodeError{[]Problem{*failed}, failed.Text}
	}
	return nil
}

// decode returns the error of the decoder, if any, and the unknown fields.
func (k *Kind) decode(memo *change.Memo, object map[string]any) (failed *Problem, unknown []Problem) {
	for _, name := range []string{"apiVersion", "kind"} { // the server checks these first
		if v := object[name]; v != nil && JSONKind(v) != "string" {
			text := "couldn't get version/kind; json parse error: json: cannot unmarshal " + JSONKind(v) + " into Go struct field ." + name + " of type string"
			return &Problem{Path: change.Keys(name), Text: text}, nil
		}
	}
	if k.Custom || k.Unknown || k.Type() == nil {
		return nil, nil
	}
	d := decoder{memo: memo}
	d.value(k.Type(), object)
	return d.result()
}

// UnknownFields returns the undeclared fields of an object in the words of a strict decoder, and whether
// the decoder reaches them: it refuses a value of a wrong type first. Of a custom resource, only the
// fields of metadata are looked at. memo is used as in StrictDecode.
func (k *Kind) UnknownFields(memo *change.Memo, object map[string]any) (unknown []Problem, decodes bool) {
	if !k.Custom {
		failed, unknown := k.decode(memo, object)
		return unknown, failed == nil
	}
	if k.Type() == nil {
		return nil, true
	}
	d := decoder{memo: memo, path: change.Keys("metadata")}
	d.value(k.Type().FieldType("metadata"), object["metadata"])
	failed, unknown := d.result()
	return unknown, failed == nil
}

// The codes of findings about values that do not fit a type.
const (
	FieldUndefined = "field-undefined"
	TypeMismatch   = "type-mismatch"
)

// maxUnknown is the maximum number of fields that a strict decoder reports (sigs.k8s.io/json).
const maxUnknown = 100

// Check returns the errors of a strict decoder about an object of the type, in the decoder's
// words: the first value of a wrong type, if any, and then the undeclared fields, sorted.
func (t *Type) Check(object any) []Problem {
	d := decoder{}
	d.value(t, object)
	failed, unknown := d.result()
	if failed != nil {
		return append([]Problem{*failed}, unknown...)
	}
	return unknown
}

// Fits reports whether Check finds no errors about an object.
func (t *Type) Fits(object any) bool { return len(t.Check(object)) == 0 }

// decoder visits a value as Go's JSON decoder does, though in no order. It looks at nothing that
// memo remembers as decoded.
type decoder struct {
	memo *change.Memo
	path change.Path
	// fields are the fields of structs on the way to the value.
	fields []goField

	problems []problem
	// looked counts the visited values.
	looked int
}

// goField is a field of a struct, and the length of the path to it.
type goField struct {
	owner *Type
	name  string
	depth int
}

// problem is what is wrong with a value. Of an unknown field, owner is the type that does not have it.
type problem struct {
	path   change.Path
	text   string
	owner  *Type
	effect effect
}

// effect is the effect of a problem on Go's decoder.
type effect uint8

const (
	// unknownField is reported with all others.
	unknownField effect = iota
	// wrongType is reported if it is the first; decoding continues.
	wrongType
	// endsDecoding is the error of a type's own decoder. It replaces earlier ones.
	endsDecoding
)

func (d *decoder) problem(effect effect, text string) {
	d.problems = append(d.problems, problem{path: slices.Clone(d.path), text: text, effect: effect})
}

func (d *decoder) fail(text string) { d.problem(wrongType, text) }

func (d *decoder) stop(text string) { d.problem(endsDecoding, text) }

// result returns the error of the decoder, if any, and the unknown fields that it reports, as if it
// had visited maps in sorted order.
func (d *decoder) result() (failed *Problem, unknown []Problem) {
	slices.SortStableFunc(d.problems, func(a, b problem) int { return slices.CompareFunc(a.path, b.path, compareElements) })
	for _, p := range d.problems {
		switch p.effect {
		case unknownField:
			if len(unknown) < maxUnknown {
				unknown = append(unknown, p.undeclared())
			}
		case wrongType:
			if failed == nil {
				failed = &Problem{Path: p.path, Text: p.text, Code: TypeMismatch}
			}
		case endsDecoding:
			return &Problem{Path: p.path, Text: p.text, Code: TypeMismatch}, unknown
		}
	}
	return failed, unknown
}

// mostNames is the maximum number of fields that advice lists.
const mostNames = 10

// undeclared returns the problem of an unknown field, with a declared name that is similar, or with all declared
// names if they are few.
func (p problem) undeclared() Problem {
	key, known := p.path[len(p.path)-1].Key, p.owner.FieldNames()
	advice := source.Advice{}
	if near := source.Nearest(key, known); source.Misspelt(key, known) != "" || near != "" && len(known) > mostNames {
		advice = source.Meant(key, near)
	} else if len(known) > 0 && len(known) <= mostNames {
		advice = source.Expected("expected "+source.Alternatives(known), key, known)
	}
	return Problem{Path: p.path, Text: p.text, Code: FieldUndefined, Advice: advice}
}

func compareElements(a, b change.Element) int {
	return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Key, b.Key))
}

// mismatch returns the message about a JSON value that does not fit a Go type.
func (d *decoder) mismatch(got, want string) string {
	if len(d.fields) == 0 {
		return "json: cannot unmarshal " + got + " into Go value of type " + want
	}
	var owner string
	var path []string
	for _, f := range d.fields {
		if embedded := nameOf(f.owner, f.name).embedded; embedded != "" {
			path = append(path, embedded)
		}
		owner, path = f.owner.Name[strings.LastIndexByte(f.owner.Name, '.')+1:], append(path, f.name)
	}
	return "json: cannot unmarshal " + got + " into Go struct field " + owner + "." + strings.Join(path, ".") + " of type " + want
}

// goName returns the Go type of the current value.
func (d *decoder) goName(t *Type) string {
	if len(d.fields) == 0 {
		return t.GoName()
	}
	last := d.fields[len(d.fields)-1]
	name := nameOf(last.owner, last.name).typ
	for range len(d.path) - last.depth { // lists and maps
		if end := strings.IndexByte(name, ']'); end >= 0 {
			name = name[end+1:]
		} else {
			name = ""
		}
	}
	return cmp.Or(name, t.GoName())
}

func (d *decoder) value(t *Type, v any) {
	d.looked++
	switch {
	case v == nil || t == nil || t.Scalar == Untyped || t.Name == fieldsV1:
		return
	case t.Scalar != NotScalar:
		d.scalar(t, v)
		return
	}
	if _, known := d.memo.Recall(&t.Facts.decodes, v); known {
		return
	}
	looked, problems := d.looked, len(d.problems)
	d.composite(t, v)
	if len(d.problems) == problems && d.looked-looked >= worth {
		d.memo.Note(&t.Facts.decodes, v, 0)
	}
}

// composite visits a list, a struct or a map.
func (d *decoder) composite(t *Type, v any) {
	list, isList := v.([]any)
	object, isObject := v.(map[string]any)
	switch {
	case t.IsList && isList:
		for i, item := range list {
			d.path = append(d.path, change.Index(i))
			d.value(t.Elem, item)
			d.path = d.path[:len(d.path)-1]
		}
	case !t.IsList && isObject:
		d.object(t, object)
	default:
		d.fail(d.mismatch(JSONKind(v), d.goName(t)))
	}
}

// fieldsV1 is a type whose JSON is not decoded further.
const fieldsV1 = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1"

func (d *decoder) object(t *Type, object map[string]any) {
	for key := range object {
		d.path = append(d.path, change.Key(key))
		switch f := t.Declared(key); {
		case f != nil:
			d.fields = append(d.fields, goField{t, key, len(d.path)})
			d.value(f.Type, object[key])
			d.fields = d.fields[:len(d.fields)-1]
		case t.Elem != nil:
			d.value(t.Elem, object[key])
		case !t.Preserve:
			d.problem(unknownField, "unknown field "+strconv.Quote(dotted(d.path)))
			d.problems[len(d.problems)-1].owner = t
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
	kind := JSONKind(v)
	switch t.Scalar {
	case String:
		d.text(t, v)
	case Boolean:
		if kind != "bool" {
			d.fail(d.mismatch(kind, d.goName(t)))
		}
	case Number:
		if kind != "number" {
			d.fail(d.mismatch(kind, "float64"))
		}
	case Integer:
		if problem := integer(v, t.GoName()); problem != "" {
			d.fail(d.mismatch(problem, d.goName(t)))
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
		if list, is := v.([]any); is {
			d.bytes(list)
		} else if !ok {
			d.fail(d.mismatch(JSONKind(v), "[]uint8"))
		} else if _, err := base64.StdEncoding.DecodeString(s); err != nil {
			d.fail(err.Error())
		}
	case "date-time":
		layout := time.RFC3339
		if strings.HasSuffix(t.Name, ".MicroTime") {
			layout = "2006-01-02T15:04:05.000000Z07:00"
		}
		if !ok {
			d.stop(d.mismatch(JSONKind(v), "string"))
		} else if _, err := time.Parse(layout, s); err != nil {
			d.stop(err.Error())
		}
	default:
		if !ok {
			d.fail(d.mismatch(JSONKind(v), d.goName(t)))
		}
	}
}

// bytes checks bytes that are written as a list of numbers.
func (d *decoder) bytes(list []any) {
	for _, item := range list {
		if item == nil {
			continue
		}
		if problem := integer(item, "uint8"); problem != "" {
			d.fail(d.mismatch(problem, "uint8"))
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
		return JSONKind(v)
	}
	var err error
	switch goType {
	case "uint8":
		_, err = strconv.ParseUint(text, 10, 8)
	case "int32":
		_, err = strconv.ParseInt(text, 10, 32)
	default:
		_, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil {
		return "number " + text
	}
	return ""
}

// JSONKind returns the decoder's name for the type of a JSON value.
func JSONKind(v any) string {
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
// after the package and name of their Go types, and a named type of string is "string". See nameOf.
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

// quantityProblem returns what is wrong with a value for a quantity, in the server's words.
func quantityProblem(v any) string {
	text, isText := v.(string)
	if !isText {
		number, err := json.Marshal(v)
		if err != nil || JSONKind(v) != "number" {
			return resource.ErrFormatWrong.Error()
		}
		text = string(number)
	}
	if _, err := resource.ParseQuantity(strings.TrimSpace(text)); err != nil {
		return err.Error()
	}
	return ""
}
