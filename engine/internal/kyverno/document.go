package kyverno

import (
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/manifest"
)

// reader reads one document of the language.
type reader struct {
	*policydoc.Reader
	// compiled are the expressions of rules, in the order of the document.
	compiled []compiledExpression
}

func newReader(d *manifest.Document) *reader { return &reader{Reader: policydoc.New(d)} }

// The fields of each part of a policy in Kyverno v1.19.0. mutate also has the fields of versions
// before 1.6.
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
