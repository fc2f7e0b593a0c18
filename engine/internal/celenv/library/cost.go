package library

import (
	"math"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	values "k8s.io/apiserver/pkg/cel"
)

const (
	nominalCost = 1
	// checkCost lets an expression ask an authorizer twice.
	checkCost = 350_000
	// A requirement of a selector takes at least two characters, and makes a struct and a list.
	requirementsOfCharacter = 0.5
	requirementCost         = common.ListCreateBaseCost + common.StructCreateBaseCost
)

// Costs computes the cost of function calls.
type Costs struct{}

// CallCost implements interpreter.ActualCostEstimator; nil leaves the cost to CEL. The server
// prices functions by name, so that CEL functions with the name of a server function have the
// cost of the server function.
func (Costs) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	cost, ok := uint64(0), false
	switch len(args) {
	case 0:
		cost, ok = fixedCost(function)
	case 1:
		if cost, ok = fixedCost(function); !ok {
			cost, ok = unaryCost(function, overload, args[0], result)
		}
	default:
		if cost, ok = fixedCost(function); !ok {
			if cost, ok = binaryCost(function, overload, args[0], args[1]); !ok {
				cost, ok = unaryCost(function, overload, args[0], result)
			}
		}
	}
	if !ok {
		return nil
	}
	return &cost
}

// fixedCost returns the cost of functions with a fixed cost.
func fixedCost(function string) (uint64, bool) {
	switch function {
	case "check":
		return checkCost, true
	case "serviceAccount", "path", "group", "resource", "subresource", "namespace", "name",
		"allowed", "reason", "error", "errored",
		"masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast",
		"format.named",
		"sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add", "sub",
		"major", "minor", "patch",
		"getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery":
		return nominalCost, true
	}
	return 0, false
}

// unaryCost returns the cost of functions that visit their first argument, or create their
// result.
func unaryCost(function, overload string, arg, result ref.Val) (uint64, bool) {
	switch function {
	case "isSorted", "sum", "max", "min", "indexOf", "lastIndexOf":
		return traversalCost(arg), true
	case "ip":
		if overload == "cidr_ip" {
			return nominalCost, true
		}
		return scan(arg, 1), true
	case "url", "lowerAscii", "upperAscii", "substring", "trim", "jsonpatch.escapeKey",
		"cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver":
		return scan(arg, 1), true
	case "replace", "split", "ip.isCanonical":
		return scan(arg, 2), true
	case "join":
		return scan(result, 2), true
	}
	return 0, false
}

// binaryCost returns the cost of functions that depends on two arguments.
func binaryCost(function, overload string, a, b ref.Val) (uint64, bool) {
	switch function {
	case "_==_":
		return nominalCost, isAtomic(a)
	case "find", "findAll":
		return matchCost(a, sizeOf(b)), true
	case "validate":
		format, ok := a.Value().(values.Format)
		return matchCost(b, uint64(format.MaxRegexSize)), ok
	case "containsIP":
		return scan(a, 2) + parsing(b, overload == "cidr_contains_ip_string"), true
	case "containsCIDR":
		return scan(a, 2) + scan(a, 1) + 1 + parsing(b, overload == "cidr_contains_cidr_string"), true
	case "fieldSelector", "labelSelector":
		requirements := uint64(math.Ceil(float64(sizeOf(b)) * requirementsOfCharacter))
		return common.ListCreateBaseCost + scan(b, 1) + requirements*requirementCost, true
	}
	return 0, false
}

// isAtomic reports whether the cost of comparing with a value does not depend on its size.
func isAtomic(value ref.Val) bool {
	switch value.(type) {
	case values.Quantity, *values.Quantity, values.IP, values.CIDR, values.Format, values.URL, values.Semver, *authorization:
		return true
	}
	return false
}

// matchCost returns the cost of matching a text with a regular expression of a length. One is
// added so that an empty text has a cost.
func matchCost(text ref.Val, length uint64) uint64 {
	return uint64(math.Ceil((1+float64(sizeOf(text)))*common.StringTraversalCostFactor)) *
		uint64(math.Ceil(float64(length)*common.RegexStringLengthCostFactor))
}

// scan returns the cost of visiting a text a number of times.
func scan(value ref.Val, times float64) uint64 {
	return uint64(math.Ceil(float64(sizeOf(value)) * times * common.StringTraversalCostFactor))
}

// parsing returns the additional cost of an argument that is a text.
func parsing(value ref.Val, isText bool) uint64 {
	if isText {
		return scan(value, 1)
	}
	return 0
}

func sizeOf(value ref.Val) uint64 {
	if sizer, ok := value.(traits.Sizer); ok {
		return uint64(sizer.Size().(types.Int))
	}
	return 1
}

// traversalCost returns the cost of visiting a value and everything in it.
func traversalCost(value ref.Val) uint64 {
	cost := uint64(0)
	switch value := value.(type) {
	case types.String:
		return uint64(float64(len(value)) * common.StringTraversalCostFactor)
	case types.Bytes:
		return uint64(float64(len(value)) * common.StringTraversalCostFactor)
	case traits.Lister:
		for item := range items(value) {
			cost += traversalCost(item)
		}
		return cost
	case traits.Mapper:
		for key := range items(value) {
			cost += traversalCost(key) + traversalCost(value.Get(key))
		}
		return cost
	default:
		return 1
	}
}
