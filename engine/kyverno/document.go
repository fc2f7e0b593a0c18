package kyverno

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// reader collects what is wrong with one document.
type reader struct {
	document *manifest.Document
	subject  string
	root     node
	problems []source.Diagnostic
	// quiet says that the document is no policy but has values: no lines of it are quoted,
	// as they may be secret.
	quiet bool
}

func newReader(d *manifest.Document) *reader {
	return &reader{document: d, subject: strings.TrimSpace(d.Kind().Kind + " " + d.Name()), root: node{value: d.Object()}}
}

// node is a value in a document and the path to it.
type node struct {
	value any
	path  change.Path
}

// at returns the value below keys; it has no value if there is none.
func (n node) at(keys ...string) node {
	for _, key := range keys {
		object, _ := n.value.(map[string]any)
		n = node{value: object[key], path: n.path.Key(key)}
	}
	return n
}

// items returns the items of a list.
func (n node) items() []node {
	list, _ := n.value.([]any)
	nodes := make([]node, len(list))
	for i := range list {
		nodes[i] = node{value: list[i], path: n.path.Index(i)}
	}
	return nodes
}

func (n node) given() bool { return n.value != nil }

func (n node) text() string {
	text, _ := n.value.(string)
	return text
}

// texts returns the strings of a list.
func (n node) texts() []string {
	var texts []string
	for _, item := range n.items() {
		texts = append(texts, item.text())
	}
	return texts
}

func (n node) object() map[string]any {
	object, _ := n.value.(map[string]any)
	return object
}

// advise reports an error about the field at a path.
func (r *reader) advise(path change.Path, code, text, advice string) {
	r.report(source.Diagnostic{At: r.document.At(path), Severity: source.Error, Code: code, Message: text, Advice: advice}, path)
}

func (r *reader) invalid(n node, format string, args ...any) {
	r.advise(n.path, "policy-invalid", fmt.Sprintf(format, args...), "")
}

func (r *reader) report(d source.Diagnostic, path change.Path) {
	d.Subject, d.Field = r.subject, path.String()
	if r.quiet {
		d.Code = "values-invalid"
	} else {
		d.Excerpt = r.document.Excerpt(d.At)
	}
	r.problems = append(r.problems, d)
}

// note adds a message that is no error about the field at n.
func (r *reader) note(n node, severity source.Severity, code, text string) {
	r.report(source.Diagnostic{At: r.document.At(n.path), Severity: severity, Code: code, Message: text}, n.path)
}

// The fields of each part of a policy, those of Kyverno v1.19.0 and, in mutate, those
// of the versions before 1.6.
var (
	specFields = []string{
		"rules", "applyRules", "failurePolicy", "validationFailureAction", "validationFailureActionOverrides", "emitWarning",
		"admission", "background", "schemaValidation", "webhookTimeoutSeconds", "mutateExistingOnPolicyUpdate",
		"generateExistingOnPolicyUpdate", "generateExisting", "useServerSideApply", "webhookConfiguration",
	}
	ruleFields = []string{
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
func (r *reader) fields(n node, known []string) bool {
	object, ok := n.value.(map[string]any)
	if !ok {
		if n.given() {
			r.invalid(n, "expected a map")
		} else {
			r.invalid(n, "the field is required")
		}
		return false
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, key) {
			r.advise(n.path.Key(key), "policy-field-unknown", fmt.Sprintf("unknown field %q", key), "expected "+strings.Join(known, ", "))
		}
	}
	return true
}

// list reports what is not a list.
func (r *reader) list(n node) []node {
	if _, ok := n.value.([]any); n.given() && !ok {
		r.invalid(n, "expected a list")
	}
	return n.items()
}

// strings reports what is not a list of strings.
func (r *reader) strings(n node) []string {
	var texts []string
	for _, item := range r.list(n) {
		texts = append(texts, r.string(item))
	}
	return texts
}

// string reports what is not a string.
func (r *reader) string(n node) string {
	if _, ok := n.value.(string); n.given() && !ok {
		r.advise(n.path, "policy-invalid", "expected a string", "quote the value")
	}
	return n.text()
}
