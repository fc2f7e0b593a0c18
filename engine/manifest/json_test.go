package manifest

import (
	"strings"
	"testing"
)

// TestDigits checks that unchanged numbers keep their digits in JSON if the digits mean the same
// there.
func TestDigits(t *testing.T) {
	for text, want := range map[string]string{
		"9007199254740993": "9007199254740993", "9223372036854775807": "9223372036854775807",
		"9223372036854775808": "9223372036854775808", "18446744073709551615": "18446744073709551615",
		"18446744073709551616": "18446744073709551616", "0xFFFFFFFFFFFFFFFF": "18446744073709551615",
		"123456789012345678901234567890": "123456789012345678901234567890",
		"0.10":                           "0.10", "-0.5e-1": "-0.5e-1", "0.1000000000000000055511151231257827": "0.1000000000000000055511151231257827",
		"1e3": "1000", "1.0": "1", "+1": "1", "0644": "420", "1_000": "1000", ".5": "0.5", "!!float 0.10": "0.10", "!!int \"7\"": "7",
		"\"0.10\"": "\"0.10\"", "yes": "true", "<&>": "\"<&>\"",
	} {
		d := readClean(t, "b: "+text+"\na: [{}, []]\n").Documents()[0]
		if got := string(d.JSON()); got != `{"a":[{},[]],"b":`+want+`}` {
			t.Errorf("%s: got %s", text, got)
		}
	}
	const exact = `{"a":[1.0,1e3,-0,-0.0,10000000000000000000,0.10]}`
	if got := string(readClean(t, exact).Documents()[0].JSON()); got != exact {
		t.Errorf("got %s", got)
	}
}

// TestAlone checks that the JSON of a single document has the values of aliases and the values that
// its list implies.
func TestAlone(t *testing.T) {
	s := readClean(t, `apiVersion: v1
kind: PodList
items:
- spec: &spec {z: 0.10, a: "x"} # of spec
  status: *spec
- kind: Other
  metadata:
    name: b
  <<: {c: 18446744073709551615}
`)
	var texts []string
	for _, d := range s.Documents() {
		texts = append(texts, string(d.JSON())+"\n"+string(d.YAML()))
	}
	const want = `{"apiVersion":"v1","kind":"Pod","spec":{"a":"x","z":0.10},"status":{"a":"x","z":0.10}}
apiVersion: v1
kind: Pod
spec: {z: 0.10, a: "x"}
status: {z: 0.10, a: "x"}
---
{"apiVersion":"v1","c":18446744073709551615,"kind":"Other","metadata":{"name":"b"}}
apiVersion: v1
kind: Other
metadata:
  name: b
c: 18446744073709551615
`
	if got := strings.Join(texts, "---\n"); got != want {
		t.Errorf("got\n%s", got)
	}
}
