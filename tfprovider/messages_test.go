package tfprovider

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// replaced returns labelPolicy with a text replaced.
func replaced(t *testing.T, from, to string) string {
	t.Helper()
	if !strings.Contains(labelPolicy, from) {
		t.Fatalf("the policy does not contain %q", from)
	}
	return strings.Replace(labelPolicy, from, to, 1)
}

// denying is a policy that denies ConfigMaps, with one of their values in its message.
func denying(t *testing.T) string {
	t.Helper()
	return replaced(t, `{"mutated": "yes"}`, `{"mutated": string(int(object.data.pin))}`)
}

const pinned = "apiVersion: v1\nkind: %s\nmetadata: {name: pinned}\ndata: {pin: c2VjcmV0}\n"

// manyPinned are more objects than a message lists one by one.
func manyPinned() (texts []string) {
	for i := range 6 {
		texts = append(texts, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pinned-%d}\ndata: {pin: x}\n", i))
	}
	return texts
}

// TestMessages checks the exact text of messages.
func TestMessages(t *testing.T) {
	file, err := filepath.Abs("testdata/messages.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{"app/cm.yaml": configMap("a"), "empty/notes.txt": "no manifest"})
	s := newServer(t)
	two := configMap("a") + "---\n" + configMap("b")
	var b strings.Builder
	for _, test := range []struct {
		name   string
		config map[string]any
	}{
		{"no input", map[string]any{"policies": []string{labelPolicy}}},
		{"empty input", map[string]any{"manifests": []string{"---\n"}, "policies": []string{labelPolicy}}},
		{"invalid policy", map[string]any{"manifests": []string{two}, "policies": []string{configMapPolicy(t), replaced(t, "Object.metadata", "Objct.metadata")}}},
		{"policy kind", map[string]any{"manifests": []string{two}, "policies": []string{replaced(t, "kind: MutatingAdmissionPolicy\n", "kind: MutatingAdmisionPolicy\n")}}},
		{"invalid manifest", map[string]any{"manifests": []string{configMap("x"), configMap("a") + "---\n# a comment\n---\nkind: ConfigMap\nmetadata: {name: b}\n"}, "policies": []string{labelPolicy}}},
		{"not YAML", map[string]any{"manifests": []string{two + "---\na: [\n"}, "policies": []string{labelPolicy}}},
		{"duplicate", map[string]any{"manifests": []string{two}, "manifest_files": []string{"app/*.yaml"}, "policies": []string{labelPolicy}}},
		{"missing file", map[string]any{"manifest_files": []string{"app/missing.yaml"}, "policies": []string{labelPolicy}}},
		{"no match", map[string]any{"manifest_files": []string{"app"}, "policy_files": []string{"**/*.yml"}}},
		{"directory without manifests", map[string]any{"manifest_files": []string{"app", "empty"}}},
		{"option value", map[string]any{"manifests": []string{two}, "defaulting": "yes", "request": map[string]any{"operation": "PATCH"}}},
		{"version", map[string]any{"manifests": []string{two}, "policies": []string{labelPolicy}, "kubernetes_version": "1.12"}},
		{"plug-in", map[string]any{"manifests": []string{two}, "policies": []string{labelPolicy}, "admission_plugins": []string{"Nope"}}},
		{"names of files", map[string]any{"manifests": []string{two}, "policies": []string{"policies/a.yaml", "policies/b.yaml", "policies/c.yaml"}}},
		{"denied", map[string]any{"manifests": []string{fmt.Sprintf(pinned, "ConfigMap")}, "policies": []string{denying(t)}}},
		{"many denied", map[string]any{"manifests": manyPinned(), "policies": []string{denying(t)}}},
		{"denied secret", map[string]any{"manifest_files": []string{}, "sensitive_manifests": []string{fmt.Sprintf(pinned, "ConfigMap")}, "policies": []string{denying(t)}}},
		{"no policies", map[string]any{"manifests": []string{two}}},
		{"secret in clear text", map[string]any{"manifests": []string{fmt.Sprintf(pinned, "Secret")}, "policies": []string{labelPolicy}}},
		{"not idempotent", map[string]any{"manifests": []string{configMap("a")}, "policies": []string{replaced(t, `"yes"`, `has(object.metadata.labels) ? "yes" + object.metadata.labels.mutated : "yes"`)}}},
	} {
		_, messages := s.read(t, test.config)
		fmt.Fprintf(&b, "== %s\n%s\n", test.name, plainPaths(messages))
	}
	golden(t, file, b.String())
}

// TestValidate shows that constant nonsense is refused before anything is read.
func TestValidate(t *testing.T) {
	s := newServer(t)
	given := func(name string, value any) map[string]any {
		config := map[string]any{"manifests": []string{configMap("a")}, "policies": []string{labelPolicy}}
		config[name] = value
		return config
	}
	for want, config := range map[string]map[string]any{
		`"1.12" is not a known version`:           given("kubernetes_version", "1.12"),
		`"Nope" is not a known admission plug-in`: given("admission_plugins", []string{"Nope"}),
		"undeclared reference":                    given("policies", []string{strings.Replace(labelPolicy, `"yes"`, "nope", 1)}),
		"malformed-yaml":                          given("policies", []string{"a: [\n"}),
		"":                                        given("policies", []string{labelPolicy}),
		"the name of a file, \"a.yaml\"; fileset only lists names": given("policies", []string{"a.yaml"}),
	} {
		if got := s.validate(t, config); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// configMapPolicy is labelPolicy under another name.
func configMapPolicy(t *testing.T) string {
	t.Helper()
	return strings.ReplaceAll(labelPolicy, "label.example.com", "other.example.com")
}

// plainPaths writes the paths of attributes as in messages of Terraform.
func plainPaths(messages string) string {
	return strings.NewReplacer(
		"at : ", "at (none): ",
		`AttributeName("request").AttributeName("operation")`, "request.operation",
		`").ElementKeyInt(`, "[", "): ", "]: ", `AttributeName("`, "", `"): `, ": ",
	).Replace(messages)
}

// TestFunctionErrors checks the texts of errors in functions, and their arguments.
func TestFunctionErrors(t *testing.T) {
	s := newServer(t)
	policies := []string{labelPolicy}
	var b strings.Builder
	for _, test := range []struct {
		name, function string
		arguments      []any
	}{
		{"unknown option", "mutate", []any{configMap("a"), policies, map[string]any{"contxt": []string{}}}},
		{"unknown option within", "mutate", []any{configMap("a"), policies, map[string]any{"request": map[string]any{"operaton": "CREATE"}}}},
		{"option in another place", "mutate", []any{configMap("a"), policies, map[string]any{"operation": "CREATE"}}},
		{"option of the data source", "mutate", []any{configMap("a"), policies, map[string]any{"policy_files": []string{}}}},
		{"option type", "mutate", []any{configMap("a"), policies, map[string]any{"kubernetes_version": 1.3, "strict": "yes", "context": "text", "request": "text"}}},
		{"two options objects", "mutate", []any{configMap("a"), policies, map[string]any{}, map[string]any{}}},
		{"not an object", "mutate", []any{configMap("a"), policies, "context"}},
		{"two documents", "mutate", []any{configMap("a") + "---\n" + configMap("b"), policies}},
		{"no document", "mutate_all", []any{map[string]any{"a": configMap("a"), "b": ""}, policies}},
		{"null", "mutate_all", []any{map[string]any{"a": nil}, policies}},
		{"duplicate", "split", []any{configMap("a") + "---\n" + configMap("a")}},
		{"manifest without kind", "explain", []any{"metadata: {name: x}\n", policies}},
		{"no policies", "mutate", []any{configMap("a"), []string{}}},
		{"an empty policy", "mutate_all", []any{map[string]any{"a": configMap("a")}, []string{labelPolicy, "# nothing\n"}}},
		{"an unbound policy", "admit", []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}, []string{strings.Split(labelPolicy, "---")[0]}}},
		{"none is allowed", "mutate", []any{configMap("a"), []string{""}, map[string]any{"allow_no_policies": true}}},
		{"strict", "mutate", []any{inShop("a"), []string{teamPolicy}, map[string]any{"strict": true}}},
		{"names of files", "mutate", []any{configMap("a"), []string{"policies/a.yaml", "policies/b.yaml", "policies/c.yaml"}}},
		{"a text instead of an object", "admit", []any{configMap("a"), policies}},
		{"a text instead of a boolean", "mutate", []any{configMap("a"), policies, map[string]any{"normalize": "true"}}},
		{"policy type", "mutate", []any{configMap("a"), labelPolicy}},
		{"policy number", "mutate", []any{configMap("a"), []any{labelPolicy, 1}}},
		{"policy", "mutate", []any{configMap("a"), []string{labelPolicy, "kind: MutatingAdmissionPolicy\n"}}},
	} {
		_, err := s.call(t, test.function, test.arguments...)
		fmt.Fprintf(&b, "== %s\n%v\n\n", test.name, err)
	}
	golden(t, "testdata/function_errors.txt", b.String())
}

// TestTitles checks that all titles are for existing codes.
func TestTitles(t *testing.T) {
	for code := range titles {
		if _, ok := source.Lookup(code); !ok {
			t.Errorf("the code %s is not in the catalogue", code)
		}
	}
}

// sample returns a value of an option, in groups for the parts of its name, which misspelt may change.
func sample(o *settings.Option, misspelt string) map[string]any {
	var value any = "x"
	switch {
	case o.IsSwitch():
		value = true
	case len(o.Values) > 0:
		value = o.Values[0]
	case o.Arg == "SIZE":
		value = "1Mi"
	}
	switch o.Type() {
	case "list(string)":
		value = []any{value}
	case "map(list(string))":
		value = map[string]any{"k": []any{"v"}}
	}
	names := strings.Split(o.Attribute+misspelt, ".")
	for _, name := range slices.Backward(names) {
		value = map[string]any{name: value}
	}
	return value.(map[string]any)
}

// Every option must change the config, and a misspelt one must be an error that names it.
func TestOptionsReachTheEngine(t *testing.T) {
	for i := range settings.Table {
		o := &settings.Table[i]
		if o.Attribute == "" {
			continue
		}
		for _, scope := range []settings.Scope{settings.DataSource, settings.Functions} {
			r := &optionReader{scope: scope, config: &config{}}
			r.read(sample(o, ""))
			known := nameIn(scope)(o) != ""
			if known != (len(r.problems) == 0 && !reflect.DeepEqual(r.config, &config{})) && (known || scope == settings.Functions) {
				t.Errorf("%s, scope %d: %v %+v", o.Attribute, scope, r.problems, r.config)
			}
			r = &optionReader{scope: scope, config: &config{}}
			r.read(sample(o, "z"))
			if want := "did you mean " + o.Attribute + "?"; !reflect.DeepEqual(r.config, &config{}) ||
				known && scope == settings.Functions && (len(r.problems) != 1 || !strings.HasSuffix(r.problems[0].detail, want)) {
				t.Errorf("%sz, scope %d: %v %+v", o.Attribute, scope, r.problems, r.config)
			}
		}
	}
}
