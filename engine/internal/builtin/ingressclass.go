package builtin

import "github.com/preadmit/preadmit/engine/internal/podspec"

// ingressClass gives an Ingress without a class the default one.
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
