package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

var webhookKind = gvk.Kind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}

// webhook is a mutating webhook whose changes are not predicted. It may make a valid object of one that
// is not.
type webhook struct {
	name, configuration string
	at                  source.Position
	// rules is nil if the webhook has none: its program writes them when it starts, as programs made
	// with Knative's packages do.
	rules *match.Resources
}

// unpredicted returns the webhooks in documents that are not those of a program.
func unpredicted(documents []*manifest.Document, programs []policy.Program) (webhooks []webhook) {
	for _, d := range documents {
		if d.Kind() != webhookKind || knownWebhook(programs, d.Name()) {
			continue
		}
		items, _ := d.Object()["webhooks"].([]any)
		for i, item := range items {
			fields, _ := item.(map[string]any)
			w := webhook{configuration: d.Name(), at: d.At(change.Keys("webhooks").Index(i))}
			w.name, _ = fields["name"].(string)
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

// knownWebhook reports whether a webhook belongs to policies that run here.
func knownWebhook(programs []policy.Program, configuration string) bool {
	return configuration != "" && slices.ContainsFunc(programs, func(p policy.Program) bool { return p.Hook().Configuration == configuration })
}

// mayChange reports whether the webhook may get a request. Its selectors and conditions do not count.
func (w *webhook) mayChange(request *policy.Request) bool {
	if w.rules == nil {
		group := request.Kind.Group
		return w.name == group || strings.HasSuffix(w.name, "."+group)
	}
	return request.Covered(w.rules)
}

// doubt returns advice about a webhook that may repair an object before a server validates it; "" if
// no webhook may change it.
func (s server) doubt(request *policy.Request) string {
	i := slices.IndexFunc(s.webhooks, func(w webhook) bool { return w.mayChange(request) })
	if i < 0 {
		return ""
	}
	w := s.webhooks[i]
	return fmt.Sprintf("webhook %s of MutatingWebhookConfiguration %s (%s) may complete the object first", source.Name(w.name), source.Name(w.configuration), w.at)
}
