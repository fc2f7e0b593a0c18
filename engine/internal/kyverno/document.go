package kyverno

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// reader collects what is wrong with one document.
type reader struct {
	document *manifest.Document
	subject  string
	root     policy.Node
	problems []source.Diagnostic
	// quiet says that the document is no policy but has values: no lines of it are quoted,
	// as they may be secret.
	quiet bool
}

func newReader(d *manifest.Document) *reader {
	return &reader{document: d, subject: strings.TrimSpace(d.Kind().Kind + " " + d.Name()), root: policy.Node{Value: d.Object()}}
}

// advise reports an error about the field at a path.
func (r *reader) advise(path change.Path, code, text, advice string) {
	r.report(source.Diagnostic{At: r.document.At(path), Severity: source.Error, Code: code, Message: text, Advice: advice}, path)
}

func (r *reader) invalid(n policy.Node, format string, args ...any) {
	r.advise(n.Path, "policy-invalid", fmt.Sprintf(format, args...), "")
}

func (r *reader) report(d source.Diagnostic, path change.Path) {
	d.Subject, d.Field = r.subject, path.String()
	switch {
	case !r.quiet:
		d.Excerpt = r.document.Excerpt(d.At)
	case d.Severity == source.Error:
		d.Code = "values-invalid"
	}
	r.problems = append(r.problems, d)
}

// note adds a message that is no error about the field at n.
func (r *reader) note(n policy.Node, severity source.Severity, code, text string) {
	r.report(source.Diagnostic{At: r.document.At(n.Path), Severity: severity, Code: code, Message: text}, n.Path)
}

// The fields of each part of a policy, those of Kyverno v1.19.0 and, in mutate, those
// of the versions before 1.6.
var (
	specFields = []string{
		"rules", "applyRules", "failurePolicy", "validationFailureAction", "validationFailureActionOverrides", "emitWarning",
		"admission", "background", "schemaValidation", "webhookTimeoutSeconds", "mutateExistingOnPolicyUpdate",
		"generateExistingOnPolicyUpdate", "generateExisting", "useServerSideApply", "webhookConfiguration",
	}
	webhookFields = []string{"failurePolicy", "timeoutSeconds", "matchConditions"}
	ruleFields    = []string{
		"name", "context", "match", "exclude", "imageExtractors", "preconditions", "celPreconditions", "mutate", "validate",
		"generate", "verifyImages", "skipBackgroundRequests", "reportProperties",
	}
	blockFields     = []string{"resources", "subjects", "roles", "clusterRoles"}
	matchFields     = append([]string{"any", "all"}, blockFields...)
	resourceFields  = []string{"kinds", "name", "names", "namespaces", "annotations", "selector", "namespaceSelector", "operations"}
	subjectFields   = []string{"kind", "apiGroup", "name", "namespace"}
	selectorFields  = []string{"matchLabels", "matchExpressions"}
	mutateFields    = []string{"targets", "patchStrategicMerge", "patchesJson6902", "foreach", "mutateExistingOnPolicyUpdate", "overlay", "patches"}
	foreachFields   = []string{"list", "order", "context", "preconditions", "patchStrategicMerge", "patchesJson6902", "foreach"}
	targetFields    = []string{"apiVersion", "kind", "namespace", "name", "uid", "selector", "context", "preconditions"}
	entryFields     = []string{"name", "configMap", "apiCall", "imageRegistry", "variable", "globalReference"}
	conditionFields = []string{"key", "operator", "value", "message"}
	entryKindFields = map[string][]string{
		"configMap":       {"name", "namespace"},
		"variable":        {"value", "jmesPath", "default"},
		"apiCall":         {"urlPath", "method", "data", "service", "jmesPath", "default", "retryLimit"},
		"imageRegistry":   {"reference", "jmesPath", "imageRegistryCredentials"},
		"globalReference": {"name", "jmesPath"},
	}
)

// fields reports what a map is not, or has besides the fields that are known.
func (r *reader) fields(n policy.Node, known []string) bool {
	object, ok := n.Value.(map[string]any)
	if !ok {
		if n.Given() {
			r.invalid(n, "expected a map")
		} else {
			r.invalid(n, "the field is required")
		}
		return false
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, key) {
			r.advise(n.Path.Key(key), "policy-field-unknown", fmt.Sprintf("unknown field %q", key), "expected "+strings.Join(known, ", "))
		}
	}
	return true
}

// list reports what is not a list.
func (r *reader) list(n policy.Node) []policy.Node {
	if _, ok := n.Value.([]any); n.Given() && !ok {
		r.invalid(n, "expected a list")
	}
	return n.Items()
}

// strings reports what is not a list of strings.
func (r *reader) strings(n policy.Node) []string {
	var texts []string
	for _, item := range r.list(n) {
		texts = append(texts, r.string(item))
	}
	return texts
}

// string reports what is not a string.
func (r *reader) string(n policy.Node) string {
	if _, ok := n.Value.(string); n.Given() && !ok {
		r.advise(n.Path, "policy-invalid", "expected a string", "quote the value")
	}
	return n.Text()
}
