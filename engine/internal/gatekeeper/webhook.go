package gatekeeper

import (
	"fmt"
	"maps"
	"slices"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/match"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/internal/unknown"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

const (
	// configuration is the name of the MutatingWebhookConfiguration that calls Gatekeeper;
	// webhookName is the name of the webhook in it.
	configuration = "gatekeeper-mutating-webhook-configuration"
	webhookName   = "mutation.gatekeeper.sh"
	// home is the namespace of Gatekeeper.
	home           = "gatekeeper-system"
	serviceAccount = "system:serviceaccount:" + home + ":gatekeeper-admin"
)

var (
	configKind        = gvk.Kind{Group: "config.gatekeeper.sh", Kind: "Config"}
	configurationKind = gvk.Kind{Group: admissionGroup, Kind: "MutatingWebhookConfiguration"}
)

const admissionGroup = "admissionregistration.k8s.io"

// ignored are the groups whose objects Gatekeeper does not change.
var ignored = []string{
	"templates.gatekeeper.sh", "constraints.gatekeeper.sh", group, "config.gatekeeper.sh", "externaldata.gatekeeper.sh",
	"expansion.gatekeeper.sh", "status.gatekeeper.sh",
}

// webhook decides which requests reach the mutators.
type webhook struct {
	// resources is nil if no rule of the webhook covers CREATE or UPDATE.
	resources *match.Resources
	// stock says that the input has no configuration: the one of Gatekeeper's manifest is used.
	stock bool
	at    source.Position
	// reinvoked says that the reinvocationPolicy is IfNeeded.
	reinvoked bool
	// excluded are the patterns of the namespaces that the Config excludes.
	excluded []string
}

// stockWebhook returns the webhook of Gatekeeper's own manifest.
func stockWebhook() *webhook {
	all := []any{"*"}
	resources, problems := match.Mutating.Parse(map[string]any{
		"matchPolicy": "Exact",
		"resourceRules": []any{map[string]any{
			"operations": []any{string(policy.Create), string(policy.Update)}, "apiGroups": all, "apiVersions": all, "resources": all,
		}},
		"namespaceSelector": map[string]any{"matchExpressions": []any{
			map[string]any{"key": "admission.gatekeeper.sh/ignore", "operator": "DoesNotExist"},
			map[string]any{"key": nameLabel, "operator": "NotIn", "values": []any{home}},
		}},
	})
	if len(problems) > 0 {
		panic(problems[0].Text)
	}
	return &webhook{resources: resources, stock: true}
}

// readConfig reads Gatekeeper's Config. It replaces an earlier Config.
func (w *webhook) readConfig(r *reader) {
	w.excluded = nil
	r.doc.Conforms(r.doc.Root, policydoc.TypeOf("Config"), func(policy.Node, string, *schema.Type) {}) // other fields do not matter here
	for _, item := range r.doc.Root.At("spec", "match").Items() {
		processes := item.At("processes").Texts()
		if slices.Contains(processes, "mutation-webhook") || slices.Contains(processes, "*") {
			w.excluded = append(w.excluded, item.At("excludedNamespaces").Texts()...)
		}
	}
}

// readConfiguration reads the MutatingWebhookConfiguration of Gatekeeper. It replaces an earlier
// one.
func (w *webhook) readConfiguration(r *reader) {
	for _, n := range r.doc.Root.At("webhooks").Items() {
		if n.At("name").Text() == webhookName {
			w.readWebhook(r, n)
			return
		}
	}
	r.advise(r.doc.Root.At("webhooks"), 0, "Gatekeeper's own configuration has this webhook", "there is no webhook %s", webhookName)
}

func (w *webhook) readWebhook(r *reader, n policy.Node) {
	w.stock, w.at = false, r.doc.Document.At(n.Path)
	w.reinvoked = n.At("reinvocationPolicy").Text() == "IfNeeded"
	rules := changing(n.At("rules"))
	block := map[string]any{"resourceRules": rules}
	for _, key := range []string{"matchPolicy", "namespaceSelector", "objectSelector"} {
		block[key] = n.At(key).Value
	}
	resources, problems := match.Mutating.Parse(block)
	for _, problem := range problems {
		path := slices.Clone(problem.Path)
		if len(path) > 0 && path[0] == change.Key("resourceRules") {
			path[0] = change.Key("rules")
		}
		r.doc.Invalid(policy.Node{Path: append(slices.Clone(n.Path), path...)}, "%s", problem.Text)
	}
	if conditions := n.At("matchConditions"); len(conditions.Items()) > 0 {
		r.advise(conditions, 0, "use match in the mutators instead, or leave the configuration out", "conditions of the webhook in CEL are not evaluated")
	}
	w.resources = resources
	if len(rules) == 0 {
		w.resources = nil
	}
}

// changing returns the rules, restricted to operations that change an object.
func changing(n policy.Node) []any {
	var rules []any
	for _, item := range n.Items() {
		rule, ok := item.Value.(map[string]any)
		operations, listed := rule["operations"].([]any)
		if !ok || !listed || len(operations) == 0 {
			rules = append(rules, item.Value)
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(operations), func(o any) bool { return o == "DELETE" || o == "CONNECT" })
		if len(kept) > 0 {
			rule = maps.Clone(rule)
			rule["operations"] = kept
			rules = append(rules, rule)
		}
	}
	return rules
}

// hides returns the reason why mutators see no object of a kind, "" if they see them.
func hides(kind gvk.Kind) policy.Text {
	switch {
	case policy.IsHidden(kind):
		return "an API server sends objects of this kind to no webhook"
	case slices.Contains(ignored, kind.Group):
		return policy.Text("Gatekeeper leaves objects of the group " + kind.Group + " alone")
	}
	return ""
}

// skips returns the reason why mutators do not see the object of a request, nil if they see it.
func (w *webhook) skips(r *policy.Request) (fmt.Stringer, error) {
	if why := hides(r.Kind.Kind); why != "" {
		return why, nil
	}
	if r.User.Name == serviceAccount {
		return policy.Text("Gatekeeper does not change objects in its own requests"), nil
	}
	if w.resources == nil {
		return policy.Text("the webhook of Gatekeeper covers neither CREATE nor UPDATE"), nil
	}
	decision := w.resources.Matches(match.Request{
		Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Operation: string(r.Operation),
		Object: r.Object, OldObject: r.OldObject, Schemas: r.Schemas, Unknown: unknown.In(r.Context),
		NamespaceLabels: func(name string) (map[string]string, error) {
			return namespaceLabels(r, name, !w.stock, "the webhook of Gatekeeper", w.at)
		},
	})
	switch {
	case decision.Err != nil:
		return nil, decision.Err
	case decision.Matched && decision.Kind != r.Kind:
		return nil, fmt.Errorf("the webhook is called with objects of %s, which are not converted", decision.Kind.APIVersion())
	case !decision.Matched:
		return policy.Unmatched{Block: "the webhook of Gatekeeper is not called", Reason: decision.Reason}, nil
	case !anyWild(w.excluded, r.Namespace):
		return nil, nil
	case r.Namespace == "":
		return policy.Text("the Config of Gatekeeper excludes all namespaces, and objects without a namespace"), nil
	}
	return policy.Text(fmt.Sprintf("the Config of Gatekeeper excludes namespace %q", r.Namespace)), nil
}
