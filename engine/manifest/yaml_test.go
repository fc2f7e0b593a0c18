package manifest

import (
	"testing"

	"github.com/preadmit/preadmit/engine/change"
)

func TestYAML(t *testing.T) {
	for _, tc := range []struct{ name, object, want string }{
		{"keys in order", `{"spec":{"b":1,"a":2,"name":"web"},"kind":"Pod","metadata":{"labels":{"x":"y"},"name":"p"},"apiVersion":"v1"}`, `apiVersion: v1
kind: Pod
metadata:
  name: p
  labels:
    x: "y"
spec:
  name: web
  a: 2
  b: 1
`},
		{"collections", `{"a":{},"b":[],"c":[[1,[]],{"x":[{}]}],"d":null}`, `a: {}
b: []
c:
- - 1
  - []
- x:
  - {}
d: null
`},
		{"strings", `{"a":"","b":"yes","c":"1e3","d":"x: y","e":"two\nlines\n","f":" led\nby a blank","g":"tab\t","y":"~"}`, `a: ""
b: "yes"
c: "1e3"
d: "x: y"
e: |
  two
  lines
f: |2-
   led
  by a blank
g: "tab\t"
"y": "~"
`},
		{"numbers", `{"a":1.5,"b":9223372036854775807,"c":1e-9,"d":-0.25}`, `a: 1.5
b: 9223372036854775807
c: 1e-09
d: -0.25
`},
		{"nothing", `{}`, "{}\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(YAML(readOne(t, tc.object))); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func readOne(t testing.TB, text string) map[string]any {
	t.Helper()
	stream, diagnostics := Read("-", []byte(text))
	if len(diagnostics) > 0 || len(stream.Documents()) != 1 {
		t.Fatalf("%q: %v", text, diagnostics)
	}
	return stream.Documents()[0].Object()
}

// FuzzYAML checks that the output of YAML reads as the value that was written.
func FuzzYAML(f *testing.F) {
	for _, seed := range []string{
		"a: |\n  x\n\n  y\nb: [yes, 'no', 0o7, 1_000, 0x1F, ~]\n", "? 1\n: 2", `{"a":{"b":[[],{},""," ","#","\u0085"]}}`, "a: >-\n  x\n  y\n\"\\n\": 1e400",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stream, diagnostics := Read("-", []byte(text))
		if len(diagnostics) > 0 || len(stream.Documents()) != 1 {
			return
		}
		object := stream.Documents()[0].Object()
		if whole, err := checkValue(nil, object); err != nil || whole {
			return
		}
		written := YAML(object)
		if again := readOne(t, string(written)); !change.Equal(object, again) {
			t.Errorf("%q was written as %q", text, written)
		}
	})
}
