package settings

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// TestTable shows that every option has names that no other has, a type that all frontends can
// parse, a text for each frontend, and a value of the config for itself.
func TestTable(t *testing.T) {
	names, targets := map[string]bool{}, map[any]bool{}
	add := func(kind, name string) {
		if name != "" && names[kind+name] {
			t.Errorf("there are two options with the %s %s", kind, name)
		}
		names[kind+name] = true
	}
	var given Config
	for i := range Table {
		o := &Table[i]
		add("field", o.Field)
		add("key", o.Key)
		for _, command := range o.Commands {
			add(command+" --", o.Flag)
			add(command+" -", o.Short)
		}
		for _, scope := range []Scope{DataSource, Functions} {
			if o.Attribute != "" && (o.Only == 0 || o.Only == scope) {
				add(fmt.Sprintf("attribute in %d:", scope), o.Attribute)
			}
		}
		if (o.Flag+o.Field+o.Key != "") != (o.Help != "") || (o.Attribute != "") != (o.AttributeHelp != "") || (o.Flag != "") != (len(o.Commands) > 0) {
			t.Errorf("%s%s: a text or the commands are missing", o.Flag, o.Field)
		}
		if o.Files != 0 || o.Texts != 0 {
			if o.Target != nil || o.Files != 0 && o.Texts != 0 {
				t.Errorf("%s%s: documents have no other value", o.Flag, o.Field)
			}
			continue
		}
		target := o.Target(&given)
		if targets[target] && o.Flag != "output" {
			t.Errorf("%s%s: another option sets the same field", o.Flag, o.Field)
		}
		targets[target] = true
		value := "a,b"
		switch {
		case o.Arg == "SIZE":
			value = "1Mi"
		case len(o.Values) > 0:
			value = o.Values[0]
		}
		if _, isMap := target.(*map[string][]string); isMap {
			continue
		}
		if err := o.Set(&given, value); err != nil || reflect.ValueOf(target).Elem().IsZero() {
			t.Errorf("%s%s: the value %s has no effect: %v", o.Flag, o.Field, value, err)
		}
	}
	if want := []string{"a", "b"}; !slices.Equal(given.Engine.AdmissionPlugins, want) {
		t.Errorf("plug-ins are %q", given.Engine.AdmissionPlugins)
	}
}
