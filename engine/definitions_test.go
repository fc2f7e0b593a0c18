package engine

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/internal/racing"
)

// recordedDefinition is a CustomResourceDefinition with the text with which kube-apiserver 1.36.3
// refused it, or "".
type recordedDefinition struct {
	Name   string
	Object json.RawMessage
	Denied string
}

func recordedDefinitions(t *testing.T) (records []recordedDefinition) {
	text, err := os.ReadFile("testdata/definitions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r recordedDefinition
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

// TestDefinitions compares what is said about CustomResourceDefinitions with recorded answers, most of
// which are refusals.
func TestDefinitions(t *testing.T) {
	records := recordedDefinitions(t)
	set, diagnostics := Compile(nil, nil, recordedRequest)
	if set == nil {
		t.Fatal(diagnostics)
	}
	refused := 0
	for _, r := range racing.Sample(records) {
		outcome := set.Run(t.Context(), []*manifest.Stream{rawStream(t, r.Object)})
		got := strings.Join(refusals(outcome), "\n")
		if r.Denied != "" {
			refused++
		}
		if excepted := definitionExceptions[r.Name] != ""; excepted == sameWords(got, inOrder(r.Denied)) {
			t.Errorf("%s: listed as an exception: %v, but refused with\n%s\nthe server said\n%s", r.Name, excepted, got, r.Denied)
		}
	}
	if refused < racing.Least(184) {
		t.Errorf("only %d refusals are compared", refused)
	}
	mostlyTheSame(t, len(racing.Sample(records)), definitionExceptions)
}

// TestDefinitionPosition checks that a refusal is at the field of the manifest, although the server names
// that of all versions.
func TestDefinitionPosition(t *testing.T) {
	set, diagnostics := Compile(nil, nil, Options{})
	if set == nil {
		t.Fatal(diagnostics)
	}
	outcome := set.Run(t.Context(), []*manifest.Stream{readText(t, "crd.yaml", `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: cups.example.com
spec:
  group: example.com
  scope: Cluster
  names: {kind: Cup, plural: cups}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          size:
            type: integer
            default: tall
`)})
	for _, d := range outcome.Diagnostics {
		if strings.Contains(d.Message, "properties[size].default: Invalid value") && d.At.Line == 19 {
			return
		}
	}
	t.Error(outcome.Diagnostics)
}

// definitionExceptions are definitions about which preadmit says something else.
var definitionExceptions = map[string]string{
	"refused-cel/crd-cost-total": "of 40 rules that cost the same, the server names any four",
}
