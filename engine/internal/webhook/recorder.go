package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	kjson "sigs.k8s.io/json"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
)

// Recorder records the answers of another answerer.
type Recorder struct {
	answerer policy.Answerer

	mu        sync.Mutex
	webhooks  map[name]bool
	exchanges map[string]*exchange
	// learned has the values of all calls of Document.
	learned *redact.Redactor
}

var _ policy.Answerer = (*Recorder)(nil)

// NewRecorder returns a recorder of an answerer.
func NewRecorder(answerer policy.Answerer) *Recorder {
	return &Recorder{answerer: answerer, webhooks: map[name]bool{}, exchanges: map[string]*exchange{}}
}

// Answers implements policy.Answerer.
func (r *Recorder) Answers(w policy.WebhookName) bool {
	answers := r.answerer.Answers(w)
	if answers {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.webhooks[nameOf(w)] = true
	}
	return answers
}

// Answer implements policy.Answerer.
func (r *Recorder) Answer(ctx context.Context, c policy.Call) (policy.Answer, error) {
	answer, err := r.answerer.Answer(ctx, c)
	e := &exchange{nameOf(c.Webhook), withoutUID(c.Review), map[string]any{}, secretsOf(c)}
	if err != nil {
		e.answer["error"] = err.Error()
	} else {
		e.answer = closed(answer, c.Review)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges[e.key(e.request)] = e
	return answer, err
}

// Document returns the recorded answers as a document in YAML, sorted. hide has the values that must not
// be in it; nil hides nothing. Answers that cannot be replayed without such values are left out and
// named.
func (r *Recorder) Document(hide *redact.Redactor) (document []byte, omitted []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	webhooks := []any{}
	for _, n := range slices.SortedFunc(maps.Keys(r.webhooks), func(a, b name) int {
		return cmp.Or(strings.Compare(a.configuration, b.configuration), strings.Compare(a.webhook, b.webhook))
	}) {
		webhooks = append(webhooks, map[string]any{"configuration": n.configuration, "name": n.webhook})
	}
	answers, omitted := r.entries(hide)
	return manifest.YAML(map[string]any{
		"apiVersion": AnswersKind.APIVersion(), "kind": AnswersKind.Kind, "metadata": map[string]any{"name": "recorded"},
		"webhooks": webhooks, "answers": answers,
	}), omitted
}

// withoutUID returns the request in a review without its uid.
func withoutUID(review map[string]any) map[string]any {
	request, _ := review["request"].(map[string]any)
	request = maps.Clone(request)
	delete(request, "uid")
	return request
}

// closed returns the fields of an entry for an answer.
func closed(answer policy.Answer, review map[string]any) map[string]any {
	fields := map[string]any{}
	if answer.Status != 0 && answer.Status != 200 {
		fields["status"] = int64(answer.Status)
	}
	var body any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(answer.Body, &body); err == nil && isReview(body, review) {
		fields["response"] = withPatch(body.(map[string]any)["response"].(map[string]any), uidOf(review))
		return fields
	}
	fields["body"] = strings.ReplaceAll(string(answer.Body), uidOf(review), uidMark)
	if answer.ContentType != "" {
		fields["contentType"] = answer.ContentType
	}
	return fields
}

// uidMark replaces the uid of the request in a recorded body.
const uidMark = "$(request.uid)"

// isReview reports whether the body of an answer is a review of the kind that was sent, with nothing
// but a response.
func isReview(body any, review map[string]any) bool {
	object, _ := body.(map[string]any)
	_, ok := object["response"].(map[string]any)
	for key := range object {
		if key != "response" && key != "request" && !change.Equal(object[key], review[key]) {
			return false
		}
	}
	if object["apiVersion"] == nil && object["kind"] == nil && review["apiVersion"] != admissionGroup+"/"+known[0] {
		return ok // a server does not ask for them in older reviews
	}
	return ok && object["apiVersion"] == review["apiVersion"] && object["kind"] == review["kind"]
}

// withPatch returns a response with its patch as JSON, without the uid of the request.
func withPatch(response map[string]any, uid string) map[string]any {
	response = maps.Clone(response)
	switch response["uid"] {
	case uid:
		delete(response, "uid")
	case nil:
		response["uid"] = ""
	}
	if patch, ok := readable(response["patch"]); ok {
		response["patch"] = ordered(patch)
	}
	return response
}

// readable returns the operations of a patch in base64, if it is a list in JSON whose text they give
// back.
func readable(value any) ([]any, bool) {
	text, _ := value.(string)
	data, err := base64.StdEncoding.DecodeString(text)
	var operations []any
	if err != nil || kjson.UnmarshalCaseSensitivePreserveInts(data, &operations) != nil || operations == nil {
		return nil, false
	}
	var compact bytes.Buffer
	if json.Compact(&compact, data) != nil {
		return nil, false
	}
	var numbers []any
	decoder := json.NewDecoder(&compact)
	decoder.UseNumber()
	if decoder.Decode(&numbers) != nil || !bytes.Equal(manifest.JSON(numbers), manifest.JSON(operations)) {
		return nil, false // a number whose text would be lost
	}
	return operations, true
}

// opened returns the review of a recorded answer.
func (a *record) opened(review map[string]any) map[string]any {
	response := maps.Clone(a.response)
	if _, given := response["uid"]; !given {
		response["uid"] = uidOf(review)
	}
	if patch, ok := response["patch"].([]any); ok {
		response["patch"] = base64.StdEncoding.EncodeToString(manifest.JSON(patch))
	}
	return map[string]any{"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
}
