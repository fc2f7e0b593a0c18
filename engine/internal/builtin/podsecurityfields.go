package builtin

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/pod-security-admission/api"
	checks "k8s.io/pod-security-admission/policy"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/policy"
)

// securityFields are the fields of a Pod's spec that the checks of the Pod Security Standards read, by the
// beginning of the reason that a check gives (k8s.io/pod-security-admission v0.36.3). A * is any item of a
// list, and "each" any container.
var securityFields = map[string][]string{
	"allowPrivilegeEscalation":   {"each.securityContext.allowPrivilegeEscalation"},
	"forbidden AppArmor profile": {"securityContext.appArmorProfile", "each.securityContext.appArmorProfile"},
	"forbidden sysctls":          {"securityContext.sysctls"},
	"host namespaces":            {"hostNetwork", "hostPID", "hostIPC"},
	"hostPath volumes":           {"volumes.*.hostPath"},
	"hostPort":                   {"each.ports.*.hostPort"},
	"hostProcess":                {"securityContext.windowsOptions.hostProcess", "each.securityContext.windowsOptions.hostProcess"},
	"non-default capabilities":   {"each.securityContext.capabilities"},
	"privileged":                 {"each.securityContext.privileged"},
	"probe or lifecycle host": {
		"each.livenessProbe.httpGet.host", "each.livenessProbe.tcpSocket.host", "each.readinessProbe.httpGet.host", "each.readinessProbe.tcpSocket.host",
		"each.startupProbe.httpGet.host", "each.startupProbe.tcpSocket.host", "each.lifecycle.postStart.httpGet.host", "each.lifecycle.postStart.tcpSocket.host",
		"each.lifecycle.preStop.httpGet.host", "each.lifecycle.preStop.tcpSocket.host",
	},
	"procMount":                 {"each.securityContext.procMount"},
	"restricted volume types":   {"volumes.*"},
	"runAsNonRoot":              {"securityContext.runAsNonRoot", "each.securityContext.runAsNonRoot"},
	"runAsUser":                 {"securityContext.runAsUser", "each.securityContext.runAsUser"},
	"seLinuxOptions":            {"securityContext.seLinuxOptions", "each.securityContext.seLinuxOptions"},
	"seccompProfile":            {"securityContext.seccompProfile", "each.securityContext.seccompProfile"},
	"unrestricted capabilities": {"each.securityContext.capabilities"},
}

var _ policy.Witness = (*invocation)(nil)

// Evidence implements policy.Witness: PodSecurity reads the fields of the checks that fail, as far as the
// object has them.
func (i *invocation) Evidence(r *policy.Request, _ string) policy.Evidence {
	if i.plugin.name != "PodSecurity" || r.Kind.Kind.Kind == "Namespace" {
		return policy.Evidence{}
	}
	c := &call{request: r, object: r.Object, minor: i.program.minor, config: &i.program.config}
	var reads []celenv.Read
	for _, name := range c.securityFieldsRead() {
		for _, path := range fieldsAt(c.object, templatePath(r.Kind.Kind.Kind), strings.Split(name, ".")) {
			value, _ := path.Get(c.object)
			reads = append(reads, celenv.Read{Path: slices.Concat(change.Keys("object"), path), Value: value})
		}
	}
	return policy.Evidence{Reads: reads}
}

// securityFieldsRead returns the fields of the checks that fail, sorted.
func (c *call) securityFieldsRead() []string {
	namespace, _, err := c.request.NamespaceObject()
	if err != nil {
		return nil
	}
	levels, _ := api.PolicyToEvaluate(policy.LabelsOf(namespace), c.config.defaults)
	metadata, spec, err := template(c.object, c.request.Kind.Kind.Kind)
	if err != nil {
		return nil
	}
	judged := []api.LevelVersion{levels.Warn, levels.Audit}
	if c.isPod() {
		judged = []api.LevelVersion{levels.Enforce}
	}
	fields := map[string]bool{}
	for _, level := range judged {
		for _, result := range evaluator(c.minor).EvaluatePod(level, metadata, spec) {
			for _, field := range fieldsOf(result) {
				fields[field] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(fields))
}

// fieldsOf returns the fields that a failed check has read.
func fieldsOf(result checks.CheckResult) []string {
	if result.Allowed {
		return nil
	}
	for reason, fields := range securityFields {
		if strings.HasPrefix(result.ForbiddenReason, reason) {
			return fields
		}
	}
	return nil
}

// templatePath returns the path of the Pod's spec in an object of a kind.
func templatePath(kind string) change.Path {
	switch kind {
	case pods.Kind:
		return change.Keys("spec")
	case "PodTemplate":
		return change.Keys("template", "spec")
	case "CronJob":
		return change.Keys("spec", "jobTemplate", "spec", "template", "spec")
	}
	return change.Keys("spec", "template", "spec")
}

// fieldsAt returns the paths in an object that match a pattern below a path.
func fieldsAt(object map[string]any, at change.Path, pattern []string) (found []change.Path) {
	value, present := at.Get(object)
	if !present {
		return nil
	}
	if len(pattern) == 0 {
		return []change.Path{at}
	}
	switch pattern[0] {
	case "each":
		for _, list := range containerLists {
			found = append(found, fieldsAt(object, at.Key(list), append([]string{"*"}, pattern[1:]...))...)
		}
		return found
	case "*":
		items, _ := value.([]any)
		for n := range items {
			found = append(found, fieldsAt(object, at.Index(n), pattern[1:])...)
		}
		return found
	}
	return fieldsAt(object, at.Key(pattern[0]), pattern[1:])
}
