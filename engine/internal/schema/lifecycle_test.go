package schema

import (
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/release"
)

// TestLifecycleServed checks the table against the discovery of servers: what they serve has not been
// removed.
func TestLifecycleServed(t *testing.T) {
	for minor := release.Oldest; minor <= release.Newest; minor++ {
		for _, k := range BuiltinOf(minor).Kinds() {
			if l := LifecycleOf(k.Kind); l.Removed > 0 && l.Removed <= minor {
				t.Errorf("1.%d serves %s, which the table removes in 1.%d", minor, k.Kind, l.Removed)
			}
		}
	}
}

// TestUnserved compares with what kubectl says to a server of 1.36: it finds none of the kinds that are
// refused.
func TestUnserved(t *testing.T) {
	schemas := BuiltinOf(36).Clone()
	version := func(name string, served bool) map[string]any {
		root := map[string]any{"type": "object"}
		return map[string]any{"name": name, "served": served, "schema": map[string]any{"openAPIV3Schema": root}}
	}
	if problems := schemas.AddCRD(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"spec": map[string]any{
			"group": "example.com", "scope": "Cluster", "names": map[string]any{"kind": "Cup", "plural": "cups"},
			"versions": []any{version("v1", true), version("v1beta1", false)},
		},
	}); problems != nil {
		t.Fatal(problems)
	}
	for _, test := range []struct {
		apiVersion, kind, instead string
		unserved                  bool
	}{
		{"apps/v1", "Deploymentt", "apps/v1, Kind=Deployment", true},
		{"apps/v3", "Deployment", "apps/v1, Kind=Deployment", true},
		{"v2", "Pod", "/v1, Kind=Pod", true},
		{"v1", "Xyzzyquux", "/, Kind=", true},
		{"example.com/v1beta1", "Cup", "example.com/v1, Kind=Cup", true},
		{"example.com/v7", "Cup", "example.com/v1, Kind=Cup", true},
		{"example.com/v1", "Saucer", "/, Kind=", false}, // another definition may have it
		{"networking.k8s.io/v7", "Ingress", "/, Kind=", false},
		{"other.io/v1", "Thing", "/, Kind=", false},
		{"apps/v1", "Deployment", "/, Kind=", false},
	} {
		instead, unserved := schemas.Unserved(gvk.Parse(test.apiVersion, test.kind))
		if unserved != test.unserved || instead.String() != test.instead {
			t.Errorf("%s %s: %v, instead %s", test.apiVersion, test.kind, unserved, instead)
		}
	}
}

// TestDeprecation compares warnings with those of kube-apiserver 1.36.3, and looks at other versions.
func TestDeprecation(t *testing.T) {
	for _, test := range []struct {
		kind  gvk.Kind
		minor int
		want  string
	}{
		{gvk.Kind{Version: "v1", Kind: "Endpoints"}, 36, "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"},
		{gvk.Kind{Version: "v1", Kind: "Endpoints"}, 32, ""},
		{gvk.Parse("admissionregistration.k8s.io/v1alpha1", "MutatingAdmissionPolicyBinding"), 36, "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding is deprecated in v1.35+, unavailable in v1.38+"},
		{gvk.Parse("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicyBinding"), 36, ""},
		{gvk.Kind{Version: "v1", Kind: "Pod"}, 36, ""},
	} {
		if got := (&Kind{Kind: test.kind}).Deprecation(test.minor); got != test.want {
			t.Errorf("%s in 1.%d: %q, not %q", test.kind, test.minor, got, test.want)
		}
	}
	for old, replacement := range map[string]string{
		"flowcontrol.apiserver.k8s.io/v1alpha1 FlowSchema": "flowcontrol.apiserver.k8s.io/v1",
		"extensions/v1beta1 PodSecurityPolicy":             "",
		"networking.k8s.io/v1beta1 IngressClass":           "networking.k8s.io/v1",
		"batch/v2alpha1 CronJob":                           "batch/v1",
	} {
		apiVersion, kind, _ := strings.Cut(old, " ")
		l, removed := BuiltinOf(36).Removed(gvk.Parse(apiVersion, kind), 36)
		if got := l.Replacement.APIVersion(); !removed || got != replacement {
			t.Errorf("%s is removed: %v, and replaced by %q, not %q", old, removed, got, replacement)
		}
	}
	if _, removed := BuiltinOf(36).Removed(gvk.Parse("extensions/v1beta1", "Ingress"), 36); !removed {
		t.Error("extensions/v1beta1 Ingress is served")
	}
}
