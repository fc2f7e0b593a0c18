package secret

import (
	"encoding/base64"
	"strings"
	"testing"
)

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestMask(t *testing.T) {
	var m Mask
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
		if got := m.Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if got := m.Holds(text); got != strings.Contains(want, Masked) {
			t.Errorf("%q: holds is %v", text, got)
		}
	}
	if got := new(Mask).Text("decoded value"); got != "decoded value" {
		t.Errorf("the zero Mask hides: %s", got)
	}
}

func TestHoldsAny(t *testing.T) {
	object := map[string]any{"data": map[string]any{"a": encode("x1"), "b": ""}, "stringData": map[string]any{"c": int64(7)}}
	for text, want := range map[string]bool{"it is x1": true, encode("x1"): true, "7 of them": true, "nothing": false} {
		if got := HoldsAny(text, nil, object); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
