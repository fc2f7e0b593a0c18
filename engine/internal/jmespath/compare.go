package jmespath

import (
	"strings"

	"github.com/blang/semver/v4"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The maximum lengths of a quantity's text and of its exponent. The time to parse a quantity
// grows with the number itself.
const maxQuantity, maxExponent = 64, 4

// Quantity parses a quantity of Kubernetes, like 100Mi.
func Quantity(text string) (resource.Quantity, bool) {
	exponent := strings.LastIndexAny(text, "eE")
	if len(text) > maxQuantity || exponent >= 0 && len(text)-exponent-1 > maxExponent {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}

// CompareVersions compares two semantic versions; ok is false if one of them is invalid.
func CompareVersions(a, b string) (comparison int, ok bool) {
	x, err := semver.Parse(a)
	if err != nil {
		return 0, false
	}
	y, err := semver.Parse(b)
	return x.Compare(y), err == nil
}
