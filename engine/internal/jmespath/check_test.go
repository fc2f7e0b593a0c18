package jmespath

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestCheck checks what is wrong with calls, and where.
func TestCheck(t *testing.T) {
	for expression, want := range map[string]string{
		"request.object.length(@)":            "",
		"lenght(a)":                           "0: there is no function lenght(): did you mean length()?",
		"a.b || to_uper(a)":                   "7: there is no function to_uper(): did you mean to_upper()?",
		"'nope(' == nope(a)":                  "11: there is no function nope(): did you mean type()?",
		"a[?nope(@)].gone(@)":                 "3: there is no function nope(): did you mean type()?; 12: there is no function gone(): see the functions of this dialect of JMESPath",
		"starts_with(a)":                      "0: starts_with() has 2 arguments, not 1: give the arguments that the function takes",
		"not_null()":                          "0: not_null() has at least 1 argument, not 0: give the arguments that the function takes",
		"join(',', to_upper(`1`))":            "10: to_upper(): argument 1 must be a string, not a number: convert the argument first, or use another function; 0: join(): argument 2 must be a list, not a string: convert the argument first, or use another function",
		"split(a, ',') | to_upper(length(@))": "16: to_upper(): argument 1 must be a string, not a number: convert the argument first, or use another function",
		"to_upper(split(a, ','))":             "0: to_upper(): argument 1 must be a string, not a list: convert the argument first, or use another function",
		"to_upper(a == b)":                    "0: to_upper(): argument 1 must be a string, not a boolean: convert the argument first, or use another function",
		"to_upper(`null`)":                    "0: to_upper(): argument 1 must be a string, not null (or missing): convert the argument first, or use another function",
		"sum([`1`, `2`]) | round(@, `1`)":     "",
		"sort_by(a, &length(@))":              "",
		"sort_by(a, b)":                       "",
		"sort_by(a, 'b')":                     "0: sort_by(): argument 2 must be an expression, not a string: convert the argument first, or use another function",
		"{a: nope(@), b: length(`1`)}":        "4: there is no function nope(): did you mean type()?; 16: length(): argument 1 must be a string, a list or an object, not a number: convert the argument first, or use another function",
		"add(`1`, to_number('2')) > `2` && contains(`{}`, 'a')": "34: contains(): argument 1 must be a string or a list, not an object: convert the argument first, or use another function",
	} {
		n, err := Parse(expression)
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		var got []string
		for _, p := range Kyverno().Check(expression, n) {
			got = append(got, fmt.Sprintf("%d: %s: %s", p.Offset, p.Text, p.Advice.Text))
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s:\n%s\nwant\n%s", expression, strings.Join(got, "; "), want)
		}
	}
}

// TestCalls checks calls of all functions with all numbers of arguments and all kinds of constants:
// those that are reported fail when they are evaluated.
func TestCalls(t *testing.T) {
	constants := []string{"`null`", "'a'", "`1`", "`true`", "`[]`", "`{}`", "&a"}
	reported := 0
	var try func(name string, arguments []string)
	try = func(name string, arguments []string) {
		text := name + "(" + strings.Join(arguments, ", ") + ")"
		n, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if problems := Kyverno().Check(text, n); problems != nil {
			reported++
			if result, err := search(t, testEnv, text); err == nil {
				t.Errorf("%s is reported (%v), and its value is %v", text, problems, result)
			}
		}
		if len(arguments) < 3 {
			for _, constant := range constants {
				try(name, append(slices.Clip(arguments), constant))
			}
		}
	}
	for name := range Kyverno() {
		try(name, nil)
	}
	if reported < 1000 {
		t.Errorf("only %d calls are reported", reported)
	}
}
