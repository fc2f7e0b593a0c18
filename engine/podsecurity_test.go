package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/internal/builtin"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// securityCase is an object that was sent to kube-apiserver 1.36.3 in several namespaces.
type securityCase struct {
	Name        string
	Object, Old map[string]any
	Answers     []securityAnswer
}

// securityAnswer is the answer in some namespaces.
type securityAnswer struct {
	Namespaces []string
	Code       int
	Denied     string
	Warnings   []string
}

// invalidPods are the recorded Pods that the server's hand-written validation refuses, so that
// PodSecurity does not see them.
var invalidPods = map[string]string{
	"ephemeral":                  "spec.ephemeralContainers: Forbidden: cannot be set on create",
	"invalid-too":                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
	"privileged-invalid":         "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
	"update-apparmor-annotation": "Forbidden: may not add AppArmor annotations",
}

// securityExceptions are answers of PodSecurity from which ours differ.
var securityExceptions = map[string]string{
	"later": "a server warns about the Pods that are in the Namespace already",
}

// TestPodSecurity compares the refusals and warnings of PodSecurity with all its recorded answers from
// kube-apiserver 1.36.3. All but the exceptions are the same, at least 99 of 100. Only warnings of
// PodSecurity count, not those about deprecated fields.
func TestPodSecurity(t *testing.T) {
	data, err := os.ReadFile("testdata/podsecurity/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Namespaces, PolicyNamespaces, Policies []map[string]any
		Cases, Mutated                         []securityCase
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	answers := 0
	for _, c := range recorded.Cases {
		answers += c.compare(t, nil, recorded.Namespaces)
	}
	for _, c := range recorded.Mutated {
		answers += c.compare(t, recorded.Policies, recorded.PolicyNamespaces)
	}
	if answers < 835 {
		t.Errorf("only %d answers are compared", answers)
	}
	mostlyTheSame(t, answers, securityExceptions)
}

// compare returns how many answers it compares.
func (c securityCase) compare(t *testing.T, policies, namespaces []map[string]any) (compared int) {
	t.Helper()
	for _, answer := range c.Answers {
		if text := invalidPods[c.Name]; text != "" {
			if answer.Code != 422 || !strings.Contains(answer.Denied, text) {
				t.Errorf("%s: the server said %d %q, not that it is invalid", c.Name, answer.Code, answer.Denied)
			}
			continue
		}
		for _, namespace := range answer.Namespaces {
			options := Options{AdmissionPlugins: []string{builtin.PodSecurity}, Namespace: namespace}
			if c.Old != nil {
				options.Operation, options.Old = policy.Update, []*manifest.Stream{streamOf(t, c.Old)}
			}
			set, diagnostics := Compile([]*manifest.Stream{streamOf(t, policies...)}, []*manifest.Stream{streamOf(t, namespaces...)}, options)
			if set == nil {
				t.Fatal(diagnostics)
			}
			compared++
			problem := answer.differs(set.Run(t.Context(), []*manifest.Stream{streamOf(t, c.Object)}))
			if excepted := securityExceptions[c.Name] != ""; excepted != (problem != "") {
				t.Errorf("%s in %q: listed as an exception: %v, but %s", c.Name, namespace, excepted, problem)
			}
		}
	}
	return compared
}

// differs returns how an outcome differs from the answer, or "".
func (want securityAnswer) differs(outcome *Outcome) string {
	got := outcome.Manifests[0]
	if said := strings.Join(refusals(outcome), "\n"); said != inOrder(strings.ReplaceAll(want.Denied, "*****", "00000")) {
		return fmt.Sprintf("refused with %q\nthe server said %q", said, want.Denied)
	}
	if reason := map[int]string{403: "Forbidden", 422: "Invalid"}[want.Code]; got.Reason != reason {
		return fmt.Sprintf("the reason is %q, not %q", got.Reason, reason)
	}
	var said, warnings []string
	for _, w := range got.Warnings {
		said = append(said, w.Text)
	}
	for _, w := range want.Warnings {
		if strings.Contains(w, "PodSecurity") {
			warnings = append(warnings, w)
		}
	}
	if !slices.Equal(said, warnings) {
		return fmt.Sprintf("warned %q\nthe server warned %q", said, warnings)
	}
	return ""
}

// streamOf returns a stream with objects.
func streamOf(t *testing.T, objects ...map[string]any) *manifest.Stream {
	t.Helper()
	var text strings.Builder
	for _, object := range objects {
		text.WriteString(string(manifest.JSON(object)) + "\n---\n")
	}
	return readText(t, "objects.yaml", text.String())
}

const bare = `{apiVersion: v1, kind: Pod, metadata: {name: bare, namespace: a, labels: {}}, spec: {containers: [{name: c, image: i}]}}`

// TestPodSecurityConfig checks defaults and exemptions of configurations, in the texts and with the
// audit annotations of k8s.io/pod-security-admission v0.36.3.
func TestPodSecurityConfig(t *testing.T) {
	const security = `{apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, %s}`
	const namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: a}}`
	for name, test := range map[string]struct{ config, user, object, want string }{
		"stock":           {"", "", bare, "pod-security.kubernetes.io/enforce-policy: privileged:latest"},
		"default level":   {"defaults: {enforce: baseline, audit: restricted, audit-version: v1.20}", "", bare, "pod-security.kubernetes.io/audit-violations: would violate PodSecurity \"restricted:v1.20\": allowPrivilegeEscalation != false (container \"c\" must set securityContext.allowPrivilegeEscalation=false), runAsNonRoot != true (pod or container \"c\" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container \"c\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")\npod-security.kubernetes.io/enforce-policy: baseline:latest"},
		"exempt":          {"defaults: {enforce: restricted}, exemptions: {namespaces: [a]}", "", bare, "pod-security.kubernetes.io/exempt: namespace"},
		"exempt user":     {"defaults: {enforce: restricted}, exemptions: {usernames: [me]}", "me", bare, "pod-security.kubernetes.io/exempt: user"},
		"exempt class":    {"defaults: {enforce: restricted}, exemptions: {runtimeClasses: [safe]}", "", strings.Replace(bare, "spec: {", "spec: {runtimeClassName: safe, ", 1), "pod-security.kubernetes.io/exempt: runtimeClass"},
		"exempt labels":   {"exemptions: {namespaces: [a]}", "", `{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {pod-security.kubernetes.io/enforce: baseline}}}`, "warning: namespace \"a\" is exempt from Pod Security, and the policy (enforce=baseline:latest) will be ignored"},
		"a later version": {"defaults: {enforce: baseline, enforce-version: v1.99}", "", bare, "pod-security.kubernetes.io/enforce-policy: baseline:v1.99"},
	} {
		t.Run(name, func(t *testing.T) {
			context := []*manifest.Stream{readText(t, "namespace.yaml", namespace)}
			if test.config != "" {
				context = append(context, readText(t, "config.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: PodSecurity, configuration: "+fmt.Sprintf(security, test.config)+"}]\n"))
			}
			set, diagnostics := Compile(nil, context, Options{AdmissionPlugins: []string{builtin.PodSecurity}, User: policy.User{Name: test.user}})
			if set == nil {
				t.Fatal(diagnostics)
			}
			outcome := set.Run(t.Context(), []*manifest.Stream{readText(t, "object.yaml", test.object)})
			if outcome.Failed() {
				t.Fatal(outcome.Diagnostics)
			}
			var said []string
			for _, a := range outcome.Manifests[0].Audit {
				said = append(said, a.Key+": "+a.Value)
			}
			for _, w := range outcome.Manifests[0].Warnings {
				said = append(said, "warning: "+w.Text)
			}
			if got := strings.Join(said, "\n"); got != test.want {
				t.Errorf("got %s", got)
			}
		})
	}
	for config, want := range map[string]string{
		"defaults: {enforce: strict}":           `defaults.enforce: Invalid value: "strict": must be one of privileged, baseline, restricted`,
		"default: {enforce: baseline}":          `unknown field "default"`,
		"exemptions: {namespaces: [A]}":         `exemptions.namespaces[0]: Invalid value: "A"`,
		"exemptions: {namespaces: a}":           `cannot unmarshal string`,
		"exemptions: {runtimeClasses: [a, a]}":  `exemptions.runtimeClasses[1]: Duplicate value: "a"`,
		"defaults: {enforce-version: \"1.36\"}": `must be "latest" or "v1.x"`,
	} {
		_, diagnostics := Compile(nil, []*manifest.Stream{readText(t, "config.yaml", fmt.Sprintf(security, config))}, Options{})
		if err := source.Join(diagnostics); !source.HasCode(err, source.CodePluginConfigInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", config, err, want)
		}
	}
}

// TestPodSecurityVersions checks what differs between the servers that are known.
func TestPodSecurityVersions(t *testing.T) {
	restricted := `{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {pod-security.kubernetes.io/enforce: baseline}}}`
	tuned := strings.Replace(bare, "spec: {", "spec: {securityContext: {sysctls: [{name: net.ipv4.tcp_notsent_lowat, value: '1'}]}, ", 1)
	unmasked := strings.Replace(bare, "image: i", "image: i, securityContext: {procMount: Unmasked}", 1)
	unmasked = strings.Replace(unmasked, "spec: {", "spec: {hostUsers: false, ", 1)
	for _, test := range []struct {
		pod, version string
		denied       bool
	}{{tuned, "1.36", true}, {tuned, "1.37", false}, {unmasked, "1.34", true}, {unmasked, "1.35", false}} {
		set, _ := Compile(nil, []*manifest.Stream{readText(t, "namespace.yaml", restricted)}, Options{AdmissionPlugins: []string{builtin.PodSecurity}, KubernetesVersion: test.version})
		outcome := set.Run(t.Context(), []*manifest.Stream{readText(t, "pod.yaml", test.pod)})
		if outcome.Denied != test.denied {
			t.Errorf("%s: %v", test.version, outcome.Diagnostics)
		}
	}
}
