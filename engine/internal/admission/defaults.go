package admission

import (
	_ "embed" // for the table
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/internal/release"
	"github.com/preadmit/preadmit/engine/internal/schema"
)

// constantDefaults holds the defaults of absent fields, from the SetDefaults functions of
// Kubernetes: "field=JSON" where the default does not depend on anything else, and
// "field@37=JSON" where it came with 1.37. A field without a value is absent; so is a zero value
// of a field that is not a pointer. "field:milli" is a resource list whose quantities are
// rounded up to milli. The lines are sorted by type.
//
//go:embed defaults.txt
var constantDefaults string

// findLine returns the rest of the line of constantDefaults for a type.
func findLine(name string) (rest string) {
	_, rest, _ = strings.Cut("\n"+constantDefaults, "\n"+name+" ")
	rest, _, _ = strings.Cut(rest, "\n")
	return rest
}

// A constant is the default of a field.
type constant struct {
	field *schema.Field
	value any
}

// readDefaults reads the defaults of a type from its line of constantDefaults.
func (s *structType) readDefaults(t *schema.Type) {
	line := findLine(s.name)
	for word := range strings.FieldsSeq(line) {
		if name, ok := strings.CutSuffix(word, ":milli"); ok {
			if t.Declared(name) != nil {
				s.rounded = append(s.rounded, name)
			}
			continue
		}
		name, text, _ := strings.Cut(word, "=")
		name, since := cutSince(name)
		if field := t.Declared(name); field != nil && t.Minor >= since {
			s.defaults = append(s.defaults, constant{field: field, value: parseConstant(text)})
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
func (s *structType) applyDefaults(r *record) {
	for _, c := range s.defaults {
		if value := r.out[c.field.Name]; value == nil || c.field.Zero == schema.ZeroWritten && isZero(value) {
			r.set(c.field.Name, change.Clone(c.value))
		}
	}
}

// missing counts the fields that decoding adds to a struct.
func (s *structType) missing(in map[string]any) (n int) {
	for _, f := range s.written {
		if _, ok := in[f.Name]; !ok {
			n++
		}
	}
	for _, c := range s.defaults {
		if _, ok := in[c.field.Name]; !ok && !c.field.Zero.Writes() {
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
	if r := ruleSince37(name); minor >= 37 && r != nil {
		return r
	}
	if name == "core.v1.ImageVolumeSource" && minor < 35 {
		return nil
	}
	return rules[name]
}

// rules are the rules by type.
var rules = map[string]rule{
	"apiextensions.v1.CustomResourceDefinition":  defaultCustomResourceDefinition,
	"apps.v1.DaemonSetUpdateStrategy":            defaultDaemonSetUpdateStrategy,
	"apps.v1.DeploymentStrategy":                 defaultDeploymentStrategy,
	"apps.v1.StatefulSetUpdateStrategy":          defaultStatefulSetUpdateStrategy,
	"autoscaling.v2.HorizontalPodAutoscalerSpec": defaultHorizontalPodAutoscaler,
	"batch.v1.Job":                        defaultJob,
	"networking.v1.NetworkPolicySpec":     defaultNetworkPolicy,
	"rbac.v1.Subject":                     defaultSubject,
	"resource.v1.DeviceSubRequest":        defaultDeviceRequest,
	"resource.v1.ExactDeviceRequest":      defaultDeviceRequest,
	"resource.v1alpha3.DeviceSubRequest":  defaultDeviceRequest,
	"resource.v1beta1.DeviceSubRequest":   defaultDeviceRequest,
	"resource.v1beta2.DeviceSubRequest":   defaultDeviceRequest,
	"resource.v1beta2.ExactDeviceRequest": defaultDeviceRequest,
	"resource.v1alpha3.DeviceRequest":     defaultDeviceRequestV1beta1,
	"resource.v1beta1.DeviceRequest":      defaultDeviceRequestV1beta1,
	"core.v1.Container":                   defaultContainer,
	"core.v1.EphemeralContainer":          defaultContainer,
	"core.v1.ImageVolumeSource":           defaultImageVolumeSource,
	"core.v1.LimitRangeItem":              defaultLimitRangeItem,
	"core.v1.Namespace":                   defaultNamespace,
	"core.v1.NodeStatus":                  defaultNodeStatus,
	"core.v1.PersistentVolume":            defaultPersistentVolume,
	"core.v1.Pod":                         defaultPod,
	"core.v1.ReplicationController":       defaultReplicationController,
	"core.v1.Service":                     defaultService,
	"core.v1.Volume":                      defaultVolume,
}

// ruleSince37 returns the rule of a type that is new in Kubernetes 1.37, where some former
// conversions are defaults.
func ruleSince37(name string) rule {
	switch name {
	case "apps.v1.StatefulSetUpdateStrategy":
		return defaultStatefulSetUpdateStrategySince37
	case "core.v1.Pod":
		return defaultPodSince37
	case "core.v1.PodSpec":
		return defaultServiceAccountName
	case "core.v1.PodStatus":
		return defaultPodIPs
	}
	return nil
}
