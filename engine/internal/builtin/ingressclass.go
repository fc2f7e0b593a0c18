package builtin

import "github.com/preadmit/preadmit/engine/internal/podspec"

// ingressClass sets the default class of an Ingress without a class.
func ingressClass(c *call) error {
	if _, old := podspec.Map(c.object, "metadata", "annotations")["kubernetes.io/ingress.class"]; old || c.spec()["ingressClassName"] != nil {
		return nil
	}
	name, err := c.newestDefault(ingress, "ingressclass.kubernetes.io/is-default-class")
	if name != "" {
		c.spec()["ingressClassName"] = name
	}
	return err
}
