package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// recordedWebhooks are the answers of kube-apiserver 1.36.3 with webhooks. See testdata/README.md.
type recordedWebhooks struct {
	Context        []json.RawMessage
	Configurations []struct {
		Document json.RawMessage
		Message  string
	}
	Cases []webhookCase
}

// webhookCase is an object that was sent to a server with webhooks.
type webhookCase struct {
	Name               string
	Webhooks, Policies []json.RawMessage
	// Engines are policies of Gatekeeper and Kyverno. On the server, webhooks with the names of theirs
	// answered in their place.
	Engines     []json.RawMessage
	Object, Old json.RawMessage
	// DryRun is true if it is missing.
	DryRun *bool
	// Calls are the calls of the webhooks, in order.
	Calls  []webhookCall
	Code   int
	Effect []any
	Status struct{ Message, Reason string }
	// Warnings are the headers that the server sent, and Audit the annotations of the webhooks.
	Warnings []string
	Audit    map[string]string
}

// webhookCall is a request to a webhook, without what a server draws, and the answer: a review, or a
// body. A closed or late answer did not reach the server.
type webhookCall struct {
	Configuration, Webhook string
	Request                map[string]any
	Answer                 json.RawMessage
	Body, Type             string
	Status                 int
	Closed, Late           bool
}

// replayed answers with the calls of a case, in order. It implements policy.Answerer.
type replayed struct {
	recorded *webhookCase
	mu       sync.Mutex
	asked    int
	problems []string
}

func (*replayed) Answers(policy.WebhookName) bool { return true }

func (r *replayed) Answer(_ context.Context, c policy.Call) (policy.Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	uid, _ := change.Keys("request", "uid").Get(c.Review)
	failure := "not called"
	if _, text, ok := strings.Cut(r.recorded.Status.Message, "failed to call webhook: "); ok {
		failure = text
	}
	if r.asked == len(r.recorded.Calls) {
		if !strings.Contains(r.recorded.Name, "dead") {
			r.problems = append(r.problems, fmt.Sprintf("unexpected call of %s", c.Webhook.Name))
		}
		return policy.Answer{}, errors.New(failure)
	}
	call := r.recorded.Calls[r.asked]
	if call.Webhook != c.Webhook.Name || call.Configuration != c.Webhook.Configuration {
		if strings.Contains(r.recorded.Name, "dead") {
			return policy.Answer{}, errors.New(failure)
		}
		r.problems = append(r.problems, fmt.Sprintf("call %d is of %s in %s, want %s in %s", r.asked, c.Webhook.Name, c.Webhook.Configuration, call.Webhook, call.Configuration))
	}
	r.asked++
	sent := decodeJSON(manifest.JSON(c.Review))
	delete(sent["request"].(map[string]any), "uid")
	if got, want := string(manifest.JSON(sent)), string(manifest.JSON(call.Request)); got != want {
		r.problems = append(r.problems, fmt.Sprintf("the request is\n%s, want\n%s", got, want))
	}
	if call.Closed || call.Late {
		return policy.Answer{}, errors.New(failure)
	}
	body := call.Body
	if call.Answer != nil {
		body = string(call.Answer)
	}
	return policy.Answer{Status: call.Status, ContentType: call.Type, Body: []byte(strings.ReplaceAll(body, `"UID"`, fmt.Sprintf("%q", uid)))}, nil
}

func decodeJSON(data []byte) (object map[string]any) {
	_ = json.Unmarshal(data, &object)
	return object
}

func readWebhooks(t *testing.T) *recordedWebhooks {
	t.Helper()
	data, err := os.ReadFile("testdata/webhooks/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	recorded := &recordedWebhooks{}
	if err := json.Unmarshal(data, recorded); err != nil {
		t.Fatal(err)
	}
	return recorded
}

// jsonStream returns a stream of documents in JSON.
func jsonStream(t *testing.T, name string, documents ...json.RawMessage) *manifest.Stream {
	t.Helper()
	var text strings.Builder
	for _, d := range documents {
		text.WriteString(string(d) + "\n---\n")
	}
	return readText(t, name, text.String())
}

// TestWebhooks sends the objects of the recording through webhooks that answer as recorded, and
// compares the requests to the webhooks and the answers of kube-apiserver 1.36.3.
func TestWebhooks(t *testing.T) {
	recorded := readWebhooks(t)
	for _, c := range recorded.Cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.compare(t, jsonStream(t, "context.yaml", recorded.Context...))
		})
	}
}

// unlike are the cases in which preadmit differs, with the code of its error; "" means that it has
// none.
var unlike = map[string]string{
	"equivalent-hpa":    "conversion-missing", // only a cluster converts built-in kinds
	"patch-number-form": "",                   // 2.0 counts as 2
}

// run runs the case with an answerer, or with recorded answers.
func (c webhookCase) run(t *testing.T, surroundings *manifest.Stream, answerer policy.Answerer, recorded ...*manifest.Stream) *Outcome {
	t.Helper()
	options := Options{
		Webhooks: answerer, WebhookAnswers: recorded, DryRun: c.DryRun == nil || *c.DryRun, NonIdempotent: NonIdempotentSkip, Authorizer: AuthorizerAllow,
		User: policy.User{Name: "oracle-admin", UID: "oracle-uid", Groups: []string{"system:masters", "system:authenticated"}},
	}
	if c.Old != nil {
		options.Operation, options.Old = policy.Update, []*manifest.Stream{jsonStream(t, "old.yaml", c.Old)}
	}
	policies := []*manifest.Stream{jsonStream(t, "webhooks.yaml", c.Webhooks...), jsonStream(t, "policies.yaml", c.Policies...), jsonStream(t, "engines.yaml", c.Engines...)}
	set, problems := Compile(policies, []*manifest.Stream{surroundings}, options)
	for _, d := range problems {
		t.Fatal(d)
	}
	return set.Run(context.Background(), []*manifest.Stream{jsonStream(t, "object.yaml", c.Object)}, Views())
}

func (c webhookCase) compare(t *testing.T, surroundings *manifest.Stream) {
	if c.Engines != nil { // their policies run here
		c.Calls = slices.DeleteFunc(slices.Clone(c.Calls), func(call webhookCall) bool {
			return strings.HasPrefix(call.Configuration, "gatekeeper-mutating") || strings.HasPrefix(call.Configuration, "kyverno-resource-mutating")
		})
	}
	answers := &replayed{recorded: &c}
	recorder := RecordWebhooks(answers)
	outcome := c.run(t, surroundings, recorder)
	if code, differs := unlike[c.Name]; differs {
		if len(outcome.Diagnostics) > 1 || code != "" && (len(outcome.Diagnostics) == 0 || outcome.Diagnostics[0].Code != code) {
			t.Errorf("%v, want one of %q", outcome.Diagnostics, code)
		}
		return
	}
	for _, problem := range answers.problems {
		t.Error(problem)
	}
	if answers.asked != len(c.Calls) {
		t.Errorf("%d calls, want %d", answers.asked, len(c.Calls))
	}
	c.compareAnswer(t, outcome)
	if c.answersTwice() {
		return
	}
	document, omitted := recorder.Document(outcome.Secrets)
	if len(omitted) > 0 {
		t.Errorf("not recorded: %q", omitted)
	}
	c.compareAnswer(t, c.run(t, surroundings, nil, readText(t, "answers.yaml", string(document))))
}

// answersTwice reports whether a webhook gave two answers to the same request.
func (c webhookCase) answersTwice() bool {
	answers := map[string]string{}
	for _, call := range c.Calls {
		key := call.Webhook + string(manifest.JSON(call.Request))
		if first, asked := answers[key]; asked && first != string(call.Answer)+call.Body {
			return true
		}
		answers[key] = string(call.Answer) + call.Body
	}
	return false
}

// compareAnswer compares the answer of the server.
func (c webhookCase) compareAnswer(t *testing.T, outcome *Outcome) {
	denied := ""
	if outcome.Denied {
		denied = uidText.ReplaceAllString(outcome.Diagnostics[0].Message, `expected response.uid="UID"`)
	}
	if !sameWords(denied, c.Status.Message) {
		t.Errorf("denied with %q, want %q (%v)", denied, c.Status.Message, outcome.Diagnostics)
		return
	}
	m := outcome.Manifests[0]
	if denied == "" {
		effect := difference(roundTrip(t, m.Before), roundTrip(t, m.After), "")
		if string(manifest.JSON(effect)) != string(manifest.JSON(c.Effect)) && len(effect)+len(c.Effect) > 0 {
			t.Errorf("effect\n%s, want\n%s", manifest.JSON(effect), manifest.JSON(c.Effect))
		}
	}
	var warnings []string
	for _, w := range m.Warnings {
		warnings = append(warnings, `299 - `+quoteWarning(w.Text))
	}
	if fmt.Sprint(warnings) != fmt.Sprint(c.Warnings) {
		t.Errorf("warnings %q, want %q", warnings, c.Warnings)
	}
	audit := map[string]string{}
	for _, a := range m.Audit {
		audit[a.Key] = a.Value
	}
	if fmt.Sprint(audit) != fmt.Sprint(c.Audit) {
		t.Errorf("audit annotations %v, want %v", audit, c.Audit)
	}
}

var uidText = regexp.MustCompile(`expected response.uid="[^"]*"`)

// expressionText finds expressions that do not compile. They are not repeated here.
var expressionText = regexp.MustCompile(`expression: Invalid value: "[^"]*": `)

// quoteWarning returns the text of a warning as in a header.
func quoteWarning(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// TestWebhookConfigurations compares the texts about wrong configurations with those of the server.
func TestWebhookConfigurations(t *testing.T) {
	for i, c := range readWebhooks(t).Configurations {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			_, problems := Compile([]*manifest.Stream{jsonStream(t, "webhooks.yaml", c.Document)}, nil, Options{Webhooks: &replayed{}})
			if (len(problems) == 0) != (c.Message == "") {
				t.Errorf("%s: %v, want %s", c.Document, problems, c.Message)
			}
			want := expressionText.ReplaceAllString(c.Message, "expression: Invalid value: ")
			for _, d := range problems {
				text := d.Field + ": " + d.Message
				if !strings.Contains(c.Message, " is invalid: ") { // the server could not read the document
					text = d.Message
				}
				if !strings.Contains(want, text) {
					t.Errorf("%s\n got %s\nwant %s", c.Document, text, want)
				}
			}
		})
	}
}
