package jmespath

import (
	"fmt"
	"strings"
	"testing"
)

func TestParts(t *testing.T) {
	for text, want := range map[string]string{
		"request.object.spec":         "variable request, property object, property spec",
		"to_upper(a.b || 'c''d')":     "function to_upper, variable a, property b, operator ||, string 'c', string 'd'",
		"a[?name == `1`].\"x y\"[-1]": "variable a, operator [?, variable name, operator ==, string `1`, property \"x y\", number -1",
		"{name: @, list: [1, &b]}":    "property name, variable @, property list, number 1, operator &, variable b",
		`a."b\"c".d | keys(@)`:        `variable a, property "b\"c", property d, operator |, function keys, variable @`,
		"'open":                       "string 'open",
		"`open":                       "string `open",
		"- é \x00 a -":                "operator -, operator é, operator \x00, variable a, operator -",
		"":                            "",
		"_x(":                         "function _x",
	} {
		var got []string
		for _, p := range Parts(text) {
			if token := text[p.Start:p.End]; p.Class != "operator" || !strings.Contains("()[]{},:.", token) {
				got = append(got, fmt.Sprint(p.Class, " ", token))
			}
		}
		if joined := strings.Join(got, ", "); joined != want {
			t.Errorf("%q: %s, want %s", text, joined, want)
		}
	}
}
