package match

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestValidation reads testdata/validation.txt: match blocks, and indented below each block the
// errors of the validation of k8s.io/kubernetes v1.36.3 (ValidateMutatingAdmissionPolicyBinding,
// after defaulting).
func TestValidation(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "validation.txt"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split("\n"+strings.TrimSpace(string(text)), "\n{")[1:]
	for _, block := range blocks {
		lines := strings.Split("{"+block, "\n")
		m, errs := Mutating.Parse(parse(t, lines[0]))
		if (m == nil) != (len(errs) > 0) {
			t.Errorf("%s: %v and %v", lines[0], m, errs)
		}
		got := lines[:1:1]
		for _, e := range errs {
			got = append(got, "  "+e.Field+": "+e.Text)
		}
		if !slices.Equal(got, lines) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
		}
	}
	if len(blocks) < 300 {
		t.Errorf("only %d blocks", len(blocks))
	}
}

// TestProblems checks that paths are exact where the server's fields are not.
func TestProblems(t *testing.T) {
	for _, test := range []struct{ block, want string }{
		{
			`{"resourceRules": [{"operations": ["CREATE", "DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]}`,
			`resourceRules[0].operations[1] resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"`,
		},
		{
			`{"namespaceSelector": {"matchLabels": {"a": "b", "c.d": "/"}}}`,
			`namespaceSelector.matchLabels[c.d] namespaceSelector.matchLabels: Invalid value: "/": a valid label must be`,
		},
		{`"all"`, ` : expected a map, got a string`},
		{`{"resourceRules": {}, "objectSelector": []}`, `objectSelector objectSelector: expected a map, got a list
			resourceRules resourceRules: expected a list, got a map`},
		{
			`{"resourceRules": ["pods", {"operations": "CREATE", "scope": true, "resources": ["pods", 1]}]}`,
			`resourceRules[0] resourceRules[0]: expected a map, got a string
			resourceRules[1].operations resourceRules[1].operations: expected a list, got a string
			resourceRules[1].resources[1] resourceRules[1].resources[1]: expected a string, got a number
			resourceRules[1].scope resourceRules[1].scope: expected a string, got a boolean`,
		},
		{
			`{"objectSelector": {"matchLabels": {"a": 1}, "matchExpressions": [{"values": {}}]}, "matchPolicy": 1.5}`,
			`matchPolicy matchPolicy: expected a string, got a number
			objectSelector.matchLabels.a objectSelector.matchLabels.a: expected a string, got a number
			objectSelector.matchExpressions[0].values objectSelector.matchExpressions[0].values: expected a list, got a map`,
		},
	} {
		_, errs := Mutating.Parse(parse(t, test.block))
		want := strings.Split(test.want, "\n")
		for i, e := range errs {
			got := e.Path.String() + " " + e.Field + ": " + e.Text
			if i >= len(want) || !strings.HasPrefix(got, strings.TrimLeft(want[i], "\t")) {
				t.Errorf("%s: got %s", test.block, got)
			}
		}
		if len(errs) != len(want) {
			t.Errorf("%s: %d errors, want %d", test.block, len(errs), len(want))
		}
	}
}

func TestParseSelector(t *testing.T) {
	s, errs := ParseSelector(parse(t, `{"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, test := range []struct {
		labels map[string]string
		want   bool
	}{
		{nil, false},
		{map[string]string{"a": "b"}, false},
		{map[string]string{"a": "b", "c": ""}, true},
		{map[string]string{"a": "x", "c": ""}, false},
	} {
		if s.Matches(test.labels) != test.want {
			t.Errorf("%v: want %v", test.labels, test.want)
		}
	}
	if s, errs := ParseSelector(nil); len(errs) > 0 || !s.Matches(nil) {
		t.Errorf("no selector: %v", errs)
	}
	_, errs = ParseSelector(parse(t, `{"matchExpressions": [{"key": "c", "operator": "In"}]}`))
	if len(errs) != 1 || errs[0].Field != "matchExpressions[0].values" {
		t.Errorf("got %v", errs)
	}
}

// FuzzParse checks that every match block is either refused or usable.
func FuzzParse(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "validation.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line[0] == '{' {
			f.Add(line)
		}
	}
	requests := []Request{deployment(f), clusterRole(f), namespace(f)}
	f.Fuzz(func(t *testing.T, block string) {
		var value any
		if json.Unmarshal([]byte(block), &value) != nil {
			t.Skip()
		}
		m, errs := Mutating.Parse(value)
		if m == nil {
			if len(errs) == 0 {
				t.Error("neither resources nor errors")
			}
			return
		}
		for _, r := range requests {
			d := m.Matches(r)
			if d.Err != nil || d.Matched != (d.Kind != nil) || d.Matched == (d.Reason.String() != "") {
				t.Errorf("matched %v as %v, reason %q, error %v", d.Matched, d.Kind, d.Reason, d.Err)
			}
		}
	})
}
