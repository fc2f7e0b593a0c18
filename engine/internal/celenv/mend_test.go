package celenv

import (
	"errors"
	"testing"

	"github.com/preadmit/preadmit/engine/source"
)

// TestMend checks what is proposed for expressions that do not compile. An empty proposal means that only the writer
// knows what was meant.
func TestMend(t *testing.T) {
	for expression, want := range map[string]string{
		`objct.spec.x == objct.spec.y`:     `object.spec.x == object.spec.y`,
		`objct.a && request.operatoin`:     `object.a && request.operatoin`,
		`request.operatoin == "CREATE"`:    `request.operation == "CREATE"`,
		`namespaceObject.metadata.lables`:  `namespaceObject.metadata.labels`,
		`variables.tem`:                    `variables.team`,
		`team == "a"`:                      `variables.team == "a"`,
		`spec.replicas > 1`:                `object.spec.replicas > 1`,
		`param.x`:                          `params.x`,
		`hass(object.x)`:                   `has(object.x)`,
		`object.name.startWith("b")`:       `object.name.startsWith("b")`,
		`object.name . startWith ("b")`:    `object.name . startsWith ("b")`,
		`object.list.al(x, x > 1)`:         `object.list.all(x, x > 1)`,
		`object.l.all(item, itm > 1)`:      `object.l.all(item, item > 1)`,
		`object.l.all(item, 1 > 2) || itm`: ``,
		`sets.contain([1], [2])`:           `sets.contains([1], [2])`,
		`quantty("1") == 1`:                `quantity("1") == 1`,
		`object.x.sise() + "a"`:            `object.x.size() + "a"`,
		`quantty("1")`:                     `quantity("1")`,
		`Objct.spec{a: 1}`:                 `Object.spec{a: 1}`,
		`Object.spec{a: Objec.spec.b{}}`:   `Object.spec{a: Object.spec.b{}}`,
		`JSONPach{op: "add"}`:              `JSONPatch{op: "add"}`,
		`JSONPatch{opp: "add"}`:            `JSONPatch{op: "add"}`,
		`type(object.x) == strin`:          `type(object.x) == string`,
		`"objct" + objct.é`:                ``,
		`"é objct" == objct.x`:             `"é objct" == object.x`,

		`Object{metadata: ObjectMeta{labels: {"a": "b"}}}`:                   `Object{metadata: Object.metadata{labels: {"a": "b"}}}`,
		`Object{spec: Object.spec{template: PodTemplate{spec: Object.x{}}}}`: `Object{spec: Object.spec{template: Object.spec.template{spec: Object.x{}}}}`,
		`Object{spec: Spec{containers: [Container{name: "a"}]}}`:             ``,
		`Object{spec: Object.spec{containers: [true ? C{a: 1} : C{a: 2}]}}`:  `Object{spec: Object.spec{containers: [true ? Object.spec.containers{a: 1} : Object.spec.containers{a: 2}]}}`,
		`Object{spec: Object.spec{list: object.l.map(i, Item{name: i})}}`:    `Object{spec: Object.spec{list: object.l.map(i, Object.spec.list{name: i})}}`,
		`Object{spec: Object.spec{a: {"b": Item{}}}}`:                        ``,

		`[{"op": "add", "path": "/a", "value": "b"}]`:          `[JSONPatch{op: "add", path: "/a", value: "b"}]`,
		`[{'op': "add", r"path": "/a", "value": 1}]`:           `[{'op': dyn("add"), r"path": dyn("/a"), "value": dyn(1)}]`,
		`[{"op": "add", "path": "/a", "value": {"b": 1}}]`:     `[JSONPatch{op: "add", path: "/a", value: {"b": 1}}]`,
		`object.l.map(i, {"op": "remove", "path": "/a/" + i})`: `object.l.map(i, JSONPatch{op: "remove", path: "/a/" + i})`,
		`[{"op": "add", "path": "/a", "valeu": "b"}]`:          ``,
		`{"op": "add", "path": "/a", "value": "b"}`:            `[JSONPatch{op: "add", path: "/a", value: "b"}]`,
		`JSONPatch{op: "remove", path: "/a"}`:                  `[JSONPatch{op: "remove", path: "/a"}]`,

		`[1, "a"]`:                             `[dyn(1), dyn("a")]`,
		`[object.x, "a", [1, 2]]`:              `[object.x, dyn("a"), dyn([1, 2])]`,
		`[dyn(1), "a"]`:                        `[dyn(1), dyn("a")]`,
		`[ (1 + 2) , object.a ? "," : "]" ,]`:  `[ dyn((1 + 2)) , dyn(object.a ? "," : "]") ,]`,
		`{"a": 1, "b": {"c": 1, "d": 2}}`:      `{"a": dyn(1), "b": dyn({"c": 1, "d": 2})}`,
		`{"a": {"b": 1}, "c": {"d": "x"}}`:     `{"a": dyn({"b": 1}), "c": dyn({"d": "x"})}`,
		`object.l.map(i, {"a": 1, "b": i})`:    `object.l.map(i, {"a": dyn(1), "b": i})`,
		`{"a": true ? 1 : 2, ?"b": object.?x}`: `{"a": dyn(true ? 1 : 2), ?"b": object.?x}`,
		`{"a": [1, "b"]}`:                      `{"a": [dyn(1), dyn("b")]}`,
		`{"a": 1, 2: 3}`:                       ``,
		`[size(true ? "a" : 1)]`:               `[size(true ? dyn("a") : dyn(1))]`,
		`[true ? (false ? 1 : 2) : "a"]`:       `[true ? dyn((false ? 1 : 2)) : dyn("a")]`,
		`true ? 1 : object.x ? "a" : "b"`:      `true ? dyn(1) : dyn(object.x ? "a" : "b")`,
		`[?object.?x, 1]`:                      `[?object.?x, dyn(1)]`,
		`[]+[1,'a']`:                           `[]+[dyn(1),dyn('a')]`,

		`nope`: ``, `Object{a: nope}`: ``, `foo.bar`: ``, `1 + "a"`: ``, `object.`: ``, ``: ``, `object.x.lowerAscii(1)`: ``,
	} {
		s := New(36).Scope(true)
		if err := s.Variable("team", "object.metadata.name"); err != nil {
			t.Fatal(err)
		}
		for _, space := range []string{"", " \n "} {
			_, err := s.JSONPatch(space + expression + space)
			var e *CompileError
			got := ""
			if errors.As(err, &e) && len(e.Mend.Changes) > 0 {
				got = source.Changed(space+expression+space, e.Mend.Changes)
			}
			if want != "" && got != space+want+space || want == "" && got != "" {
				t.Errorf("%s: want %s, got %s: %v", expression, want, got, err)
			}
		}
	}
}

// TestRetype checks what is proposed for expressions whose results are of another type than is wanted.
func TestRetype(t *testing.T) {
	scope := New(36).Scope(false)
	for _, c := range []struct {
		compile              func(string) (*Program, error)
		expression           string
		wantAdvice, wantText string
	}{
		{scope.ApplyConfiguration, `{"metadata": {"labels": {"a": "b"}}}`, "write Object{…} in place of the map", `Object{metadata: {"labels": {"a": "b"}}}`},
		{scope.ApplyConfiguration, `{"a-b": 1}`, "", ""},
		{scope.ApplyConfiguration, `[JSONPatch{op: "remove", path: "/a"}]`, "write it in jsonPatch, with patchType: JSONPatch", ""},
		{scope.JSONPatch, ` Object{}`, "write it in applyConfiguration, with patchType: ApplyConfiguration", ""},
		{scope.JSONPatch, `[]`, "", ""},
		{scope.Condition, ` object.spec.x `, "add == true if the field is a bool", ` object.spec.x == true `},
		{scope.Condition, `object.spec.x ? 1 : 2`, "", ""},
		{scope.Condition, `request.operation`, "", ""},
		{scope.Message, `1 + 2`, "write string() around it", `string(1 + 2)`},
		{scope.Message, `[1]`, "", ""},
	} {
		_, err := c.compile(c.expression)
		var e *CompileError
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", c.expression, err)
			continue
		}
		text := ""
		if len(e.Mend.Changes) > 0 {
			text = source.Changed(c.expression, e.Mend.Changes)
			if _, err := c.compile(text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		if e.Mend.Advice != c.wantAdvice || text != c.wantText {
			t.Errorf("%s: got %q, %s", c.expression, e.Mend.Advice, text)
		}
	}
}

// TestUnnested checks how Objects in lists and maps become maps.
func TestUnnested(t *testing.T) {
	for expression, want := range map[string]string{
		`[JSONPatch{op: "add", path: "/a", value: [Object.a{name: "x", "": 1}]}]`:                                   ``,
		`[JSONPatch{op: "add", path: "/a", value: [Object.a{name: "x", image: object.b}]}]`:                         `[JSONPatch{op: "add", path: "/a", value: [{"name": dyn("x"), "image": object.b}]}]`,
		`[JSONPatch{op: "add", path: "/a", value: object.l.map(i, Object.a . b {c: Object.a.b.c{d: i} , e: [] })}]`: `[JSONPatch{op: "add", path: "/a", value: object.l.map(i, {"c": dyn({"d": dyn(i)}) , "e": dyn([]) })}]`,
		`[JSONPatch{op: "add", path: "/a", value: {"x": Object{a: dyn(1)}, "y": Object{}}}]`:                        `[JSONPatch{op: "add", path: "/a", value: {"x": {"a": dyn(1)}, "y": {}}}]`,
		`[JSONPatch{op: "add", path: "/a", value: Object.a{b: [Object.a.b{c: 1}]}}]`:                                ``,
		`[JSONPatch{op: "add", path: "/a", value: variables.x}]`:                                                    ``,
	} {
		got := ""
		if m := New(36).Unnested(expression); len(m.Changes) > 0 {
			got = source.Changed(expression, m.Changes)
			if _, err := New(36).Scope(false).JSONPatch(got); err != nil {
				t.Errorf("%s: %v", got, err)
			}
		}
		if got != want {
			t.Errorf("%s: want %s, got %s", expression, want, got)
		}
	}
}
