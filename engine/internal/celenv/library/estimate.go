package library

import (
	"math"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	values "k8s.io/apiserver/pkg/cel"
)

// Estimates estimates what functions cost before they run, as k8s.io/apiserver v0.36.3
// (pkg/cel/library/cost.go) does. Costs are those of calls that have run.
type Estimates struct {
	// Size returns the largest size of the value at a path, if that is known. The first part of a path is a
	// variable; @items, @keys and @values are those of a list or a map.
	Size func(path []string) (largest uint64, known bool)
}

// EstimateSize implements checker.CostEstimator.
func (e Estimates) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	if len(node.Path()) == 0 {
		return nil
	}
	largest, known := e.Size(node.Path())
	if !known {
		return nil
	}
	return &checker.SizeEstimate{Max: largest}
}

// EstimateCallCost implements checker.CostEstimator; nil leaves the cost to CEL.
func (e Estimates) EstimateCallCost(function, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	if cost, ok := fixedCost(function); ok {
		return costing(checker.FixedCostEstimate(cost))
	}
	if target != nil {
		if estimate := e.method(function, *target, args); estimate != nil {
			return estimate
		}
	}
	if len(args) == 0 {
		return nil
	}
	return e.function(function, overload, args)
}

func costing(cost checker.CostEstimate) *checker.CallEstimate {
	return &checker.CallEstimate{CostEstimate: cost}
}

// method estimates the cost of a call that depends on its target.
func (e Estimates) method(function string, target checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	size := e.size(target)
	switch function {
	case "isSorted", "sum", "max", "min", "indexOf", "lastIndexOf":
		item := itemOf(target)
		if item == nil {
			return costing(size.MultiplyByCostFactor(common.StringTraversalCostFactor))
		}
		cost := checker.FixedCostEstimate(1)
		if kind := item.Type().Kind(); kind == types.StringKind || kind == types.BytesKind {
			cost = cost.Add(e.size(item).MultiplyByCostFactor(common.StringTraversalCostFactor))
		}
		return costing(size.MultiplyByCost(cost))
	case "lowerAscii", "upperAscii", "substring", "trim":
		return resulting(size, 1, size)
	case "replace":
		if len(args) >= 2 {
			return resulting(size, 2, replaced(size, e.size(args[0]), e.size(args[1])))
		}
	case "split":
		return resulting(size, 2, checker.SizeEstimate{Max: mostParts(size, args)})
	case "join":
		joined := e.joined(target, args)
		return resulting(joined, 1, joined)
	case "find", "findAll":
		if len(args) >= 1 {
			text := size.Add(checker.FixedSizeEstimate(1)).MultiplyByCostFactor(common.StringTraversalCostFactor)
			pattern := e.size(args[0]).MultiplyByCostFactor(common.RegexStringLengthCostFactor)
			return &checker.CallEstimate{CostEstimate: text.Multiply(pattern), ResultSize: &checker.SizeEstimate{Max: size.Max}}
		}
	}
	return nil
}

// resulting is the estimate for visiting a value a number of times, with the size of the result.
func resulting(visited checker.SizeEstimate, times float64, result checker.SizeEstimate) *checker.CallEstimate {
	return &checker.CallEstimate{CostEstimate: visited.MultiplyByCostFactor(times * common.StringTraversalCostFactor), ResultSize: &result}
}

// replaced returns the size of a text in which another text is replaced by a third one.
func replaced(text, old, new checker.SizeEstimate) checker.SizeEstimate {
	var count, kept checker.SizeEstimate
	switch {
	case old.Min == 0: // the replacement surrounds all characters
		count.Max, kept.Max = more(text.Max), text.Max
	case new.Max <= old.Min:
		kept.Max = text.Max
	default:
		count.Max = uint64(math.Ceil(float64(text.Max) / float64(old.Min)))
	}
	switch {
	case old.Max == 0:
		count.Min, kept.Min = more(text.Min), text.Min
	case old.Max <= new.Min:
		kept.Min = text.Min
	default:
		count.Min = uint64(math.Ceil(float64(text.Min) / float64(old.Max)))
	}
	return count.Multiply(new).Add(kept)
}

// more returns n + 1, without an overflow.
func more(n uint64) uint64 { return max(n, n+1) }

// less returns n - 1, and 0 for 0.
func less(n uint64) uint64 { return max(n, 1) - 1 }

// mostParts returns the largest number of parts of a split text.
func mostParts(text checker.SizeEstimate, args []checker.AstNode) uint64 {
	if len(args) > 1 {
		if literal := args[1].Expr().AsLiteral(); literal != nil {
			if limit, ok := literal.Value().(int64); ok {
				return uint64(limit)
			}
		}
	}
	return text.Max
}

// joined returns the size of the texts of a list with a separator.
func (e Estimates) joined(list checker.AstNode, args []checker.AstNode) (size checker.SizeEstimate) {
	count := e.size(list)
	if item := itemOf(list); item != nil {
		size = count.Multiply(e.size(item))
	}
	if len(args) > 0 {
		size = size.Add(e.size(args[0]).Multiply(checker.SizeEstimate{Min: less(count.Min), Max: less(count.Max)}))
	}
	return size
}

// addresses is the size of the bytes of an IP address.
var addresses = checker.SizeEstimate{Min: 4, Max: 16}

// function estimates the cost of a call that depends on its arguments.
func (e Estimates) function(function, overload string, args []checker.AstNode) *checker.CallEstimate {
	size := e.size(args[0])
	scanned := size.MultiplyByCostFactor(common.StringTraversalCostFactor)
	switch function {
	case "fieldSelector", "labelSelector":
		if len(args) == 1 {
			requirements := size.MultiplyByCostFactor(requirementsOfCharacter)
			created := requirements.MultiplyByCostFactor(requirementCost).Add(checker.FixedCostEstimate(common.ListCreateBaseCost))
			return costing(scanned.Add(created))
		}
	case "url", "jsonpatch.escapeKey":
		if len(args) == 1 {
			return resulting(size, 1, size)
		}
	case "ip":
		if overload == "cidr_ip" {
			return costing(checker.FixedCostEstimate(nominalCost))
		}
		return costing(scanned)
	case "cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver":
		return costing(scanned)
	case "ip.isCanonical":
		return costing(size.MultiplyByCostFactor(2 * common.StringTraversalCostFactor))
	case "containsIP", "containsCIDR":
		cost := addresses.Add(addresses).MultiplyByCostFactor(common.StringTraversalCostFactor)
		if function == "containsCIDR" {
			cost = cost.Add(addresses.MultiplyByCostFactor(common.StringTraversalCostFactor)).Add(checker.FixedCostEstimate(1))
		}
		if overload == "cidr_contains_ip_string" || overload == "cidr_contains_cidr_string" {
			cost = cost.Add(scanned)
		}
		return costing(cost)
	case "validate":
		return costing(scanned.MultiplyByCostFactor(values.MaxNameFormatRegexSize * common.RegexStringLengthCostFactor))
	case "_==_":
		return e.comparison(args)
	}
	return nil
}

// comparison estimates the cost of comparing values of the types of Kubernetes.
func (e Estimates) comparison(args []checker.AstNode) *checker.CallEstimate {
	if len(args) != 2 || args[0].Type().TypeName() != args[1].Type().TypeName() {
		return nil
	}
	switch args[0].Type().TypeName() {
	case values.IPType.TypeName(), values.CIDRType.TypeName(), values.QuantityType.TypeName(), values.SemverType.TypeName(),
		AuthorizerType.TypeName(), PathCheckType.TypeName(), GroupCheckType.TypeName(), ResourceCheckType.TypeName(), DecisionType.TypeName():
		return costing(checker.FixedCostEstimate(nominalCost))
	case values.FormatType.TypeName():
		return costing(checker.CostEstimate{Min: 1, Max: values.MaxFormatSize}.MultiplyByCostFactor(common.StringTraversalCostFactor))
	case values.URLType.TypeName():
		largest := uint64(1)
		if size := args[1].ComputedSize(); size != nil {
			largest = size.Max
		}
		return costing(checker.CostEstimate{Min: 1, Max: largest}.MultiplyByCostFactor(common.StringTraversalCostFactor))
	}
	return nil
}

func (e Estimates) size(node checker.AstNode) checker.SizeEstimate {
	if size := node.ComputedSize(); size != nil {
		return *size
	}
	if size := e.EstimateSize(node); size != nil {
		return *size
	}
	return checker.SizeEstimate{Max: math.MaxUint64}
}

// item is the node for the items of a list. It implements checker.AstNode.
type item struct {
	path []string
	of   *types.Type
}

func itemOf(list checker.AstNode) checker.AstNode {
	parameters := list.Type().Parameters()
	if len(parameters) == 0 {
		return nil
	}
	i := item{of: parameters[0]}
	if path := list.Path(); path != nil {
		i.path = append(path[:len(path):len(path)], "@items")
	}
	return i
}

func (i item) Path() []string                      { return i.path }
func (i item) Type() *types.Type                   { return i.of }
func (i item) Expr() ast.Expr                      { return nil }
func (i item) ComputedSize() *checker.SizeEstimate { return nil }
