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
		"a[?nope(@)].gone(@)":                 "12: there is no function gone(): see the functions of this dialect of JMESPath; 3: there is no function nope(): did you mean type()?",
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
		for _, p := range Kyverno().Check(n) {
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
		if problems := Kyverno().Check(n); problems != nil {
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

// TestOffsets checks where the parts of expressions are written.
func TestOffsets(t *testing.T) {
	for expression, want := range map[string]string{
		`a."b c"[0] || 'x'`:         "or@0 select@0 field@0 select@2 field@2 index@7 literal@14",
		"a[*].b[1:2] | @":           "pipe@0 projection@0 field@0 projection@5 select@5 field@5 slice@6 current@7 current@14",
		" length( a[?b=='a'].c[] )": "call@1 projection@9 flatten@21 filter@10 field@9 field@20 compare@12 field@12 literal@15 current@25",
		"{a: *.b, b: !a}":           "hash@0 pair@1 values@4 current@4 field@6 pair@9 not@12 field@13",
		"sort_by([a, b], &c && d)":  "call@0 list@8 field@9 field@12 reference@16 and@17 field@17 field@22",
		"[a,a[ * ].a]":              "list@0 field@1 projection@3 field@3 field@10",
	} {
		n, err := Parse(expression)
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		var got []string
		var walk func(n Node)
		walk = func(n Node) {
			got = append(got, fmt.Sprintf("%s@%d", n.Op, n.Offset))
			for _, child := range n.Children {
				walk(child)
			}
		}
		if walk(n); strings.Join(got, " ") != want {
			t.Errorf("%s:\n%s\nwant\n%s", expression, strings.Join(got, " "), want)
		}
	}
}
