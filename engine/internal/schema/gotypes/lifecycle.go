package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// lifecycles returns the lines of a table with the kinds whose versions are, or will be, deprecated or
// removed, sorted. Each has the kind, the minor version of Kubernetes that deprecates it, the one that
// removes it, and the kind that replaces it, or - for none:
//
//	extensions/v1beta1/Ingress 14 22 networking.k8s.io/v1/Ingress
func lifecycles() []string {
	var lines []string
	for kind, t := range scheme().AllKnownTypes() {
		object := reflect.New(t).Interface()
		deprecated, removed, replacement := "-", "-", "-"
		if o, ok := object.(interface{ APILifecycleDeprecated() (major, minor int) }); ok {
			deprecated = minorOf(o.APILifecycleDeprecated())
		}
		if o, ok := object.(interface{ APILifecycleRemoved() (major, minor int) }); ok {
			removed = minorOf(o.APILifecycleRemoved())
		}
		if o, ok := object.(interface {
			APILifecycleReplacement() schema.GroupVersionKind
		}); ok {
			replacement = slashed(o.APILifecycleReplacement())
			if replacement == "networking.k8s.io/v1/IngressClassList" && kind.Kind == "IngressClass" { // a slip in the types
				replacement = "networking.k8s.io/v1/IngressClass"
			}
		}
		if isList := strings.HasSuffix(kind.Kind, "List"); !isList && (deprecated != "-" || removed != "-") {
			lines = append(lines, fmt.Sprintf("%s %s %s %s", slashed(kind), deprecated, removed, replacement))
		}
	}
	slices.Sort(lines)
	return lines
}

// minorOf returns the minor version of Kubernetes 1.minor.
func minorOf(_, minor int) string { return fmt.Sprint(minor) }

// slashed prints a kind after its apiVersion.
func slashed(kind schema.GroupVersionKind) string {
	return kind.GroupVersion().String() + "/" + kind.Kind
}
