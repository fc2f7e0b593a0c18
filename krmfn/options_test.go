package krmfn

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// sample returns a valid value of an option.
func (o *option) sample() string {
	if len(o.values) > 0 {
		return o.values[0]
	}
	if _, isSize := o.target(new(config)).(*size); isSize {
		return "256Mi"
	}
	return "some"
}

// configOf returns the config of a functionConfig, without the origin of paths.
func configOf(t *testing.T, text string) config {
	t.Helper()
	stream, diagnostics := manifest.Read("-", []byte(text))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	var c config
	p := &Process{Dir: t.TempDir()}
	if f := p.readFunctionConfig(stream.Documents()[0], []byte(text), nil, &c); len(f.diagnostics) > 0 {
		t.Fatal(f.diagnostics)
	}
	return withoutOrigins(c)
}

func withoutOrigins(c config) config {
	for _, paths := range []*[]path{&c.policies.paths, &c.context.paths, &c.old.paths, &c.trees, &c.values.paths, &c.userInfo.paths, &c.openAPI} {
		for i := range *paths {
			(*paths)[i] = path{name: (*paths)[i].name}
		}
	}
	return c
}

// TestFaces shows that an option has the same effect as flag, field and key.
func TestFaces(t *testing.T) {
	for i := range options {
		o := &options[i]
		if o.flag == "" {
			continue
		}
		t.Run(o.flag, func(t *testing.T) {
			given, err := parseFlags(commandNamed("render"), []string{"--" + o.flag + "=" + o.sample()})
			if err != nil {
				t.Fatal(err)
			}
			var want config
			given.apply(&want)
			want = withoutOrigins(want)
			if reflect.DeepEqual(want, config{}) {
				t.Error("the flag does nothing")
			}
			if o.field != "" {
				value := o.sample()
				if o.isList() {
					value = "[" + value + "]"
				}
				if got := configOf(t, functionConfigWith(o.field, value)); !reflect.DeepEqual(got, want) {
					t.Errorf("the field gives %+v, the flag %+v", got, want)
				}
			}
			if o.key != "" {
				text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\ndata: {%s: %q}\n", o.key, o.sample())
				if got := configOf(t, text); !reflect.DeepEqual(got, want) {
					t.Errorf("the key gives %+v, the flag %+v", got, want)
				}
			}
		})
	}
}

// TestParameters shows that every parameter of an Argo CD application has an effect in its announced
// form, and no effect if it is cleared.
func TestParameters(t *testing.T) {
	for _, p := range parameters {
		form, value := "string", fmt.Sprintf("%q", p.option.sample())
		if p.option.isList() {
			form, value = "array", "["+value+"]"
		}
		if p.option.isMap() {
			form, value = "map", "{"+value+": "+value+"}"
		}
		for given, wantChange := range map[string]bool{value: true, "null": false} {
			var c config
			app := (&Process{Dir: t.TempDir()}).newApplication(&c)
			if p.layout != "" {
				app.layout.name = p.layout
			}
			problems := app.readParameters(fmt.Sprintf(`[{"name": %q, %q: %s}]`, p.name, form, given))
			if changed := !reflect.DeepEqual(c, config{}); len(problems) > 0 || changed != wantChange {
				t.Errorf("%s is %s: changed is %v, %v", p.name, given, changed, problems)
			}
		}
	}
}

// functionConfigWith returns a functionConfig with one field.
func functionConfigWith(field, value string) string {
	parts := strings.Split("spec."+field, ".")
	return "apiVersion: preadmit.dev/v1alpha1\nkind: Preadmit\n" +
		strings.Join(parts, ": {") + ": " + value + strings.Repeat("}", len(parts)-1) + "\n"
}

// TestValues shows that the engine accepts exactly the values of the table.
func TestValues(t *testing.T) {
	for i := range options {
		o := &options[i]
		if len(o.values) == 0 || o.isSwitch() || o.stream {
			continue
		}
		for _, value := range o.values {
			var c config
			if err := o.set(&c, value, path{}); err != nil {
				t.Error(err)
			}
			if _, diagnostics := engine.Compile(nil, nil, c.engine); source.HasErrors(diagnostics) {
				t.Errorf("--%s %s: %v", o.flag, value, diagnostics)
			}
		}
		var c config
		*o.target(&c).(*string) = "other"
		if _, diagnostics := engine.Compile(nil, nil, c.engine); !source.HasErrors(diagnostics) {
			t.Errorf("the engine takes any value for %s", o.flag)
		}
	}
}

// TestOptionsPage compares the table of options in docs/options.md with the table in the code.
func TestOptionsPage(t *testing.T) {
	data, err := os.ReadFile("docs/options.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`([^`]+)`")
	var flags, fields, keys []string
	inTable := false
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 || strings.HasPrefix(cells[1], " option ") || strings.HasPrefix(cells[1], "---") {
			inTable = len(cells) >= 6 && (inTable || strings.HasPrefix(cells[1], " option "))
			continue
		}
		if !inTable {
			continue
		}
		for i, list := range []*[]string{&flags, &fields, &keys} {
			for _, m := range names.FindAllStringSubmatch(cells[2+i], -1) {
				*list = append(*list, m[1])
			}
		}
	}
	var wantFlags, wantFields, wantKeys []string
	for _, o := range optionsOf(commandNamed("render")) {
		if o.short != "" {
			wantFlags = append(wantFlags, "-"+o.short)
		}
		wantFlags = append(wantFlags, "--"+o.flag)
	}
	for _, o := range options {
		if o.field != "" {
			wantFields = append(wantFields, o.field)
		}
		if o.key != "" {
			wantKeys = append(wantKeys, o.key)
		}
	}
	for _, c := range []struct {
		what      string
		got, want []string
	}{{"flags", flags, wantFlags}, {"fields", fields, wantFields}, {"keys", keys, wantKeys}} {
		slices.Sort(c.got)
		slices.Sort(c.want)
		if !slices.Equal(c.got, c.want) {
			t.Errorf("docs/options.md has the %s %q, the code %q", c.what, c.got, c.want)
		}
	}
}

// TestOptionsPageView compares the flags of view in docs/options.md with the table in the code.
func TestOptionsPageView(t *testing.T) {
	data, err := os.ReadFile("docs/options.md")
	if err != nil {
		t.Fatal(err)
	}
	var flags []string
	for i := range options {
		if o := &options[i]; o.isViewFlag() && o.short != "" {
			flags = append(flags, "`-"+o.short+"`")
		} else if o.isViewFlag() {
			flags = append(flags, "`--"+o.flag+"`")
		}
	}
	last := len(flags) - 1
	want := "`view` has the flags " + strings.Join(flags[:last], ", ") + " and " + flags[last] + "."
	if !strings.Contains(strings.ReplaceAll(string(data), "\n", " "), want) {
		t.Errorf("docs/options.md should say: %s", want)
	}
}
