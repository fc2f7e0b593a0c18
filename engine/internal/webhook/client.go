package webhook

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/internal/dns"
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

const urlForm = "; desired format: https://host[/path]"

func readURL(r *admissionpolicy.Reader, n policy.Node) {
	refuse := func(value, detail string) { r.Doc.Invalid(n, "Invalid value: %q: %s", value, detail) }
	u, err := url.Parse(n.Text())
	if err != nil {
		r.Doc.Required(n, "url must be a valid URL: "+err.Error()+urlForm)
		return
	}
	if u.Scheme != "https" {
		refuse(u.Scheme, "'https' is the only allowed URL scheme"+urlForm)
	}
	if u.Host == "" {
		refuse(u.Host, "host must be specified"+urlForm)
	}
	if u.User != nil {
		refuse("", "user information is not permitted in the URL")
	}
	if u.Fragment != "" {
		refuse(u.Fragment, "fragments are not permitted in the URL")
	}
	if u.RawQuery != "" {
		refuse(u.RawQuery, "query parameters are not permitted in the URL")
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
	path := n.At("path")
	if text := path.Text(); text != "" && text != "/" {
		readPath(r, path, text)
	}
}

func readPath(r *admissionpolicy.Reader, n policy.Node, path string) {
	refuse := func(detail string) { r.Doc.Invalid(n, "Invalid value: %q: %s", path, detail) }
	if !strings.HasPrefix(path, "/") {
		refuse("must start with a '/'")
	}
	for i, step := range strings.Split(strings.TrimSuffix(path[1:], "/"), "/") {
		if step == "" {
			refuse(fmt.Sprintf("segment[%d] may not be empty", i))
			continue
		}
		for _, problem := range dns.Subdomain(step) {
			refuse(fmt.Sprintf("segment[%d]: %s", i, problem))
		}
	}
}
