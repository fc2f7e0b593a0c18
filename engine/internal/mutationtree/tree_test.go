package mutationtree

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jmespath-community/go-jmespath/pkg/parsing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

var update = flag.Bool("update", false, "rewrite the errors that the cases expect")

// readCase reads a case, which is a file in testdata/cases: a title, then the input, the
// mutation and the result (or the error), each after a line "-- name --".
func readCase(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	name := "text"
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSuffix(strings.TrimSpace(rest), " --")
			continue
		}
		sections[name] += line
	}
	return sections
}

// read returns the only object of a text.
func read(t *testing.T, text string) map[string]any {
	t.Helper()
	stream, diagnostics := manifest.ReadPlain("text", []byte(text))
	if len(diagnostics) > 0 || len(stream.Documents()) != 1 {
		t.Fatalf("%v\n%s", diagnostics, text)
	}
	return stream.Documents()[0].Object()
}

// apply runs a mutation, bare trees or a policy, on an object. problem is the error, and notes
// are the reasons why rules did not apply.
func apply(t *testing.T, mutation string, object map[string]any) (result map[string]any, problem, notes string) {
	t.Helper()
	stream, diagnostics := manifest.ReadTrees("mutation.yaml", []byte(mutation))
	if len(diagnostics) > 0 {
		return nil, diagnostics[0].String(), ""
	}
	var policies []*manifest.Document
	var bare []*manifest.Stream
	if d := stream.Documents(); d[0].Kind().Group == PolicyKind.Group {
		policies = d
	} else {
		bare = []*manifest.Stream{stream}
	}
	programs, diagnostics := New(bare, celenv.New(36)).Compile(policies, nil)
	for _, d := range diagnostics {
		problem += d.String() + "\n"
	}
	if problem != "" {
		return nil, problem, ""
	}
	for step := range programs[0].Plan(nil).Invocations[0].Steps(&policy.Request{Context: context.Background(), Object: object}) {
		switch {
		case step.Failure != nil:
			return nil, step.Failure.At.String() + ": " + step.Failure.Err.Error() + "\n", ""
		case step.NotApplied != nil:
			notes += step.ID.String() + ": " + step.NotApplied.Reason.String() + "\n"
		default:
			object = step.Object
		}
	}
	return object, "", notes
}

func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			c := readCase(t, path)
			input := read(t, c["input"])
			before := change.CloneObject(input)
			got, problem, notes := apply(t, c["mutation"], input)
			if *update && problem != c["error"] && c["error"] != "" {
				text, _ := os.ReadFile(path)
				if err := os.WriteFile(path, []byte(strings.Replace(string(text), c["error"], problem, 1)), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if problem != c["error"] {
				t.Fatalf("error\n%s\nwant\n%s", problem, c["error"])
			}
			if notes != c["notes"] {
				t.Errorf("notes\n%s\nwant\n%s", notes, c["notes"])
			}
			if !change.Equal(input, before) {
				t.Error("the input was modified")
			}
			if problem == "" && !change.Equal(got, read(t, c["result"])) {
				t.Errorf("got\n%s\nwant\n%s", encode(t, got), encode(t, read(t, c["result"])))
			}
		})
	}
}

func encode(t testing.TB, value any) string {
	t.Helper()
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestDeterministic evaluates expressions on maps many times: the order of a Go map must not
// matter.
func TestDeterministic(t *testing.T) {
	object := map[string]any{}
	for _, key := range strings.Split("qwertyuiopasdfghjklzxcvbnm", "") {
		object[key] = key
	}
	for _, expression := range []string{"join('', *)", "join('', @.*)", "join('', keys(@))", "join('', values(@))", "join('', items(@)[*][0])", "to_string(*)"} {
		first := ""
		for range 20 {
			e, problems := compileJMESPath(expression)
			if problems != nil {
				t.Fatal(problems)
			}
			result, err := e.evaluate(context.Background(), object, nil)
			if err != nil {
				t.Fatalf("%s: %v", expression, err)
			}
			if first == "" {
				first = result.(string)
			}
			if result != first {
				t.Fatalf("%s: %s, then %s", expression, first, result)
			}
		}
		if strings.Contains(expression, "join") && first != "abcdefghijklmnopqrstuvwxyz" {
			t.Errorf("%s: %s", expression, first)
		}
	}
}

// TestCalls checks calls of all functions with all numbers of arguments and all kinds of constants:
// those that are refused fail when they are evaluated.
func TestCalls(t *testing.T) {
	constants := []string{"`null`", "'a'", "`1`", "`true`", "`[]`", "`{}`", "&a"}
	refused := 0
	var try func(name string, arguments []string)
	try = func(name string, arguments []string) {
		text := name + "(" + strings.Join(arguments, ", ") + ")"
		if _, problems := compileJMESPath(text); problems != nil {
			refused++
			node, err := parsing.NewParser().Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if result, err := (jmesPath{node}).evaluate(context.Background(), map[string]any{}, nil); err == nil {
				t.Errorf("%s is refused (%v), and its value is %v", text, problems, result)
			}
		}
		if len(arguments) < 3 {
			for _, constant := range constants {
				try(name, append(slices.Clip(arguments), constant))
			}
		}
	}
	for name := range signatures() {
		try(name, nil)
	}
	if refused < 1000 {
		t.Errorf("only %d calls are refused", refused)
	}
}
