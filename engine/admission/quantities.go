package admission

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// canonicalQuantity returns the text that the API server writes for a quantity that
// it has read from text.
func canonicalQuantity(text string) (string, error) {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return "", err
	}
	return q.String(), nil
}

// roundToMilli rounds the quantities of a resource list up to milli, as
// SetDefaults_ResourceList does.
func roundToMilli(list map[string]any) {
	for name, value := range list {
		text, _ := value.(string)
		if !mayBeFiner(text) {
			continue
		}
		if q, err := resource.ParseQuantity(text); err == nil {
			q.RoundUp(resource.Milli)
			list[name] = q.String()
		}
	}
}

// mayBeFiner reports whether a quantity could have digits below milli: no whole
// number with a suffix other than n and u has.
func mayBeFiner(text string) bool {
	return strings.ContainsAny(text, ".eEnu")
}

// A resourceList is a decoded list of resources.
type resourceList map[string]resource.Quantity

func parseResourceList(list map[string]any) resourceList {
	parsed := make(resourceList, len(list))
	for name, value := range list {
		text, _ := value.(string)
		if q, err := resource.ParseQuantity(text); err == nil {
			parsed[name] = q
		}
	}
	return parsed
}

// add adds up resource by resource.
func (l resourceList) add(other resourceList) {
	for name, q := range other {
		if sum, ok := l[name]; ok {
			sum.Add(q)
			l[name] = sum
		} else {
			l[name] = q.DeepCopy()
		}
	}
}

// atLeast raises each resource to what other has of it.
func (l resourceList) atLeast(other resourceList) {
	for name, q := range other {
		if has, ok := l[name]; !ok || q.Cmp(has) > 0 {
			l[name] = q.DeepCopy()
		}
	}
}
