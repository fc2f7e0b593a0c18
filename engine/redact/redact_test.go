package redact

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/source"
)

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestMask(t *testing.T) {
	var m Redactor
	m.Learn(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "not secret"}})
	m.Learn(map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"data":       map[string]any{"a": encode("decoded value"), "b": nil, "c": "not base64 at all!"},
		"stringData": map[string]any{"d": "first line\nsecond \"line\"\n", "e": "short"},
	})
	for text, want := range map[string]string{
		"the decoded value":                        "the *****",
		"the " + encode("decoded value"):           "the *****",
		"path /a/not base64 at all!/b":             "path /a/*****/b",
		`a "first line\nsecond \"line\"\n" quoted`: `a "*****" quoted`,
		"only its second \"line\"":                 "only its *****",
		encode("first line\nsecond \"line\"\n"):    "*****",
		"short, and not secret":                    "short, and not secret",
	} {
		if got := m.masked(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if got := m.holds(text); got != strings.Contains(want, Mask) {
			t.Errorf("%q: holds is %v", text, got)
		}
	}
	if got := new(Redactor).masked("decoded value"); got != "decoded value" {
		t.Errorf("the zero Mask hides: %s", got)
	}
}

func TestScope(t *testing.T) {
	object := map[string]any{"data": map[string]any{"a": encode("x1"), "b": ""}, "stringData": map[string]any{"c": int64(7)}}
	for text, want := range map[string]bool{"it is x1": true, encode("x1"): true, "7 of them": true, "nothing": false} {
		if got := (Scope{Objects: []*Objects{NewObjects(nil, object)}}).holds(text); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// TestNames checks that names are shown even if they contain a value by chance, also in the text of
// manifests, and that values beside them are not.
func TestNames(t *testing.T) {
	r := &Redactor{}
	r.Learn(map[string]any{"kind": "Secret", "stringData": map[string]any{"a": "accounts"}})
	if got := r.Name("ConfigMap/default/accounts-config"); got != "ConfigMap/default/accounts-config" {
		t.Errorf("the name is %s", got)
	}
	for _, c := range [][2]string{
		{
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: accounts-config, labels: {a: accounts}} # accounts\ndata: {accounts: b}\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: accounts-config, labels: {a: \"*****\"}} # *****\ndata: {\"*****\": b}\n",
		},
		{
			"# accounts\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {namespace: accounts, name: \"accounts\"}}\n- kind: ConfigMap\n  apiVersion: v1\n  metadata:\n    name: accounts\n    annotations: {a: x-accounts}\n",
			"# *****\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {namespace: accounts, name: \"accounts\"}}\n- kind: ConfigMap\n  apiVersion: v1\n  metadata:\n    name: accounts\n    annotations: {a: \"*****\"}\n",
		},
	} {
		if got := r.Manifests(Manifests{Name: "-", Text: c[0]}); got != c[1] {
			t.Errorf("got\n%swant\n%s", got, c[1])
		}
	}
}

// TestUnreadable checks that a document that cannot be read is hidden, and nothing else, and that the
// number of lines stays.
func TestUnreadable(t *testing.T) {
	const fine, broken = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "kind: Secret\n\ndata: {a: b, a: c}\n"
	for _, c := range [][2]string{
		{fine + "---\n" + broken + "---\n" + fine, fine + "---\n# *****\n\n# *****\n---\n" + fine},
		{broken + "--- # c\n" + fine, "# *****\n\n# *****\n--- # c\n" + fine},
		{"{\"kind\": \"Secret\", \"a\n" + fine, "# *****\n# *****\n# *****\n# *****\n"},
		{fine, fine},
	} {
		if got := new(Redactor).Manifests(Manifests{Name: "-", Text: c[0]}); got != c[1] {
			t.Errorf("got\n%swant\n%s", got, c[1])
		}
	}
	if got := (*Redactor)(nil).Manifests(Manifests{Text: broken}); got != broken {
		t.Errorf("a nil Redactor hides: %s", got)
	}
}

// TestScopes checks which parts of a message are left out.
func TestScopes(t *testing.T) {
	message := source.Messagef("%s denied %s: %v, %v", source.Name("x1"), source.Literal("x1"), errors.New("no x1"), source.Derive(errors.New("sum")))
	secret := map[string]any{"stringData": map[string]any{"a": "x1"}}
	for name, c := range map[string]struct {
		scope Scope
		want  string
	}{
		"no object":      {Scope{}, "x1 denied x1: no x1, sum"},
		"another object": {Scope{Objects: []*Objects{NewObjects(map[string]any{"data": map[string]any{"a": "y1"}})}}, "x1 denied x1: no x1, " + leftOut},
		"the object":     {Scope{Objects: []*Objects{NewObjects(secret)}}, "x1 denied x1: " + leftOut + ", " + leftOut},
		"all":            {Scope{All: true}, "x1 denied x1: " + allLeftOut + ", " + allLeftOut},
	} {
		err := c.scope.Error(fmt.Errorf("wrapped: %w", message))
		if want := "wrapped: " + c.want; name != "all" && err.Error() != want || !errors.Is(err, error(message)) {
			t.Errorf("%s: got %q, want %q", name, err, want)
		}
		if got := new(Redactor).Reason(c.scope.Reason(message)); got != c.want {
			t.Errorf("%s: the reason is %q, want %q", name, got, c.want)
		}
	}
}
