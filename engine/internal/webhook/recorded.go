package webhook

import (
	"context"
	"errors"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// AnswersKind is the kind of documents with recorded answers.
var AnswersKind = gvk.Kind{Group: "preadmit.dev", Version: "v1alpha1", Kind: "WebhookAnswers"}

// Recorded has recorded answers. It implements policy.Answerer.
type Recorded struct {
	// webhooks are the webhooks that have answers, and where the first document says so.
	webhooks map[name]source.Position
	// answers are the answers by webhook and request, and similar those about an object (nameIn), or a
	// kind, in order.
	answers map[name]map[string]*record
	similar map[likeness][]*record
}

// likeness is what similar requests to a webhook have in common: an object, or a kind in JSON.
type likeness struct {
	webhook      name
	object, kind string
}

var _ policy.Answerer = (*Recorded)(nil)

// name names a webhook.
type name struct{ configuration, webhook string }

func nameOf(w policy.WebhookName) name { return name{w.Configuration, w.Name} }

// record is a recorded request with its answer.
type record struct {
	at source.Position
	// request is the AdmissionRequest without its uid.
	request map[string]any
	// response is the AdmissionResponse, without its uid if that is the one of the request. Other
	// answers have a body with a status, or the error of the client.
	response map[string]any
	other    other
}

// other is an answer that is no AdmissionReview.
type other struct {
	body, contentType, failure string
	status                     int
}

// ReadAnswers reads documents with recorded answers; nil if there are no documents.
func ReadAnswers(documents []*manifest.Document) (*Recorded, []source.Diagnostic) {
	if len(documents) == 0 {
		return nil, nil
	}
	recorded := &Recorded{map[name]source.Position{}, map[name]map[string]*record{}, map[likeness][]*record{}}
	var diagnostics []source.Diagnostic
	for _, d := range documents {
		r := policydoc.New(d)
		r.Values = true
		recorded.read(r)
		diagnostics = append(diagnostics, r.Problems...)
	}
	return recorded, diagnostics
}

func (all *Recorded) read(r *policydoc.Reader) {
	if r.Document.Kind() != AnswersKind {
		r.Advise(nil, "values-invalid", "expected recorded answers of webhooks", "expected apiVersion "+AnswersKind.APIVersion()+" and kind "+AnswersKind.Kind+", as --record-webhooks writes them")
		return
	}
	r.Fields(r.Root, []string{"apiVersion", "kind", "metadata", "webhooks", "answers"})
	for _, n := range r.List(r.Root.At("webhooks")) {
		r.Fields(n, []string{"configuration", "name"})
		all.add(name{r.String(n.At("configuration")), r.String(n.At("name"))}, r.Document.At(n.Path))
	}
	for _, n := range r.List(r.Root.At("answers")) {
		all.readAnswer(r, n)
	}
}

// add says that a webhook has answers.
func (all *Recorded) add(n name, at source.Position) {
	if _, known := all.webhooks[n]; !known {
		all.webhooks[n] = at
	}
}

func (all *Recorded) readAnswer(r *policydoc.Reader, n policy.Node) {
	r.Fields(n, []string{"configuration", "webhook", "request", "response", "body", "status", "contentType", "error"})
	of := name{r.String(n.At("configuration")), r.String(n.At("webhook"))}
	request := n.At("request").Object()
	switch {
	case of.webhook == "" || of.configuration == "":
		r.Required(n, "the answer needs the names of a configuration and of a webhook")
		return
	case request == nil:
		r.Required(n.At("request"), "the AdmissionRequest without its uid")
		return
	case !n.Has("response") && !n.Has("body") && !n.Has("error"):
		r.Required(n.At("response"), "the AdmissionResponse, or else body or error")
		return
	}
	status, _ := n.At("status").Value.(int64)
	answer := &record{
		at: r.Document.At(n.Path), request: request, response: n.At("response").Object(),
		other: other{r.String(n.At("body")), r.String(n.At("contentType")), r.String(n.At("error")), int(status)},
	}
	if all.answers[of] == nil {
		all.answers[of] = map[string]*record{}
	}
	all.add(of, answer.at)
	key := string(manifest.JSON(request))
	if first := all.answers[of][key]; first != nil {
		r.Invalid(n, "the same request has an answer at %s", first.at)
		return
	}
	all.answers[of][key] = answer
	for _, l := range likenesses(of, request) {
		all.similar[l] = append(all.similar[l], answer)
	}
}

// Answers implements policy.Answerer.
func (all *Recorded) Answers(w policy.WebhookName) bool {
	if all == nil {
		return false
	}
	_, recorded := all.webhooks[nameOf(w)]
	return recorded
}

// Without returns notes about webhooks that have answers, but are in no configuration.
func (all *Recorded) Without(configurations []*manifest.Document) []source.Diagnostic {
	if all == nil {
		return nil
	}
	known := map[name]bool{}
	for _, d := range configurations {
		if d.Kind() == Kind {
			for _, w := range webhooksIn(d) {
				known[nameOf(w)] = true
			}
		}
	}
	var problems []source.Diagnostic
	for n, at := range all.webhooks {
		if !known[n] {
			problems = append(problems, source.Notef(at, "webhook-unknown", "no MutatingWebhookConfiguration %s with a webhook %s is given, so its recorded answers are not used", source.Name(n.configuration), source.Name(n.webhook)).
				With("give it with -c"))
		}
	}
	return problems
}

// Answer implements policy.Answerer. The answer may have been recorded without the values of Secrets.
func (all *Recorded) Answer(_ context.Context, c policy.Call) (policy.Answer, error) {
	request := withoutUID(c.Review)
	hidden := masked(request, secretsOf(c))
	for _, form := range []map[string]any{request, hidden} {
		if answer := all.answers[nameOf(c.Webhook)][string(manifest.JSON(form))]; answer != nil {
			return answer.answer(c.Review)
		}
	}
	return policy.Answer{}, all.missing(c.Webhook, hidden)
}

// answer returns the answer in the form in which the webhook gave it.
func (a *record) answer(review map[string]any) (policy.Answer, error) {
	if a.other.failure != "" {
		return policy.Answer{}, errors.New(a.other.failure)
	}
	if a.response == nil {
		body := strings.ReplaceAll(a.other.body, uidMark, uidOf(review))
		return policy.Answer{Status: a.other.status, ContentType: a.other.contentType, Body: []byte(body)}, nil
	}
	return policy.Answer{Status: a.other.status, Body: manifest.JSON(a.opened(review))}, nil
}
