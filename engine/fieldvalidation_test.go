package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// fieldAnswer is the answer of a server to a request with one value of fieldValidation.
type fieldAnswer struct {
	Denied   string
	Warnings []string
}

const dotted = "a server warns of names of workloads that are no labels, with code that preadmit does not have"

// fieldExceptions are records in which preadmit says something else.
var fieldExceptions = map[string]string{
	"builtin/quantities":         "a server refuses the names of the resources, with code that preadmit does not have",
	"builtin/crd":                "a server refuses the default in the schema, too",
	"metadata/25":                dotted,
	"metadata/60":                dotted,
	"builtin/typed-then-unknown": "preadmit refuses the value of the wrong type in its own words",
}

// repeatedKey is the error about a repeated key. Clients differ in the value that they send, so it does
// not depend on the option.
const repeatedKey = "the key is repeated"

// TestFieldValidation compares the refusals and warnings about unknown fields with recorded answers of
// kube-apiserver 1.36.3.
func TestFieldValidation(t *testing.T) {
	files, err := filepath.Glob("testdata/fields/*.json")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var recorded struct {
			Definitions []json.RawMessage
			Records     []struct {
				Name                 string
				Object               json.RawMessage
				Strict, Warn, Ignore fieldAnswer
			}
		}
		if err := json.Unmarshal(text, &recorded); err != nil {
			t.Fatal(err)
		}
		for _, r := range recorded.Records {
			name := strings.TrimSuffix(filepath.Base(file), ".json") + "/" + r.Name
			differs := false
			for mode, want := range map[FieldValidation]fieldAnswer{FieldValidationStrict: r.Strict, FieldValidationWarn: r.Warn, FieldValidationIgnore: r.Ignore} {
				options := recordedRequest
				options.FieldValidation = mode
				got := answerAbout(t, options, recorded.Definitions, r.Object)
				if same := got.Denied == want.Denied && slices.Equal(got.Warnings, want.Warnings); !same {
					differs = true
					if fieldExceptions[name] == "" && got.Denied != repeatedKey {
						t.Errorf("%s, %s:\ngot  %+v\nwant %+v", name, mode, got, want)
					}
				}
				compared++
			}
			if !differs && fieldExceptions[name] != "" {
				t.Errorf("%s is listed as an exception, but answers like the server", name)
			}
		}
	}
	if compared != 203*3 {
		t.Errorf("%d answers are compared", compared)
	}
}

// answerAbout returns what a run without policies says about an object.
func answerAbout(t *testing.T, options Options, definitions []json.RawMessage, object json.RawMessage) fieldAnswer {
	t.Helper()
	set, diagnostics := Compile(nil, []*manifest.Stream{rawStream(t, definitions...)}, options)
	if set == nil {
		t.Fatal(diagnostics)
	}
	stream, diagnostics := manifest.Read("object.yaml", object)
	if source.HasErrors(diagnostics) {
		return fieldAnswer{Denied: diagnostics[0].Message}
	}
	outcome := set.Run(t.Context(), []*manifest.Stream{stream})
	var answer fieldAnswer
	for _, d := range outcome.Diagnostics {
		if d.Severity == source.Error {
			answer.Denied += d.Message
		}
	}
	for _, m := range outcome.Manifests {
		for _, w := range m.Warnings {
			answer.Warnings = append(answer.Warnings, w.Text)
		}
	}
	return answer
}
