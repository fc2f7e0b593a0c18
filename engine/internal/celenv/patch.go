package celenv

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/number"
)

// patchValue is the value of a JSONPatch literal.
type patchValue struct {
	opaque
	op, path, from string
	value          ref.Val // nil if not given
}

func newPatchValue(fields map[string]ref.Val) ref.Val {
	p := &patchValue{opaque: opaque{patchType}, value: fields["value"]}
	for name, to := range map[string]*string{"op": &p.op, "path": &p.path, "from": &p.from} {
		value, given := fields[name]
		if !given {
			continue
		}
		if u, is := value.(*unknownValue); is {
			u.observer.UseOf(u.of)
		}
		text, ok := value.Value().(string)
		if !ok {
			return types.NewErr("unexpected type %T for JSONPatchType '%s' field", value.Value(), name)
		}
		*to = text
	}
	return p
}

// Get implements traits.Indexer.
func (p *patchValue) Get(field ref.Val) ref.Val {
	switch field.Value() {
	case "op":
		return types.String(p.op)
	case "path":
		return types.String(p.path)
	case "from":
		return types.String(p.from)
	case "value":
		if p.value != nil {
			return p.value
		}
	}
	return types.ValOrErr(field, "no such key: %v", field)
}

// IsSet implements traits.FieldTester.
func (p *patchValue) IsSet(field ref.Val) ref.Val {
	switch field.Value() {
	case "op":
		return types.Bool(p.op != "")
	case "path":
		return types.Bool(p.path != "")
	case "from":
		return types.Bool(p.from != "")
	default:
		return types.Bool(p.value != nil)
	}
}

// Equal implements ref.Val.
func (p *patchValue) Equal(other ref.Val) ref.Val {
	q, ok := other.(*patchValue)
	if !ok || p.op != q.op || p.path != q.path || p.from != q.from || (p.value == nil) != (q.value == nil) {
		return types.False
	}
	if p.value == nil {
		return types.True
	}
	return p.value.Equal(q.value)
}

// Value implements ref.Val.
func (p *patchValue) Value() any { return p }

// JSONPatch evaluates a mutation that is a list of JSONPatch literals.
func (a *Activation) JSONPatch(p *Program) ([]jsonpatch.Operation, error) {
	value, err := a.eval(p, a.host.mutationBudget())
	if err != nil {
		return nil, err
	}
	list, ok := value.(traits.Lister)
	if !ok {
		return nil, errors.New("type mismatch: JSONPatchType.expression should evaluate to array")
	}
	var operations []jsonpatch.Operation
	for it := list.Iterator(); it.HasNext() == types.True; {
		item, ok := it.Next().(*patchValue)
		if !ok {
			return nil, errors.New("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch")
		}
		operation, err := a.operation(item)
		if err != nil {
			return nil, err
		}
		operations = append(operations, operation)
	}
	return operations, nil
}

// operation converts a literal. Its value is converted to the JSON form of CEL values, in which
// all numbers are doubles, and integers beyond 2^53 are strings.
func (a *Activation) operation(p *patchValue) (jsonpatch.Operation, error) {
	operation := jsonpatch.Operation{Op: p.op, Path: p.path, From: p.from, NoValue: p.value == nil}
	if p.value == nil {
		return operation, nil
	}
	if object, ok := p.value.(*objectValue); ok {
		if err := object.checkTypeNames(); err != nil {
			return operation, fmt.Errorf("type mismatch: %w", err)
		}
	}
	native, err := p.value.ConvertToNative(nativeJSON)
	if err != nil {
		// Package protobuf has a no-break space in the texts of some builds.
		text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
		return operation, errors.New("JSONPath valueExpression evaluated to a type that could not marshal to JSON: " + text)
	}
	if _, ok := p.value.(*objectValue); !ok && a.crashes && holdsObject(p.value.Value()) {
		return operation, jsonpatch.Crash("the value of JSONPatch %q is a list or map that contains an Object literal: %s; write one operation for each item, or maps in place of Object, with dyn() around their values if these are of several types", p.path, a.host.words.nested)
	}
	value := native.(*structpb.Value)
	if text := unwritable(value); text != "" {
		return operation, errors.New("JSONPath valueExpression evaluated to a type that could not marshal to JSON: json: error calling MarshalJSON for type *structpb.Value: proto: " + text)
	}
	operation.Value = plain(value)
	return operation, nil
}

// holdsObject reports whether a list or map literal contains an Object literal. The sum of two
// lists is not a literal, and converts its items itself.
func holdsObject(raw any) bool {
	within := func(item ref.Val) bool {
		_, ok := item.(*objectValue)
		return ok || holdsObject(item.Value())
	}
	switch raw := raw.(type) {
	case []ref.Val:
		return slices.ContainsFunc(raw, within)
	case map[ref.Val]ref.Val:
		return slices.ContainsFunc(slices.Collect(maps.Values(raw)), within)
	case []any:
		return slices.ContainsFunc(raw, holdsObject)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(raw)), holdsObject)
	}
	return false
}

// unwritable returns why a value cannot be written as JSON, in the words of package protobuf; "" if
// it can.
func unwritable(value *structpb.Value) string {
	switch kind := value.GetKind().(type) {
	case *structpb.Value_NumberValue:
		if f := kind.NumberValue; math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Sprintf("google.protobuf.Value.number_value: invalid %v value", f)
		}
	case *structpb.Value_ListValue:
		for _, item := range kind.ListValue.GetValues() {
			if text := unwritable(item); text != "" {
				return text
			}
		}
	case *structpb.Value_StructValue:
		fields := kind.StructValue.GetFields()
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if text := unwritable(fields[name]); text != "" {
				return text
			}
		}
	}
	return ""
}

// plain converts a JSON value to Go. A number without a fraction is an integer, as in a server
// that reads the JSON text.
func plain(value *structpb.Value) any {
	switch kind := value.GetKind().(type) {
	case *structpb.Value_StringValue:
		return kind.StringValue
	case *structpb.Value_BoolValue:
		return kind.BoolValue
	case *structpb.Value_NumberValue:
		return number.Whole(kind.NumberValue)
	case *structpb.Value_ListValue:
		list := make([]any, len(kind.ListValue.GetValues()))
		for i, item := range kind.ListValue.GetValues() {
			list[i] = plain(item)
		}
		return list
	case *structpb.Value_StructValue:
		object := make(map[string]any, len(kind.StructValue.GetFields()))
		for name, field := range kind.StructValue.GetFields() {
			object[name] = plain(field)
		}
		return object
	default:
		return nil
	}
}
