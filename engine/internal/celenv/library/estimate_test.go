package library_test

import (
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	upstream "k8s.io/apiserver/pkg/cel/library"

	"github.com/preadmit/preadmit/engine/internal/celenv/library"
)

// sized knows the sizes of the variables of estimated, and implements checker.CostEstimator.
type sized struct{}

func largest(path []string) (uint64, bool) {
	size, known := map[string]uint64{"text": 30, "texts": 7, "texts.@items": 11, "numbers": 1000}[strings.Join(path, ".")]
	return size, known
}

func (sized) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	size, known := largest(node.Path())
	if len(node.Path()) == 0 || !known {
		return nil
	}
	return &checker.SizeEstimate{Max: size}
}

func (sized) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// TestEstimates compares the estimated costs of functions with those of the API server's library.
func TestEstimates(t *testing.T) {
	estimated := []string{
		`authorizer.group('').resource('pods').namespace('a').check('get').allowed()`,
		`authorizer.group('').resource('pods').fieldSelector(text).labelSelector(texts[0]).check('get').reason() == 'x'`,
		`texts.isSorted()`, `numbers.sum() == numbers.max() + numbers.min()`, `texts.indexOf(text) == texts.lastIndexOf('a')`, `numbers.isSorted()`,
		`text.indexOf('a') == text.lastIndexOf(unknown)`, `url(text).getHost() == 'a'`, `url(text) == url(unknown)`, `isURL(text)`,
		`text.lowerAscii() == unknown.upperAscii()`, `text.substring(3).trim() == 'a'`, `text.replace('a', 'bcd') == 'x'`, `text.replace('', text).size() > 3`,
		`text.replace(unknown, '') == 'x'`, `text.replace('abc', 'd').replace('', '') == text`, `text.split(',').all(x, x == 'a')`, `text.split(',', 3).size() == 3`,
		`texts.join() == 'a'`, `texts.join(text) == 'a'`, `[text, unknown].join(',') == 'a'`, `text.find('[a-z]+') == 'a'`, `unknown.findAll(text).size() == 3`,
		`ip(text) == ip('127.0.0.1') && isIP(text) && ip.isCanonical(text) && ip(text).isLoopback()`,
		`cidr(text).containsIP(text) && cidr(text).containsIP(ip(text)) && cidr(text).containsCIDR(text) && cidr(text).containsCIDR(cidr(text))`,
		`cidr(text).ip() == cidr(text).masked().ip() && cidr(text) == cidr(text) && isCIDR(unknown)`,
		`isQuantity(text) && quantity(text) == quantity(unknown) && quantity(text).add(quantity('1')).isGreaterThan(quantity('2'))`,
		`isSemver(text) && semver(text) == semver(unknown) && semver(text).major() == 1`,
		`format.dns1123Label().validate(text).hasValue()`, `format.named('uri').value() == format.uri()`, `text == unknown`, `texts == texts`,
		`sets.contains(texts, texts) && sets.equivalent(texts, ['a'])`, `texts.distinct().sort().slice(0, 1) == ['a']`,
	}
	variables := []cel.EnvOption{
		cel.Variable("text", cel.StringType), cel.Variable("unknown", cel.StringType),
		cel.Variable("texts", cel.ListType(cel.StringType)), cel.Variable("numbers", cel.ListType(cel.IntType)),
	}
	for _, expression := range estimated {
		want := theirs.estimate(t, variables, expression, &upstream.CostEstimator{SizeEstimator: sized{}})
		if got := ours.estimate(t, variables, expression, library.Estimates{Size: largest}); got != want {
			t.Errorf("%s costs %v, not %v", expression, got, want)
		}
	}
}

func (s side) estimate(t *testing.T, variables []cel.EnvOption, expression string, estimator checker.CostEstimator) checker.CostEstimate {
	t.Helper()
	env := s.env(t, variables...)
	checked, issues := env.Compile(expression)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	estimate, err := env.EstimateCost(checked, estimator)
	if err != nil {
		t.Fatal(err)
	}
	return estimate
}
