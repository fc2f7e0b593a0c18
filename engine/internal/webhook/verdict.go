package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// send calls the webhook and returns what a server makes of the answer.
func (c *call) send(r *policy.Request) policy.Step {
	review := c.review(r)
	step := policy.Step{ID: c.ID(), At: c.webhook.policy.At, Object: r.Object}
	response, err := c.ask(r, review)
	var missing *policy.MissingAnswerError
	switch {
	case errors.As(err, &missing):
		return failing(step, policy.Failure{Err: missing, Advice: missing.Advice, Abort: true})
	case err != nil:
		return c.failedCall(r, step, err)
	}
	for _, key := range slices.Sorted(maps.Keys(response.AuditAnnotations)) {
		if name := c.webhook.name.Name + "/" + key; len(validation.IsQualifiedName(name)) == 0 {
			step.Annotations = append(step.Annotations, policy.Annotation{Key: name, Value: response.AuditAnnotations[key], Origin: source.Computed})
		}
	}
	for _, text := range response.Warnings {
		step.Warnings = append(step.Warnings, source.Span{Text: text, Origin: source.Computed})
	}
	if !response.Allowed {
		return failing(step, c.denial(response.Result))
	}
	return c.patch(r, step, response)
}

// failing returns a step with a failure instead of an object.
func failing(step policy.Step, failure policy.Failure) policy.Step {
	failure.ID, failure.At = step.ID, step.At
	step.Object, step.Failure = nil, &failure
	return step
}

// ask returns the response of the webhook. An error has the words of a server, or is a
// *policy.MissingAnswerError.
func (c *call) ask(r *policy.Request, review map[string]any) (*admissionv1.AdmissionResponse, error) {
	answer, err := c.webhook.language.answerer.Answer(r.Context, policy.Call{Webhook: c.webhook.name, Review: review, Secrets: r.Secrets})
	var missing *policy.MissingAnswerError
	if errors.As(err, &missing) {
		return nil, err
	}
	var decoded *admissionv1.AdmissionReview
	if err == nil {
		decoded, err = decode(answer, c.webhook.version())
	}
	if err != nil {
		return nil, fmt.Errorf("failed to call webhook: %w", err)
	}
	if err := verify(decoded, c.webhook.version(), uidOf(review)); err != nil {
		return nil, fmt.Errorf("received invalid webhook response: %w", err)
	}
	return decoded.Response, nil
}

// failedCall returns the step of a call that failed. failurePolicy Ignore ignores it.
func (c *call) failedCall(r *policy.Request, step policy.Step, err error) policy.Step {
	if c.webhook.policy.Ignore {
		round := 0
		if r.Reinvocation {
			round = 1
		}
		key := fmt.Sprintf("failed-open.mutation.webhook.admission.k8s.io/round_%d_index_%d", round, c.webhook.index)
		step.Annotations = append(step.Annotations, policy.Annotation{Key: key, Value: c.webhook.name.Name, Origin: source.Identity})
	}
	return failing(step, policy.Failure{
		Err:     source.Messagef("Internal error occurred: failed calling webhook %q: %v", source.Name(c.webhook.name.Name), source.Derive(err)),
		Ignored: c.webhook.policy.Ignore, Status: string(metav1.StatusReasonInternalError),
	})
}

// denial returns the failure of a request that the webhook denies. The failurePolicy does not count.
func (c *call) denial(status *metav1.Status) policy.Failure {
	failure := policy.Failure{Abort: true}
	denied := source.Messagef("admission webhook %q denied the request", source.Name(c.webhook.name.Name))
	switch {
	case status == nil || status.Message == "" && status.Reason == "":
		failure.Err = source.Messagef("%v without explanation", denied)
	case status.Message != "":
		failure.Err = source.Messagef("%v: %v", denied, source.Result(status.Message))
	default:
		failure.Err = source.Messagef("%v: %v", denied, source.Result(status.Reason))
	}
	if status != nil {
		failure.Status = string(status.Reason)
	}
	return failure
}

// patch applies the patch of a response.
func (c *call) patch(r *policy.Request, step policy.Step, response *admissionv1.AdmissionResponse) policy.Step {
	if len(response.Patch) == 0 {
		return untouched(step)
	}
	operations, err := jsonpatch.Decode(response.Patch)
	switch patchType := response.PatchType; {
	case err != nil:
		return c.failedCall(r, step, fmt.Errorf("received undecodable patch in webhook response: %w", err))
	case len(operations) == 0:
		return untouched(step)
	case c.webhook.version() == known[0] && *patchType != admissionv1.PatchTypeJSONPatch:
		return c.failedCall(r, step, fmt.Errorf("unsupported patch type %q", *patchType))
	}
	patched, err := jsonpatch.APIServer.Apply(c.to.InVersion(r.Object), operations)
	if err == nil {
		err = c.decodes(r, patched)
	}
	var invalid *admission.KindError
	switch {
	case errors.As(err, &invalid): // the server finds it when it validates the object
		return failing(step, policy.Failure{Err: source.Derive(err), Status: string(metav1.StatusReasonInvalid), Abort: true})
	case err != nil:
		return failing(step, c.Deny(source.Derive(err)))
	}
	step.Object = policy.InVersion(patched, r.Kind)
	return step
}

// untouched is the step of a webhook that allows the request and patches nothing.
func untouched(step policy.Step) policy.Step {
	step.Object = nil
	return step
}

// decodes returns the error of a server that decodes a patched object, as its patched kind. The
// server drops unknown fields.
func (c *call) decodes(r *policy.Request, patched map[string]any) error {
	kind := c.to.Kind
	if kind.Custom || kind.Unknown {
		_, err := admission.KeepType(kind, patched)
		return err
	}
	made := typeOf(patched, kind.Kind)
	other := r.Schemas.Lookup(made)
	if other == nil {
		return fmt.Errorf("no kind %q is registered for version %q in scheme %q", made.Kind, made.APIVersion(), "pkg/runtime/scheme.go:111")
	}
	if err := other.Decode(r.Memo, patched); err != nil {
		return err
	}
	if made != kind.Kind {
		return fmt.Errorf("a patch must not make a %s of the object", made)
	}
	return nil
}

// typeOf returns the kind of a patched object. A server takes what the patch removed from the kind of
// the request.
func typeOf(object map[string]any, kind gvk.Kind) gvk.Kind {
	apiVersion, _ := object["apiVersion"].(string)
	name, _ := object["kind"].(string)
	return gvk.Parse(cmp.Or(apiVersion, kind.APIVersion()), cmp.Or(name, kind.Kind))
}
