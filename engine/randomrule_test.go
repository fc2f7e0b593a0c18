package engine

import (
	"fmt"
	"strings"
)

// clusterPolicy returns a ClusterPolicy with rules for random kinds.
func (r random) clusterPolicy(name string) string {
	return "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: " + name + oneOf(r, "", "", "", ", annotations: {pod-policies.kyverno.io/autogen-controllers: none}",
		`, annotations: {pod-policies.kyverno.io/autogen-controllers: "Deployment,CronJob"}`) + "}\n" + r.ruleSpec()
}

// namespacedPolicy returns a Policy of the namespace of the random manifests.
func (r random) namespacedPolicy(name string) string {
	return "apiVersion: kyverno.io/v1\nkind: Policy\nmetadata: {name: " + name + ", namespace: default}\n" + r.ruleSpec()
}

// ruleSpec returns the spec of a policy with rules.
func (r random) ruleSpec() string {
	var b strings.Builder
	b.WriteString("spec:\n")
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
			fmt.Fprintf(&b, "    preconditions: {%s: [%s]}\n", oneOf(r, "any", "all"), r.preconditions())
		}
		mutation := r.mutation()
		if strings.Contains(mutation, "{{ fact") {
			spare := oneOf(r, "", "", "", `, {name: spare, variable: {value: "{{ request.object.metadata.annotations.x }}"}}`)
			b.WriteString("    context: [" + r.fact() + spare + "]\n")
		}
		b.WriteString("    mutate:\n" + mutation)
	}
	return b.String()
}

// fact returns an entry of a context.
func (r random) fact() string {
	return oneOf(r, "{name: fact, variable: {value: known}}", `{name: fact, variable: {value: "{{ request.object.metadata.name }}"}}`,
		`{name: fact, variable: {jmesPath: request.object.metadata.labels.app, default: none}}`,
		`{name: fact, variable: {jmesPath: "length(request.object.metadata.annotations || `+"`{}`"+`)"}}`,
		`{name: fact, variable: {value: {a: b, c: 1}, jmesPath: "to_string(@)"}}`, `{name: fact, variable: {value: [x, y], jmesPath: "join('-', @)"}}`)
}

// namespacedMutatingPolicy returns a NamespacedMutatingPolicy of the namespace of the random manifests.
func (r random) namespacedMutatingPolicy(name string) string {
	return strings.NewReplacer("kind: MutatingPolicy", "kind: NamespacedMutatingPolicy", "metadata: {name: "+name+"}", "metadata: {name: "+name+", namespace: default}").Replace(r.mutatingPolicy(name))
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

// preconditions returns one or two of them.
func (r random) preconditions() string {
	if r.chance(70) {
		return r.precondition()
	}
	return r.precondition() + ", " + r.precondition()
}

func (r random) precondition() string {
	return oneOf(r,
		`{key: "{{ request.object.spec.containers[0].resources.limits.memory || '' }}", operator: LessThan, value: 1Gi}`,
		`{key: "{{ request.object.spec.terminationGracePeriodSeconds || `+"`30`"+` }}", operator: GreaterThanOrEquals, value: 30}`,
		`{key: "{{ request.object.metadata.annotations.x }}", operator: Equals, value: "y"}`,
		`{key: "{{ request.object.metadata.annotations.x || '10m' }}", operator: GreaterThan, value: 5m}`,
		`{key: ["a", "{{ request.object.metadata.labels.app || 'b' }}"], operator: AllIn, value: ["?", web]}`,
		`{key: "{{ request.object.kind }}", operator: In, value: [Pod, Service]}`,
		`{key: "{{ request.object.spec.hostNetwork || `+"`false`"+` }}", operator: NotEquals, value: true}`,
		`{key: "{{ request.object.metadata.labels.app == 'web' }}", operator: Equals, value: true}`,
		`{key: "{{ request.namespace }}", operator: AnyIn, value: "def*"}`,
		`{key: "{{ request.object.metadata.name }}", operator: Equals, value: "m?3"}`,
		`{key: "{{ request.object.metadata.labels.app || '' }}", operator: NotEquals, value: web}`,
		`{key: "{{ request.object.metadata.labels || `+"`{}`"+` | keys(@) }}", operator: AnyIn, value: [app, team]}`,
		`{key: "{{ length(request.object.spec.containers || `+"`[]`"+`) }}", operator: GreaterThan, value: 1}`,
		`{key: "{{ request.object.spec.replicas || `+"`1`"+` }}", operator: LessThanOrEquals, value: "2"}`,
		`{key: "{{ request.operation }}", operator: AnyNotIn, value: [UPDATE]}`,
		`{key: "{{ request.object.spec.containers[].image || `+"`[]`"+` }}", operator: AllNotIn, value: ["*:latest"]}`)
}

func (r random) mutation() string {
	switch r.IntN(11) {
	case 10:
		return r.jsonForeach()
	case 0, 1:
		return "      patchesJson6902: |-\n        - " + r.operation() + "\n"
	case 2, 3:
		return "      foreach:\n      - list: " + oneOf(r, "request.object.spec.containers || `[]`", `"['a', 'b']"`, "request.object.metadata.labels || `{}` | sort(keys(@))", "request.object.spec.containers[].name || `[]`") + "\n" +
			oneOf(r, "", "", "        order: Ascending\n", "        order: Descending\n") +
			oneOf(r, "", "", "        context: [{name: fact, variable: {jmesPath: \"to_string(element)\"}}]\n") +
			oneOf(r, "", `        preconditions: {all: [{key: "{{ elementIndex }}", operator: LessThan, value: 1}]}`+"\n") +
			"        patchStrategicMerge: " + oneOf(r,
			`{metadata: {annotations: {"e-{{ elementIndex }}": "{{ to_string(element) | length(@) }}"}}}`,
			`{metadata: {labels: {last: "x{{ elementIndex }}"}}}`, `{metadata: {labels: {app: "{{ @ }}"}}}`, `{metadata: {labels: {a: v, b: "$(./../a) {{ elementIndex }}"}}}`,
			`{metadata: {annotations: {"{{ to_string(element) | length(@) }}": "{{ element.name || element }}"}}}`,
			`{spec: {containers: [{name: "n{{ elementIndex }}", image: added}]}}`,
			`{spec: {containers: [{(image): "*:latest", imagePullPolicy: "{{ elementIndex }}"}]}}`) + "\n"
	}
	return "      patchStrategicMerge: {" + r.smp() + "}\n"
}

// jsonForeach returns a foreach with a JSON Patch, or with another foreach.
func (r random) jsonForeach() string {
	return "      foreach:\n      - list: request.object.spec.containers || `[]`\n" + oneOf(r,
		`        patchesJson6902: '- {op: replace, path: /spec/containers/{{ elementIndex }}/image, value: "x/{{ element.name }}"}'`,
		`        patchesJson6902: '- {op: add, path: "/spec/containers/{{ elementIndex }}/imagePullPolicy", value: Always}'`,
		`        patchesJson6902: '- {op: remove, path: "/spec/containers/{{ elementIndex }}"}'`,
		`        patchesJson6902: '- {op: add, path: /spec/containers/{{ elementIndex }}/env/-, value: {name: N, value: "{{ element.image }}"}}'`,
		`        patchesJson6902: '[{"op": "add", "path": "/metadata/labels/c{{ elementIndex }}", "value": "{{ element.name }}"}]'`,
		"        foreach: [{list: 'element.env || `[]`', patchStrategicMerge: {metadata: {annotations: {\"{{ element0.name }}\": \"{{ element.name }}\"}}}}]",
		"        foreach: [{list: 'element.ports || `[]`', order: Descending, patchesJson6902: '- {op: add, path: /spec/containers/{{ elementIndex0 }}/ports/-, value: {containerPort: 1{{ elementIndex }}}}'}]") + "\n"
}

func (r random) operation() string {
	return oneOf(r,
		`{op: add, path: /metadata/labels/team, value: a}`, `{op: remove, path: /metadata/labels/app}`, `{op: add, path: /metadata/annotations/a~1b, value: "2"}`,
		`{op: replace, path: /metadata/name, value: "{{ request.object.metadata.name }}"}`, `{op: copy, from: /metadata/name, path: /metadata/generateName}`,
		`{op: add, path: /spec/list/1, value: {}}`, `{op: add, path: /spec/tolerations/-, value: {key: x}}`, `{op: remove, path: /spec/containers/1}`)
}

// textFunctions are annotations with functions of JMESPath.
var textFunctions = []string{
	`f: "{{ to_upper(request.object.metadata.name) }}"`, `f: "{{ replace_all(request.object.metadata.name, 'm', 'n$1') }}"`, `f: "{{ base64_encode(request.object.kind) }}"`,
	`f: "{{ split(request.object.metadata.name, '1')[0] }}"`, `f: "{{ truncate(request.object.kind, ` + "`3`" + `) }}"`, `f: "{{ request.object.metadata.labels || ` + "`{}`" + ` | to_string(@) }}"`,
	`f: "{{ add(request.object.spec.replicas || ` + "`1`" + `, ` + "`2`" + `) }}"`, `f: "{{ join(',', request.object.spec.containers[].name || ` + "`[]`" + `) }}"`,
	`f: "{{ regex_replace_all('[aeiou]', request.object.kind, '<$0>') }}"`, `f: "{{ pattern_match('m*1', request.object.metadata.name) }}"`, `f: "{{ request.object.metadata.nothing }}"`,
	`f: "a {{ request.object.metadata.name }} b {{ request.namespace }}"`, `"{{ request.object.kind }}": "$(./../f)", f: x`, `f: "\\{{ request.name }}"`, `f: "{{ images.containers.c0.tag || 'untagged' }}"`,
	`f: "{{ to_string(request.object.spec.replicas) }}"`, `f: "{{ sort(keys(request.object.metadata)) | join('-', @) }}"`, `f: "{{ request.object.spec.containers[?name=='c1'].image | [0] || '' }}"`,
}

// smp returns the fields of a strategic merge patch. No list has two items with anchors, because
// Kyverno's command ends with a crash for some of them.
func (r random) smp() string {
	metadata := oneOf(r, "", "", `metadata: {labels: {+(app): added, team: "{{ request.object.metadata.name }}"}}`, `metadata: {labels: {(app): "w*", team: web}}`,
		`metadata: {annotations: {+(a/b): x, seen: "{{ request.operation }}"}}`, `metadata: {labels: {<(app): "!skip", gate: open}}`, `metadata: {finalizers: [a, b]}`,
		`metadata: {annotations: {x: "{{ request.object.metadata.annotations.x || 'none' }}"}}`, `metadata: {annotations: {fact: "{{ fact }}"}}`, `metadata: {labels: {app: "{{ @ }}-x"}}`, `metadata: {annotations: {+(from): v, to: "$(./../from)"}}`, `metadata: {annotations: {`+oneOf(r, textFunctions...)+`}}`, `metadata: {(labels): {+(more): x}}`, `(metadata): {labels: {app: "?*"}}`)
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
