package builtin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/podspec"
)

const selectorAnnotation = "scheduler.alpha.kubernetes.io/node-selector"

// nodeSelector adds the node selector of the namespace to a Pod.
func nodeSelector(c *call) error {
	annotations, err := c.namespaceAnnotations("PodNodeSelector")
	if err != nil {
		return err
	}
	text, _ := annotations[selectorAnnotation].(string)
	selector, err := parseLabels(text)
	if err != nil {
		return err
	}
	for key, value := range selector {
		own := podspec.Ensure(c.spec(), "nodeSelector")
		if has, ok := own[key]; ok && has != value {
			return c.forbiddenNamed(podspec.Text(c.object, "metadata", "name"), errors.New("pod node label selector conflicts with its namespace node label selector"))
		}
		own[key] = value
	}
	return nil
}

// parseLabels parses labels in the form "a=b,c=d".
func parseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	if text == "" {
		return labels, nil
	}
	for _, label := range strings.Split(text, ",") {
		parts := strings.Split(label, "=")
		if len(parts) != 2 {
			return nil, fmt.Errorf("invalid selector: %s", parts)
		}
		labels[strings.TrimSpace(parts[0])] = strings.TrimSpace(parts[1])
	}
	return labels, nil
}
