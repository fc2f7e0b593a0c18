package builtin

import (
	"fmt"

	"github.com/preadmit/preadmit/engine/internal/podspec"
	"github.com/preadmit/preadmit/engine/policy"
)

// systemClasses are the PriorityClasses that every cluster has.
var systemClasses = map[string]int64{"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}

const preempting = "PreemptLowerPriority"

// podPriority sets the priority of a Pod from its PriorityClass, or from the default one.
func podPriority(c *call) error {
	spec := c.spec()
	if c.request.Operation == policy.Update {
		for _, field := range []string{"priority", "preemptionPolicy"} {
			if old := podspec.Map(c.request.OldObject, "spec")[field]; spec[field] == nil && old != nil {
				spec[field] = old
			}
		}
		return nil
	}
	name, value, preemption, err := c.priority(podspec.Text(spec, "priorityClassName"))
	if err != nil {
		return err
	}
	if name != "" {
		spec["priorityClassName"] = name
	}
	if own, ok := podspec.Int(spec, "priority"); ok && own != value {
		return c.forbidden(fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", own, value))
	}
	spec["priority"] = value
	if own := podspec.Text(spec, "preemptionPolicy"); own != "" && own != preemption {
		return c.forbidden(fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", own, preemption))
	}
	spec["preemptionPolicy"] = preemption
	return nil
}

// priority returns the PriorityClass with a name, or the default one.
func (c *call) priority(name string) (class string, value int64, preemption string, err error) {
	if name == "" {
		return c.defaultPriority()
	}
	found, err := c.get(priority, "", name)
	if err != nil {
		return "", 0, "", err
	}
	if found == nil {
		system, ok := systemClasses[name]
		if !ok {
			return "", 0, "", c.forbidden(c.missing("PriorityClass", "no PriorityClass with name %v was found", name))
		}
		return name, system, preempting, nil
	}
	value, preemption = classOf(found)
	return name, value, preemption, nil
}

// defaultPriority returns the default PriorityClass. The one with the lowest value wins.
func (c *call) defaultPriority() (name string, value int64, preemption string, err error) {
	classes, err := c.list(priority, "")
	if err != nil {
		return "", 0, "", err
	}
	preemption = preempting
	for _, class := range classes {
		isDefault, _ := podspec.Bool(class, "globalDefault")
		if v, p := classOf(class); isDefault && (name == "" || v < value) {
			name, value, preemption = podspec.Text(class, "metadata", "name"), v, p
		}
	}
	return name, value, preemption, nil
}

func classOf(class map[string]any) (value int64, preemption string) {
	value, _ = podspec.Int(class, "value")
	if preemption = podspec.Text(class, "preemptionPolicy"); preemption == "" {
		preemption = preempting
	}
	return value, preemption
}
