package builtin

import "github.com/preadmit/preadmit/engine/internal/podspec"

// topologyLabels adds the topology labels of its node to a Pod that is created on a node. Other
// Pods get them when they are bound to a node.
func topologyLabels(c *call) error {
	name := podspec.Text(c.spec(), "nodeName")
	if name == "" {
		return nil
	}
	found, err := c.get(node, "", name)
	if err != nil {
		return err
	}
	for _, key := range []string{"topology.kubernetes.io/zone", "topology.kubernetes.io/region"} {
		if value, ok := podspec.Map(found, "metadata", "labels")[key]; ok {
			podspec.Ensure(c.object, "metadata", "labels")[key] = value
		}
	}
	return nil
}
