package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/podspec"
)

// tolerationSeconds lets a Pod stay five minutes on a node that is not ready or cannot be
// reached.
func tolerationSeconds(c *call) error {
	spec := c.spec()
	for _, taint := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		tolerates := slices.ContainsFunc(podspec.Maps(spec, "tolerations"), func(t map[string]any) bool {
			key, effect := podspec.Text(t, "key"), podspec.Text(t, "effect")
			return (key == taint || key == "") && (effect == "NoExecute" || effect == "")
		})
		if !tolerates {
			t := podspec.Toleration(taint, "NoExecute")
			t["tolerationSeconds"] = int64(300)
			podspec.Append(spec, "tolerations", t)
		}
	}
	return nil
}

const (
	defaultTolerations   = "scheduler.alpha.kubernetes.io/defaultTolerations"
	tolerationsWhitelist = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
)

// tolerationRestriction adds the tolerations of the namespace to a Pod. It also adds a
// toleration of nodes with memory pressure, unless the Pod is BestEffort.
func tolerationRestriction(c *call) error {
	var more []map[string]any
	if c.creating() {
		given, err := c.namespaceTolerations(defaultTolerations)
		if err != nil {
			return err
		}
		more = given
	}
	if !isBestEffort(c.spec()) {
		more = append(more, podspec.Toleration("node.kubernetes.io/memory-pressure", "NoSchedule"))
	}
	if len(more) > 0 {
		podspec.Merge(c.spec(), more)
	}
	return allowedTolerations(c)
}

// allowedTolerations refuses Pods with tolerations that the namespace does not allow.
func allowedTolerations(c *call) error {
	allowed, err := c.namespaceTolerations(tolerationsWhitelist)
	if err != nil {
		return err
	}
	if !podspec.Allowed(c.spec(), allowed) {
		return errors.New("pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist")
	}
	return nil
}

// toleration is a toleration in an annotation of a namespace.
type toleration struct {
	Key               string `json:"key,omitempty"`
	Operator          string `json:"operator,omitempty"`
	Value             string `json:"value,omitempty"`
	Effect            string `json:"effect,omitempty"`
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}

// namespaceTolerations returns the tolerations in an annotation of the namespace.
func (c *call) namespaceTolerations(annotation string) ([]map[string]any, error) {
	annotations, err := c.namespaceAnnotations("PodTolerationRestriction")
	text, _ := annotations[annotation].(string)
	if err != nil || text == "" {
		return nil, err
	}
	var given []toleration
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return nil, err
	}
	var all []map[string]any
	for _, g := range given {
		t := map[string]any{}
		for key, value := range map[string]string{"key": g.Key, "operator": g.Operator, "value": g.Value, "effect": g.Effect} {
			if value != "" {
				t[key] = value
			}
		}
		if g.TolerationSeconds != nil {
			t["tolerationSeconds"] = *g.TolerationSeconds
		}
		all = append(all, t)
	}
	return all, nil
}

// isBestEffort reports whether a Pod has no requests and no limits for CPU and memory.
func isBestEffort(spec map[string]any) bool {
	lists := []map[string]any{podspec.Map(spec, "resources")}
	if lists[0] == nil {
		lists = nil
		for _, container := range podspec.Containers(spec) {
			lists = append(lists, podspec.Map(container, "resources"))
		}
	}
	for _, resources := range lists {
		for _, list := range []string{"requests", "limits"} {
			for name, amount := range amounts(podspec.Map(resources, list)) {
				if (name == "cpu" || name == "memory") && amount.Sign() > 0 {
					return false
				}
			}
		}
	}
	return true
}

// extendedResources adds a toleration for each extended resource that a Pod requests: of a taint
// with the name of the resource.
func extendedResources(c *call) error {
	names := map[string]bool{}
	for _, container := range podspec.Containers(c.spec()) {
		for name := range podspec.Map(container, "resources", "requests") {
			if isExtended(name) {
				names[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		podspec.Tolerate(c.spec(), podspec.Toleration(name, "NoSchedule"))
	}
	return nil
}

// isExtended reports whether a resource is not one of Kubernetes' own. Its name must be short
// enough for quotas.
func isExtended(name string) bool {
	if !strings.Contains(name, "/") || strings.Contains(name, "kubernetes.io/") || strings.HasPrefix(name, "requests.") {
		return false
	}
	domain, _, _ := strings.Cut(fmt.Sprintf("requests.%s", name), "/")
	return len(domain) <= 253
}
