package library_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	values "k8s.io/apiserver/pkg/cel"
	upstream "k8s.io/apiserver/pkg/cel/library"

	"github.com/preadmit/preadmit/engine/internal/celenv/library"
)

// side is one of the two compared implementations.
type side struct {
	libraries map[string]cel.EnvOption
	costs     interpreter.ActualCostEstimator
	// authorizer and requested are the variables, with an answer.
	authorizer, requested func(answer) ref.Val
}

// answer is the answer of an authorizer.
type answer struct {
	allowed bool
	err     error
}

var theirs = side{
	libraries: map[string]cel.EnvOption{
		"urls": upstream.URLs(), "regex": upstream.Regex(), "lists": upstream.Lists(), "authz": upstream.Authz(), "authzSelectors": upstream.AuthzSelectors(),
		"quantity": upstream.Quantity(), "ip": upstream.IP(), "cidr": upstream.CIDR(), "format": upstream.Format(),
		"semver": upstream.SemverLib(upstream.SemverVersion(1)), "jsonpatch": upstream.JSONPatch(),
	},
	costs:      &upstream.CostEstimator{},
	authorizer: func(a answer) ref.Val { return upstream.NewAuthorizerVal(&user.DefaultInfo{}, a) },
	requested:  func(a answer) ref.Val { return upstream.NewResourceAuthorizerVal(&user.DefaultInfo{}, a, anything{}) },
}

var ours = side{
	libraries: map[string]cel.EnvOption{
		"urls": library.URLs(), "regex": library.Regex(), "lists": library.Lists(), "authz": library.Authz(), "authzSelectors": library.AuthzSelectors(),
		"quantity": library.Quantity(), "ip": library.IP(), "cidr": library.CIDR(), "format": library.Format(),
		"semver": library.Semver(), "jsonpatch": library.JSONPatch(),
	},
	costs:      library.Costs{},
	authorizer: func(a answer) ref.Val { return library.Authorizer(a.check) },
	requested:  func(a answer) ref.Val { return library.ResourceCheck(a.check) },
}

func (a answer) check() (bool, error) { return a.allowed, a.err }

// Authorize implements authorizer.Authorizer.
func (a answer) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.allowed {
		return authorizer.DecisionAllow, "", a.err
	}
	return authorizer.DecisionDeny, "", a.err
}

// anything is a resource.
type anything struct{}

func (anything) GetName() string                          { return "web" }
func (anything) GetNamespace() string                     { return "default" }
func (anything) GetSubresource() string                   { return "" }
func (anything) GetResource() schema.GroupVersionResource { return schema.GroupVersionResource{} }

// env has all libraries, and CEL's libraries that use the same names.
func (s side) env(t testing.TB, options ...cel.EnvOption) *cel.Env {
	t.Helper()
	all := []cel.EnvOption{cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), ext.Strings(ext.StringsVersion(2)), ext.Sets(), ext.Lists(ext.ListsVersion(3))}
	for _, name := range slices.Sorted(maps.Keys(s.libraries)) {
		all = append(all, s.libraries[name])
	}
	env, err := cel.NewEnv(append(append(all, cel.Variable("authorizer", upstream.AuthorizerType), cel.Variable("requested", upstream.ResourceCheckType)), options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// program is a compiled expression, or the error of compiling it.
func (s side) program(env *cel.Env, expression string) (cel.Program, error) {
	checked, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	return env.Program(checked, cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostTracking(s.costs))
}

func (s side) evaluate(env *cel.Env, expression string, a answer) string {
	program, err := s.program(env, expression)
	if err != nil {
		return "refused: " + err.Error()
	}
	return run(program, map[string]any{"authorizer": s.authorizer(a), "requested": s.requested(a)})
}

// run describes what a program evaluates to, and its cost.
func run(program cel.Program, vars map[string]any) string {
	value, details, err := program.Eval(vars)
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprintf("%s, cost %d", describe(value), *details.ActualCost())
}

// describe returns the text of a value with everything that expressions can find out about it.
func describe(value ref.Val) string {
	switch value := value.(type) {
	case *types.Optional:
		if !value.HasValue() {
			return "none"
		}
		return "optional " + describe(value.GetValue())
	case *types.Type:
		return "type " + value.String()
	case traits.Lister:
		var items []string
		for it := value.Iterator(); it.HasNext() == types.True; {
			items = append(items, describe(it.Next()))
		}
		return fmt.Sprint(items)
	case traits.Mapper:
		var entries []string
		for it := value.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			entries = append(entries, describe(key)+": "+describe(value.Get(key)))
		}
		slices.Sort(entries)
		return fmt.Sprint("map", entries)
	}
	native := value.Value()
	if format, ok := native.(values.Format); ok {
		native = fmt.Sprint(format.Name, format.MaxRegexSize)
	}
	return fmt.Sprintf("%s %v", value.Type().TypeName(), native)
}

// TestDeclarations compares the declarations of the libraries.
func TestDeclarations(t *testing.T) {
	for name := range theirs.libraries {
		want, got := functions(t, theirs.libraries[name]), functions(t, ours.libraries[name])
		if !slices.Equal(want, got) {
			t.Errorf("%s declares\n%s, the API server\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// functions describes the functions of a library.
func functions(t *testing.T, option cel.EnvOption) []string {
	env, err := cel.NewCustomEnv(cel.OptionalTypes(), option)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for name, function := range env.Functions() {
		line := name
		for _, o := range function.OverloadDecls() {
			line += fmt.Sprintf("\n  %s%v %v member=%t strict=%t", o.ID(), o.ArgTypes(), o.ResultType(), o.IsMemberFunction(), !o.IsNonStrict())
		}
		bindings, err := function.Bindings()
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range bindings {
			line += fmt.Sprintf("\n  binding %s %t %t %t %v", b.Operator, b.Unary != nil, b.Binary != nil, b.Function != nil, b.OperandTrait)
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

// samples are values for the types of arguments.
var samples = map[string][]any{
	"string": {
		"", " ", "a", "web", "Web", "a-b", "-a", "a-", "a.b", "a..b", "a/b", "a~b~1/", "x/y/z", "1abc", "é", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 127), "a\nb",
		"a_b", "example.com/My_Name", "/x", "x/", "[0-9]+", "(", "a|b", ".*",
		"https://user:pass@example.com:80/path with spaces?query=val&query=2&k#fragment", "/absolute?a=%zz", "../relative", "https://[::1]:80/", "https://a:b:c/", "mailto:x",
		"127.0.0.1", "127.0.0.256", "010.0.0.1", "::1", "::", "2001:DB8::0:ABCD", "::ffff:1.2.3.4", "fe80::1%eth0", "ff02::1", "224.0.0.1", "169.254.1.1", "255.255.255.255",
		"192.168.0.0/16", "192.168.0.1/24", "192.168.0.0/33", "::1/128", "::ffff:1.2.3.4/96", "fe80::%eth0/10", "10.0.0.0/8",
		"1", "-1", "0", "1.5G", "100m", "1Ki", "200K", "9999999999999999999999G", "1e3", "0.0000000001", "12E", "Mi",
		"1.0.0", "v1.0.0", "1.0", "01.02.03", "1.0.0-alpha.1+b", "1-rc", "v", "00", "1..2", "1.2.3.4", "x.y.z", "000.0a.+",
		"123e4567-e89b-12d3-a456-426614174000", "123E4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400", "aGVsbG8=", "aGVsbG8", "aGVs\nbG8=", "a+/=", "YQ==", "YR==", "_-==",
		"2021-01-01", "2021-13-01", "2021-1-1", "2021-01-01T00:00:00Z", "2021-01-01t23:59:59.123+01:00", "2021-01-01T24:00:00Z", "2021-01-01T00:60:00Z", "2021-01-01T00:00:60z",
		"2021-01-01T00:00:00", "2021-01-01T00:00:00x1-10:00", "2021-01-01T00:00:00ZtX", "2021-01-01T00:00:00+99:99", "tt", "spec.nodeName=mynode", "app in (a, b)",
	},
	"int":                             {int64(-1), int64(0), int64(1), int64(2), int64(50000), int64(1) << 62},
	"bool":                            {true, false},
	"kubernetes.URL":                  {address("https://user@example.com:80/a%20b?q=1&q=2#f"), address("/path"), address("https://[::1]/?a;b"), address("mailto:x")},
	"net.IP":                          {values.IP{Addr: netip.MustParseAddr("127.0.0.1")}, values.IP{Addr: netip.MustParseAddr("192.168.0.1")}, values.IP{Addr: netip.MustParseAddr("fe80::1")}, values.IP{Addr: netip.MustParseAddr("::")}, values.IP{Addr: netip.MustParseAddr("ff02::1")}, values.IP{Addr: netip.MustParseAddr("224.0.0.1")}},
	"net.CIDR":                        {values.CIDR{Prefix: netip.MustParsePrefix("192.168.0.1/16")}, values.CIDR{Prefix: netip.MustParsePrefix("0.0.0.0/0")}, values.CIDR{Prefix: netip.MustParsePrefix("fe80::/10")}, values.CIDR{Prefix: netip.MustParsePrefix("127.0.0.1/32")}},
	"kubernetes.Quantity":             {quantity("1"), quantity("-1.5"), quantity("50k"), quantity("1Gi"), quantity("100m"), quantity("9999999999999999999999G"), &values.Quantity{Quantity: quantity("50k").Quantity}},
	"kubernetes.Semver":               {version("1.2.3"), version("1.2.3-rc.1"), version("2.0.0+build"), version("18446744073709551615.0.1")},
	"kubernetes.NamedFormat":          {upstream.ConstantFormats["uuid"], upstream.ConstantFormats["dns1123Label"]},
	"list(int)":                       {[]int64{}, []int64{1, 2, 2, 3}, []int64{3, 1}, []int64{1 << 62, 1 << 62}},
	"list(uint)":                      {[]uint64{}, []uint64{1, 2, 2, 3}, []uint64{3, 1}},
	"list(double)":                    {[]float64{}, []float64{1, 2.5}, []float64{3, 1}},
	"list(bool)":                      {[]bool{}, []bool{true, false}},
	"list(string)":                    {[]string{}, []string{"b", "a", "b"}, []string{"a", "b"}, []any{"a", int64(1)}},
	"list(bytes)":                     {[][]byte{[]byte("b"), []byte("a")}},
	"list(google.protobuf.Duration)":  {[]time.Duration{}, []time.Duration{time.Second, time.Minute}, []time.Duration{1 << 62, 1 << 62}},
	"list(google.protobuf.Timestamp)": {[]time.Time{time.Unix(2, 0), time.Unix(1, 0)}, []any{time.Unix(1, 0), "x"}},
	"list(<A>)":                       {[]any{}, []any{int64(1), "a", 1.0, []any{}, "a", nil}, []string{"a", "b", "a"}},
	"<A>":                             {"a", int64(1), 1.0, uint64(1), nil, []string{}, map[string]any{"a": int64(1)}},
}

func address(s string) values.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return values.URL{URL: u}
}

func quantity(s string) values.Quantity {
	q := resource.MustParse(s)
	return values.Quantity{Quantity: &q}
}

func version(s string) values.Semver { return values.Semver{Version: semver.MustParse(s)} }

// TestFunctions compares every overload on all samples of its arguments: values, errors
// and costs.
func TestFunctions(t *testing.T) {
	for library, option := range theirs.libraries {
		if strings.HasPrefix(library, "authz") {
			continue // see TestAuthorizer
		}
		env, err := cel.NewCustomEnv(cel.OptionalTypes(), option)
		if err != nil {
			t.Fatal(err)
		}
		for name, function := range env.Functions() {
			for _, overload := range function.OverloadDecls() {
				if _, added := stdlib.Functions()[name]; !added || name == "string" {
					compareOverload(t, name, overload)
				}
			}
		}
	}
}

// stdlib has the functions that no library extends.
var stdlib = func() *cel.Env {
	env, err := cel.NewEnv(cel.OptionalTypes())
	if err != nil {
		panic(err)
	}
	return env
}()

func compareOverload(t *testing.T, function string, overload *decls.OverloadDecl) {
	names, options, all := []string{"a0", "a1", "a2"}[:len(overload.ArgTypes())], []cel.EnvOption(nil), [][]any{nil}
	for i, typ := range overload.ArgTypes() {
		given := samples[typ.String()]
		if given == nil {
			t.Fatalf("%s: no samples of %s", overload.ID(), typ)
		}
		declared := typ
		if strings.Contains(typ.String(), "<A>") {
			declared = cel.DynType
		}
		options = append(options, cel.Variable(names[i], declared))
		var longer [][]any
		for _, tuple := range all {
			for _, value := range given {
				longer = append(longer, append(slices.Clip(tuple), value))
			}
		}
		all = longer
	}
	call := function + "(" + strings.Join(names, ", ") + ")"
	if overload.IsMemberFunction() {
		call = "a0." + function + "(" + strings.Join(names[1:], ", ") + ")"
	}
	want, err := theirs.program(theirs.env(t, options...), call)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ours.program(ours.env(t, options...), call)
	if err != nil {
		t.Fatal(err)
	}
	const most = 1500
	for i := 0; i < len(all); i += len(all)/most + 1 {
		if want, got := run(want, bind(names, all[i])), run(got, bind(names, all[i])); want != got {
			t.Errorf("%s with %q: %s, the API server says %s", call, all[i], got, want)
		}
	}
}

// bind sets the values of variables. Adding to a large quantity changes the quantity, on the
// server too, so quantities are copied.
func bind(names []string, tuple []any) map[string]any {
	vars := map[string]any{}
	for i, value := range tuple {
		switch q := value.(type) {
		case values.Quantity:
			copied := q.DeepCopy()
			value = values.Quantity{Quantity: &copied}
		case *values.Quantity:
			copied := q.DeepCopy()
			value = &values.Quantity{Quantity: &copied}
		}
		vars[names[i]] = value
	}
	return vars
}

// TestExpressions compares expressions that combine several functions, constants or types.
func TestExpressions(t *testing.T) {
	their, our := theirs.env(t), ours.env(t)
	for _, expression := range []string{
		// Regular expressions that are constants are compiled early.
		"'abc 123'.find('[0-9]+')", "'abc'.find('(')", "'a1b2'.findAll('[0-9]')", "'a1b2'.findAll('[0-9]', 1)", "'a1b2'.findAll('[')", "'a'.find(1)",
		"dyn(1).find('a')", "'a1'.findAll('[0-9]', dyn('x'))", "dyn(1).findAll('a')", "'a'.find(dyn(1))", "'a'.findAll('a', dyn(null))",
		// Equality, and what the server cannot compare.
		"quantity('1k') == quantity('1000')", "quantity('1').add(1) == quantity('2')", "quantity('2') == quantity('1').add(1)", "quantity('1') == dyn(1)",
		"url('/a') == url('/a')", "url('/a') == url('/b')", "ip('::1') == ip('0:0::1')", "ip('::1') == dyn('::1')", "cidr('10.0.0.0/8') == cidr('10.0.0.1/8').masked()",
		"semver('1.0.0') == semver('1.0.0+x')", "format.named('uuid').value() == format.uuid()", "format.date() == format.byte()", "format.named('nope')",
		"quantity('1') in [quantity('1000m')]", "{quantity('1').asInteger(): 1}",
		// Conversions.
		"string(ip('::1'))", "string(cidr('10.0.0.0/8'))", "string(quantity('1'))", "type(quantity('1'))", "type(url('/a'))", "type(ip('::1'))", "type(semver('1.0.0'))", "type(format.uuid())",
		"type(cidr('10.0.0.0/8')) == type(ip('::1'))", "sign(quantity('-1'))", "quantity('x').asInteger()",
		// Functions that share a name with functions of CEL.
		"'abab'.replace('a', 'xy')", "'a,b'.split(',')", "'a,b'.split(',', 1)", "['a', 'b'].join()", "['a', 'b'].join('-')", "'ABC'.lowerAscii()", "'abc'.upperAscii()", "'abc'.substring(1)", "' a '.trim()",
		"'abc'.indexOf('c')", "'abc'.lastIndexOf('c', 1)", "[1, 2].indexOf(2)", "dyn('abc').indexOf('c')", "[[1, 'a'], {'a': 'b'}].indexOf({})", "[b'abc'].max()", "['a', 'bc'].min()",
		"[1, 2, 3].distinct()", "['b', 'a'].sort()", "[[1], [2]].flatten()", "sets.contains([1, 2], [1])", "'abc'.charAt(1)", "'abc'.reverse()",
		"'abc'.contains('b')", "'abc'.matches('a.*')", "'abc' == 'abd'", "[1, 2] == [1, 2]", "1 + 2 == 3", "'a' + 'b' == 'ab'", "size('abc')",
		// Functions whose names are unique.
		"format.named('uuid').value().validate('x').value()[0]", "format.dns1123Label().validate('-').value().join()", "cidr('10.0.0.0/8').containsIP('x')", "cidr('10.0.0.0/8').containsCIDR('x')",
		"cidr('10.0.0.0/8').containsIP(ip('10.1.1.1'))", "cidr('10.0.0.0/8').ip().family()", "url('https://example.com/?a=1&a=2').getQuery()['a'][1]",
		"[1, 'a'].sum()", "[dyn(1), dyn('a')].sum()", "[dyn(1), dyn(null)].max()", "[dyn(null)].min()", "[dyn(1), dyn(null)].isSorted()", "[dyn(true), dyn(1)].isSorted()", "[].sum()", "[].max()", "[duration('1s')].sum()",
		"nope(1)", "'a'.nope()", "quantity(1)", "isIP(1)", "ip.isCanonical('::1')", "jsonpatch.escapeKey('a/b~')", "semver('1.0', 'x')",
	} {
		if want, got := theirs.evaluate(their, expression, answer{}), ours.evaluate(our, expression, answer{}); want != got {
			t.Errorf("%s: %s, the API server says %s", expression, got, want)
		}
	}
}

// TestAuthorizer compares every overload of the libraries of the authorizer.
func TestAuthorizer(t *testing.T) {
	their, our := theirs.env(t), ours.env(t)
	called := map[string]bool{}
	for _, a := range []answer{{}, {allowed: true}, {err: errors.New("unavailable")}} {
		for _, expression := range []string{
			"authorizer.path('/healthz').check('get').allowed()", "authorizer.path(' ').check('get').allowed()", "authorizer.path('/healthz').check('get').reason()",
			"authorizer.group('').resource('pods').check('create').allowed()", "authorizer.group('').resource(' ').check('create').allowed()",
			"authorizer.group('apps').resource('deployments').subresource('scale').namespace('a').name('b').check('get').errored()",
			"authorizer.group('').resource('pods').fieldSelector('spec.nodeName=mynode').labelSelector('(').check('list').error()",
			"authorizer.serviceAccount('default', 'sa').group('').resource('pods').check('get').allowed()",
			"authorizer.serviceAccount('Default', 'sa').path('/').check('get').allowed()", "authorizer.serviceAccount('default', '-').path('/').check('get').allowed()",
			"requested.check('get').allowed()", "requested.subresource('x').check('get').error()", "requested.check('get').allowed() && requested.check('get').allowed() && requested.check('get').allowed()",
			"authorizer == authorizer", "requested != requested", "authorizer == dyn(1)", "requested.check('get') == requested.check('get')", "dyn(1) == authorizer", "[authorizer] == [authorizer]",
			"type(authorizer)", "type(requested)", "type(requested.check('a'))", "type(authorizer.path('/'))", "type(authorizer.group(''))", "string(dyn(authorizer))", "authorizer.nope", "dyn(authorizer).nope",
			"dyn(requested).check(1)", "dyn(authorizer).check('get')", "authorizer in [authorizer]", "dyn(authorizer).path(1)",
		} {
			if want, got := theirs.evaluate(their, expression, a), ours.evaluate(our, expression, a); want != got {
				t.Errorf("%s with %v: %s, the API server says %s", expression, a, got, want)
			}
			if checked, issues := their.Compile(expression); issues.Err() == nil {
				for _, reference := range checked.NativeRep().ReferenceMap() {
					for _, id := range reference.OverloadIDs {
						called[id] = true
					}
				}
			}
		}
	}
	env, err := cel.NewCustomEnv(theirs.libraries["authz"], theirs.libraries["authzSelectors"])
	if err != nil {
		t.Fatal(err)
	}
	for _, function := range env.Functions() {
		for _, overload := range function.OverloadDecls() {
			if !called[overload.ID()] {
				t.Errorf("no expression calls %s", overload.ID())
			}
		}
	}
}

// TestCallCost compares the cost of calls of every function, including functions that the
// libraries do not declare.
func TestCallCost(t *testing.T) {
	var arguments []ref.Val
	for _, name := range []string{"string", "net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.NamedFormat", "list(string)", "<A>"} {
		for _, sample := range samples[name] {
			arguments = append(arguments, types.DefaultTypeAdapter.NativeToValue(sample))
		}
	}
	result := types.String(strings.Repeat("r", 25))
	for name, function := range theirs.env(t).Functions() {
		for _, overload := range function.OverloadDecls() {
			for i, argument := range arguments {
				args := []ref.Val{argument, arguments[(i*7+1)%len(arguments)], argument, argument}[:len(overload.ArgTypes())]
				want, got := theirs.costs.CallCost(name, overload.ID(), args, result), ours.costs.CallCost(name, overload.ID(), args, result)
				if show(want) != show(got) {
					t.Errorf("%s %s %v costs %s, the API server says %s", name, overload.ID(), args, show(got), show(want))
				}
			}
		}
	}
}

func show(cost *uint64) string {
	if cost == nil {
		return "nothing special"
	}
	return fmt.Sprint(*cost)
}

// FuzzTexts compares the text functions.
func FuzzTexts(f *testing.F) {
	for _, sample := range samples["string"] {
		f.Add(sample.(string), "a")
	}
	variables := []cel.EnvOption{cel.Variable("a", cel.StringType), cel.Variable("b", cel.StringType)}
	expressions := []string{
		"url(a).getQuery()", "isURL(a)", "ip(a)", "isIP(a)", "ip.isCanonical(a)", "cidr(a)", "isCIDR(a)", "cidr(a).containsIP(b)", "cidr(a).containsCIDR(b)",
		"quantity(a)", "isQuantity(a)", "quantity(a).add(quantity(b))", "semver(a)", "semver(a, true)", "isSemver(a, true)", "jsonpatch.escapeKey(a)", "a.find(b)", "a.findAll(b)", "format.named(a)",
	}
	for name := range upstream.ConstantFormats {
		expressions = append(expressions, "format."+name+"().validate(a)")
	}
	their, our := theirs.env(f, variables...), ours.env(f, variables...)
	programs := map[string][2]cel.Program{}
	for _, expression := range expressions {
		want, err := theirs.program(their, expression)
		if err != nil {
			f.Fatal(err)
		}
		got, err := ours.program(our, expression)
		if err != nil {
			f.Fatal(err)
		}
		programs[expression] = [2]cel.Program{want, got}
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		vars := map[string]any{"a": a, "b": b}
		for expression, pair := range programs {
			if want, got := run(pair[0], vars), run(pair[1], vars); want != got {
				t.Errorf("%s with %q, %q: %s, the API server says %s", expression, a, b, got, want)
			}
		}
	})
}
