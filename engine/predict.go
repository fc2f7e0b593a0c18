package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/validation"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/source"
)

// Prediction is what a server with the policies is expected to do with a request for one object.
type Prediction struct {
	// Sent is the object to send to a server without the policies, and Held is what the server then
	// holds, with defaults. Both are nil if the request is refused.
	Sent, Held map[string]any
	// Diagnostics are about the object; errors say why it is refused.
	Diagnostics []source.Diagnostic
	// Secrets hides the values of Secrets. Sensitive means that no value of the object may be shown.
	Secrets   *redact.Redactor
	Sensitive bool

	shape change.Shape
}

// Predict says what a server does with a request for an object: with a CREATE or, if old is not nil,
// with an UPDATE that replaces old.
func (s *Set) Predict(ctx context.Context, object, old map[string]any) (*Prediction, error) {
	one := *s.orEmpty()
	stream, diagnostics := manifest.FromObjects("", object)
	if old != nil {
		before, problems := manifest.FromObjects("", old)
		diagnostics = append(diagnostics, problems...)
		one.settings.options.Operation, one.old = policy.Update, before.Documents()
	}
	if source.HasErrors(diagnostics) || len(stream.Documents()) != 1 {
		return nil, source.Join(diagnostics)
	}
	outcome := one.run(ctx, []*manifest.Stream{stream}, []Observer{{apart: true}})
	p := &Prediction{Diagnostics: outcome.Diagnostics, Secrets: outcome.Secrets, Sensitive: redact.IsSecret(object)}
	for _, m := range outcome.Manifests {
		p.Sensitive = p.Sensitive || m.Sensitive
	}
	if outcome.Failed() {
		return p, nil
	}
	sent, diagnostics := manifest.Read("", stream.Bytes())
	if source.HasErrors(diagnostics) {
		return nil, source.Join(diagnostics)
	}
	p.Sent = sent.Documents()[0].Object()
	return p, one.hold(p, sent.Documents()[0])
}

// hold computes what a server without policies holds.
func (s *Set) hold(p *Prediction, d *manifest.Document) error {
	at, defaulting := s.placeOf(d, s.schemas), s.settings.defaulting()
	p.shape = at.kind.Type()
	view, err := defaulting.view(nil, at, p.Sent)
	if err != nil {
		return fmt.Errorf("the output is not valid: %w", err)
	}
	var old map[string]any
	for _, before := range s.old {
		if old, err = defaulting.held(nil, at, before.Object()); err != nil {
			return fmt.Errorf("the object in the cluster is not valid: %w", err)
		}
	}
	if p.Held, _, err = defaulting.prepare(at, view, old); err != nil {
		return fmt.Errorf("the output is not valid: %w", err)
	}
	if p.Held, err = defaulting.view(nil, at, p.Held); err != nil { // a server reads what it has stored
		return fmt.Errorf("the output is not valid: %w", err)
	}
	if old != nil && at.kind.Kind == (gvk.Kind{Version: "v1", Kind: "Service"}) {
		p.Held = withAllocated(p.Held, old)
	}
	return nil
}

// allocated are the fields of a Service that an update without them keeps.
var allocated = []string{"clusterIP", "clusterIPs", "healthCheckNodePort", "ipFamilies", "ipFamilyPolicy"}

// withAllocated returns a Service with the fields that an update keeps.
func withAllocated(service, old map[string]any) map[string]any {
	before, _ := old["spec"].(map[string]any)
	after, _ := service["spec"].(map[string]any)
	service, after = maps.Clone(service), maps.Clone(after)
	for _, key := range allocated {
		if value, ok := before[key]; ok && after[key] == nil && after != nil {
			after[key] = value
		}
	}
	service["spec"] = after
	return service
}

// NotCompared are the fields that a server sets after admission. Differences leaves them out, and
// the values that a server draws, such as cluster IPs.
var NotCompared = []string{
	"metadata.creationTimestamp", "metadata.generation", "metadata.managedFields", "metadata.resourceVersion", "metadata.selfLink", "metadata.uid", "status",
}

// Differences returns the changes that lead from what is predicted to the answer of a server.
func (p *Prediction) Differences(answer map[string]any) []change.Change {
	return change.Diff(stored(compared(p.Held)), stored(p.comparable(answer)), p.shape)
}

// Between returns the changes that lead from one answer of a server to another one.
func (p *Prediction) Between(first, second map[string]any) []change.Change {
	return change.Diff(stored(p.comparable(first)), stored(p.comparable(second)), p.shape)
}

// stored returns an object with numbers as in the JSON that a server stores and sends, where 1.0 is 1.
func stored(object map[string]any) map[string]any {
	whole, _ := number.Wholes(object).(map[string]any)
	return whole
}

// comparable returns an answer without what the server draws.
func (p *Prediction) comparable(answer map[string]any) map[string]any {
	settled, _ := undrawn(p.Held, answer).(map[string]any)
	if _, generated := change.Keys("metadata", "generateName").Get(p.Sent); generated {
		if name, given := change.Keys("metadata", "name").Get(p.Held); given {
			metadata, _ := settled["metadata"].(map[string]any)
			metadata["name"] = name
		}
	}
	return compared(settled)
}

// compared returns an object without the fields of NotCompared.
func compared(object map[string]any) map[string]any {
	object = maps.Clone(object)
	delete(object, "status")
	if metadata, isMap := object["metadata"].(map[string]any); isMap {
		metadata = maps.Clone(metadata)
		for _, key := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"} {
			delete(metadata, key)
		}
		object["metadata"] = metadata
	}
	return object
}

// undrawn returns a value of an answer with the predicted value wherever a server draws it, and with an
// empty list where the server has null for one, because its storage does not know the difference.
func undrawn(predicted, answer any) any {
	empty, isList := predicted.([]any)
	if answer != nil && validation.Drawn(predicted) || answer == nil && isList && len(empty) == 0 {
		return predicted
	}
	switch answer := answer.(type) {
	case map[string]any:
		of, _ := predicted.(map[string]any)
		settled := make(map[string]any, len(answer))
		for key, value := range answer {
			settled[key] = undrawn(of[key], value)
		}
		return settled
	case []any:
		of, _ := predicted.([]any)
		settled := slices.Clone(answer)
		for i := range settled {
			if len(of) == len(answer) {
				settled[i] = undrawn(of[i], answer[i])
			}
		}
		return settled
	}
	return answer
}

// KubernetesVersion returns the version of Kubernetes that the policies run as: that of the options, or of a
// Cluster, or the default.
func (s *Set) KubernetesVersion() string { return s.orEmpty().settings.options.KubernetesVersion }

// Configurations returns the names of the MutatingWebhookConfigurations by which a cluster calls the
// programs that run policies of the set, sorted.
func (s *Set) Configurations() []string {
	var names []string
	for _, program := range s.orEmpty().programs {
		if name := program.Hook().Configuration; name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Webhooks returns the webhooks among the documents of the set that may change or refuse an object, but
// whose answers are not predicted: their names and positions.
func (s *Set) Webhooks(object map[string]any) []string {
	s = s.orEmpty()
	stream, _ := manifest.FromObjects("", object)
	p := s.placeOf(stream.Documents()[0], s.schemas)
	request := &policy.Request{Context: context.Background(), Kind: p.kind, Name: p.name, Namespace: p.namespace, Operation: policy.Create, Schemas: s.schemas}
	var names []string
	for _, w := range unpredicted(slices.Concat(s.policies, s.context), s.programs, s.settings.answerer) {
		if w.mayChange(request) {
			names = append(names, "webhook "+w.name+" of MutatingWebhookConfiguration "+w.configuration)
		}
	}
	return names
}
