package builtin

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	machinery "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/pod-security-admission/api"
	checks "k8s.io/pod-security-admission/policy"

	"github.com/preadmit/preadmit/engine/internal/podspec"
	"github.com/preadmit/preadmit/engine/policy"
)

// podSecurity judges Pods and pod templates by the Pod Security Standards, with the checks of
// k8s.io/pod-security-admission v0.36.3. Levels, exemptions and texts are as in its package
// admission, except that an update of a Namespace does not look at the Pods in it.
func podSecurity(c *call) error {
	if c.request.Kind.Kind.Kind == "Namespace" {
		return c.securityOfNamespace()
	}
	exempt := c.config.exemptions
	switch {
	case slices.Contains(exempt.Namespaces, c.request.Namespace):
		return c.exempted("namespace")
	case c.request.User.Name != "" && slices.Contains(exempt.Usernames, c.request.User.Name):
		return c.exempted("user")
	}
	c.request.Snapshot.Ask()
	namespace, _, err := c.request.NamespaceObject() // without labels if it was not given
	if err != nil {
		return err
	}
	levels, problems := api.PolicyToEvaluate(policy.LabelsOf(namespace), c.config.defaults)
	switch isPod := c.isPod(); {
	case len(problems) == 0 && isPod && levels.FullyPrivileged():
		c.annotate(api.EnforcedPolicyAnnotationKey, levels.Enforce.String())
		return nil
	case len(problems) == 0 && !isPod && levels.Warn.Level == api.LevelPrivileged && levels.Audit.Level == api.LevelPrivileged:
		return nil
	case isPod && c.request.Operation == policy.Update && !replacesImage(c.object, c.request.OldObject):
		return nil
	}
	metadata, spec, err := template(c.object, c.request.Kind.Kind.Kind)
	if err != nil {
		return err
	}
	if name := spec.RuntimeClassName; name != nil && slices.Contains(exempt.RuntimeClasses, *name) {
		return c.exempted("runtimeClass")
	}
	if len(problems) > 0 {
		c.annotate("error", fmt.Sprintf("Failed to parse policy: %v", problems.ToAggregate()))
	}
	return c.judge(levels, metadata, spec)
}

// isPod reports whether the object is a Pod, on which levels are enforced.
func (c *call) isPod() bool { return c.request.Kind.Kind.Kind == pods.Kind }

// judge refuses a Pod that violates the enforced level, and warns about and annotates violations of
// the other levels.
func (c *call) judge(levels api.Policy, metadata *metav1.ObjectMeta, spec *corev1.PodSpec) error {
	violations := func(level api.LevelVersion) string {
		result := checks.AggregateCheckResults(evaluator(c.minor).EvaluatePod(level, metadata, spec))
		if result.Allowed {
			return ""
		}
		return fmt.Sprintf("PodSecurity %q: %s", level.String(), result.ForbiddenDetail())
	}
	var refusal error
	if c.isPod() {
		c.annotate(api.EnforcedPolicyAnnotationKey, levels.Enforce.String())
		if text := violations(levels.Enforce); text != "" {
			refusal = &answered{c.forbiddenNamed(c.request.Name, errors.New("violates "+text)), "Forbidden"}
		}
	}
	if text := violations(levels.Audit); text != "" {
		c.annotate(api.AuditViolationsAnnotationKey, "would violate "+text)
	}
	if text := violations(levels.Warn); text != "" && refusal == nil {
		c.warnings = append(c.warnings, "would violate "+text)
	}
	return refusal
}

// annotate adds an annotation to the audit event.
func (c *call) annotate(key, value string) {
	c.annotations = append(c.annotations, policy.Annotation{Key: api.AuditAnnotationPrefix + key, Value: value})
}

// exempted notes that an exemption of the configuration applies.
func (c *call) exempted(by string) error {
	c.annotate(api.ExemptionReasonAnnotationKey, by)
	return nil
}

// securityOfNamespace refuses a Namespace with labels that name no level.
func (c *call) securityOfNamespace() error {
	labels := policy.LabelsOf(c.object)
	levels, problems := api.PolicyToEvaluate(labels, c.config.defaults)
	var old api.Policy
	if c.request.Operation == policy.Update {
		var before field.ErrorList
		if old, before = api.PolicyToEvaluate(policy.LabelsOf(c.request.OldObject), c.config.defaults); reflect.DeepEqual(problems, before) {
			problems = nil
		}
	}
	if len(problems) > 0 {
		return &answered{fmt.Errorf("Namespace %q is invalid: %w", c.request.Name, problems.ToAggregate()), "Invalid"}
	}
	relaxed := c.request.Operation == policy.Update && (levels.Enforce.Level == api.LevelPrivileged ||
		levels.Enforce.Version == old.Enforce.Version && api.CompareLevels(levels.Enforce.Level, old.Enforce.Level) < 1)
	if slices.Contains(c.config.exemptions.Namespaces, c.request.Name) && !relaxed {
		c.warnExempt(levels, labels)
	}
	return nil
}

// warnExempt warns that the labels of an exempt Namespace have no effect.
func (c *call) warnExempt(levels api.Policy, labels map[string]string) {
	if levels.FullyPrivileged() || levels.Equivalent(&c.config.defaults) {
		return
	}
	var given []string
	for _, mode := range []struct {
		name, level, version string
		is                   api.LevelVersion
	}{
		{"enforce", api.EnforceLevelLabel, api.EnforceVersionLabel, levels.Enforce},
		{"audit", api.AuditLevelLabel, api.AuditVersionLabel, levels.Audit},
		{"warn", api.WarnLevelLabel, api.WarnVersionLabel, levels.Warn},
	} {
		_, level := labels[mode.level]
		if _, version := labels[mode.version]; mode.is.Level != api.LevelPrivileged && (level || version) {
			given = append(given, mode.name+"="+mode.is.String())
		}
	}
	c.warnings = append(c.warnings, fmt.Sprintf("namespace %q is exempt from Pod Security, and the policy (%s) will be ignored", c.request.Name, strings.Join(given, ", ")))
}

// replacesImage reports whether an update of a Pod changes what is judged: an image, or the number
// of containers.
func replacesImage(pod, old map[string]any) bool {
	for _, list := range []string{"containers", "initContainers"} {
		now, before := podspec.Maps(podspec.Map(pod, "spec"), list), podspec.Maps(podspec.Map(old, "spec"), list)
		if !slices.EqualFunc(now, before, func(a, b map[string]any) bool { return a["image"] == b["image"] }) {
			return true
		}
	}
	images := map[string]any{}
	for _, container := range podspec.Maps(podspec.Map(old, "spec"), "ephemeralContainers") {
		images[podspec.Text(container, "name")] = container["image"]
	}
	return slices.ContainsFunc(podspec.Maps(podspec.Map(pod, "spec"), "ephemeralContainers"), func(container map[string]any) bool {
		image, ok := images[podspec.Text(container, "name")]
		return !ok || image != container["image"]
	})
}

// template returns the metadata and the spec of the Pods of an object.
func template(object map[string]any, kind string) (*metav1.ObjectMeta, *corev1.PodSpec, error) {
	path := templatePath(kind)
	for _, e := range path[:len(path)-1] {
		object = podspec.Map(object, e.Key)
	}
	var t corev1.PodTemplateSpec
	part := map[string]any{"metadata": podspec.Map(object, "metadata"), "spec": podspec.Map(object, "spec")}
	maps.DeleteFunc(part, func(_ string, value any) bool { return value.(map[string]any) == nil })
	err := machinery.DefaultUnstructuredConverter.FromUnstructured(part, &t)
	return &t.ObjectMeta, &t.Spec, err
}

// evaluators are the checks of each version of Kubernetes.
var evaluators sync.Map

// evaluator returns the checks of a server of Kubernetes 1.minor.
func evaluator(minor int) checks.Evaluator {
	if e, ok := evaluators.Load(minor); ok {
		return e.(checks.Evaluator)
	}
	all := checks.DefaultChecks()
	if minor >= moreSysctlsSince {
		allowSysctls(all)
	}
	version := api.MajorMinorVersion(1, minor)
	e, err := checks.NewEvaluator(all, &version)
	if err != nil {
		panic(err) // the checks are constant
	}
	evaluators.Store(minor, e)
	return e
}

// moreSysctlsSince is the minor version from which on moreSysctls are allowed.
const moreSysctlsSince = 37

// moreSysctls are the sysctls that k8s.io/pod-security-admission v0.37.1 allows and v0.36.3 does not.
var moreSysctls = []string{"net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"}

// allowSysctls adds a version to the check of sysctls.
func allowSysctls(all []checks.Check) {
	i := slices.IndexFunc(all, func(c checks.Check) bool { return c.ID == "sysctls" })
	last := all[i].Versions[len(all[i].Versions)-1]
	last.MinimumVersion = api.MajorMinorVersion(1, moreSysctlsSince)
	check := last.CheckPod
	last.CheckPod = func(metadata *metav1.ObjectMeta, spec *corev1.PodSpec) checks.CheckResult {
		if spec.SecurityContext != nil {
			spec = spec.DeepCopy()
			spec.SecurityContext.Sysctls = slices.DeleteFunc(spec.SecurityContext.Sysctls, func(s corev1.Sysctl) bool { return slices.Contains(moreSysctls, s.Name) })
		}
		return check(metadata, spec)
	}
	all[i].Versions = append(slices.Clip(all[i].Versions), last)
}
