package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/webhook"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

var webhookKind = webhook.Kind

// answerers ask the first answerer that answers for a webhook: the one of the options before recorded
// answers.
type answerers struct {
	given    policy.Answerer
	recorded *webhook.Recorded
}

// Answers implements policy.Answerer.
func (f answerers) Answers(w policy.WebhookName) bool {
	return f.given != nil && f.given.Answers(w) || f.recorded.Answers(w)
}

// Answer implements policy.Answerer.
func (f answerers) Answer(ctx context.Context, c policy.Call) (policy.Answer, error) {
	if f.given != nil && f.given.Answers(c.Webhook) {
		return f.given.Answer(ctx, c)
	}
	return f.recorded.Answer(ctx, c)
}

// WebhookRecorder records the answers of another answerer.
type WebhookRecorder struct{ recorder *webhook.Recorder }

// RecordWebhooks returns a recorder of an answerer.
func RecordWebhooks(answerer policy.Answerer) *WebhookRecorder {
	return &WebhookRecorder{webhook.NewRecorder(answerer)}
}

// Answers implements policy.Answerer.
func (r *WebhookRecorder) Answers(w policy.WebhookName) bool { return r.recorder.Answers(w) }

// Answer implements policy.Answerer.
func (r *WebhookRecorder) Answer(ctx context.Context, c policy.Call) (policy.Answer, error) {
	return r.recorder.Answer(ctx, c)
}

// Document returns a document in YAML with the answers that were recorded so far, for
// Options.WebhookAnswers. hide has the values that must not be in it, such as Outcome.Secrets; nil hides
// nothing. Answers that cannot be replayed without such values are left out and named.
func (r *WebhookRecorder) Document(hide *redact.Redactor) (document []byte, omitted []string) {
	return r.recorder.Document(hide)
}

// SameWebhookAnswers reports whether two answers of a webhook to the same request mean the same. The order of
// operations on different fields does not count.
func SameWebhookAnswers(a, b policy.Answer) bool { return webhook.Same(a, b) }

// withoutTwins removes the webhooks whose configurations belong to policies that run here.
func withoutTwins(programs []policy.Program) []policy.Program {
	return slices.DeleteFunc(programs, func(p policy.Program) bool {
		return webhook.Is(p) && runs(programs, p.Hook().Configuration)
	})
}

// runs reports whether a configuration belongs to policies that run here.
func runs(programs []policy.Program, configuration string) bool {
	return configuration != "" && slices.ContainsFunc(programs, func(p policy.Program) bool {
		return p.Hook().Configuration == configuration && !webhook.Is(p)
	})
}

// silent is a mutating webhook whose changes are not predicted. It may make a valid object of one that
// is not.
type silent struct {
	name, configuration string
	at                  source.Position
	// rules is nil if the webhook has none: its program writes them when it starts, as programs made
	// with Knative's packages do.
	rules *match.Resources
}

// unpredicted returns the webhooks in documents that are not those of a program.
func unpredicted(documents []*manifest.Document, programs []policy.Program, answerer policy.Answerer) (webhooks []silent) {
	for _, d := range documents {
		if d.Kind() != webhookKind || runs(programs, d.Name()) {
			continue
		}
		items, _ := d.Object()["webhooks"].([]any)
		for i, item := range items {
			fields, _ := item.(map[string]any)
			w := silent{configuration: d.Name(), at: d.At(change.Keys("webhooks").Index(i))}
			w.name, _ = fields["name"].(string)
			if answerer.Answers(policy.WebhookName{Configuration: w.configuration, Name: w.name}) {
				continue
			}
			if rules, _ := fields["rules"].([]any); len(rules) > 0 {
				block := maps.Clone(fields)
				block["resourceRules"] = rules
				w.rules, _ = match.Mutating.Parse(block) // what is wrong covers nothing
			}
			webhooks = append(webhooks, w)
		}
	}
	return webhooks
}

// isPredicted reports whether all webhooks of a configuration belong to policies that run here, or
// have an answerer.
func (r *run) isPredicted(d *manifest.Document) bool {
	items, _ := d.Object()["webhooks"].([]any)
	return runs(r.policies.programs, d.Name()) || len(items) > 0 && !slices.ContainsFunc(r.server.webhooks, func(w silent) bool { return w.configuration == d.Name() })
}

// mayChange reports whether the webhook may get a request. Its selectors and conditions do not count.
func (w *silent) mayChange(request *policy.Request) bool {
	if w.rules == nil {
		group := request.Kind.Group
		return w.name == group || strings.HasSuffix(w.name, "."+group)
	}
	return request.Covered(w.rules)
}

// doubt returns advice about a webhook that may repair an object before a server validates it; "" if
// no webhook may change it.
func (s server) doubt(request *policy.Request) string {
	i := slices.IndexFunc(s.webhooks, func(w silent) bool { return w.mayChange(request) })
	if i < 0 {
		return ""
	}
	w := s.webhooks[i]
	return fmt.Sprintf("webhook %s of MutatingWebhookConfiguration %s (%s) may complete the object first", source.Name(w.name), source.Name(w.configuration), w.at)
}
