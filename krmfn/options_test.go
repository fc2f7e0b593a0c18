package krmfn

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/output"
	"github.com/preadmit/preadmit/internal/settings"
)

// sample returns a valid value of an option.
func sample(o *settings.Option) string {
	if len(o.Values) > 0 {
		return o.Values[0]
	}
	if o.Arg == "SIZE" {
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

// configOfFile returns the config of a configuration file with an option of a command.
func configOfFile(t *testing.T, command, name, value string) config {
	t.Helper()
	p := &Process{Dir: t.TempDir(), ledger: output.NewLedger()}
	makeFile(t, p.Dir, settings.FileName, fmt.Sprintf("commands: {%s: {%s: %s}}", command, name, value))
	given := arguments{command: command}
	if problems := p.configure(&given); len(problems) > 0 {
		t.Fatal(problems)
	}
	var c config
	given.apply(&c)
	return withoutOrigins(c)
}

func withoutOrigins(c config) config {
	c.given = arguments{}
	for role := range c.documents {
		for i, p := range c.documents[role].paths {
			c.documents[role].paths[i] = path{name: p.name}
		}
	}
	return c
}

// TestFaces shows that an option has the same effect as flag, in a configuration file, as field and as
// key, and that every command of
// the table exists.
func TestFaces(t *testing.T) {
	for i := range settings.Table {
		o := &settings.Table[i]
		if o.Flag == "" {
			continue
		}
		for _, name := range o.Commands {
			t.Run(name+" --"+o.Flag, func(t *testing.T) {
				c := commandNamed(name)
				if c == nil {
					t.Fatal("there is no such command")
				}
				text, value := sample(o), sample(o)
				if o.IsList() {
					value = "[" + value + "]"
				}
				args := []string{"--" + o.Flag + "=" + text}
				for needed := o.Needs; needed != ""; {
					other := settings.Find(needed, func(o *settings.Option) string { return o.Flag })
					args = append(args, "--"+needed+"="+sample(other))
					needed = other.Needs
				}
				given, err := parseFlags(c, args)
				if err == nil {
					err = given.complete()
				}
				if err != nil {
					t.Fatal(err)
				}
				var want config
				given.apply(&want)
				want = withoutOrigins(want)
				if reflect.DeepEqual(want, config{}) {
					t.Error("the flag does nothing")
				}
				if o.Field != "" {
					if got := configOf(t, functionConfigWith(o.Field, value)); !reflect.DeepEqual(got, want) {
						t.Errorf("the field gives %+v, the flag %+v", got, want)
					}
				}
				if o.Entry() != "" && o.Needs == "" && slices.Contains(configured(), name) {
					if got := configOfFile(t, name, o.Entry(), value); !reflect.DeepEqual(got, want) && (name != "test" || o.Files == 0) {
						t.Errorf("the file gives %+v, the flag %+v", got, want)
					}
				}
				if o.Key != "" {
					if got := configOf(t, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\ndata: {%s: %q}\n", o.Key, text)); !reflect.DeepEqual(got, want) {
						t.Errorf("the key gives %+v, the flag %+v", got, want)
					}
				}
			})
		}
	}
}

// TestMisspelt shows that a misspelt name of every option is refused with the correct one, as flag, field
// and key; and so is its name in another frontend, if nothing else here has a similar one.
func TestMisspelt(t *testing.T) {
	for i := range settings.Table {
		o := &settings.Table[i]
		for _, name := range o.Commands {
			wrong := o.Flag[:len(o.Flag)-1] + "zz"
			_, err := parseFlags(commandNamed(name), []string{"--" + wrong + "=x"})
			if want := "unknown flag --" + wrong + "; did you mean --"; len(o.Flag) > 3 && (err == nil || !strings.Contains(err.Error(), want+o.Flag)) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for field, text := range map[string]string{
			o.Field: functionConfigWith(o.Field+"z", "x"),
			o.Key:   "apiVersion: v1\nkind: ConfigMap\ndata: {" + o.Key + "z: x}\n",
		} {
			if field == "" {
				continue
			}
			stream, _ := manifest.Read("-", []byte(text))
			var c config
			f := (&Process{Dir: t.TempDir()}).readFunctionConfig(stream.Documents()[0], []byte(text), nil, &c)
			if len(f.diagnostics) != 1 || !strings.HasSuffix(f.diagnostics[0].Advice, field+"?") || !reflect.DeepEqual(c, config{}) {
				t.Errorf("%sz: %v", field, f.diagnostics)
			}
		}
	}
	flag := func(o *settings.Option) string { return "--" + o.Flag }
	for wrong, want := range map[string]string{"--policyPaths": "--policy", "--kubernetesVersion": "--kubernetes-version", "--asUid": "--as-uid"} {
		if got := settings.Nearest(wrong, flag); got != want {
			t.Errorf("%s: did you mean %q?", wrong, got)
		}
	}
}

// TestParameters shows that every parameter of an Argo CD application has an effect in its announced
// form, and no effect if it is cleared.
func TestParameters(t *testing.T) {
	for _, p := range parameters {
		form, value := "string", `"true"`
		switch p.target(new(config)).(type) {
		case *[]path:
			form, value = "array", "["+value+"]"
		case *map[string]string:
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
	for i := range settings.Table {
		o := &settings.Table[i]
		if len(o.Values) == 0 || o.IsSwitch() || !slices.Contains(o.Commands, "fn") {
			continue
		}
		for _, value := range o.Values {
			var c settings.Config
			if err := o.Set(&c, value); err != nil {
				t.Error(err)
			}
			if _, diagnostics := engine.Compile(nil, nil, c.Engine); source.HasErrors(diagnostics) {
				t.Errorf("--%s %s: %v", o.Flag, value, diagnostics)
			}
		}
		var c settings.Config
		*o.Target(&c).(*string) = "other"
		if _, diagnostics := engine.Compile(nil, nil, c.Engine); !source.HasErrors(diagnostics) {
			t.Errorf("the engine takes any value for %s", o.Flag)
		}
	}
}
