package builtin

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/preadmit/preadmit/engine/internal/podspec"
)

// limitDefaults sets missing requests and limits of containers to the defaults in the
// LimitRanges of the namespace.
func limitDefaults(c *call) error {
	if c.request.Kind.Kind.Kind != pods.Kind || !c.creating() {
		return nil
	}
	ranges, err := c.list(limitRange, c.request.Namespace)
	if err != nil {
		return err
	}
	for _, r := range ranges {
		requests, limits := map[string]any{}, map[string]any{}
		for _, item := range podspec.Maps(podspec.Map(r, "spec"), "limits") {
			if podspec.Text(item, "type") == "Container" {
				maps.Copy(requests, podspec.Map(item, "defaultRequest"))
				maps.Copy(limits, podspec.Map(item, "default"))
			}
		}
		var set []string
		for _, list := range [][2]string{{"containers", "container"}, {"initContainers", "init container"}} {
			for _, container := range podspec.Maps(c.spec(), list[0]) {
				set = append(set, complete(container, list[1], "requests", "request", requests)...)
				set = append(set, complete(container, list[1], "limits", "limit", limits)...)
			}
		}
		if len(set) > 0 {
			podspec.Ensure(c.object, "metadata", "annotations")["kubernetes.io/limit-ranger"] = "LimitRanger plugin set: " + strings.Join(set, "; ")
		}
	}
	return nil
}

// complete sets the quantities that a container lacks, and describes them.
func complete(container map[string]any, kind, list, what string, defaults map[string]any) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		if _, ok := podspec.Map(container, "resources", list)[name]; !ok {
			podspec.Ensure(container, "resources", list)[name] = defaults[name]
			names = append(names, name)
		}
	}
	if names == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s %s for %s %s", strings.Join(names, ", "), what, kind, podspec.Text(container, "name"))}
}

// limits refuses values outside of the LimitRanges of the namespace.
func limits(c *call) error {
	if c.request.Kind.Kind.Kind == pods.Kind && !c.creating() {
		return nil
	}
	ranges, err := c.list(limitRange, c.request.Namespace)
	if err != nil {
		return err
	}
	for _, r := range ranges {
		var errs []error
		for _, item := range podspec.Maps(podspec.Map(r, "spec"), "limits") {
			errs = append(errs, c.exceeded(item)...)
		}
		if err := aggregate(errs); err != nil {
			return c.forbidden(err)
		}
	}
	return nil
}

// exceeded returns the errors of the object about one item of a LimitRange.
func (c *call) exceeded(item map[string]any) []error {
	kind := podspec.Text(item, "type")
	switch {
	case c.request.Kind.Kind.Kind == claims.Kind && kind == "PersistentVolumeClaim":
		return within(item, "maximum", amounts(podspec.Map(c.spec(), "resources", "requests")), nil)
	case c.request.Kind.Kind.Kind == pods.Kind && kind == "Pod":
		return within(item, "", c.sum("requests"), c.sum("limits"))
	case c.request.Kind.Kind.Kind == pods.Kind && kind == "Container":
		var errs []error
		for _, list := range []string{"containers", "initContainers"} {
			for _, container := range podspec.Maps(c.spec(), list) {
				errs = append(errs, within(item, "", amounts(podspec.Map(container, "resources", "requests")), amounts(podspec.Map(container, "resources", "limits")))...)
			}
		}
		return errs
	}
	return nil
}

// quantities are the amounts of resources.
type quantities map[string]resource.Quantity

// amounts returns the quantities of a list of resources, which the server has validated already.
func amounts(of map[string]any) quantities {
	all := quantities{}
	for name, value := range of {
		text, _ := value.(string)
		if q, err := resource.ParseQuantity(text); err == nil {
			all[name] = q
		}
	}
	return all
}

// add adds other quantities to q.
func (q quantities) add(more quantities) {
	for name, amount := range more {
		sum, ok := q[name]
		if !ok {
			q[name] = amount.DeepCopy()
			continue
		}
		sum.Add(amount)
		q[name] = sum
	}
}

// atLeast raises quantities to others.
func (q quantities) atLeast(others quantities) {
	for name, amount := range others {
		if own, ok := q[name]; !ok || amount.Cmp(own) > 0 {
			q[name] = amount.DeepCopy()
		}
	}
}

// sum returns the requests or limits of the containers of a Pod together: at least what each
// init container needs with the sidecars that start before it. The resources of the whole Pod
// win.
func (c *call) sum(list string) quantities {
	sum, sidecars, peak := quantities{}, quantities{}, quantities{}
	for _, container := range podspec.Maps(c.spec(), "containers") {
		sum.add(amounts(podspec.Map(container, "resources", list)))
	}
	for _, container := range podspec.Maps(c.spec(), "initContainers") {
		needs := amounts(podspec.Map(container, "resources", list))
		if podspec.Text(container, "restartPolicy") == "Always" {
			sum.add(needs)
			sidecars.add(needs)
			peak.atLeast(sidecars)
			continue
		}
		needs.add(sidecars)
		peak.atLeast(needs)
	}
	sum.atLeast(peak)
	for name, amount := range amounts(podspec.Map(c.spec(), "resources", list)) {
		if name == "cpu" || name == "memory" {
			sum[name] = amount
		}
	}
	return sum
}

// within returns errors for amounts outside of an item of a LimitRange. A claim has only
// requests, which then count against the maximum.
func within(item map[string]any, only string, requests, limits quantities) []error {
	kind := podspec.Text(item, "type")
	var errs []error
	each := func(field string, check func(kind, name string, bound resource.Quantity) error) {
		bounds := amounts(podspec.Map(item, field))
		for _, name := range slices.Sorted(maps.Keys(bounds)) {
			if err := check(kind, name, bounds[name]); err != nil {
				errs = append(errs, err)
			}
		}
	}
	u := usage{requests, limits}
	each("min", u.min)
	if only != "" {
		each("max", u.maxRequest)
		return errs
	}
	each("max", u.max)
	each("maxLimitRequestRatio", u.ratio)
	return errs
}

// usage are a request and a limit.
type usage struct{ requests, limits quantities }

func (u usage) min(kind, name string, bound resource.Quantity) error {
	below := func(q resource.Quantity) bool { return q.Cmp(bound) < 0 }
	return u.outside("minimum", kind, name, bound, below, "request", "limit")
}

func (u usage) max(kind, name string, bound resource.Quantity) error {
	return u.outside("maximum", kind, name, bound, above(bound), "limit", "request")
}

// maxRequest is max for a claim, which has no limits.
func (u usage) maxRequest(kind, name string, bound resource.Quantity) error {
	return usage{requests: u.requests}.outside("maximum", kind, name, bound, above(bound), "request", "limit")
}

func above(bound resource.Quantity) func(resource.Quantity) bool {
	return func(q resource.Quantity) bool { return q.Cmp(bound) > 0 }
}

// outside returns an error if an amount is outside of a bound. The required one must be given.
func (u usage) outside(end, kind, name string, bound resource.Quantity, isOutside func(resource.Quantity) bool, required, other string) error {
	amounts := map[string]quantities{"request": u.requests, "limit": u.limits}
	if _, given := amounts[required][name]; !given {
		return fmt.Errorf("%s %s usage per %s is %s.  No %s is specified", end, name, kind, bound.String(), required)
	}
	for _, what := range []string{required, other} {
		if amount, given := amounts[what][name]; given && isOutside(amount) {
			return fmt.Errorf("%s %s usage per %s is %s, but %s is %s", end, name, kind, bound.String(), what, amount.String())
		}
	}
	return nil
}

func (u usage) ratio(kind, name string, bound resource.Quantity) error {
	request, limit := u.requests[name], u.limits[name]
	if request.IsZero() {
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but no request is specified or request is 0", name, kind, bound.String())
	}
	if limit.IsZero() {
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but no limit is specified or limit is 0", name, kind, bound.String())
	}
	number := func(q resource.Quantity) float64 { return float64(q.Value()) }
	if max(request.Value(), limit.Value()) <= resource.MaxMilliValue {
		number = func(q resource.Quantity) float64 { return float64(q.MilliValue()) }
	}
	ratio := number(limit) / number(request)
	allowed := float64(bound.Value())
	if bound.Value() <= resource.MaxMilliValue {
		allowed = float64(bound.MilliValue()) / 1000
	}
	if ratio > allowed && !math.IsNaN(ratio) {
		return fmt.Errorf("%s max limit to request ratio per %s is %s, but provided ratio is %f", name, kind, bound.String(), ratio)
	}
	return nil
}
