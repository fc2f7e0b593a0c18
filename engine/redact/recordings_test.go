package redact

import (
	"encoding/base64"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
)

// TestRecorded masks objects for a recording: the data of a Secret whatever its size, and values of six
// bytes or more in other texts, except names.
func TestRecorded(t *testing.T) {
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	r := &Redactor{}
	r.Learn(map[string]any{"kind": "Secret", "data": map[string]any{"long": encode("canary-value"), "word": encode("default"), "short": encode("abc"), "lines": encode("first line\nsecond line\n")}})
	for _, c := range []struct{ object, want map[string]any }{
		{
			map[string]any{"kind": "Secret", "metadata": map[string]any{"name": "abc", "labels": map[string]any{"a": "abc", "b": "canary-value"}}, "data": map[string]any{"short": encode("abc")}, "immutable": true},
			map[string]any{"kind": "Secret", "metadata": map[string]any{"name": "abc", "labels": map[string]any{"a": "abc", "b": Mask}}, "data": map[string]any{"short": Mask}, "immutable": true},
		},
		{
			map[string]any{"kind": "Pod", "metadata": map[string]any{"name": "canary-value", "namespace": "default"}, "spec": map[string]any{"env": []any{"a=canary-value&b=1", encode("canary-value"), "second line", "abc", int64(7)}}},
			map[string]any{"kind": "Pod", "metadata": map[string]any{"name": "canary-value", "namespace": "default"}, "spec": map[string]any{"env": []any{"a=" + Mask + "&b=1", Mask, Mask, "abc", int64(7)}}},
		},
		{map[string]any{"kind": "Pod", "x": map[string]any{"canary-value": "y"}}, map[string]any{"kind": "Pod", "x": map[string]any{Mask: "y"}}},
	} {
		if got := r.Recorded(c.object); !change.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		} else if r.Holds(WithoutNames(got)) {
			t.Errorf("%v still holds a value", got)
		}
	}
	if object := map[string]any{"kind": "Secret", "data": map[string]any{"a": "b"}}; !change.Equal((*Redactor)(nil).Recorded(object), object) {
		t.Error("nil hides a value")
	}
}

// TestHolds finds values within JSON and base64.
func TestHolds(t *testing.T) {
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	secret := map[string]any{"kind": "Secret", "data": map[string]any{"long": encode("canary-value"), "short": encode("abc"), "tiny": encode("a")}}
	r, own := &Redactor{}, NewObjects(secret)
	r.Learn(secret)
	for _, c := range []struct {
		value     any
		any, ofIt bool
	}{
		{"a canary-value here", true, true},
		{map[string]any{"canary-value": true}, true, true},
		{[]any{encode(`[{"op":"add","value":"canary-value"}]`)}, true, true},
		{`{"patch":"` + encode(`[{"value":"canary-value"}]`) + `"}`, true, true},
		{"xabcx", false, true},
		{"a", false, true},
		{encode(`{"x":"a"}`), false, true},
		{"a longer text with one byte", false, false},
		{map[string]any{"x": int64(12), "y": nil, "z": false}, false, false},
	} {
		if got := r.Holds(c.value); got != c.any {
			t.Errorf("%v: the redactor says %v", c.value, got)
		}
		if got := own.In(c.value); got != c.ofIt {
			t.Errorf("%v: the Secret says %v", c.value, got)
		}
	}
	if (&Redactor{}).Holds("text") || NewObjects().In("text") {
		t.Error("nothing is hidden, and something is found")
	}
}
