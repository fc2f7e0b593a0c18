package engine

import (
	"context"
	"fmt"

	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// CompileYAML compiles policies, with bindings and the objects that policies look up. Each may be
// in any of the texts. The error has all diagnostics that are errors. Use Compile to get warnings
// and to name files.
func CompileYAML(options Options, texts ...[]byte) (*Set, error) {
	var streams []*manifest.Stream
	var all []source.Diagnostic
	for i, text := range texts {
		stream, diagnostics := manifest.Read(fmt.Sprintf("text %d", i+1), text)
		streams, all = append(streams, stream), append(all, diagnostics...)
	}
	if source.HasErrors(all) {
		return nil, source.Join(all)
	}
	set, diagnostics := Compile(streams, nil, options)
	if source.HasErrors(diagnostics) {
		return nil, source.Join(diagnostics)
	}
	return set, nil
}

// Answer is the answer to a request for one object.
type Answer struct {
	// Object is the object that a client would have to send to a server without the policies. It is
	// nil if the request fails.
	Object map[string]any
	// Changes are in the order in which the policies made them, with paths of the admission view.
	Changes []Change
	// Warnings and Audit are the warnings and the annotations of the audit event that validating
	// policies add, even if the object is refused.
	Warnings []Warning
	Audit    []policy.Annotation
}

// Admit runs the policies of the set on one object, as Run does on manifests.
//
// The object may be the content of an Unstructured, or any map that encoding/json can encode. It is
// not modified, and shares no memory with the result. Numbers of the result are int64 or float64,
// as a server reads them. A policy is returned unchanged.
//
// An error has type source.Errors, and the answer then has no object and no changes: a policy denied the object
// (source.CodeDenied), or the object is not valid. Warnings go to the observer Warn, if it is
// given. The option Strict turns the most important warnings into errors.
func (s *Set) Admit(ctx context.Context, object map[string]any, observers ...Observer) (Answer, error) {
	stream, diagnostics := manifest.FromObjects("", object)
	if source.HasErrors(diagnostics) {
		return Answer{}, source.Join(diagnostics)
	}
	return s.orEmpty().admitObject(ctx, stream, observers)
}

// AdmitUpdate is Admit for an UPDATE request that replaces the object old.
func (s *Set) AdmitUpdate(ctx context.Context, object, old map[string]any, observers ...Observer) (Answer, error) {
	stream, diagnostics := manifest.FromObjects("", object)
	before, problems := manifest.FromObjects("", old)
	if diagnostics = append(diagnostics, problems...); source.HasErrors(diagnostics) {
		return Answer{}, source.Join(diagnostics)
	}
	update := *s.orEmpty()
	update.settings.options.Operation, update.old = policy.Update, before.Documents()
	return update.admitObject(ctx, stream, observers)
}

// admitObject runs the policies on the only document of a stream.
func (s *Set) admitObject(ctx context.Context, stream *manifest.Stream, observers []Observer) (Answer, error) {
	if len(stream.Documents()) != 1 {
		return Answer{}, source.Join([]source.Diagnostic{source.Errorf(source.Position{}, "manifest-invalid", "a list is not one object").
			With("admit its items one by one")})
	}
	outcome := s.run(ctx, []*manifest.Stream{stream}, append([]Observer{Explain()}, observers...))
	var answer Answer
	for _, m := range outcome.Manifests {
		answer.Warnings, answer.Audit = append(answer.Warnings, m.Warnings...), append(answer.Audit, m.Audit...)
	}
	if outcome.Failed() {
		return answer, source.Join(outcome.Diagnostics)
	}
	result, diagnostics := manifest.Read("", stream.Bytes())
	if source.HasErrors(diagnostics) {
		return answer, source.Join(diagnostics)
	}
	for _, m := range outcome.Manifests {
		answer.Changes = append(answer.Changes, m.All()...)
	}
	answer.Object = result.Documents()[0].Object()
	return answer, nil
}
