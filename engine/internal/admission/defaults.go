package admission

import (
	_ "embed" // for the table
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/release"
)

// constantDefaults holds the defaults of absent fields, from the SetDefaults functions of
// Kubernetes: "field=JSON" where the default does not depend on anything else, and
// "field@37=JSON" where it came with 1.37. A field without a value is absent; so is a zero value
// of a field that is not a pointer. "field:milli" is a resource list whose quantities are
// rounded up to milli. The lines are sorted by type.
//
//go:embed defaults.txt
var constantDefaults string

// A constant is the default of a field.
type constant struct {
	field *goField
	value any
}

// readDefaults reads the defaults of a type from its line of constantDefaults.
func readDefaults(t *goType) {
	line, _ := findLine(constantDefaults, t.name)
	for word := range strings.FieldsSeq(line) {
		if name, ok := strings.CutSuffix(word, ":milli"); ok {
			if t.byName[name] != nil {
				t.rounded = append(t.rounded, name)
			}
			continue
		}
		name, text, _ := strings.Cut(word, "=")
		name, since := cutSince(name)
		if field := t.byName[name]; field != nil && t.minor >= since {
			t.defaults = append(t.defaults, constant{field: field, value: parseConstant(text)})
		}
	}
}

// cutSince splits "field@37".
func cutSince(word string) (name string, since int) {
	name, version, _ := strings.Cut(word, "@")
	since, err := strconv.Atoi(version)
	if err != nil {
		since = release.Oldest
	}
	return name, since
}

// parseConstant reads a value of constantDefaults. A test reads all of them.
func parseConstant(text string) any {
	value, err := number.Decode(text)
	if err != nil {
		return nil
	}
	return value
}

// applyDefaults sets the absent fields of a struct that have constant defaults.
func (t *goType) applyDefaults(r *record) {
	for _, c := range t.defaults {
		if value := r.out[c.field.name]; value == nil || c.field.zero == '!' && isZero(value) {
			r.set(c.field.name, change.Clone(c.value))
		}
	}
}

// missing counts the fields that decoding adds to a struct.
func (t *goType) missing(in map[string]any) (n int) {
	for _, f := range t.written {
		if _, ok := in[f.name]; !ok {
			n++
		}
	}
	for _, c := range t.defaults {
		if _, ok := in[c.field.name]; !ok && c.field.zero != '!' && c.field.zero != '^' {
			n++
		}
	}
	return n
}

// A rule sets the defaults of a type that depend on other values. The struct it gets is decoded,
// has its constant defaults, and everything in it is defaulted.
type rule func(r *record)

// ruleOf returns the rule of a type in Kubernetes 1.minor, nil if the type has no conditional
// defaults. Each rule is named after the SetDefaults function that it copies.
func ruleOf(name string, minor int) rule {
	if minor >= 37 {
		if r := ruleSince37(name); r != nil {
			return r
		}
	}
	switch name {
	case "apiextensions.k8s.io/v1.CustomResourceDefinition":
		return defaultCustomResourceDefinition
	case "apps/v1.DaemonSetUpdateStrategy":
		return defaultDaemonSetUpdateStrategy
	case "apps/v1.DeploymentStrategy":
		return defaultDeploymentStrategy
	case "apps/v1.StatefulSetUpdateStrategy":
		return defaultStatefulSetUpdateStrategy
	case "autoscaling/v2.HorizontalPodAutoscalerSpec":
		return defaultHorizontalPodAutoscaler
	case "batch/v1.Job":
		return defaultJob
	case "networking.k8s.io/v1.NetworkPolicySpec":
		return defaultNetworkPolicy
	case "rbac.authorization.k8s.io/v1.Subject":
		return defaultSubject
	case "resource.k8s.io/v1.DeviceSubRequest", "resource.k8s.io/v1.ExactDeviceRequest", "resource.k8s.io/v1alpha3.DeviceSubRequest", "resource.k8s.io/v1beta1.DeviceSubRequest", "resource.k8s.io/v1beta2.DeviceSubRequest", "resource.k8s.io/v1beta2.ExactDeviceRequest":
		return defaultDeviceRequest
	case "resource.k8s.io/v1alpha3.DeviceRequest", "resource.k8s.io/v1beta1.DeviceRequest":
		return defaultDeviceRequestV1beta1
	case "v1.Container", "v1.EphemeralContainer":
		return defaultContainer
	case "v1.ImageVolumeSource":
		if minor >= 35 {
			return defaultImageVolumeSource
		}
	case "v1.LimitRangeItem":
		return defaultLimitRangeItem
	case "v1.Namespace":
		return defaultNamespace
	case "v1.NodeStatus":
		return defaultNodeStatus
	case "v1.PersistentVolume":
		return defaultPersistentVolume
	case "v1.Pod":
		return defaultPod
	case "v1.ReplicationController":
		return defaultReplicationController
	case "v1.Service":
		return defaultService
	case "v1.Volume":
		return defaultVolume
	}
	return nil
}

// ruleSince37 returns the rule of a type that is new in Kubernetes 1.37, where some former
// conversions are defaults.
func ruleSince37(name string) rule {
	switch name {
	case "apps/v1.StatefulSetUpdateStrategy":
		return defaultStatefulSetUpdateStrategySince37
	case "v1.Pod":
		return defaultPodSince37
	case "v1.PodSpec":
		return defaultServiceAccountName
	case "v1.PodStatus":
		return defaultPodIPs
	}
	return nil
}
