package mutationtree

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
)

// escape returns the tree that replaces anything by a literal value.
func escape(value any) any {
	switch value := value.(type) {
	case map[string]any:
		escaped := make(map[string]any, len(value))
		for key, item := range value {
			if replaceSyntax().MatchString(key) {
				key = `\` + key + `\`
			} else {
				key = escapeText(key)
			}
			escaped[key] = escape(item)
		}
		return escaped
	case []any:
		escaped := make([]any, len(value))
		for i, item := range value {
			escaped[i] = escape(item)
		}
		return escaped
	case string:
		return escapeText(value)
	}
	return value
}

func escapeText(text string) string {
	if expressionSyntax().MatchString(text) || escapeSyntax().MatchString(text) {
		return `\` + text + `\`
	}
	return text
}

// merged returns M(value, tree) for a tree without expressions; ok is false if the tree has
// expressions, or is malformed.
func merged(t *testing.T, value, with any) (result any, ok bool) {
	t.Helper()
	c := &compiler{}
	defer func() {
		if recover() != nil { // a diagnostic needs a document, and there is no document
			result, ok = nil, false
		}
	}()
	compiled := c.parseTree(with, languageJP, nil)
	if !isLiteral(compiled) {
		return nil, false
	}
	e := &evaluation{ctx: context.Background()}
	result, keep, err := e.merge(compiled, value, true)
	if err != nil || !keep {
		t.Fatalf("keep %v, error %v", keep, err)
	}
	return result, true
}

func isLiteral(t tree) bool {
	if t.scalar != nil {
		_, ok := t.scalar.(literal)
		return ok
	}
	if t.fields != nil {
		for _, f := range *t.fields {
			if !isLiteral(f.tree) {
				return false
			}
		}
	}
	if t.items != nil {
		for _, item := range *t.items {
			if !isLiteral(item) {
				return false
			}
		}
	}
	return true
}

// FuzzLaws checks the laws of the package: M(x, {}) = x, M(x, esc(x)) = x, and M(M(x, t), t) =
// M(x, t).
func FuzzLaws(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"a":null}`, `{"a":{"b":null,"c":[{"d":null}]}}`, `{"[a]":{"b":1}}`, `{"[a]":null}`, `{"\\[a]\\":1}`,
		`{"a":"\\(x)\\"}`, `{"a":"(x)"}`, `{"a":[1,2.5,true,"x",null,{}]}`, `{"a":{},"b":[]}`, `{"a":"x","[b]":[{"[c]":1}]}`,
		`{"\\\\x\\\\":"\\\\x\\\\"}`, `{"(x)":1}`, `{"a":{"b":{"c":{"d":null}}}}`,
	} {
		for _, other := range []string{`{"a":{"b":1,"c":[1],"n":null}}`, `{"a":null,"b":"x"}`, `{"[a]":"(x)","\\x\\":"\\(x)\\"}`} {
			f.Add(text, other)
		}
	}
	f.Fuzz(func(t *testing.T, text, other string) {
		var x, tree any
		if json.Unmarshal([]byte(text), &x) != nil || json.Unmarshal([]byte(other), &tree) != nil {
			return
		}
		if _, ok := x.(map[string]any); !ok {
			return
		}
		if _, ok := tree.(map[string]any); !ok {
			return
		}
		if got, ok := merged(t, x, map[string]any{}); !ok || !change.Equal(got, x) {
			t.Errorf("M(x, {}) is not x: %s", encode(t, got))
		}
		if got, ok := merged(t, x, escape(x)); !ok || !change.Equal(got, x) {
			t.Errorf("M(x, esc(x)) is not x: %s", encode(t, got))
		}
		once, ok := merged(t, x, tree)
		if !ok {
			return
		}
		if twice, _ := merged(t, once, tree); !change.Equal(once, twice) {
			t.Errorf("M(M(x, t), t) is not M(x, t):\n%s\n%s", encode(t, once), encode(t, twice))
		}
		checkRemoved(t, tree.(map[string]any), once.(map[string]any), x.(map[string]any))
	})
}

// checkRemoved checks that null removes: a key that is null in the tree has no value in the
// result, unless it was null before.
func checkRemoved(t *testing.T, tree, result, before map[string]any) {
	for key, value := range tree {
		if replaceSyntax().MatchString(key) || escapeSyntax().MatchString(key) {
			continue
		}
		old, given := before[key]
		switch value := value.(type) {
		case nil:
			if got, there := result[key]; there && (got != nil || !given || old != nil) {
				t.Errorf("%s is null in the tree and %v in the result", key, got)
			}
		case map[string]any:
			within, _ := old.(map[string]any)
			checkRemoved(t, value, result[key].(map[string]any), within)
		}
	}
}

// FuzzExpression checks that no expression, with any value, makes the process fail, and that the
// result is the same every time.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{"@", "a.b[?c > `1`] | [0]", "sort_by(@, &a)", "let $x = a in $x.*", "to_number(@)", "join(',', keys(@))", "a[::-1]", "-a // `2`", "group_by(@, &a)", "zip(@, @)", "max_by(@, &@)", "$payload.a", "items(@)[*][1]"} {
		for _, value := range []string{`{"a":1,"b":[1,"x",null]}`, `[{"a":"x"},{"a":"y"}]`, `null`, `"text"`, `3.5`} {
			f.Add(text, value)
		}
	}
	f.Fuzz(func(t *testing.T, text, data string) {
		var value any
		if len(text) > 200 || json.Unmarshal([]byte(data), &value) != nil {
			return
		}
		e, problems := compileJMESPath(text)
		for _, p := range problems {
			if p.Offset < 0 || p.Offset > len(text) || p.Text == "" {
				t.Errorf("offset %d, %q", p.Offset, p.Text)
			}
		}
		if problems != nil {
			return
		}
		var b *bindings
		b = b.with("$payload", value)
		first, err := e.evaluate(context.Background(), value, b)
		if err != nil {
			return
		}
		for range 3 {
			if again, err := e.evaluate(context.Background(), value, b); err != nil || !change.Equal(first, again) {
				t.Fatalf("%s gives %v, then %v (%v)", text, first, again, err)
			}
		}
	})
}
