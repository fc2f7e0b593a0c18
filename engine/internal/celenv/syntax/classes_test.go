package syntax

import (
	"fmt"
	"strings"
	"testing"
)

func TestParts(t *testing.T) {
	for text, want := range map[string]string{
		`object.spec.replicas < 5`:           `variable:object operator:. property:spec operator:. property:replicas operator:< number:5`,
		`Object{spec: Object.spec{a: true}}`: `type:Object operator:{ property:spec operator:: type:Object operator:. type:spec operator:{ property:a operator:: keyword:true operator:} operator:}`,
		`x.all(c, c.name in ['é'])`:          `variable:x operator:. function:all operator:( variable:c operator:, variable:c operator:. property:name keyword:in operator:[ string:'é' operator:] operator:)`,
		`has(a) && "open`:                    `function:has operator:( variable:a operator:) operator:&& variable:open`,
		`a // why` + "\n+ 1u":                `variable:a operator:+ number:1u`,
	} {
		var got []string
		for _, p := range Parts(text) {
			got = append(got, fmt.Sprint(p.Class, ":", text[p.Start:p.End]))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s:\n%s, expected\n%s", text, strings.Join(got, " "), want)
		}
	}
}
