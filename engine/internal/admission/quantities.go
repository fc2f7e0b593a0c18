package admission

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// canonicalQuantity returns a quantity as the API server writes it.
func canonicalQuantity(text string) (string, error) {
	if isCanonical(text) {
		return text, nil
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return "", err
	}
	return q.String(), nil
}

// isCanonical reports whether a quantity is a whole number below 1,000 with or without a suffix.
// Such quantities are canonical, and most quantities are like that.
func isCanonical(text string) bool {
	digits := 0
	for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits > 3 || text[0] == '0' {
		return false
	}
	switch text[digits:] {
	case "", "m", "k", "M", "G", "Ki", "Mi", "Gi":
		return true
	}
	return false
}

// round rounds the quantities of resource lists up to milli, as SetDefaults_ResourceList
// does.
func (r *record) round(lists ...string) {
	for _, name := range lists {
		list := r.child(name)
		for resource, value := range list.out {
			list.set(resource, rounded(value))
		}
	}
}

// isFiner reports whether a resource list has quantities with digits below milli.
func isFiner(list map[string]any) bool {
	for _, value := range list {
		if rounded(value) != value {
			return true
		}
	}
	return false
}

// rounded returns a quantity rounded up to milli.
func rounded(value any) any {
	text, _ := value.(string)
	if !strings.ContainsAny(text, ".eEnu") { // whole numbers without these characters have no finer digits
		return value
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return value
	}
	q.RoundUp(resource.Milli)
	return q.String()
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

// add adds the quantities of other, resource by resource.
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

// atLeast raises each resource to its quantity in other.
func (l resourceList) atLeast(other resourceList) {
	for name, q := range other {
		if has, ok := l[name]; !ok || q.Cmp(has) > 0 {
			l[name] = q.DeepCopy()
		}
	}
}
