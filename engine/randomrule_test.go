package engine

import (
	"fmt"
	"strings"
)

// clusterPolicy returns a ClusterPolicy with rules for random kinds.
func (r random) clusterPolicy(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: %s}\nspec:\n", name)
	b.WriteString(oneOf(r, "", "", "  applyRules: One\n") + "  rules:\n")
	for i := range 1 + r.IntN(3) {
		fmt.Fprintf(&b, "  - name: r%d\n    match: %s\n", i, oneOf(r,
			"{any: [{resources: {kinds: [Pod]}}]}", "{any: [{resources: {kinds: [Pod]}}]}", "{any: [{resources: {kinds: [Deployment, StatefulSet]}}]}",
			"{any: [{resources: {kinds: [Pod, Deployment, StatefulSet]}}]}", "{all: [{resources: {kinds: [Pod]}}]}",
			"{any: [{resources: {kinds: [Service, ConfigMap]}}]}", `{any: [{resources: {kinds: [Pod], names: ["m?1", "m*2"]}}, {resources: {kinds: [CronJob]}}]}`,
			`{any: [{resources: {kinds: [Pod], selector: {matchLabels: {app: "w*"}}}}]}`))
		if r.chance(20) {
			b.WriteString("    exclude: " + oneOf(r, `{any: [{resources: {kinds: [Pod], names: ["m1*"]}}]}`, "{all: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Pod], selector: {matchLabels: {app: skip}}}}]}") + "\n")
		}
		if r.chance(30) {
			fmt.Fprintf(&b, "    preconditions: {%s: [%s]}\n", oneOf(r, "any", "all"), r.precondition())
		}
		b.WriteString("    mutate:\n" + r.mutation())
	}
	return b.String()
}

// mutatingPolicy returns a MutatingPolicy for a random kind. It does not do what only Kyverno's
// command does differently: it calculates with no number and reads no user.
func (r random) mutatingPolicy(name string) string {
	k := oneOf(r, randomKinds...)
	clean := func(generate func() string) string {
		for {
			if text := generate(); !strings.Contains(text, "+ 1") && !strings.Contains(text, "userInfo") && !strings.Contains(text, "request.kind") && !strings.Contains(text, "namespaceObject") {
				return text
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: %s}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [%q], apiVersions: [%q], operations: [CREATE], resources: [%q]}
`, name, k.group, k.apiVersion[strings.Index(k.apiVersion, "/")+1:], k.resource)
	if r.chance(40) {
		fmt.Fprintf(&b, "  matchConditions:\n  - {name: c, expression: %q}\n", clean(r.condition))
	}
	fmt.Fprintf(&b, "  variables:\n  - {name: team, expression: %q}\n  mutations:\n",
		oneOf(r, `object.metadata.?labels[?"app"].orValue("none")`, `"a" + string(size(object.metadata.name))`, `object.metadata.name.replace("o", "0")`))
	for range 1 + r.IntN(2) {
		if r.chance(60) {
			fmt.Fprintf(&b, "  - patchType: ApplyConfiguration\n    applyConfiguration: {expression: %q}\n", clean(func() string { return r.apply(k) }))
		} else {
			fmt.Fprintf(&b, "  - patchType: JSONPatch\n    jsonPatch: {expression: %q}\n", clean(func() string { return r.patch(k) }))
		}
	}
	return b.String()
}

func (r random) precondition() string {
	return oneOf(r,
		`{key: "{{ request.object.metadata.name }}", operator: Equals, value: "m?3"}`,
		`{key: "{{ request.object.metadata.labels.app || '' }}", operator: NotEquals, value: web}`,
		`{key: "{{ request.object.metadata.labels || `+"`{}`"+` | keys(@) }}", operator: AnyIn, value: [app, team]}`,
		`{key: "{{ length(request.object.spec.containers || `+"`[]`"+`) }}", operator: GreaterThan, value: 1}`,
		`{key: "{{ request.object.spec.replicas || `+"`1`"+` }}", operator: LessThanOrEquals, value: "2"}`,
		`{key: "{{ request.operation }}", operator: AnyNotIn, value: [UPDATE]}`,
		`{key: "{{ request.object.spec.containers[].image || `+"`[]`"+` }}", operator: AllNotIn, value: ["*:latest"]}`)
}

func (r random) mutation() string {
	switch r.IntN(10) {
	case 0, 1:
		return "      patchesJson6902: |-\n        - " + r.operation() + "\n"
	case 2, 3:
		return "      foreach:\n      - list: " + oneOf(r, "request.object.spec.containers || `[]`", `"['a', 'b']"`, "request.object.metadata.labels || `{}` | sort(keys(@))", "request.object.spec.containers[].name || `[]`") + "\n" +
			oneOf(r, "", "", "        order: Ascending\n", "        order: Descending\n") +
			oneOf(r, "", `        preconditions: {all: [{key: "{{ elementIndex }}", operator: LessThan, value: 1}]}`+"\n") +
			"        patchStrategicMerge: " + oneOf(r,
			`{metadata: {annotations: {"e-{{ elementIndex }}": "{{ to_string(element) | length(@) }}"}}}`,
			`{metadata: {labels: {last: "x{{ elementIndex }}"}}}`,
			`{spec: {containers: [{name: "n{{ elementIndex }}", image: added}]}}`,
			`{spec: {containers: [{(image): "*:latest", imagePullPolicy: "{{ elementIndex }}"}]}}`) + "\n"
	}
	return "      patchStrategicMerge: {" + r.smp() + "}\n"
}

func (r random) operation() string {
	return oneOf(r,
		`{op: add, path: /metadata/labels/team, value: a}`, `{op: remove, path: /metadata/labels/app}`, `{op: add, path: /metadata/annotations/a~1b, value: "2"}`,
		`{op: replace, path: /metadata/name, value: "{{ request.object.metadata.name }}"}`, `{op: copy, from: /metadata/name, path: /metadata/generateName}`,
		`{op: add, path: /spec/list/1, value: {}}`, `{op: add, path: /spec/tolerations/-, value: {key: x}}`, `{op: remove, path: /spec/containers/1}`)
}

// smp returns the fields of a strategic merge patch. No list has two items with anchors, because
// Kyverno's command ends with a crash for some of them.
func (r random) smp() string {
	metadata := oneOf(r, "", "", `metadata: {labels: {+(app): added, team: "{{ request.object.metadata.name }}"}}`, `metadata: {labels: {(app): "w*", team: web}}`,
		`metadata: {annotations: {+(a/b): x, seen: "{{ request.operation }}"}}`, `metadata: {labels: {<(app): "!skip", gate: open}}`, `metadata: {finalizers: [a, b]}`,
		`metadata: {annotations: {x: "{{ request.object.metadata.annotations.x || 'none' }}"}}`, `metadata: {(labels): {+(more): x}}`, `(metadata): {labels: {app: "?*"}}`)
	spec := oneOf(r, "", `spec: {containers: [{`+r.item()+`}]}`, `spec: {containers: [{`+r.item()+`}]}`, `spec: {containers: [{name: side, image: side}]}`,
		`spec: {+(nodeSelector): {disk: ssd}}`, `spec: {nodeSelector: {+(disk): ssd, zone: a}}`, `spec: {(hostNetwork): true, dnsPolicy: Default}`,
		`spec: {securityContext: {+(runAsNonRoot): true, +(runAsUser): 7}}`, `spec: {tolerations: [{(key): b, effect: NoSchedule}]}`,
		`spec: {volumes: [{name: tmp, emptyDir: {}}, {name: c, configMap: {name: c}}]}`, `spec: {volumes: [{<(emptyDir): {}}], hostPID: true}`,
		`spec: {template: {metadata: {annotations: {a: b}}}}`, `spec: {template: {spec: {containers: [{`+r.item()+`}]}}}`, `spec: {(replicas): ">1", minReadySeconds: 3}`,
		`spec: {ports: [{port: 80, name: web}]}`, `spec: {ports: [{(name): http, targetPort: 8080}]}`, `data: {+(a): x, b: y}`, `spec: {=(hostIPC): true, $retainKeys: [a]}`)
	switch {
	case metadata == "" && spec == "":
		return `metadata: {labels: {plain: "1"}}`
	case metadata == "" || spec == "":
		return metadata + spec
	}
	return metadata + ", " + spec
}

func (r random) item() string {
	var parts []string
	parts = append(parts, oneOf(r, `(name): "*"`, `(image): "*:latest"`, `(image): "!*:latest"`, `(name): c1`, `name: c0`, `name: side, image: side`, `(env): [{(name): A}]`, `(resources): {limits: {(memory): "<1Gi"}}`))
	for range 1 + r.IntN(2) {
		parts = append(parts, oneOf(r, `+(imagePullPolicy): Always`, `tty: true`, `resources: {limits: {+(memory): 1Gi}}`, `env: [{name: B, value: b}]`, `+(securityContext): {privileged: false}`, `ports: [{containerPort: 9090, protocol: TCP}]`,
			`securityContext: {+(runAsUser): 1}`, `args: [z]`, `volumeMounts: [{name: v, mountPath: /v}]`))
	}
	seen := map[string]bool{}
	var unique []string
	for _, part := range parts {
		key, _, _ := strings.Cut(strings.Trim(part, "+("), ":")
		if key = strings.Trim(key, ")"); !seen[key] {
			seen[key] = true
			unique = append(unique, part)
		}
	}
	return strings.Join(unique, ", ")
}
