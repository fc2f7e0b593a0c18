package policy

import (
	"context"
	"time"

	"github.com/preadmit/preadmit/engine/redact"
)

// Answerer answers the calls of mutating webhooks. It is safe for concurrent use. The same call has
// the same answer.
type Answerer interface {
	// Answers reports whether the answerer has answers of a webhook. The changes of other webhooks
	// are not predicted.
	Answers(webhook WebhookName) bool
	// Answer returns the answer to a call. An error means that the webhook could not be called; it
	// has the words of the client. A MissingAnswerError ends the run.
	Answer(ctx context.Context, call Call) (Answer, error)
}

// WebhookName identifies a webhook of a cluster.
type WebhookName struct {
	// Configuration is the name of the MutatingWebhookConfiguration, and Name that of the webhook.
	Configuration, Name string
	// Path is the path of the URL or of the service, and Service the name for which the certificate of
	// the service must be; "" if there is only a URL. Timeout is the longest duration of a call.
	Path, Service string
	Timeout       time.Duration
}

// Call is a call of a webhook.
type Call struct {
	Webhook WebhookName
	// Review is the AdmissionReview that a server sends. Fields that a server draws (uid,
	// creationTimestamp and managedFields of the object) are missing, and the uid of the request
	// depends on the rest. It must not be modified.
	Review map[string]any
	// Secrets hides the values that the Secrets of the input have, in recordings.
	Secrets *redact.Redactor
}

// Answer is what a webhook answers: the status and the body of an HTTP response. A zero Status means
// 200.
type Answer struct {
	Status      int
	ContentType string
	Body        []byte
}

// MissingAnswerError says that the answer to a call is not known.
type MissingAnswerError struct {
	// Err says what is missing, and Advice what to do.
	Err    error
	Advice string
}

// Error implements error.
func (e *MissingAnswerError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *MissingAnswerError) Unwrap() error { return e.Err }

// WebhookKind is the kind of the IDs of webhooks: Policy is the configuration, Rule the webhook.
const WebhookKind = "MutatingWebhookConfiguration"
