package kyverno

import (
	"testing"
)

// TestOperators checks operators with keys and values written as YAML.
func TestOperators(t *testing.T) {
	for _, c := range []struct {
		key, operator, value string
		want                 bool
	}{
		{"a", "Equals", "a", true},
		{"a", "Equal", "b", false},
		{"abc", "Equals", "a*", true},
		{"a*", "Equals", "abc", false},
		{"1", "Equals", "'1'", true},
		{"'1'", "Equals", "1", false},
		{"1.5", "Equals", "'1.5'", true},
		{"true", "Equals", "true", true},
		{"true", "Equals", "'true'", false},
		{"null", "Equals", "null", false},
		{"null", "NotEquals", "a", false},
		{"1Gi", "Equals", "1024Mi", true},
		{"1Gi", "NotEquals", "1G", true},
		{"1Gi", "NotEquals", "''", true},
		{"1h", "Equals", "60m0s", true},
		{"1h", "Equals", "3600", true},
		{"3600", "Equals", "1h", false}, // the key decides the type: a number
		{"[a, b]", "Equals", "[a, b]", true},
		{"[a, b]", "Equals", "[b, a]", false},
		{"{a: 1}", "Equals", "{a: 1.0}", true},
		{"a", "NotEquals", "b", true},
		{"a", "NotEquals", "1", true},
		{"{a: 1}", "NotEquals", "x", true},

		{"a", "AnyIn", "[a, b]", true},
		{"c", "AnyIn", "[a, b]", false},
		{"ab", "AnyIn", "['a*']", true},
		{"'a*'", "AnyIn", "[ab]", true},
		{"[a, z]", "AnyIn", "[a, b]", true},
		{"[]", "AnyIn", "[a]", false},
		{"5", "AnyIn", "1-10", true},
		{"50", "AnyIn", "1-10", false},
		{"a", "AnyIn", `'["a", "b"]'`, true},
		{"a", "AnyIn", "a", true},
		{"[a, b]", "AllIn", "[a, b, c]", true},
		{"[a, z]", "AllIn", "[a, b]", false},
		{"[]", "AllIn", "[a]", true},
		{"[a, z]", "AnyNotIn", "[a, b]", true},
		{"[a]", "AnyNotIn", "[a, b]", false},
		{"[x, z]", "AllNotIn", "[a, b]", true},
		{"[a, z]", "AllNotIn", "[a, b]", false},
		{"CREATE", "AllNotIn", "[UPDATE]", true},
		{"CREATE", "In", "[CREATE]", true},
		{"CREATE", "NotIn", "[CREATE]", false},
		{"{a: b}", "AnyIn", "[a]", false},
		{"{a: b}", "AllNotIn", "[a]", false},

		{"2", "GreaterThan", "1", true},
		{"2", "GreaterThan", "2", false},
		{"2", "GreaterThanOrEquals", "2", true},
		{"1", "LessThan", "2", true},
		{"2", "LessThanOrEquals", "1", false},
		{"'10'", "GreaterThan", "'9'", true},
		{"10", "GreaterThan", "'9'", true},
		{"1Gi", "GreaterThan", "1000Mi", true},
		{"1h", "GreaterThan", "59m1s", true},
		{"1h", "LessThan", "3601", true},
		{"1.10.0", "GreaterThan", "1.9.0", true},
		{"1.10.0-rc1", "LessThan", "1.10.0", true},
		{"abc", "GreaterThan", "1", false},
		{"2h", "DurationGreaterThan", "1h", true},
	} {
		if got := operators[c.operator](value(t, c.key), value(t, c.value)); got != c.want {
			t.Errorf("%s %s %s is %v", c.key, c.operator, c.value, got)
		}
	}
}

// TestScalarPatterns checks scalar values against patterns as conditions have them.
func TestScalarPatterns(t *testing.T) {
	for _, c := range []struct {
		value, pattern string
		want           bool
	}{
		{"nginx:latest", "'*:latest'", true},
		{"nginx", "'*:latest | !*:*'", true},
		{"nginx:1", "'*:latest | !*:*'", false},
		{"nginx", "'?*'", true},
		{"''", "'?*'", false},
		{"quux", "'!q*'", false},
		{"5", "'>=5'", true},
		{"5", "'>5'", false},
		{"5", "'<=5 & >4'", true},
		{"3", "'2-5'", true},
		{"6", "'2-5'", false},
		{"6", "'2!-5'", true},
		{"512Mi", "100Mi-1Gi", true},
		{"2Gi", "100Mi-1Gi", false},
		{"2Gi", "'>1Gi'", true},
		{"90s", "'<2m0s'", true},
		{"a-b", "a-b", true},
		{"5", "5", true},
		{"'5'", "5", true},
		{"5", "5.0", true},
		{"5", "'5'", true},
		{"true", "true", true},
		{"'true'", "true", false},
		{"true", "'true'", true},
		{"null", "null", true},
		{"0", "null", true},
		{"''", "null", true},
		{"{}", "null", false},
		{"null", "'<5'", true},
		{"null", "'!a'", false},
		{"a|b", "a|b", true},
		{"'>'", "'>'", true},
		{"{a: b}", "'*'", false},
	} {
		if got := matchesScalar(value(t, c.value), value(t, c.pattern)); got != c.want {
			t.Errorf("%s against %s is %v", c.value, c.pattern, got)
		}
	}
}

func TestKinds(t *testing.T) {
	for text, want := range map[string]KindPattern{
		"Pod":                      {Group: "*", Version: "*", Kind: "Pod"},
		"v1/Pod":                   {Group: "*", Version: "v1", Kind: "Pod"},
		"v1beta1/CronJob":          {Group: "*", Version: "v1beta1", Kind: "CronJob"},
		"apps/v1/Deployment":       {Group: "apps", Version: "v1", Kind: "Deployment"},
		"*/*":                      {Group: "*", Version: "*", Kind: "*", Subresource: "*"},
		"*/scale":                  {Group: "*", Version: "*", Kind: "*", Subresource: "scale"},
		"*/Pod":                    {Group: "*", Version: "*", Kind: "Pod"},
		"Pod/status":               {Group: "*", Version: "*", Kind: "Pod", Subresource: "status"},
		"Pod.status":               {Group: "*", Version: "*", Kind: "Pod", Subresource: "status"},
		"v1/Pod/exec":              {Group: "*", Version: "v1", Kind: "Pod", Subresource: "exec"},
		"apps/v1/Deployment/scale": {Group: "apps", Version: "v1", Kind: "Deployment", Subresource: "scale"},
		"*":                        {Group: "*", Version: "*", Kind: "*"},
	} {
		if got, ok := ParseKind(text); got != want || !ok {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if _, ok := ParseKind("a/b/c/d/e"); ok {
		t.Error("five parts are a kind")
	}
}
