package validation

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
)

// known are the finalizers of Kubernetes.
var known = []string{v1.FinalizerOrphanDependents, v1.FinalizerDeleteDependents, "kubernetes"}

// finalizerWarnings returns warnings about the names of new finalizers, sorted.
func finalizerWarnings(object, old *unstructured.Unstructured) (warnings []string) {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(object.GetFinalizers()))) {
		if slices.Contains(old.GetFinalizers(), name) {
			continue
		}
		for _, problem := range validation.IsQualifiedName(name) {
			warnings = append(warnings, fmt.Sprintf("metadata.finalizers: %q: %s", name, problem))
		}
		path := ""
		if strings.Contains(name, ".") {
			path = " including a path (/)"
		}
		if !strings.Contains(name, "/") && !slices.Contains(known, name) {
			warnings = append(warnings, fmt.Sprintf("metadata.finalizers: %q: prefer a domain-qualified finalizer name%s to avoid accidental conflicts with other finalizer writers", name, path))
		}
	}
	return warnings
}
