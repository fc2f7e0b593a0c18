package jsonpatch

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestKyverno applies patches written as JSON; an error begins with "!".
func TestKyverno(t *testing.T) {
	for _, c := range []struct{ object, patch, want string }{
		{`{}`, `[{"op":"add","path":"/a/b","value":1}]`, `{"a":{"b":1}}`},
		{`{}`, `[{"op":"add","path":"/a/0","value":1}]`, `{"a":[1]}`},
		{`{}`, `[{"op":"add","path":"/a/-","value":1}]`, `{"a":[1]}`},
		{`{}`, `[{"op":"add","path":"/a/2","value":1}]`, `{"a":[null,null,1]}`},
		{`{"a":[1,2]}`, `[{"op":"add","path":"/a/-1","value":3}]`, `{"a":[1,2,3]}`},
		{`{"a":[1,2]}`, `[{"op":"add","path":"/a/-2","value":3}]`, `{"a":[1,3,2]}`},
		{`{"a":[1]}`, `[{"op":"add","path":"/a/5","value":3}]`, `!`},
		{`{}`, `[{"op":"add","path":"/a/2000000000","value":1}]`, `!the index 2000000000 in /a/2000000000 is too large`},
		{`{"a":1}`, `[{"op":"add","path":"","value":{"b":2}}]`, `{"b":2}`},
		{`{"a":1}`, `[{"op":"replace","path":"","value":[]}]`, `!the whole object can be replaced by a map only`},
		{`{"a":1}`, `[{"op":"replace","path":"/b","value":2}]`, `!`},
		{`{"a":1}`, `[{"op":"replace","path":"/b/c","value":2}]`, `!`},
		{`{"a":null}`, `[{"op":"replace","path":"/a","value":2}]`, `{"a":2}`},
		{`{"a":[1]}`, `[{"op":"replace","path":"/a/1","value":2}]`, `!`},
		{`{"a":[1,2]}`, `[{"op":"replace","path":"/a/-1","value":3}]`, `{"a":[1,3]}`},
		{`{"a":1}`, `[{"op":"remove","path":"/b/c"}]`, `{"a":1}`},
		{`{"a":[1]}`, `[{"op":"remove","path":"/a/1"}]`, `{"a":[1]}`},
		{`{"a":[1,2]}`, `[{"op":"remove","path":"/a/-1"}]`, `{"a":[1]}`},
		{`{"a":1}`, `[{"op":"move","from":"/a","path":"/b"}]`, `{"b":1}`},
		{`{"a":1}`, `[{"op":"copy","from":"/a","path":"/b"}]`, `{"a":1,"b":1}`},
		{`{"a":1}`, `[{"op":"copy","from":"/a","path":"/b/c"}]`, `!`},
		{`{"a":{"":1}}`, `[{"op":"copy","from":"/a/","path":"/b"}]`, `{"a":{"":1},"b":null}`},
		{`{"a":{"":1}}`, `[{"op":"move","from":"/a/","path":"/b"}]`, `{"a":{},"b":null}`},
		{`{"a":{}}`, `[{"op":"move","from":"/a/","path":"/b"}]`, `{"a":{},"b":null}`},
		{`{"a":[1]}`, `[{"op":"copy","from":"/a/","path":"/b"}]`, `{"a":[1],"b":null}`},
		{`{"a":[1]}`, `[{"op":"move","from":"/a/","path":"/b"}]`, `!`},
		{`{"a":{}}`, `[{"op":"replace","path":"/a/","value":2}]`, `{"a":{"":2}}`},
		{`{"a":[1]}`, `[{"op":"replace","path":"/a/","value":2}]`, `!`},
		{`{"a":[1]}`, `[{"op":"remove","path":"/a/"}]`, `!`},
		{`{"a":{"":{"b":1}}}`, `[{"op":"add","path":"/a//b","value":2}]`, `!`},
		{`{"a":{"b":1}}`, `[{"op":"add","path":"//a/b","value":2},{"op":"add","path":"//c/d","value":3}]`, `{"a":{"b":1}}`},
		{`{"a":{"b":1}}`, `[{"op":"remove","path":"//a/b"},{"op":"test","path":"/a/b","value":1},{"op":"test","path":"//a","value":{}}]`, `{"a":{"b":1}}`},
		{`{"a":{"b":1}}`, `[{"op":"add","path":"//a/b","value":2},{"op":"copy","from":"//a","path":"/c"}]`, `{"a":{"b":1},"c":{"b":2}}`},
		{`{"a":{"b":1}}`, `[{"op":"replace","path":"//c","value":2}]`, `!`},
		{`{"a":{"b":1}}`, `[{"op":"add","path":"///b","value":2}]`, `!`},
		{`{"a":{"b":1}}`, `[{"op":"replace","path":"/","value":null},{"op":"add","path":"//a","value":2}]`, `{"":null,"a":{"b":1}}`},
		{`{"a":{"":{"b":1}}}`, `[{"op":"remove","path":"/a//b"}]`, `{"a":{"":{"b":1}}}`},
		{`{"a":{"":1}}`, `[{"op":"test","path":"/a/","value":null}]`, `{"a":{"":1}}`},
		{`{"a":{"":1}}`, `[{"op":"remove","path":"/a/"},{"op":"copy","from":"/","path":"/b"}]`, `{"a":{},"b":{"a":{"":1}}}`},
		{`{"a":1}`, `[{"op":"test","path":"/a","value":2}]`, `!testing value /a failed: test failed`},
		{`{"a":1.50,"b":9007199254740993}`, `[{"op":"add","path":"/c/d","value":1}]`, `{"a":1.5,"b":9007199254740993,"c":{"d":1}}`},
	} {
		t.Run(c.object+c.patch, func(t *testing.T) {
			if !strings.Contains(c.patch, "2000000000") && !strings.HasSuffix(c.patch, `"value":[]}]`) { // all memory, or not an object
				theirs, err := library(t, decoded(t, c.object), operations(t, c.patch))
				if isError := strings.HasPrefix(c.want, "!"); isError != (err != nil) || !isError && !reflect.DeepEqual(theirs, decoded(t, c.want)) {
					t.Errorf("the library returns %v, %v", theirs, err)
				}
			}
			got, err := Kyverno.Apply(decoded(t, c.object), operations(t, c.patch))
			if wantError, ok := strings.CutPrefix(c.want, "!"); ok {
				if err == nil || wantError != "" && err.Error() != wantError {
					t.Errorf("got %v, %v", got, err)
				}
			} else if want := decoded(t, c.want); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, %v, want %v", got, err, want)
			}
		})
	}
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		t.Fatal(err)
	}
	return numbers(object).(map[string]any)
}

func operations(t *testing.T, text string) []Operation {
	t.Helper()
	var list []struct {
		Op, Path, From string
		Value          any
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	var operations []Operation
	for _, o := range list {
		operations = append(operations, Operation{Op: o.Op, Path: o.Path, From: o.From, Value: o.Value})
	}
	return operations
}
