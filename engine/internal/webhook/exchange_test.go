package webhook

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
)

// copies answers with a label that the value of a Secret decides.
type copies struct{ label func(value string) string }

func (copies) Answers(policy.WebhookName) bool { return true }

func (c copies) Answer(_ context.Context, call policy.Call) (policy.Answer, error) {
	value, _ := change.Keys("request", "object", "data", "a").Get(call.Review)
	patch := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `[{"op":"add","path":"/metadata/labels","value":{"x":%q}}]`, c.label(value.(string))))
	return policy.Answer{Body: fmt.Appendf(nil, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":true,"patch":%q}}`, uidOf(call.Review), patch)}, nil
}

// TestCollisions records two requests that differ only in values of Secrets: once if the answers are the same,
// and not at all if they are not, or if one of them has a value.
func TestCollisions(t *testing.T) {
	for name, c := range map[string]struct {
		label            func(string) string
		answers, omitted int
	}{
		"same":         {func(string) string { return "same" }, 1, 0},
		"different":    {func(value string) string { return strings.Map(func(r rune) rune { return 'm' + r%7 }, value)[:2] }, 0, 2},
		"one is there": {func(value string) string { return map[bool]string{true: value, false: "none"}[value == "Zmlyc3Q="] }, 0, 2},
	} {
		recorder := NewRecorder(copies{c.label})
		for i, value := range []string{"first", "second"} {
			object := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}, "data": map[string]any{"a": base64.StdEncoding.EncodeToString([]byte(value))}}
			secrets := &redact.Redactor{}
			secrets.Learn(object)
			request := map[string]any{"uid": fmt.Sprint(i), "operation": "CREATE", "kind": map[string]any{"kind": "Secret"}, "object": object}
			review := map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
			if _, err := recorder.Answer(context.Background(), policy.Call{Webhook: policy.WebhookName{Configuration: "c", Name: "w"}, Review: review, Secrets: secrets}); err != nil {
				t.Fatal(err)
			}
		}
		document, omitted := recorder.Document(&redact.Redactor{})
		if n := strings.Count(string(document), "request:"); n != c.answers || len(omitted) != c.omitted {
			t.Errorf("%s: %d answers, not recorded: %q\n%s", name, n, omitted, document)
		}
		if open, omitted := recorder.Document(nil); strings.Count(string(open), "request:") != 2 || len(omitted) > 0 {
			t.Errorf("%s: with values:\n%s", name, open)
		}
	}
}
