package engine

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/validation"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/racing"
)

// customRecord is the answer of a server to a custom resource that was sent with fieldValidation
// Warn. Other are answers to the same request at other times.
type customRecord struct {
	Name, Op, Denied string
	Object, Old      json.RawMessage
	Result           map[string]any
	Warnings, Other  []string
}

// customExceptions are records in which preadmit says something else.
var customExceptions = map[string]string{
	"metadata/no-name": "a manifest without a name is refused before it is admitted",

	"after-mutation-metadata/deletiongraceperiodseconds-1": "no manifest can have it; a warning says so",

	"after-mutation-types/kind-empty":   "the server quotes its managedFields",
	"after-mutation-types/kind-null":    "the server quotes its managedFields",
	"after-mutation-types/kind-removed": "the server quotes its managedFields",
}

// TestCustomResources compares the refusals of custom resources, and the warnings about unknown fields, finalizers
// and rules, with recorded answers of kube-apiserver 1.36.3. All but the exceptions are the same.
func TestCustomResources(t *testing.T) {
	files, err := filepath.Glob("testdata/custom/*.json*")
	if err != nil {
		t.Fatal(err)
	}
	var compared atomic.Int64
	t.Run("cases", func(t *testing.T) {
		for _, file := range files {
			t.Run(customName(file), func(t *testing.T) {
				t.Parallel()
				compared.Add(int64(compareCustom(t, file)))
			})
		}
	})
	if int(compared.Load()) < racing.Least(1338) {
		t.Errorf("only %d answers are compared", compared.Load())
	}
	mostlyTheSame(t, int(compared.Load()), customExceptions)
}

// customName returns the name of a file of recordings.
func customName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return name
}

// readCustom reads a file of recordings. Those with definitions of operators are compressed.
func readCustom(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(file, ".gz") {
		return text
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if text, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return text
}

func compareCustom(t *testing.T, file string) int {
	text := readCustom(t, file)
	var recorded struct {
		Definitions, Policies []json.RawMessage
		Records               []customRecord
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	definitions, policies := rawStream(t, recorded.Definitions...), rawStream(t, recorded.Policies...)
	sets := map[string]*Set{}
	for _, r := range racing.Sample(recorded.Records) {
		set := sets[r.Op]
		if r.Old != nil || set == nil {
			options := recordedRequest
			if options.Operation = policy.Operation(r.Op); r.Old != nil {
				options.Old = []*manifest.Stream{rawStream(t, r.Old)}
			}
			var diagnostics []source.Diagnostic
			if set, diagnostics = Compile([]*manifest.Stream{policies}, []*manifest.Stream{definitions}, options); set == nil {
				t.Fatal(diagnostics)
			}
			sets[r.Op] = set
		}
		r.keeps(t, set)
		outcome := set.Run(t.Context(), []*manifest.Stream{rawStream(t, r.Object)})
		problem := r.differs(t, outcome)
		name := customName(file) + "/" + r.Name
		if excepted := customExceptions[name] != ""; excepted != (problem != "") {
			t.Errorf("%s: listed as an exception: %v, but %s", name, excepted, problem)
		}
	}
	return len(racing.Sample(recorded.Records))
}

// differs returns how an outcome differs from the record, or "".
func (r customRecord) differs(t *testing.T, outcome *Outcome) string {
	got := strings.Join(refusals(outcome), "\n")
	same := func(want string) bool { return sameWords(got, strings.ReplaceAll(want, "*****", "00000")) }
	if !same(r.Denied) && !slices.ContainsFunc(r.Other, same) {
		return "refused with " + got + "\nthe server said " + r.Denied
	}
	if r.Result != nil {
		_, text := outcome.Manifests[0].Document.Text()
		if got := readText(t, "result.yaml", text).Documents()[0].Object(); !change.Equal(got, r.Result) {
			return fmt.Sprintf("admitted as %v\nthe server has %v", got, r.Result)
		}
	}
	var warnings []string
	for _, m := range outcome.Manifests {
		for _, w := range m.Warnings {
			warnings = append(warnings, w.Text)
		}
	}
	if r.Denied == "" && !slices.Equal(warnings, r.Warnings) {
		return "warned " + strings.Join(warnings, "; ") + "\nthe server warned " + strings.Join(r.Warnings, "; ")
	}
	return ""
}

// keeps checks that the validation of the object modifies nothing that it shares with the admitted
// object.
func (r customRecord) keeps(t *testing.T, set *Set) {
	t.Helper()
	for _, d := range rawStream(t, r.Object).Documents() {
		kind, object := set.schemas.Lookup(d.Kind()), d.Object()
		if kind == nil || !validation.Checks(kind) || object == nil {
			continue
		}
		before := change.CloneObject(object)
		created := validation.Created(kind, object, object)
		_, err := validation.New(set.settings.minor).Check(t.Context(), kind, created, nil)
		if !change.Equal(object, before) {
			t.Errorf("%s: the validation (%v) makes %v of %v", r.Name, err, object, before)
		}
	}
}

// rawStream returns a stream with objects, whose numbers keep their digits.
func rawStream(t *testing.T, objects ...json.RawMessage) *manifest.Stream {
	t.Helper()
	var text strings.Builder
	for _, object := range objects {
		text.WriteString(string(object) + "\n---\n")
	}
	return readText(t, "objects.yaml", text.String())
}

// TestCustomResourceVersions checks what differs between the servers that are known.
func TestCustomResourceVersions(t *testing.T) {
	const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Shop, plural: shops, singular: shop}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          size: {type: integer, format: int32, x-kubernetes-validations: [{rule: self != 3, message: not three}]}
          spec: {type: object, properties: {a: {type: string, format: k8s-short-name}}, x-kubernetes-validations: [{rule: "!has(self.a) || self.a != 'bad'", message: bad}]}
`
	for _, test := range []struct{ version, object, want string }{
		{"1.34", "size: 3", `Shop.example.com "a" is invalid: size: Invalid value: "integer": not three`},
		{"1.35", "size: 3", `Shop.example.com "a" is invalid: size: Invalid value: 3: not three`},
		{"1.34", "spec: {a: bad}", `Shop.example.com "a" is invalid: spec: Invalid value: "object": bad`},
		{"1.36", "spec: {a: bad}", `Shop.example.com "a" is invalid: spec: Invalid value: bad`},
		{"1.35", "size: 3000000000", ""},
		{"1.36", "size: 3000000000", `Shop.example.com "a" is invalid: <nil>: Invalid value: "": Checked value must be of type integer with format int32 in size`},
		{"1.34", "spec: {a: A}", ""},
		{"1.35", "spec: {a: A}", `Shop.example.com "a" is invalid: [spec.a: Invalid value: "A": spec.a in body must be of type k8s-short-name: "A", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]`},
	} {
		set, diagnostics := Compile(nil, []*manifest.Stream{readText(t, "crd.yaml", definition)}, Options{KubernetesVersion: test.version})
		if set == nil {
			t.Fatal(diagnostics)
		}
		outcome := set.Run(t.Context(), []*manifest.Stream{readText(t, "shop.yaml", "apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: a}\n"+test.object+"\n")})
		if got := strings.Join(refusals(outcome), "\n"); got != inOrder(test.want) {
			t.Errorf("%s: %s: got %s", test.version, test.object, got)
		}
	}
}

// TestMalformedMetadata checks what becomes of metadata of a custom resource to which a policy gives a value of
// a wrong type: a server drops it before 1.37, and refuses the object since.
func TestMalformedMetadata(t *testing.T) {
	for value, problem := range map[string]string{
		`/metadata/labels", value: "text"`:          "cannot restore map from string",
		`/metadata/finalizers", value: "text"`:      "cannot restore slice from string",
		`/metadata/labels", value: {"a": 1}`:        "cannot convert int64 to string",
		`/metadata/annotations", value: {"a": "b"}`: "",
	} {
		for version, want := range map[string]string{"1.36": "", "1.37": problem} {
			text := "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: p}\nspec:\n  reinvocationPolicy: Never\n" +
				"  matchConstraints: {resourceRules: [{apiGroups: [example.com], apiVersions: [v1], resources: [shops], operations: [CREATE]}]}\n" +
				"  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"add\", path: \"" + value + "}]'}}]\n---\n" +
				"apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nmetadata: {name: p}\nspec: {policyName: p}\n"
			definition := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: shops.example.com}\nspec:\n  group: example.com\n  scope: Cluster\n" +
				"  names: {kind: Shop, plural: shops, singular: shop}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n"
			set, diagnostics := Compile([]*manifest.Stream{readText(t, "policy.yaml", text)}, []*manifest.Stream{readText(t, "crd.yaml", definition)}, Options{KubernetesVersion: version})
			if set == nil {
				t.Fatal(diagnostics)
			}
			outcome := set.Run(t.Context(), []*manifest.Stream{readText(t, "shop.yaml", "apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: a}\n")})
			got := strings.Join(refusals(outcome), "\n")
			if want == "" && got != "" || want != "" && (!strings.HasPrefix(got, `Shop.example.com "a" is invalid: metadata: Invalid value: {`) || !strings.HasSuffix(got, want)) {
				t.Errorf("%s, %s: got %q, want %q", version, value, got, want)
			}
		}
	}
}
