package celenv

import (
	"errors"
	"testing"

	"github.com/preadmit/preadmit/engine/internal/celenv/syntax"
	"github.com/preadmit/preadmit/engine/source"
)

// FuzzMend spoils expressions: a part is left out, doubled, or replaced by another one. Whatever is proposed changes the
// text in order, and leaves no more errors than there are: the changed text compiles, or has another error.
func FuzzMend(f *testing.F) {
	expressions := []string{
		`object.metadata.labels.all(k, k.startsWith("a") && object.spec.replicas >= 3)`,
		`has(object.spec) ? object.spec.list.map(i, {"a": i, "b": [1, 2]}) : []`,
		`[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b"), value: {?"a": object[?"x"], "b": "c"}}]`,
		`Object{metadata: Object.metadata{labels: {"team": string(params.team)}}, spec: Object.spec{a: -1, b: !true}}`,
		`request.operation == "CREATE" || variables.team != r'é\d' && !(1 in [1, 2u, 3.5])`,
		`object.a.exists(x, x == "b") && size(object.l[0].m) <= 2 ? "a" : 'b'`,
	}
	for i, expression := range expressions {
		for part := range syntax.Parts(expression) {
			f.Add(expression, uint16(part), byte(0), uint16(0))
			f.Add(expression, uint16(part), byte(1), uint16(0))
			f.Add(expression, uint16(part), byte(2), uint16(part*7+i))
		}
	}
	words := []string{"=", "and", ";", "(", "}", "&", "len", "None", ".", "?", ":", `"`, "dyn(x)[?0]", "é", "//", "object"}
	scope := New(36).Scope(true)
	f.Fuzz(func(t *testing.T, expression string, at uint16, how byte, with uint16) {
		parts := syntax.Parts(expression)
		if len(parts) == 0 || len(expression) > 500 {
			return
		}
		p := parts[int(at)%len(parts)]
		word := ""
		switch how % 3 {
		case 1:
			word = expression[p.Start:p.End] + " " + expression[p.Start:p.End]
		case 2:
			word = words[int(with)%len(words)]
		}
		text := expression[:p.Start] + word + expression[p.End:]
		for _, compile := range []func(string) (*Program, error){scope.JSONPatch, scope.ApplyConfiguration} {
			_, err := compile(text)
			var e *CompileError
			if !errors.As(err, &e) {
				continue
			}
			end := 0
			for _, c := range e.Mend.Changes {
				if c.From < end || c.To < c.From || c.To > len(text) {
					t.Fatalf("%s: changes %v", text, e.Mend.Changes)
				}
				end = c.To
			}
			if len(e.Mend.Changes) == 0 {
				continue
			}
			changed := source.Changed(text, e.Mend.Changes)
			_, err = compile(changed)
			var left *CompileError
			if errors.As(err, &left) && left.Text == e.Text {
				t.Errorf("%s\nbecomes\n%s\nwith the same error: %s", text, changed, left.Text)
			}
		}
	})
}
