package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// random builds random policies and manifests for TestEquivalence. Most of them are valid, and many
// almost valid, because both sides must agree on errors, too.
type random struct{ *rand.Rand }

func (r random) chance(percent int) bool { return r.IntN(100) < percent }

func oneOf[T any](r random, from ...T) T { return from[r.IntN(len(from))] }

// randomKind is a kind of the random objects.
type randomKind struct {
	apiVersion, kind, group, resource string
	// pod is the path of the spec of the Pods, or "".
	pod []string
}

var randomKinds = []randomKind{
	{"v1", "Pod", "", "pods", []string{"spec"}},
	{"apps/v1", "Deployment", "apps", "deployments", []string{"spec", "template", "spec"}},
	{"apps/v1", "StatefulSet", "apps", "statefulsets", []string{"spec", "template", "spec"}},
	{"batch/v1", "CronJob", "batch", "cronjobs", []string{"spec", "jobTemplate", "spec", "template", "spec"}},
	{"v1", "Service", "", "services", nil},
	{"v1", "ConfigMap", "", "configmaps", nil},
}

// kyvernoKinds are the kinds of the random objects for Kyverno, which needs no server with their definitions.
var kyvernoKinds = append(slices.Clip(randomKinds),
	randomKind{"apps/v1", "DaemonSet", "apps", "daemonsets", []string{"spec", "template", "spec"}},
	randomKind{"batch/v1", "Job", "batch", "jobs", []string{"spec", "template", "spec"}},
	randomKind{"networking.k8s.io/v1", "Ingress", "networking.k8s.io", "ingresses", nil},
	randomKind{"networking.k8s.io/v1", "NetworkPolicy", "networking.k8s.io", "networkpolicies", nil},
	randomKind{"rbac.authorization.k8s.io/v1", "Role", "rbac.authorization.k8s.io", "roles", nil},
	randomKind{"v1", "ServiceAccount", "", "serviceaccounts", nil},
	randomKind{"example.com/v1", "Widget", "example.com", "widgets", nil},
	randomKind{"rbac.authorization.k8s.io/v1", clusterKind, "rbac.authorization.k8s.io", "clusterroles", nil},
)

// clusterKind is a kind of objects without a namespace.
const clusterKind = "ClusterRole"

// bodies are the fields of objects of kinds without pods, besides the metadata.
var bodies = map[string][]string{
	"Ingress": {
		"spec: {ingressClassName: nginx, rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}], tls: [{hosts: [a.example.com], secretName: tls}]}",
		"spec: {rules: [{host: b.example.com}, {http: {paths: [{path: /x, pathType: Exact, backend: {service: {name: web, port: {name: http}}}}, {path: /y, pathType: Exact, backend: {service: {name: c, port: {number: 81}}}}]}}]}",
	},
	"NetworkPolicy": {
		"spec: {podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {tier: prod}}}, {podSelector: {matchLabels: {app: web}}}], ports: [{port: 80, protocol: TCP}]}]}",
		"spec: {podSelector: {matchLabels: {app: web}}, egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]}, {ports: [{port: dns}]}]}",
	},
	"Role": {
		`rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]`, `rules: [{apiGroups: [apps, ""], resources: ["*"], verbs: ["*"]}, {apiGroups: [""], resources: [secrets], resourceNames: [a], verbs: [get]}]`, "rules: []",
	},
	clusterKind: {
		`rules: [{nonResourceURLs: [/metrics], verbs: [get]}, {apiGroups: [apps], resources: [deployments, pods], verbs: [get, list]}]`, "aggregationRule: {clusterRoleSelectors: [{matchLabels: {app: web}}]}\nrules: []",
	},
	"ServiceAccount": {"automountServiceAccountToken: true", "imagePullSecrets: [{name: a}, {name: b}]\nsecrets: [{name: s}]", "{}"},
	"Widget": {
		"spec: {size: 3, ratio: 0.5, parts: [{name: a, count: 1}, {name: b, count: 2, tags: [x]}], zones: [z1, z2], options: {mode: fast, nested: {deep: true}}}",
		"spec: {size: 1000000, parts: [{name: c0, image: nginx}], endpoints: [{port: 80, protocol: TCP, host: a}, {port: 53, protocol: UDP}], containers: [{name: c0, image: \"nginx:latest\"}]}",
		"spec: {size: 0, parts: [], note: null, matrix: [[1, 2], [3]], zones: []}",
	},
}

// policy returns a policy for a kind, with its binding.
func (r random) policy(k randomKind, name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %s}
spec:
  failurePolicy: %s
  reinvocationPolicy: %s
  matchConstraints:
    matchPolicy: %s
    resourceRules:
    - {apiGroups: [%q], apiVersions: [%q], operations: [CREATE], resources: [%q]}
`, name, oneOf(r, "Fail", "Fail", "Ignore"), oneOf(r, "Never", "IfNeeded"), oneOf(r, "Equivalent", "Exact"),
		k.group, k.apiVersion[strings.Index(k.apiVersion, "/")+1:], oneOf(r, k.resource, k.resource, "*"))
	if r.chance(40) {
		fmt.Fprintf(&b, "  matchConditions:\n  - {name: c, expression: %q}\n", r.condition())
	}
	fmt.Fprintf(&b, "  variables:\n  - {name: team, expression: %q}\n  mutations:\n",
		oneOf(r, `object.metadata.?labels[?"app"].orValue("none")`, `"a" + string(size(object.metadata.name))`, `object.metadata.name.replace("o", "0")`))
	for range 1 + r.IntN(3) {
		if r.chance(60) {
			fmt.Fprintf(&b, "  - patchType: ApplyConfiguration\n    applyConfiguration: {expression: %q}\n", r.apply(k))
		} else {
			fmt.Fprintf(&b, "  - patchType: JSONPatch\n    jsonPatch: {expression: %q}\n", r.patch(k))
		}
	}
	fmt.Fprintf(&b, "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicyBinding\nmetadata: {name: %[1]s}\nspec: {policyName: %[1]s}\n", name)
	return b.String()
}

// validatingPolicy returns a validating policy for a kind, with its binding.
func (r random) validatingPolicy(k randomKind, name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %s}
spec:
  failurePolicy: %s
  matchConstraints:
    matchPolicy: %s
    resourceRules:
    - {apiGroups: [%q], apiVersions: [%q], operations: [CREATE], resources: [%q]}
`, name, oneOf(r, "Fail", "Fail", "Ignore"), oneOf(r, "Equivalent", "Exact"),
		k.group, k.apiVersion[strings.Index(k.apiVersion, "/")+1:], oneOf(r, k.resource, k.resource, "*"))
	if r.chance(30) {
		fmt.Fprintf(&b, "  matchConditions:\n  - {name: c, expression: %q}\n", r.condition())
	}
	fmt.Fprintf(&b, "  variables:\n  - {name: team, expression: %q}\n  validations:\n",
		oneOf(r, `object.metadata.?labels[?"app"].orValue("none")`, `object.metadata.name.replace("o", "0")`, `object.metadata.labels["app"]`))
	for range 1 + r.IntN(3) {
		fmt.Fprintf(&b, "  - expression: %q\n", r.validation())
		if r.chance(40) {
			fmt.Fprintf(&b, "    message: %q\n", oneOf(r, "not allowed", "  no  ", `say "no"`))
		}
		if r.chance(40) {
			fmt.Fprintf(&b, "    messageExpression: %q\n", oneOf(r, `"team " + variables.team`, `string(object.spec.nope)`, `" "`, `string(size(object.metadata.name))`, `"a\nb"`))
		}
		if r.chance(30) {
			fmt.Fprintf(&b, "    reason: %s\n", oneOf(r, "Forbidden", "Invalid", "RequestEntityTooLarge"))
		}
	}
	fmt.Fprintf(&b, "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: %[1]s}\nspec: {policyName: %[1]s, validationActions: [%[2]s]}\n",
		name, oneOf(r, "Deny", "Deny", "Deny", "Warn", "Audit", "Warn, Audit", "Deny, Audit"))
	return b.String()
}

// validation returns an expression of a validation.
func (r random) validation() string {
	if r.chance(40) {
		return r.condition()
	}
	return oneOf(r,
		`object.metadata.generation == 1`,
		`has(object.metadata.uid) && object.metadata.namespace == request.namespace`,
		`variables.team != "none"`,
		`variables.team.size() < 4 || !has(object.metadata.annotations)`,
		`has(object.status) ? size(object.status) >= 0 : true`,
		`object.spec.template.spec.containers.all(c, c.image.contains(":"))`,
		`object.?spec.template.spec.containers.orValue([]).all(c, c.imagePullPolicy == "Always")`,
		`object.spec.containers.all(c, has(c.resources.limits))`,
		`object.?spec.replicas.orValue(1) < 3`,
		`object.spec.type in ["ClusterIP", "NodePort"] && object.spec.clusterIP != ""`,
		`object.?metadata.labels.orValue({}).all(k, k.size() < 6)`,
		`size(object.?data.orValue({})) <= 2`,
		`object.spec.jobTemplate.spec.template.spec.restartPolicy == "Never"`,
		`namespaceObject.metadata.name == object.metadata.namespace`,
		`request.name == object.metadata.name && request.operation == "CREATE"`)
}

func (r random) condition() string {
	return oneOf(r,
		`has(object.metadata.labels) && "app" in object.metadata.labels`,
		`object.metadata.?labels[?"app"].orValue("") != "skip"`,
		`!has(object.metadata.annotations)`,
		`object.spec.containers.all(c, c.image != "")`,
		`request.kind.kind == object.kind`,
		`size(object.metadata.name) > 2`,
		`object.spec.replicas > 1`,
		`object.data.exists(k, k.startsWith("a"))`)
}

// apply returns an expression of an apply configuration.
func (r random) apply(k randomKind) string {
	if k.pod != nil && r.chance(70) {
		typed := "Object." + strings.Join(k.pod, ".")
		text := typed + "{" + r.podField(typed, "object."+strings.Join(k.pod, ".")) + "}"
		for i := len(k.pod) - 1; i >= 0; i-- {
			outer := strings.Join(append([]string{"Object"}, k.pod[:i]...), ".")
			text = fmt.Sprintf("%s{%s: %s}", outer, k.pod[i], text)
		}
		return text
	}
	switch k.kind {
	case "Service":
		if r.chance(60) {
			return "Object{spec: Object.spec{" + oneOf(r, `type: "LoadBalancer"`, `type: "NodePort"`, `sessionAffinity: "ClientIP"`, `selector: {"app": variables.team}`,
				`externalTrafficPolicy: "Local"`, `publishNotReadyAddresses: true`, `type: "ClusterIP", clusterIP: "None"`,
				`ports: object.spec.ports.map(p, Object.spec.ports{port: p.port, protocol: p.protocol, name: "p" + string(p.port)})`) + "}}"
		}
	case "ConfigMap":
		if r.chance(60) {
			return "Object{" + oneOf(r, `data: {"added": variables.team}`, `immutable: true`, `data: object.?data.orValue({})`, `binaryData: {"b": b"xyz"}`) + "}"
		}
	case "Deployment", "StatefulSet":
		if r.chance(30) {
			return "Object{spec: Object.spec{" + oneOf(r, `replicas: object.spec.replicas + 1`, `revisionHistoryLimit: 3`, `minReadySeconds: 5`,
				`template: Object.spec.template{metadata: Object.spec.template.metadata{labels: {"team": variables.team}}}`) + "}}"
		}
	}
	return "Object{metadata: Object.metadata{" + oneOf(r, `labels: {"team": variables.team}`, `annotations: {"seen": string(has(object.metadata.labels))}`,
		`labels: {"app": "same"}, annotations: {"a/b": "x"}`, `finalizers: ["example.com/f"]`) + "}}"
}

// podField returns a field of a Pod's spec with a new value.
func (r random) podField(typed, path string) string {
	containers := func(field string) string {
		return fmt.Sprintf("containers: %s.containers.map(c, %s.containers{name: c.name, %s})", path, typed, field)
	}
	quoted := func(format string) string { return strings.ReplaceAll(format, "T.", typed+".") }
	return quoted(oneOf(r,
		containers(`imagePullPolicy: "Always"`), containers(`image: "mirror.example.com/" + c.image`), containers(`image: c.image.split(":")[0]`),
		containers(`env: [T.containers.env{name: "TEAM", value: variables.team}]`), containers(`resources: T.containers.resources{limits: {"memory": quantity("64Mi")}}`),
		containers(`resources: T.containers.resources{requests: {"cpu": "100m"}}`), containers(`securityContext: T.containers.securityContext{runAsNonRoot: true}`),
		containers(`ports: [T.containers.ports{containerPort: 9090}]`), containers(`args: ["x"]`),
		`hostNetwork: `+oneOf(r, "true", "false"), `terminationGracePeriodSeconds: `+oneOf(r, "0", "5", "30"), `dnsPolicy: "Default"`,
		`nodeSelector: {"disk": "ssd"}`, `serviceAccountName: "robot"`, `automountServiceAccountToken: false`, `priorityClassName: "high"`,
		`tolerations: [T.tolerations{key: "a", operator: "Exists"}]`,
		`containers: [`+path+`.containers[0]]`, `containers: `+path+`.containers.filter(c, true)`, `containers: `+path+`.containers + [T.containers{name: "more", image: "i"}]`,
		`containers: [T.containers{name: "more", image: "i"}] + `+path+`.containers`, `?nodeSelector: `+path+`.?nodeSelector`, `nodeSelector: {"labels": object.metadata.labels}`, `securityContext: T.securityContext{seccompProfile: T.securityContext.seccompProfile{type: "RuntimeDefault"}}`,
		`initContainers: [T.initContainers{name: "proxy", image: "proxy:1", restartPolicy: "Always"}]`, `volumes: [T.volumes{name: "tmp", emptyDir: T.volumes.emptyDir{}}]`,
		`containers: [T.containers{name: "side", image: "side"}]`, `restartPolicy: "Always"`, `shareProcessNamespace: true`, `nosuchfield: 1`))
}

// patch returns an expression of a JSON patch.
func (r random) patch(k randomKind) string {
	pointers := []string{"/metadata/labels/team", "/metadata/labels", "/metadata/annotations/a~1b", "/metadata/annotations"}
	values := []string{
		`"x"`, `variables.team`, `{"a": "b"}`, `null`, `1`, `true`,
		`object.metadata.labels`, `object.metadata.?labels.orValue({})`, `{"a": object.metadata.name}`, `namespaceObject.metadata.labels`, `request.kind`,
	}
	if k.pod != nil && r.chance(70) {
		base := "/" + strings.Join(k.pod, "/")
		pointers = []string{
			base + "/containers/0/image", base + "/containers/0/imagePullPolicy", base + "/containers/0/env", base + "/containers/0/env/-", base + "/containers/-", base + "/containers/1",
			base + "/nodeSelector", base + "/hostNetwork", base + "/terminationGracePeriodSeconds", base + "/securityContext", base + "/volumes",
		}
		values = []string{
			`"nginx:1"`, `"Always"`, `[{"name": "A", "value": "b"}]`, `{"name": "A", "value": "b"}`, `{"name": "side", "image": "side:1"}`, `{"disk": "ssd"}`, `true`, `5`,
			`{}`, `[]`, fmt.Sprintf(`Object.%s.containers{name: "typed", image: "i"}`, strings.Join(k.pod, ".")),
		}
		for _, value := range []string{
			`P.containers[0]`, `[P.containers[0]]`, `P.containers.filter(c, c.name != "x")`, `P.containers.map(c, {"name": c.name})`, `P.containers + P.containers`,
			`[dyn({"name": "z"})] + P.containers`, `P.?volumes.orValue([])`, `P.?nodeSelector`, `request.userInfo.groups`, `P.containers[0] == P.containers[0]`,
		} {
			values = append(values, strings.ReplaceAll(value, "P.", "object."+strings.Join(k.pod, ".")+"."))
		}
	}
	var patches []string
	for range 1 + r.IntN(3) {
		path := oneOf(r, pointers...)
		switch op := oneOf(r, "add", "add", "add", "replace", "remove", "copy", "move", "test"); op {
		case "remove":
			patches = append(patches, fmt.Sprintf(`JSONPatch{op: "remove", path: %q}`, path))
		case "copy", "move":
			patches = append(patches, fmt.Sprintf(`JSONPatch{op: %q, from: %q, path: %q}`, op, oneOf(r, pointers...), path))
		default:
			patches = append(patches, fmt.Sprintf(`JSONPatch{op: %q, path: %q, value: %s}`, op, path, oneOf(r, values...)))
		}
	}
	return "[" + strings.Join(patches, ", ") + "]"
}

// manifest returns an object of a kind.
func (r random) manifest(k randomKind, name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n", k.apiVersion, k.kind, name)
	if r.chance(60) {
		fmt.Fprintf(&b, "  labels: {app: %s}\n", oneOf(r, "web", "skip", `""`))
	}
	if r.chance(30) {
		fmt.Fprintf(&b, "  annotations: %s\n", oneOf(r, `{a/b: "1"}`, `{}`, `{x: "y", team: z}`))
	}
	if body := bodies[k.kind]; body != nil {
		return b.String() + strings.TrimSuffix(oneOf(r, body...), "{}") + "\n"
	}
	switch k.kind {
	case "ConfigMap":
		b.WriteString(oneOf(r, "", "data: {}\n", "data: {a: b}\n", "data: {a: b, c: \"1\"}\nimmutable: false\n"))
	case "Service":
		fmt.Fprintf(&b, "spec:\n  selector: {app: web}\n  ports:\n  - {port: %d%s}\n%s", 80+r.IntN(3), oneOf(r, "", ", name: http", ", targetPort: web, protocol: TCP"),
			oneOf(r, "", "  - {port: 443, name: tls}\n", "  type: NodePort\n", "  type: LoadBalancer\n", "  clusterIP: None\n"))
	case "Pod":
		b.WriteString("spec:\n" + r.podSpec("  ", ""))
	case "CronJob":
		b.WriteString("spec:\n  schedule: \"0 * * * *\"\n  jobTemplate:\n    spec:\n" + oneOf(r, "", "      backoffLimit: 2\n") + "      template:\n        spec:\n" +
			r.podSpec("          ", oneOf(r, "OnFailure", "Never")))
	default:
		b.WriteString("spec:\n")
		if k.kind != "Job" {
			b.WriteString("  selector: {matchLabels: {app: web}}\n" + oneOf(r, "", "  minReadySeconds: 1\n", map[bool]string{false: "  revisionHistoryLimit: 10\n"}[k.kind == "ReplicaSet"]))
		}
		switch k.kind {
		case "Deployment":
			b.WriteString(oneOf(r, "", "  replicas: 3\n", "  replicas: 0\n") + oneOf(r, "", "  strategy: {type: Recreate}\n", "  strategy: {rollingUpdate: {maxSurge: 1}}\n"))
		case "StatefulSet":
			b.WriteString(oneOf(r, "", "  replicas: 3\n", "  replicas: 0\n") + oneOf(r, "", "  serviceName: web\n", "  podManagementPolicy: Parallel\n"))
		}
		b.WriteString("  template:\n    metadata: {labels: {app: web}}\n    spec:\n" + r.podSpec("      ", ""))
	}
	return b.String()
}

// podSpec returns the spec of a Pod, indented.
func (r random) podSpec(indent, restart string) string {
	lines := []string{"containers:"}
	for i := range 1 + r.IntN(2) {
		lines = append(lines, fmt.Sprintf("- name: c%d", i), "  image: "+oneOf(r, "nginx", "nginx:latest", "nginx:1.27", "registry.example.com:5000/a/b@sha256:"+strings.Repeat("0", 64)))
		lines = append(lines, oneOf(r, "", "  imagePullPolicy: Always", "  env: [{name: A, value: a}]", "  ports: [{containerPort: 8080}]", "  resources: {limits: {cpu: 500m, memory: 0.5Gi}}",
			"  readinessProbe: {httpGet: {port: 80}}", "  securityContext: {}", "  env: []", "  args: [a, b]", "  command: null"))
	}
	if restart != "" {
		lines = append(lines, "restartPolicy: "+restart)
	}
	lines = append(lines, oneOf(r, "", "", "hostNetwork: true", "nodeSelector: {disk: hdd}", "tolerations: [{key: b, operator: Exists}]", "initContainers: [{name: init, image: i}]",
		"volumes: [{name: v, configMap: {name: c}}]", "volumes: [{name: v, emptyDir: {}}]", "securityContext: {runAsUser: 1000}", "terminationGracePeriodSeconds: 10", "serviceAccount: robot"))
	var b strings.Builder
	for _, line := range lines {
		if line != "" {
			b.WriteString(indent + line + "\n")
		}
	}
	return b.String()
}
