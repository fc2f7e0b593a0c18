package celenv

import (
	"fmt"
	"math"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/preadmit/preadmit/engine/internal/celenv/library"
	"github.com/preadmit/preadmit/engine/source"
)

// manyItems is how long the lists, maps and texts of a large object are, for the estimate of costs.
const manyItems = 30

// unlimited is the least cost that says that the size of a value in between, such as of a text made of
// others, has no estimate.
const unlimited = math.MaxUint64 / 1000

// costly finds expressions that a server may not finish on a large object. It does not estimate the costs
// of policies when they are created.
func costly(env *cel.Env, expressions []Expression, trees []*ast.AST) (problems []Problem) {
	for i := range expressions {
		if trees[i] == nil {
			continue
		}
		encoded, err := ast.ToProto(trees[i])
		if err != nil {
			continue
		}
		estimated, err := env.EstimateCost(cel.CheckedExprToAst(encoded), large{})
		if err == nil && estimated.Max > celconfig.PerCallLimit && estimated.Max < unlimited {
			problems = append(problems, Problem{
				Expression: i, Code: Costly, Guarded: true,
				Text: fmt.Sprintf("the expression costs up to %d units for an object whose lists, maps and texts have %d items each: servers stop at %d, and it fails", estimated.Max, manyItems, celconfig.PerCallLimit),
				Mend: source.Mend{Advice: "avoid a loop within a loop, or bound one with a smaller list"},
			})
		}
	}
	return problems
}

// large estimates the costs of expressions about large objects. It implements checker.CostEstimator.
type large struct{}

// EstimateSize implements checker.CostEstimator.
func (large) EstimateSize(checker.AstNode) *checker.SizeEstimate {
	return &checker.SizeEstimate{Max: manyItems}
}

// EstimateCallCost implements checker.CostEstimator.
func (large) EstimateCallCost(function, overload string, target *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	known := library.Estimates{Size: func([]string) (uint64, bool) { return manyItems, true }}
	return known.EstimateCallCost(function, overload, target, args)
}
