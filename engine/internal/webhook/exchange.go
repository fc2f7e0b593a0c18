package webhook

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// exchange is a request with the fields of its answer in a recording.
type exchange struct {
	webhook         name
	request, answer map[string]any
	// secrets hides the values in the request. A replay has the same, because it has the same input.
	secrets *redact.Redactor
}

// secretsOf returns what hides the values of Secrets in a call.
func secretsOf(c policy.Call) *redact.Redactor { return cmp.Or(c.Secrets, &redact.Redactor{}) }

// objectKeys are the fields of a request with objects.
var objectKeys = []string{"object", "oldObject"}

// masked returns a request with masks in place of the values of Secrets in its objects.
func masked(request map[string]any, secrets *redact.Redactor) map[string]any {
	request = maps.Clone(request)
	for _, key := range objectKeys {
		if object, ok := request[key].(map[string]any); ok {
			request[key] = secrets.Recorded(object)
		}
	}
	return request
}

// key identifies an exchange by a form of its request.
func (e *exchange) key(request map[string]any) string {
	return e.webhook.configuration + "\n" + e.webhook.webhook + "\n" + string(manifest.JSON(request))
}

// entry returns the exchange in a recording, with a form of its request.
func (e *exchange) entry(request map[string]any) map[string]any {
	entry := map[string]any{"configuration": e.webhook.configuration, "webhook": e.webhook.webhook, "request": request}
	maps.Copy(entry, e.answer)
	return entry
}

// String names the exchange.
func (e *exchange) String() string {
	return fmt.Sprintf("webhook %s of %s at %s of %s", e.webhook.webhook, e.webhook.configuration, e.request["operation"], nameIn(e.request))
}

// exposes reports whether a value of a Secret is in the answer, or in a form of the request.
func (e *exchange) exposes(request map[string]any, learned *redact.Redactor) bool {
	if e.secrets.Holds(e.answer) || learned.Holds(e.answer) {
		return true
	}
	for _, key := range objectKeys {
		raw, _ := e.request[key].(map[string]any)
		shown, _ := request[key].(map[string]any)
		shown = redact.WithoutNames(shown)
		if e.secrets.Holds(shown) || learned.Holds(shown) {
			return true
		}
		if redact.IsSecret(raw) {
			own := redact.NewObjects(raw)
			scope := redact.Scope{Objects: []*redact.Objects{own}}
			if own.In(shown) || own.In(e.answer) || scope.Hides(e.said()) {
				return true
			}
		}
	}
	return false
}

// said returns the texts of the answer that become messages.
func (e *exchange) said() (texts []source.Span) {
	response := policy.Node{Value: e.answer["response"]}
	for _, value := range []any{response.At("status", "message").Value, response.At("warnings").Value, response.At("auditAnnotations").Value, e.answer["body"], e.answer["error"]} {
		for _, text := range redact.Texts(value) {
			texts = append(texts, source.Span{Text: text, Origin: source.Input})
		}
	}
	return texts
}

// group are the exchanges whose requests are the same without the values of Secrets.
type group struct {
	request map[string]any
	all     []*exchange
}

// entry returns the one entry for all exchanges; nil if one of them needs the values of Secrets.
func (g *group) entry(learned *redact.Redactor) map[string]any {
	for _, e := range g.all {
		if !change.Equal(e.answer, g.all[0].answer) || e.exposes(g.request, learned) {
			return nil
		}
	}
	return g.all[0].entry(g.request)
}

// entries returns the entries of a recording, sorted, and names the exchanges that are left out.
func (r *Recorder) entries(hide *redact.Redactor) (entries []any, omitted []string) {
	entries = []any{}
	if hide == nil {
		for _, key := range slices.Sorted(maps.Keys(r.exchanges)) {
			e := r.exchanges[key]
			entries = append(entries, e.entry(e.request))
		}
		return entries, nil
	}
	learned := hide.With(nil)
	if r.learned != nil {
		learned.Add(r.learned)
	}
	r.learned = learned
	groups := map[string]*group{}
	for _, e := range r.exchanges {
		request := masked(e.request, e.secrets)
		key := e.key(request)
		if groups[key] == nil {
			groups[key] = &group{request: request}
		}
		groups[key].all = append(groups[key].all, e)
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		if entry := groups[key].entry(learned); entry != nil {
			entries = append(entries, entry)
			continue
		}
		for _, e := range groups[key].all {
			omitted = append(omitted, e.String())
		}
	}
	slices.Sort(omitted)
	return entries, omitted
}
