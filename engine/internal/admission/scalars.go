package admission

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// scalar decodes a value that is neither a struct nor a list nor a map.
func (d *decoder) scalar(t *schema.Type, in any) (any, bool) {
	switch kindOf(t) {
	case goString, goIntOrString:
		if _, ok := in.(string); ok {
			return in, true
		}
		if kindOf(t) == goIntOrString {
			return d.integer(t, in)
		}
	case goBool:
		if _, ok := in.(bool); ok {
			return in, true
		}
	case goInt32, goInt64:
		return d.integer(t, in)
	case goFloat:
		switch n := in.(type) {
		case float64:
			return in, true
		case int64:
			return float64(n), true
		}
	case goQuantity:
		return d.quantity(t, in)
	case goTime:
		return d.time(t, in, time.RFC3339)
	case goMicroTime:
		return d.time(t, in, microTime)
	case goBytes:
		return d.bytes(t, in)
	case goObject:
		return in, true
	case goJSON:
		return d.anyJSON(in), true
	case schemaOrSchemas, schemaOrBool, schemaOrNames:
		return d.union(t, in)
	}
	return d.wrongType(t, in)
}

// integer decodes a whole number. A server that converts the result of an ApplyConfiguration
// silently truncates numbers that do not fit; here they are always reported.
func (d *decoder) integer(t *schema.Type, in any) (any, bool) {
	var n int64
	switch in := in.(type) {
	case int64:
		n = in
	case float64:
		if in != math.Trunc(in) || math.Abs(in) >= 1<<63 {
			return d.wrongType(t, in)
		}
		n = int64(in)
	default:
		return d.wrongType(t, in)
	}
	if kindOf(t) != goInt64 && n != int64(int32(n)) {
		d.problem(FieldError{
			Problem: fmt.Sprintf("%d does not fit into the 32 bits of this field", n),
			server: fmt.Sprintf("%d does not fit into an int32; kube-apiserver 1.36 wraps it around to %d without an error, which is hardly intended",
				n, int32(n)),
		})
		return nil, false
	}
	if _, ok := in.(int64); ok {
		return in, true
	}
	return n, true
}

// quantity decodes a quantity, given as text or as a number.
func (d *decoder) quantity(t *schema.Type, in any) (any, bool) {
	var written string
	switch in := in.(type) {
	case string:
		written = in
	case int64:
		written = strconv.FormatInt(in, 10)
	case float64:
		text, err := json.Marshal(in)
		if err != nil {
			return d.wrongType(t, in)
		}
		written = string(text)
	default:
		return d.wrongType(t, in)
	}
	canonical, err := canonicalQuantity(written)
	if err != nil {
		return d.wrongType(t, in)
	}
	if canonical == in {
		return in, true
	}
	return canonical, true
}

// microTime is the format of times with six digits of microseconds.
const microTime = "2006-01-02T15:04:05.000000Z07:00"

// time decodes a time, which is written in UTC; the zero time is written as null.
func (d *decoder) time(t *schema.Type, in any, layout string) (any, bool) {
	s, ok := in.(string)
	if !ok {
		return d.wrongType(t, in)
	}
	at, err := time.Parse(layout, s)
	switch {
	case err != nil:
		d.problem(FieldError{Problem: fmt.Sprintf("expected a time such as %s", time.Unix(0, 0).UTC().Format(layout)), server: err.Error()})
		return nil, false
	case at.IsZero():
		return nil, true
	}
	return at.UTC().Format(layout), true
}

// bytes decodes base64, or a list of bytes. It is written back as base64 without line breaks.
func (d *decoder) bytes(t *schema.Type, in any) (any, bool) {
	if list, ok := in.([]any); ok {
		return d.byteList(t, list)
	}
	s, ok := in.(string)
	if !ok {
		return d.wrongType(t, in)
	}
	if isCanonicalBase64(s) {
		return in, true
	}
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		d.problem(FieldError{Problem: "expected base64", server: "error decoding from json: " + err.Error()})
		return nil, false
	}
	return base64.StdEncoding.EncodeToString(data), true
}

// strictBase64 refuses bits that are not zero before the padding.
var strictBase64 = base64.StdEncoding.Strict()

// byteList decodes a list of bytes, in which null is 0.
func (d *decoder) byteList(t *schema.Type, in []any) (any, bool) {
	data := make([]byte, len(in))
	for i, item := range in {
		n, ok := item.(int64)
		if item != nil && (!ok || n != int64(byte(n))) {
			return d.wrongType(t, in)
		}
		data[i] = byte(n)
	}
	return base64.StdEncoding.EncodeToString(data), true
}

// isCanonicalBase64 reports whether encoding the decoded text gives the same text.
func isCanonicalBase64(s string) bool {
	data, err := strictBase64.DecodeString(s)
	return err == nil && strictBase64.EncodedLen(len(data)) == len(s)
}

// anyJSON decodes a value of any type. Conversion reads and writes its numbers, so that 1.0
// becomes 1.
func (d *decoder) anyJSON(in any) any {
	if !d.converting {
		return in
	}
	switch in := in.(type) {
	case float64:
		return number.Whole(in)
	case map[string]any:
		r := record{in: in, out: in}
		for key, value := range in {
			r.set(key, d.anyJSON(value))
		}
		return r.out
	case []any:
		out := in
		for i, item := range in {
			out = change.WithItem(in, out, i, d.anyJSON(item))
		}
		return out
	}
	return in
}

// union decodes either a schema or another value: a boolean, a list of schemas or a list of
// strings.
func (d *decoder) union(t *schema.Type, in any) (any, bool) {
	kind := kindOf(t)
	switch in := in.(type) {
	case map[string]any:
		return d.value(openAPISchemas().Elem, in)
	case bool:
		if kind == schemaOrBool {
			return in, true
		}
	case []any:
		switch {
		case kind == schemaOrSchemas && len(in) > 0:
			return d.list(openAPISchemas(), in), true
		case kind == schemaOrNames && len(in) > 0:
			return d.list(fieldNames, in), true
		}
	}
	if kind == schemaOrBool {
		return d.wrongType(t, in)
	}
	return nil, true
}
