package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// The files of policies.
const (
	onePolicy, tenPolicies = "one.yaml", "ten.yaml"
	noMatch, tenKyverno    = "none.yaml", "kyverno.yaml"
	tenAndTen              = "validating.yaml"
)

// writePolicies writes all policies into a directory.
func writePolicies(dir string) error {
	all := []string{"*", "*", "*"}
	files := map[string]string{
		onePolicy:   policy("team", all, label("team")),
		tenPolicies: ten(nil) + widgets,
		tenAndTen:   ten(nil) + tenValidating() + widgets,
		noMatch:     ten([]string{"storage.k8s.io", "v1", "storageclasses"}),
		tenKyverno:  kyverno() + widgets,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// stream writes n manifests of about 2.3 kB: 40 % Deployments, and 20 % each of Services,
// ConfigMaps and custom resources.
func stream(to io.Writer, n int) error {
	b := bufio.NewWriter(to)
	for i := range n {
		if i > 0 {
			b.WriteString("---\n")
		}
		head := func(apiVersion, kind string) {
			fmt.Fprintf(b, "# Source: shop/templates/%[3]d.yaml\napiVersion: %[1]s\nkind: %[2]s\nmetadata:\n  name: web-%[3]d # the app\n  namespace: shop\n  labels:\n    app.kubernetes.io/name: web-%[3]d\n    app.kubernetes.io/part-of: shop\n", apiVersion, kind, i)
		}
		switch i % 5 {
		case 0, 1:
			head("apps/v1", "Deployment")
			fmt.Fprintf(b, deployment, i%7+1, i)
			b.WriteString(lines(8, "        - name: SETTING_%[1]d\n          value: \"value-%[1]d\"\n") + tail + notes(16))
		case 2:
			head("v1", "Service")
			b.WriteString("spec:\n  selector: {app: web}\n  ports:\n" + lines(24, "  - name: port-%[1]d\n    port: 80%[1]d\n    targetPort: 90%[1]d\n") + notes(14))
		case 3:
			head("v1", "ConfigMap")
			b.WriteString("data:\n  config.yaml: |\n" + lines(30, "    key-%[1]d: [a, b, {c: %[1]d}]\n") + "    ---\n  folded: >-\n" + lines(12, "    some text that goes on and on, line %[1]d\n"))
		default:
			head("example.com/v1", "Widget")
			b.WriteString("spec:\n  parts:\n" + lines(26, "  - name: part-%[1]d\n    count: %[1]d\n    options: {color: red, depth: %[1]d, tags: [a, b]}\n"))
		}
	}
	return b.Flush()
}

func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func notes(n int) string {
	return lines(n, "    # note %d: kept by whoever edits this file, see the handbook\n")
}

const deployment = `spec:
  replicas: %d
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      serviceAccountName: web
      # the main container
      containers:
      - name: app
        image: registry.example.com/shop/app:%d
        args: ["--listen", ":8080", "--log-level=info"]
        ports:
        - containerPort: 8080
          name: http
        - containerPort: 9090
          name: metrics
        env:
`

const tail = `        resources:
          requests: {cpu: 100m, memory: 128Mi}
        readinessProbe:
          httpGet: {path: /healthz, port: http}
`

const widgets = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}
`

// applies returns a mutation of a policy, in YAML.
func applies(expression string) string {
	return fmt.Sprintf("{patchType: ApplyConfiguration, applyConfiguration: {expression: %q}}", expression)
}

func label(name string) string {
	return applies(fmt.Sprintf(`Object{metadata: Object.metadata{labels: {%q: "blue"}}}`, name))
}

// pod returns a mutation of the pod template of a Deployment.
func pod(fields string) string {
	return applies("Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{" + fields + "}}}}")
}

func policy(name string, rule []string, mutation string, conditions ...string) string {
	text := fmt.Sprintf(`---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules: [{apiGroups: [%[2]q], apiVersions: [%[3]q], resources: [%[4]q], operations: [CREATE]}]
`, name, rule[0], rule[1], rule[2])
	for i, condition := range conditions {
		text += fmt.Sprintf("  matchConditions: [{name: c%d, expression: %q}]\n", i, condition)
	}
	return text + fmt.Sprintf(`  mutations:
  - %s
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[2]s}
spec: {policyName: %[2]s}
`, mutation, name)
}

// ten returns ten policies: three for all kinds, seven for Deployments. If rule is given, it
// applies to all of them.
func ten(rule []string) string {
	everything, deployments := []string{"*", "*", "*"}, []string{"apps", "v1", "deployments"}
	if rule != nil {
		everything, deployments = rule, rule
	}
	const containers = "object.spec.template.spec.containers"
	patch := func(expression string) string {
		return fmt.Sprintf("{patchType: JSONPatch, jsonPatch: {expression: %q}}", expression)
	}
	return policy("team", everything, label("team")) +
		policy("managed", everything, applies(`Object{metadata: Object.metadata{annotations: {"kind": object.kind}}}`)) +
		policy("cost", everything, patch(`[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/cost"), value: "cc-1"}]`)) +
		policy("pull", deployments, pod("containers: "+containers+`.map(c, Object.spec.template.spec.containers{name: c.name, imagePullPolicy: "Always"})`)) +
		policy("mirror", deployments, pod("containers: "+containers+`.filter(c, !c.image.startsWith("mirror.")).map(c, Object.spec.template.spec.containers{name: c.name, image: "mirror.example.com/" + c.image})`)) +
		policy("nonroot", deployments, pod(`securityContext: Object.spec.template.spec.securityContext{runAsNonRoot: true}`)) +
		policy("sidecar", deployments, pod(`containers: [Object.spec.template.spec.containers{name: "agent", image: "mirror.example.com/agent:2"}]`), "!"+containers+`.exists(c, c.name == "agent")`) +
		policy("spread", deployments, pod(`topologySpreadConstraints: [Object.spec.template.spec.topologySpreadConstraints{maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway"}]`), "object.spec.replicas > 1") +
		policy("history", deployments, patch(`[JSONPatch{op: "replace", path: "/spec/revisionHistoryLimit", value: 3}]`)) +
		policy("grace", deployments, pod("terminationGracePeriodSeconds: 45"))
}

// tenValidating returns ten validating policies that accept what the mutating ones make: three for all
// kinds, seven for Deployments.
func tenValidating() string {
	everything, deployments := []string{"*", "*", "*"}, []string{"apps", "v1", "deployments"}
	const containers, spec = "object.spec.template.spec.containers", "object.spec.template.spec"
	return validation("has-team", everything, `has(object.metadata.labels) && "team" in object.metadata.labels`) +
		validation("has-kind", everything, `has(object.metadata.annotations) && object.metadata.annotations["kind"] == object.kind`) +
		validation("has-cost", everything, `"example.com/cost" in object.metadata.labels`) +
		validation("pulls", deployments, containers+`.all(c, c.imagePullPolicy == "Always" || c.name == "agent")`) +
		validation("mirrored", deployments, containers+`.all(c, c.image.startsWith("mirror."))`) +
		validation("no-root", deployments, spec+`.securityContext.runAsNonRoot == true`) +
		validation("has-agent", deployments, containers+`.exists(c, c.name == "agent")`) +
		validation("few", deployments, `object.spec.replicas <= 10`) +
		validation("short-history", deployments, `object.spec.revisionHistoryLimit == 3`) +
		validation("short-grace", deployments, spec+`.terminationGracePeriodSeconds <= 60`)
}

func validation(name string, rule []string, expression string) string {
	return fmt.Sprintf(`---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [%[2]q], apiVersions: [%[3]q], resources: [%[4]q], operations: [CREATE]}]
  validations: [{expression: %[5]q}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, name, rule[0], rule[1], rule[2], expression)
}

// kyverno returns ten ClusterPolicies with patchStrategicMerge.
func kyverno() string {
	var b strings.Builder
	rule := func(kinds, patch string) {
		fmt.Fprintf(&b, "---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p%d}\nspec:\n  background: false\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [%s]}}]}\n    mutate: {patchStrategicMerge: %s}\n", b.Len(), kinds, patch)
	}
	for i := range 3 {
		rule(`"*"`, fmt.Sprintf(`{metadata: {labels: {team-%d: "{{request.object.metadata.name}}"}}}`, i))
	}
	for i := range 3 {
		rule("Deployment", fmt.Sprintf(`{spec: {template: {metadata: {annotations: {note-%d: "yes"}}}}}`, i))
	}
	for _, fields := range []string{"imagePullPolicy: Always", `+(terminationMessagePolicy): FallbackToLogsOnError`, "securityContext: {+(runAsNonRoot): true}", "tty: false"} {
		rule("Deployment", fmt.Sprintf(`{spec: {template: {spec: {containers: [{(name): "*", %s}]}}}}`, fields))
	}
	return b.String()
}
