package tfprovider

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// labelPolicy adds a label to every ConfigMap.
const labelPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: label.example.com}
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [configmaps, secrets]
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{metadata: Object.metadata{labels: {"mutated": "yes"}}}'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: label.example.com}
spec: {policyName: label.example.com}
`

// configMap returns a manifest that labelPolicy matches.
func configMap(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n", name)
}

// mutated returns the result of labelPolicy for configMap.
func mutated(name string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"mutated":"yes"},"name":"%s"}}`, name)
}

// server is the protocol server of the provider.
type server struct {
	tfprotov6.ProviderServer
	schema tftypes.Object
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{ProviderServer: NewServer("test")}
	response, err := s.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	s.schema = response.DataSourceSchemas["preadmit_manifests"].ValueType().(tftypes.Object)
	return s
}

// value returns a value of a type for strings, booleans, lists, maps, nil and unknown{}.
func value(kind tftypes.Type, v any) tftypes.Value {
	switch v := v.(type) {
	case unknown:
		return tftypes.NewValue(kind, tftypes.UnknownValue)
	case []string:
		var items []tftypes.Value
		for _, item := range v {
			items = append(items, tftypes.NewValue(tftypes.String, item))
		}
		return tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, items)
	case map[string]any:
		fields := map[string]tftypes.Value{}
		switch kind := kind.(type) {
		case tftypes.Object:
			for name, kind := range kind.AttributeTypes {
				fields[name] = value(kind, v[name])
			}
		case tftypes.Map:
			for name := range v {
				fields[name] = value(kind.ElementType, v[name])
			}
		}
		return tftypes.NewValue(kind, fields)
	}
	return tftypes.NewValue(kind, v)
}

// dynamic returns a value with its own type, as for options.
func dynamic(v any) tftypes.Value {
	switch v := v.(type) {
	case string:
		return tftypes.NewValue(tftypes.String, v)
	case bool:
		return tftypes.NewValue(tftypes.Bool, v)
	case int:
		return tftypes.NewValue(tftypes.Number, int64(v))
	case float64:
		return tftypes.NewValue(tftypes.Number, v)
	case json.Number:
		f, _, err := big.ParseFloat(v.String(), 10, 512, big.ToNearestEven)
		if err != nil {
			panic(err)
		}
		return tftypes.NewValue(tftypes.Number, f)
	case nil:
		return tftypes.NewValue(tftypes.DynamicPseudoType, nil)
	case unknown:
		return tftypes.NewValue(map[valueKind]tftypes.Type{
			someText: tftypes.String, someNumber: tftypes.Number, someBool: tftypes.Bool,
			anything: tftypes.DynamicPseudoType, several: tftypes.List{ElementType: tftypes.String},
		}[v.kind], tftypes.UnknownValue)
	case []any:
		var kinds []tftypes.Type
		var items []tftypes.Value
		for _, item := range v {
			items = append(items, dynamic(item))
			kinds = append(kinds, items[len(items)-1].Type())
		}
		return tftypes.NewValue(tftypes.Tuple{ElementTypes: kinds}, items)
	case []string:
		return value(nil, v)
	case map[string]any:
		kinds, fields := map[string]tftypes.Type{}, map[string]tftypes.Value{}
		for name := range v {
			fields[name] = dynamic(v[name])
			kinds[name] = fields[name].Type()
		}
		return tftypes.NewValue(tftypes.Object{AttributeTypes: kinds}, fields)
	}
	panic(fmt.Sprintf("%T", v))
}

func encode(t *testing.T, kind tftypes.Type, v tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	encoded, err := tfprotov6.NewDynamicValue(kind, v)
	if err != nil {
		t.Fatal(err)
	}
	return &encoded
}

// call calls a function. The first argument is a string, a map of strings, or an object for admit. The
// other arguments are policies and options.
func (s *server) call(t *testing.T, name string, arguments ...any) (any, error) {
	t.Helper()
	result := map[string]tftypes.Type{
		"mutate": tftypes.String, "explain": nil, "admit": tftypes.DynamicPseudoType,
		"mutate_all": tftypes.Map{ElementType: tftypes.String}, "pods": tftypes.Map{ElementType: tftypes.String}, "split": tftypes.Map{ElementType: tftypes.String},
	}[name]
	if slices.Contains([]string{"explain", "report", "unknowns"}, name) {
		response, err := s.GetFunctions(t.Context(), &tfprotov6.GetFunctionsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		result = response.Functions[name].Return.Type
	}
	var encoded []*tfprotov6.DynamicValue
	for i, argument := range arguments {
		switch {
		case i > 0 || name == "admit" || name == "unknowns":
			encoded = append(encoded, encode(t, tftypes.DynamicPseudoType, dynamic(argument)))
		default:
			kind := tftypes.Type(tftypes.String)
			if _, ok := argument.(map[string]any); ok {
				kind = tftypes.Map{ElementType: tftypes.String}
			}
			encoded = append(encoded, encode(t, kind, value(kind, argument)))
		}
	}
	response, err := s.CallFunction(t.Context(), &tfprotov6.CallFunctionRequest{Name: name, Arguments: encoded})
	if err != nil {
		t.Fatal(err)
	}
	if response.Error != nil {
		argument := "?"
		if response.Error.FunctionArgument != nil {
			argument = fmt.Sprint(*response.Error.FunctionArgument)
		}
		return nil, errors.New("argument " + argument + ": " + response.Error.Text)
	}
	if name == "admit" {
		return decodeDynamic(t, response.Result), nil
	}
	raw, err := response.Result.Unmarshal(result)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return decoded, nil
}

// decodeDynamic decodes a value of dynamic type.
func decodeDynamic(t *testing.T, encoded *tfprotov6.DynamicValue) any {
	t.Helper()
	raw, err := encoded.Unmarshal(tftypes.DynamicPseudoType)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

// text returns the result of a function that returns a string.
func (s *server) text(t *testing.T, name string, arguments ...any) string {
	t.Helper()
	result, err := s.call(t, name, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return result.(string)
}

// validate validates the configuration of the data source.
func (s *server) validate(t *testing.T, config map[string]any) string {
	t.Helper()
	response, err := s.ValidateDataResourceConfig(t.Context(), &tfprotov6.ValidateDataResourceConfigRequest{
		TypeName: "preadmit_manifests", Config: encode(t, s.schema, value(s.schema, config)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return printed(response.Diagnostics)
}

// read validates and reads the data source. It returns the state, or nil after an error, and the
// diagnostics with their attributes.
func (s *server) read(t *testing.T, config map[string]any) (map[string]any, string) {
	t.Helper()
	if problems := s.validate(t, config); problems != "" {
		return nil, problems
	}
	encoded := encode(t, s.schema, value(s.schema, config))
	response, err := s.ReadDataSource(t.Context(), &tfprotov6.ReadDataSourceRequest{TypeName: "preadmit_manifests", Config: encoded})
	if err != nil {
		t.Fatal(err)
	}
	messages := printed(response.Diagnostics)
	for _, d := range response.Diagnostics {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			return nil, messages
		}
	}
	raw, err := response.State.Unmarshal(s.schema)
	if err != nil {
		t.Fatal(err)
	}
	state, err := decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return state.(map[string]any), messages
}

func printed(diagnostics []*tfprotov6.Diagnostic) string {
	var b strings.Builder
	for _, d := range diagnostics {
		fmt.Fprintf(&b, "%s at %s: %s: %s\n", d.Severity, d.Attribute, d.Summary, d.Detail)
	}
	return b.String()
}

// writeFiles writes files to a directory.
func writeFiles(t testing.TB, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if i := strings.LastIndexByte(name, '/'); i > 0 {
			if err := os.MkdirAll(name[:i], 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var update = flag.Bool("update", false, "rewrite what tests expect")

// golden compares a text with a file, or writes the file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		writeFiles(t, map[string]string{path: got})
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s, which -update rewrites, differs; got:\n%s", path, got)
	}
}
