package krmfn

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
	"github.com/preadmit/preadmit/internal/triage"
)

// TestDocs checks that the generated reference pages are current.
func TestDocs(t *testing.T) {
	for name, text := range map[string]string{
		"commands.md":                commandsPage(),
		"functionconfig.md":          withOptions(t, "functionconfig.md", fieldsTable()),
		"options.md":                 withOptions(t, "options.md", optionsTable()),
		"functionconfig.schema.json": indented(t, functionConfigSchema()),
		"configuration.schema.json":  indented(t, configurationSchema()),
	} {
		if *update {
			if err := os.WriteFile(filepath.Join("docs", name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if readDoc(t, name) != text {
			t.Errorf("docs/%s is not current: run go test ./krmfn -run TestDocs -update", name)
		}
	}
}

func indented(t *testing.T, schema map[string]any) string {
	t.Helper()
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

func readDoc(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("docs", name))
	if err != nil && !*update {
		t.Fatal(err)
	}
	return string(data)
}

// commandsPage returns the page with the help of every command.
func commandsPage() string {
	var b strings.Builder
	b.WriteString("# Commands\n\nWhat `preadmit help` prints, made by `go test ./krmfn -run TestDocs -update`.\n\n```text\n")
	programHelp(&b)
	b.WriteString("```\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "\n## preadmit %s\n\n```text\n", c.name)
		c.help(&c, &b)
		b.WriteString("```\n")
	}
	return b.String()
}

// withOptions returns a page with its table of options.
func withOptions(t *testing.T, name, table string) string {
	t.Helper()
	before, rest, found := strings.Cut(readDoc(t, name), "<!-- options:")
	mark, rest, closed := strings.Cut(rest, "\n")
	_, after, ended := strings.Cut(rest, "<!-- end of options -->")
	if !found || !closed || !ended {
		t.Fatalf("docs/%s has no place for the options", name)
	}
	return before + "<!-- options:" + mark + "\n" + table + "<!-- end of options -->" + after
}

// fieldsTable returns the table of the fields of a functionConfig.
func fieldsTable() string {
	var b strings.Builder
	b.WriteString("| field of `spec` | key of a ConfigMap | meaning |\n|---|---|---|\n")
	for _, o := range settings.Table {
		if o.Field != "" {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", o.Field, code(o.Key), o.Help)
		}
	}
	return b.String()
}

// optionsTable returns the table of all options in all frontends.
func optionsTable() string {
	var b strings.Builder
	b.WriteString("| flag | commands | `.preadmit.yaml` | field of a functionConfig | key of a ConfigMap | Terraform | default | since | meaning |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, o := range settings.Table {
		flags, others := code(o.Flag), ""
		if o.Flag != "" {
			flags = code("--" + o.Flag)
		}
		if o.Short != "" {
			flags = code("-"+o.Short) + ", " + flags
		}
		switch o.Only {
		case settings.DataSource:
			others = " (data source)"
		case settings.Functions:
			others = " (functions)"
		}
		if o.Attribute != "" {
			others = code(o.Attribute) + others
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", flags, strings.Join(o.Commands, ", "), inFile(&o), code(o.Field), code(o.Key), others,
			o.Otherwise(), cmp.Or(o.Since, "0.1.0"), cmp.Or(o.Help, o.AttributeHelp))
	}
	return b.String()
}

// inFile says whether a configuration file can set an option.
func inFile(o *settings.Option) string {
	switch {
	case o.IsOfCluster():
		return "also for a directory"
	case o.Entry() != "":
		return "yes"
	case o.Flag != "":
		return "no: " + o.Once
	}
	return ""
}

// code returns a name as code in Markdown.
func code(name string) string {
	if name == "" {
		return ""
	}
	return "`" + name + "`"
}

// functionConfigSchema returns the JSON Schema of a functionConfig of kind Preadmit.
func functionConfigSchema() map[string]any {
	fields := map[string]any{}
	for i := range settings.Table {
		o := &settings.Table[i]
		if o.Field == "" {
			continue
		}
		inside, names := fields, strings.Split(o.Field, ".")
		for _, name := range names[:len(names)-1] {
			if inside[name] == nil {
				inside[name] = orNull(objectSchema(map[string]any{}))
			}
			inside = inside[name].(map[string]any)["properties"].(map[string]any)
		}
		property := orNull(schemaOf(o))
		property["description"] = o.Help
		inside[names[len(names)-1]] = property
	}
	schema := objectSchema(map[string]any{
		"apiVersion": map[string]any{"enum": []any{functionConfigKind.APIVersion()}},
		"kind":       map[string]any{"enum": []any{functionConfigKind.Kind}},
		"metadata":   map[string]any{"type": "object"},
		"spec":       orNull(objectSchema(fields)),
	})
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = "functionConfig of preadmit"
	schema["required"] = []any{"apiVersion", "kind"}
	return schema
}

func objectSchema(properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

// orNull returns a schema that also accepts null, which means that the field is missing.
func orNull(schema map[string]any) map[string]any {
	switch kind := schema["type"].(type) {
	case string:
		schema["type"] = []any{kind, "null"}
	case []any:
		schema["type"] = append(kind, "null")
	default:
		schema["enum"] = append(schema["enum"].([]any), nil)
	}
	return schema
}

// schemaOf returns the JSON Schema of the option in a functionConfig. It also accepts the types that
// YAML gives to values without quotes.
func schemaOf(o *settings.Option) map[string]any {
	texts := map[string]any{"type": "array", "items": map[string]any{"type": []any{"string", "number"}, "minLength": 1}}
	switch {
	case o.Texts != 0:
		return map[string]any{"type": "array", "items": map[string]any{"type": []any{"object", "string"}}}
	case o.IsSwitch():
		return map[string]any{"enum": []any{true, false, "true", "false"}}
	case o.IsList():
		return texts
	case o.Arg == "SIZE":
		return map[string]any{"type": "string", "pattern": "^[1-9][0-9]*[MG]i$"}
	case o.Type() != "string":
		return map[string]any{"type": "object", "additionalProperties": texts}
	case len(o.Values) == 0:
		return map[string]any{"type": []any{"string", "number"}}
	}
	var values []any
	for _, value := range o.Values {
		values = append(values, value)
		if value == "on" {
			values = append(values, true, false)
		}
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			values = append(values, number)
		}
	}
	return map[string]any{"enum": values}
}

// configurationSchema returns the JSON Schema of a configuration file.
func configurationSchema() map[string]any {
	commands, everywhere, ofCluster := map[string]any{}, map[string]any{}, map[string]any{}
	for _, command := range configured() {
		options := map[string]any{}
		for _, o := range settings.Flags(command) {
			if o.Entry() == "" {
				continue
			}
			property := orNull(schemaOf(o))
			property["description"] = o.Help
			options[o.Entry()] = property
			if o.Flag != "output" {
				everywhere[o.Entry()] = property
			}
			if o.IsOfCluster() {
				ofCluster[o.Entry()] = property
			}
		}
		commands[command] = orNull(objectSchema(options))
	}
	directory := objectSchema(map[string]any{
		"path":    map[string]any{"type": "string", "minLength": 1, "description": "directory, relative to the file"},
		"options": described(orNull(objectSchema(ofCluster)), "options for the manifests in the directory, which are evaluated separately"),
	})
	directory["required"] = []any{"path"}
	release := objectSchema(map[string]any{
		"release":   map[string]any{"type": []any{"string", "null"}, "pattern": `\S`, "description": "name of the release (default: the name of the directory)"},
		"namespace": map[string]any{"type": []any{"string", "null"}, "pattern": `\S`, "description": "namespace of the release (default: the option namespace)"},
		"values":    map[string]any{"type": []any{"array", "null"}, "items": map[string]any{"type": "string", "pattern": `\S`}, "description": "files with values, relative to this file"},
	})
	directory["properties"].(map[string]any)["chart"] = described(map[string]any{"anyOf": []any{
		map[string]any{"type": "null"}, release, map[string]any{"type": "array", "minItems": 1, "items": release},
	}}, "how --build renders the chart in the directory: a release, or a list of releases")
	schema := objectSchema(map[string]any{
		"options":     described(orNull(objectSchema(everywhere)), "defaults of options, for all commands that have them"),
		"commands":    described(orNull(objectSchema(commands)), "defaults of options for single commands"),
		"directories": described(orNull(map[string]any{"type": "array", "items": directory}), "directories with options of their own"),
	})
	maps.Copy(schema["properties"].(map[string]any), decisionSchemas())
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = "configuration file of preadmit"
	return schema
}

// decisionSchemas returns the JSON Schemas of what a configuration file says about findings.
func decisionSchemas() map[string]any {
	severities, acceptable := map[string]any{}, []any{}
	for _, section := range source.Catalogue {
		for _, e := range section.Entries {
			if triage.Fixed(e.Code) == "" {
				severities[e.Code] = described(map[string]any{"enum": []any{false, "off", "note", "warning", "error", nil}}, e.Title)
			}
			if triage.Unacceptable(e.Code) == "" {
				acceptable = append(acceptable, e.Code)
			}
		}
	}
	text := func(about string) map[string]any {
		return described(map[string]any{"type": []any{"string", "null"}, "pattern": `\S`}, about)
	}
	reason, code := text("why the findings are accepted"), described(map[string]any{"enum": acceptable}, "code of the findings")
	reason["type"] = "string"
	object := text("object, as KIND/NAME, with the wildcards * and ?")
	object["pattern"] = "/"
	accepted := objectSchema(map[string]any{
		"code": code, "reason": reason, "object": object, "policy": text("name of a policy, with the wildcards * and ?"),
		"path": text("file, directory, or pattern with *, ? and **, relative to the file"),
	})
	accepted["required"] = []any{"code", "reason"}
	return map[string]any{
		"severities": described(orNull(objectSchema(severities)), "severities of codes; off drops the findings"),
		"accepted":   described(orNull(map[string]any{"type": "array", "items": accepted}), "findings that are accepted"),
	}
}

func described(schema map[string]any, text string) map[string]any {
	schema["description"] = text
	return schema
}

// TestFunctionConfigSchema shows that the schema and preadmit accept the same functionConfigs, with
// the functionConfigs of the stories.
func TestFunctionConfigSchema(t *testing.T) {
	validator := validatorOf(t, functionConfigSchema())
	stories, err := filepath.Glob("testdata/stories/fn-*.txt")
	if err != nil {
		t.Fatal(err)
	}
	valid, invalid := 0, 0
	for _, name := range stories {
		for _, file := range readStory(t, name).files {
			stream, _ := manifest.Read("-", []byte(file.text))
			list := stream.ResourceList()
			if file.name != "stdin" || list == nil || list.FunctionConfig() == nil || list.FunctionConfig().Kind() != functionConfigKind {
				continue
			}
			d := list.FunctionConfig()
			p := &Process{Dir: t.TempDir()}
			var c config
			read := p.readFunctionConfig(d, []byte(file.text), nil, &c)
			accepted := true
			for _, found := range read.diagnostics {
				accepted = accepted && !strings.HasPrefix(found.Code, "option-")
			}
			if accepted {
				valid++
			} else {
				invalid++
			}
			result := validator.Validate(d.Object())
			if result.IsValid() != accepted {
				t.Errorf("%s: preadmit says %v, the schema %v", name, read.diagnostics, result.Errors)
			}
		}
	}
	if valid == 0 || invalid == 0 {
		t.Errorf("%d functionConfigs are valid, %d are not", valid, invalid)
	}
}

// validatorOf returns a validator for a JSON Schema.
func validatorOf(t *testing.T, of map[string]any) *validate.SchemaValidator {
	t.Helper()
	var schema spec.Schema
	data, err := json.Marshal(of)
	if err == nil {
		err = json.Unmarshal(data, &schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	return validate.NewSchemaValidator(&schema, nil, "", strfmt.Default)
}

// TestConfigurationSchema shows that the schema and preadmit accept the same configuration files, those
// of the stories and each option alone. The schema does not know that a path must stay below the file,
// or that two directories are the same.
func TestConfigurationSchema(t *testing.T) {
	validator := validatorOf(t, configurationSchema())
	texts := map[string]string{}
	stories, _ := filepath.Glob("testdata/stories/*.txt")
	for _, name := range stories {
		for _, file := range readStory(t, name).files {
			if filepath.Base(file.name) == settings.FileName && !strings.HasPrefix(file.text, "-> ") {
				texts[name] = file.text
			}
		}
	}
	for i := range settings.Table {
		o := &settings.Table[i]
		if o.Flag == "" {
			continue
		}
		value := sample(o)
		if o.IsList() {
			value = "[" + value + "]"
		}
		texts["option "+o.Flag] = fmt.Sprintf("options: {%s: %s}", o.Flag, value)
		texts["directory "+o.Flag] = fmt.Sprintf("directories: [{path: a, options: {%s: %s}}]", o.Flag, value)
		texts["misspelt "+o.Flag] = fmt.Sprintf("options: {%sz: %s}", o.Flag, value)
		for _, command := range configured() {
			texts[command+" "+o.Flag] = fmt.Sprintf("commands: {%s: {%s: %s}}", command, o.Flag, value)
		}
	}
	for _, section := range source.Catalogue {
		for _, e := range section.Entries {
			texts["severity "+e.Code] = "severities: {" + e.Code + ": off}"
			texts["accepted "+e.Code] = "accepted: [{code: " + e.Code + ", reason: x}]"
		}
	}
	valid, invalid := 0, 0
	for name, text := range texts {
		_, problems := settings.ReadFile(settings.FileName, t.TempDir(), []byte(text), configured())
		stream, broken := manifest.ReadPlain("-", []byte(text))
		if len(broken) > 0 || len(stream.Documents()) == 0 {
			continue
		}
		if len(problems) == 0 {
			valid++
		} else {
			invalid++
		}
		if result := validator.Validate(stream.Documents()[0].Object()); result.IsValid() != (len(problems) == 0) {
			t.Errorf("%s: preadmit says %v, the schema %v", name, problems, result.Errors)
		}
	}
	if valid < 100 || invalid < 100 {
		t.Errorf("%d files are valid, %d are not", valid, invalid)
	}
}
