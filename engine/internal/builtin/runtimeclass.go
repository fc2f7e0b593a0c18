package builtin

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/preadmit/preadmit/engine/internal/podspec"
)

// runtimeClass adds the overhead, the node selector and the tolerations of its RuntimeClass to a
// Pod.
func runtimeClass(c *call) error {
	class, err := c.runtimeClass()
	if err != nil || class == nil {
		return err
	}
	spec := c.spec()
	if overhead := podspec.Map(class, "overhead"); overhead != nil {
		fixed := podspec.Map(overhead, "podFixed")
		if own := podspec.Map(spec, "overhead"); len(own) > 0 && !equalAmounts(own, fixed) {
			return c.forbidden(errOverhead)
		}
		if delete(spec, "overhead"); len(fixed) > 0 {
			spec["overhead"] = maps.Clone(fixed)
		}
	}
	scheduling := podspec.Map(class, "scheduling")
	if scheduling == nil {
		return nil
	}
	selector := podspec.Map(scheduling, "nodeSelector")
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		own := podspec.Ensure(spec, "nodeSelector")
		if has, ok := own[key]; ok && has != selector[key] {
			return c.forbidden(fmt.Errorf("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", key, selector[key], key, has))
		}
		own[key] = selector[key]
	}
	podspec.Merge(spec, podspec.Maps(scheduling, "tolerations"))
	return nil
}

var errOverhead = errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")

// overhead refuses a Pod whose overhead differs from that of its RuntimeClass.
func overhead(c *call) error {
	class, err := c.runtimeClass()
	if err != nil {
		return err
	}
	own, has := c.spec()["overhead"].(map[string]any)
	switch overhead := podspec.Map(class, "overhead"); {
	case overhead != nil && !equalAmounts(own, podspec.Map(overhead, "podFixed")):
		return c.forbidden(errOverhead)
	case overhead == nil && has:
		return c.forbidden(errors.New("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"))
	}
	return nil
}

// runtimeClass returns the RuntimeClass of the Pod; nil if the Pod names none.
func (c *call) runtimeClass() (map[string]any, error) {
	name, named := c.spec()["runtimeClassName"].(string)
	if !named {
		return nil, nil
	}
	found, err := c.get(runtime, "", name)
	if err == nil && found == nil {
		return nil, c.forbidden(c.missing("RuntimeClass", "pod rejected: RuntimeClass %q not found", name))
	}
	return found, err
}

// equalAmounts reports whether two lists of resources have equal quantities.
func equalAmounts(a, b map[string]any) bool {
	return maps.EqualFunc(amounts(a), amounts(b), resourceEqual)
}

func resourceEqual(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }
