package webhook

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/internal/validation"
	"github.com/preadmit/preadmit/engine/policy"
)

// readClient checks how a server would reach the webhook. preadmit never does.
func readClient(r *admissionpolicy.Reader, n policy.Node) {
	address, service := n.At("url"), n.At("service")
	switch {
	case address.Given() == service.Given():
		r.Doc.Required(n, "exactly one of url or service is required")
	case address.Given():
		readURL(r, address)
	default:
		readService(r, service)
	}
}

func readURL(r *admissionpolicy.Reader, n policy.Node) {
	report(r, n, validation.WebhookURL(n.Text(), nil))
}

// report reports problems of a field.
func report(r *admissionpolicy.Reader, n policy.Node, problems field.ErrorList) {
	for _, p := range problems {
		if p.Type == field.ErrorTypeRequired {
			r.Doc.Required(n, p.Detail)
		} else {
			r.Doc.Invalid(n, "%s", p.ErrorBody())
		}
	}
}

func readService(r *admissionpolicy.Reader, n policy.Node) {
	for _, key := range []string{"name", "namespace"} {
		if n.At(key).Text() == "" {
			r.Doc.Required(n.At(key), "")
		}
	}
	if port, ok := n.At("port").Value.(int64); ok && (port < 1 || port > 65535) {
		r.Doc.Invalid(n.At("port"), "Invalid value: %d: port is not valid: must be between 1 and 65535, inclusive", port)
	}
	report(r, n.At("path"), validation.WebhookPath(n.At("path").Text(), nil))
}
