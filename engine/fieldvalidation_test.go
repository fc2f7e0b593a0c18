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
	"builtin/quantities":           "a server refuses the names of the resources, with code that preadmit does not have",
	"metadata/25":                  dotted,
	"metadata/60":                  dotted,
	"ownership/Deployment-name-64": dotted,
	"ownership/Pod-name-64":        dotted,
	"ownership/Job-name-64":        "a server refuses the label with the name in the template, which it adds",
	"builtin/typed-then-unknown":   "preadmit refuses the value of the wrong type in its own words",
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
	if compared != 580*3 {
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

// FuzzAcceptsSurely checks the shortcut for manifests that no policy matches: where it finds that a
// server surely says nothing, decoding and validation find nothing.
func FuzzAcceptsSurely(f *testing.F) {
	for _, text := range fieldSeeds(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { acceptedSurely(t, text) })
}

// TestAcceptsSurely counts the seeds for which the shortcut decides.
func TestAcceptsSurely(t *testing.T) {
	surely := 0
	for _, text := range fieldSeeds(t) {
		surely += acceptedSurely(t, text)
	}
	if surely < 6 {
		t.Errorf("only %d manifests surely decode", surely)
	}
}

func acceptedSurely(t *testing.T, text string) (surely int) {
	t.Helper()
	stream, diagnostics := manifest.Read("manifest.yaml", []byte(text))
	set, _ := Compile(nil, nil, Options{})
	if source.HasErrors(diagnostics) || set == nil {
		return 0
	}
	r := set.begin(t.Context(), set.sort([]*manifest.Stream{stream}), nil)
	if r.invalid() {
		return 0
	}
	for _, j := range r.jobs {
		if !r.acceptsSurely(j) {
			continue
		}
		surely++
		r.validateAlone(j)
		if len(j.diagnostics) > 0 || len(j.result.Warnings) > 0 {
			t.Errorf("%s\nis surely accepted, but with %v %v", text, j.diagnostics, j.result.Warnings)
		}
	}
	return surely
}

// fieldSeeds are the recorded objects, and manifests with all kinds of values.
func fieldSeeds(t testing.TB) []string {
	seeds := []string{
		"apiVersion: v1\nkind: Service\nmetadata: {name: a, labels: &l {a: b}}\nspec:\n  selector: *l\n  ports: [{port: 80, targetPort: web}, {port: 81, targetPort: 8080}]\n",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n  creationTimestamp: null\nspec:\n  replicas: 3\n  template:\n    spec:\n      containers:\n      - name: a\n        resources: {limits: {cpu: 1, memory: 1Gi}}\n        tty: true\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: YQ==, b: }\nstringData:\n  c: |\n    text\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, creationTimestamp: \"2026-01-01T00:00:00Z\"}\ndata: {a: \"1\", b: 1}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: \"1\"}\nbinaryData: {b: x}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Upper}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {a: -b}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {-a: b}}\n",
		"apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Endpoints\nmetadata: {name: a}\n",
		"{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"a\"}, \"spec\": {\"containers\": [{\"name\": \"a\", \"ports\": [{\"containerPort\": 8080.0}]}], \"priority\": 1e1}}",
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: a}}\n- {apiVersion: v1, kind: Namespace, metadata: {name: b}, spec: {finalizers: kubernetes}}\n",
	}
	files, _ := filepath.Glob("testdata/fields/*.json")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var recorded struct {
			Records []struct{ Object json.RawMessage }
		}
		if err := json.Unmarshal(text, &recorded); err != nil {
			t.Fatal(err)
		}
		for _, r := range recorded.Records {
			seeds = append(seeds, string(r.Object))
		}
	}
	return seeds
}
