package webhook

import (
	"slices"
	"strings"
	"time"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/internal/dns"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// webhook is a webhook of a configuration. It implements policy.Program.
type webhook struct {
	name     policy.WebhookName
	language *Language
	path     change.Path
	// position is that in the configuration, index that among all webhooks of all configurations.
	position, index int
	// policy has the parts that webhooks share with policies: rules, selectors, conditions and the
	// failurePolicy. Its name is that of the webhook.
	policy       *admissionpolicy.Policy
	reinvocation policy.Reinvocation
	// versions are the versions of AdmissionReview that the webhook reads, the best first.
	versions []string
}

// defaultTimeout is the timeout of a webhook that sets none.
const defaultTimeout = 10

// identify returns the identity of a webhook, which need not be valid.
func identify(d *manifest.Document, n policy.Node) policy.WebhookName {
	w := policy.WebhookName{Configuration: d.Name(), Name: n.At("name").Text(), Timeout: defaultTimeout * time.Second}
	if seconds, ok := n.At("timeoutSeconds").Value.(int64); ok {
		w.Timeout = time.Duration(seconds) * time.Second
	}
	client := n.At("clientConfig")
	w.Path = client.At("service", "path").Text()
	if service := client.At("service"); service.Given() {
		w.Service = service.At("name").Text() + "." + service.At("namespace").Text() + ".svc"
	}
	if _, rest, found := strings.Cut(client.At("url").Text(), "://"); found {
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			w.Path = rest[i:]
		}
	}
	return w
}

// read reads the webhooks of a configuration, with the checks and texts of a server.
func (l *Language) read(r *admissionpolicy.Reader) []*webhook {
	r.Doc.Name()
	var all []*webhook
	var names []string
	for i, n := range r.Doc.Root.At("webhooks").Items() {
		w := &webhook{name: identify(r.Doc.Document, n), language: l, path: n.Path, position: i}
		w.read(r, n)
		if slices.Contains(names, w.name.Name) {
			r.Doc.Invalid(n.At("name"), "Duplicate value: %q", w.name.Name)
		}
		names = append(names, w.name.Name)
		all = append(all, w)
	}
	return all
}

func (w *webhook) read(r *admissionpolicy.Reader, n policy.Node) {
	name := n.At("name")
	w.policy = &admissionpolicy.Policy{Name: w.name.Name, Document: r.Doc.Document, At: r.Doc.Document.At(name.Path), Scope: w.language.shared.CEL.Scope(false)}
	switch problems := dns.Subdomain(w.name.Name); {
	case w.name.Name == "":
		r.Doc.Required(name, "")
	case len(problems) > 0:
		r.Doc.Invalid(name, "Invalid value: %q: %s", w.name.Name, strings.Join(problems, ","))
	case strings.Count(w.name.Name, ".") < 2:
		r.Doc.Invalid(name, "Invalid value: %q: should be a domain with at least three segments separated by dots", w.name.Name)
	}
	w.readVersions(r, n.At("admissionReviewVersions"))
	w.policy.Constraints = constraints(r, n)
	w.policy.Ignore = oneOf(r, n.At("failurePolicy"), "Fail", "Ignore") == "Ignore"
	oneOf(r, n.At("matchPolicy"), "Equivalent", "Exact")
	if effects := n.At("sideEffects"); !effects.Given() {
		r.Doc.Required(effects, "must specify one of None, NoneOnDryRun")
	} else {
		oneOf(r, effects, "None", "NoneOnDryRun")
	}
	if n.At("timeoutSeconds").Given() && (w.name.Timeout < time.Second || w.name.Timeout > 30*time.Second) {
		r.Doc.Invalid(n.At("timeoutSeconds"), "Invalid value: %d: the timeout value must be between 1 and 30 seconds", int(w.name.Timeout.Seconds()))
	}
	if oneOf(r, n.At("reinvocationPolicy"), "IfNeeded", "Never") == "IfNeeded" {
		w.reinvocation = policy.IfNeeded
	}
	readClient(r, n.At("clientConfig"))
	w.policy.Conditions = r.Conditions(n.At("matchConditions"), w.policy.Scope)
}

// oneOf returns a value that is one of the supported ones, or missing.
func oneOf(r *admissionpolicy.Reader, n policy.Node, supported ...string) string {
	if n.Given() && !slices.Contains(supported, n.Text()) {
		r.Doc.Unsupported(n, supported...)
	}
	return n.Text()
}

// known are the versions of AdmissionReview that a server sends.
var known = []string{"v1", "v1beta1"}

func (w *webhook) readVersions(r *admissionpolicy.Reader, n policy.Node) {
	const expected = "v1, v1beta1"
	for i, item := range n.Items() {
		for _, problem := range dns.Label1035(item.Text()) {
			r.Doc.Invalid(item, "Invalid value: %q: %s", item.Text(), problem)
		}
		if slices.Contains(w.versions, item.Text()) {
			r.Doc.Invalid(item, "Invalid value: %q: duplicate version", item.Text())
		}
		w.versions = append(w.versions, n.Items()[i].Text())
	}
	sent := func(version string) bool { return slices.Contains(known, version) }
	switch {
	case len(w.versions) == 0:
		r.Doc.Required(n, "must specify one of "+expected)
	case !slices.ContainsFunc(w.versions, sent):
		r.Doc.Invalid(n, "Invalid value: %s: must include at least one of %s", manifest.JSON(n.Value), expected)
	}
}

// constraints reads the rules and selectors of a webhook. The result is nil for a webhook without
// rules, which gets no requests.
func constraints(r *admissionpolicy.Reader, n policy.Node) *match.Resources {
	fields, _ := n.Value.(map[string]any)
	block := map[string]any{}
	for _, key := range []string{"matchPolicy", "namespaceSelector", "objectSelector"} {
		if value, given := fields[key]; given {
			block[key] = value
		}
	}
	if n.At("matchPolicy").Given() && !slices.Contains([]string{"Equivalent", "Exact"}, n.At("matchPolicy").Text()) {
		delete(block, "matchPolicy") // it has its own error
	}
	rules, _ := fields["rules"].([]any)
	block["resourceRules"] = rules
	resources, problems := match.Validating.Parse(block)
	for i := range problems {
		if path := problems[i].Path; len(path) > 0 && path[0] == change.Key("resourceRules") {
			path = slices.Clone(path)
			path[0] = change.Key("rules")
			problems[i].Path, problems[i].Field = path, strings.Replace(problems[i].Field, "resourceRules", "rules", 1)
		}
	}
	r.Doc.Matched(n, problems)
	if len(rules) == 0 {
		return nil
	}
	return resources
}
