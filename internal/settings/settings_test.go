package settings

import (
	"reflect"
	"testing"

	"github.com/preadmit/preadmit/engine"
)

// TestTable shows that every option has names that no other has, a type that all frontends can
// parse, and a field of the engine's options for itself.
func TestTable(t *testing.T) {
	names, targets := map[string]bool{"": true}, map[any]bool{}
	var given engine.Options
	for _, o := range Table {
		for kind, name := range map[string]string{"flag ": o.Flag, "field ": o.Field, "key ": o.Key, "attribute ": o.Attribute} {
			if name != "" && names[kind+name] {
				t.Errorf("there are two options with the %s%s", kind, name)
			}
			names[kind+name] = true
		}
		target := o.Target(&given)
		if targets[target] {
			t.Errorf("%s%s: another option sets the same field", o.Flag, o.Field)
		}
		targets[target] = true
		if o.Help == "" || (o.Attribute != "") != (o.AttributeHelp != "") {
			t.Errorf("%s%s: a text is missing", o.Flag, o.Field)
		}
		switch target.(type) {
		case *string, *bool, *[]string:
			value := "a,b"
			if len(o.Values) > 0 {
				value = o.Values[0]
			}
			if !Set(target, value, o.Separated) || reflect.ValueOf(target).Elem().IsZero() {
				t.Errorf("%s%s: the value %s has no effect", o.Flag, o.Field, value)
			}
		case *map[string][]string:
		default:
			t.Errorf("%s%s: no frontend can parse a %T", o.Flag, o.Field, target)
		}
	}
}
