package library

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"
	values "k8s.io/apiserver/pkg/cel"
)

// Quantity returns the library of quantities.
func Quantity() cel.EnvOption {
	quantity, aText := signature{values.QuantityType}, signature{cel.StringType}
	compare := func(a, b *resource.Quantity) int { return a.Cmp(*b) }
	return newLibrary(append(comparisons(values.QuantityType, "quantity", compare),
		of(aText, "quantity", "string_to_quantity", values.QuantityType, unary(parseQuantity)),
		of(aText, "isQuantity", "is_quantity_string", cel.BoolType, boolean(func(s string) bool {
			_, err := resource.ParseQuantity(s)
			return err == nil
		})),
		of(quantity, "sign", "quantity_sign", cel.IntType, integer((*resource.Quantity).Sign)),
		on(quantity, "asApproximateFloat", "quantity_get_float", cel.DoubleType, unary(func(q *resource.Quantity) ref.Val {
			return types.Double(q.AsApproximateFloat64())
		})),
		on(quantity, "asInteger", "quantity_get_int", cel.IntType, unary(asInteger)),
		on(quantity, "isInteger", "quantity_is_integer", cel.BoolType, boolean(func(q *resource.Quantity) bool {
			_, fits := q.AsInt64()
			return fits
		})),
		arithmetic("add", (*resource.Quantity).Add),
		arithmetic("sub", (*resource.Quantity).Sub),
	)...)
}

func parseQuantity(s string) ref.Val {
	q, err := resource.ParseQuantity(s)
	if err != nil {
		return types.WrapErr(err)
	}
	return values.Quantity{Quantity: &q}
}

func asInteger(q *resource.Quantity) ref.Val {
	n, fits := q.AsInt64()
	if !fits {
		return types.WrapErr(errors.New("cannot convert value to integer"))
	}
	return types.Int(n)
}

// arithmetic declares a function of a quantity and another quantity or an integer. Its result is
// a pointer. On the right side of a comparison, the server finds the pointer unequal to every
// quantity that is not a pointer.
func arithmetic(name string, change func(q *resource.Quantity, by resource.Quantity)) cel.EnvOption {
	changed := func(q *resource.Quantity, by resource.Quantity) ref.Val {
		result := *q
		change(&result, by)
		return &values.Quantity{Quantity: &result}
	}
	return cel.Function(name,
		cel.MemberOverload("quantity_"+name, signature{values.QuantityType, values.QuantityType}, values.QuantityType,
			binary(func(q, by *resource.Quantity) ref.Val { return changed(q, *by) })),
		cel.MemberOverload("quantity_"+name+"_int", signature{values.QuantityType, cel.IntType}, values.QuantityType,
			binary(func(q *resource.Quantity, by int64) ref.Val {
				return changed(q, *resource.NewQuantity(by, resource.DecimalExponent))
			})))
}
