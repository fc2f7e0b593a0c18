package mutatingpolicy

import (
	"strings"
	"testing"
)

const oneMutation = `
mutations:
- patchType: JSONPatch
  jsonPatch: {expression: '[JSONPatch{op: "add", path: "/data/x", value: "y"}]'}
`

// TestRefused checks errors about documents: the texts of Kyverno v1.19.0 and of its
// CustomResourceDefinitions where they have one.
func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		situation
		want string
	}{
		"fine": {situation{spec: oneMutation}, ""},
		"version of a cluster policy": {
			situation{policies: "apiVersion: policies.kyverno.io/v2\nkind: MutatingPolicy\nmetadata: {name: p}\n"},
			`1:13 policy-version-unknown apiVersion: Kyverno has no MutatingPolicy of policies.kyverno.io/v2 (expected apiVersion: policies.kyverno.io/v1, policies.kyverno.io/v1beta1, policies.kyverno.io/v1alpha1)`,
		},
		"namespaced policies never had v1alpha1": {
			situation{policies: "apiVersion: policies.kyverno.io/v1alpha1\nkind: NamespacedMutatingPolicy\nmetadata: {name: p}\n"},
			`1:13 policy-version-unknown apiVersion: Kyverno has no NamespacedMutatingPolicy of policies.kyverno.io/v1alpha1 (expected apiVersion: policies.kyverno.io/v1, policies.kyverno.io/v1beta1)`,
		},
		"no spec": {
			situation{policies: "apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {name: p}\n"},
			`1:1 policy-invalid spec: Required value`,
		},
		"unknown fields": {
			situation{spec: "paramKind: {}\nmutation: []\nevaluation: {admision: {}}" + oneMutation},
			`9:14 policy-field-unknown spec.paramKind: unknown field "spec.paramKind" (a MutatingPolicy has no params: read the object with resource.Get)
10:13 policy-field-unknown spec.mutation: unknown field "spec.mutation" (expected auditAnnotations, autogen, evaluation, failurePolicy, matchConditions, matchConstraints, mutations, reinvocationPolicy, targetMatchConditions, targetMatchConstraints, variables, webhookConfiguration)
11:26 policy-field-unknown spec.evaluation.admision: unknown field "spec.evaluation.admision" (expected admission, background, mode, mutateExisting, skipBackgroundRequests, useServerSideApply)`,
		},
		"types": {
			situation{spec: "mutations: {}\nvariables: x\nevaluation: {admission: {enabled: 'no'}}\nwebhookConfiguration: {timeoutSeconds: 1.5}"},
			`9:14 policy-invalid spec.mutations: Invalid value: "object": spec.mutations in body must be of type array: "object"
10:14 policy-invalid spec.variables: Invalid value: "string": spec.variables in body must be of type array: "string"
11:37 policy-invalid spec.evaluation.admission.enabled: Invalid value: "string": spec.evaluation.admission.enabled in body must be of type boolean: "string"
12:42 policy-invalid spec.webhookConfiguration.timeoutSeconds: Invalid value: "number": spec.webhookConfiguration.timeoutSeconds in body must be of type integer: "number"`,
		},
		"required and duplicate": {
			situation{spec: "variables:\n- {name: a, expression: '1'}\n- {name: a, expression: '2'}\n- {name: b}\nmatchConditions:\n- {expression: 'true'}\nfailurePolicy: Sometimes" + oneMutation},
			`11:5 policy-invalid spec.variables[1]: Duplicate value: {"name":"a"}
12:5 policy-invalid spec.variables[2].expression: Required value
14:5 policy-invalid spec.matchConditions[0].name: Required value
15:18 policy-invalid spec.failurePolicy: Unsupported value: "Sometimes": supported values: "Ignore", "Fail"`,
		},
		"no rules": {
			situation{policies: strings.Replace(header, "    resourceRules:\n    - {apiGroups: [\"*\"], apiVersions: [\"*\"], resources: [\"*\"], operations: [\"*\"]}\n", "    matchPolicy: Exact\n", 1)},
			`7:5 policy-invalid spec.matchConstraints: Required value: a matchConstraints with at least one resource rule is required`,
		},
		"operations": {
			situation{policies: strings.Replace(header, `operations: ["*"]`, `operations: [DELETE, PATCH]`, 1)},
			`8:85 policy-invalid spec.matchConstraints.resourceRules[0].operations[1]: Unsupported value: "PATCH": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"`,
		},
		"nothing enabled": {
			situation{spec: "evaluation: {admission: {enabled: false}}" + oneMutation},
			`9:15 policy-invalid spec.evaluation: Forbidden: disabling both admission and mutateExisting evaluation modes is not allowed`,
		},
		"expressions, all at once": {
			situation{spec: `
variables:
- {name: a, expression: 'object.x +'}
- {name: b, expression: 'variables.c'}
- {name: c, expression: '1'}
matchConditions:
- {name: one, expression: 'object'}
- {name: two, expression: 'params.x == 1'}
mutations:
- patchType: ApplyConfiguration
  applyConfiguration: {expression: 'object'}
- patchType: JSONPatch
  jsonPatch: {expression: '[]'}
auditAnnotations:
- {key: k, valueExpression: '1'}
targetMatchConditions:
- {name: one, expression: 'nope'}`},
			`10:38 expression-invalid spec.variables[0].expression: Invalid value: ERROR: <input>:1:11: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}
11:37 expression-invalid spec.variables[1].expression: Invalid value: ERROR: <input>:1:10: undefined field 'c'
14:30 expression-invalid spec.matchConditions[0].expression: Invalid value: output is expected to be of type bool
15:30 expression-invalid spec.matchConditions[1].expression: Invalid value: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')
18:39 expression-invalid spec.mutations[0].applyConfiguration.expression: Invalid value: output is expected to be of type Object
20:30 expression-invalid spec.mutations[1].jsonPatch.expression: Invalid value: output is expected to be of type list
22:32 expression-invalid spec.auditAnnotations[0].valueExpression: Invalid value: output is expected to be either of type string or null_type
24:30 expression-invalid spec.targetMatchConditions[0].expression: Invalid value: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')`,
		},
		"mutations that Kyverno passes over": {
			situation{spec: "mutations:\n- patchType: jsonPatch\n- patchType: JSONPatch\n  applyConfiguration: {expression: 'Object{}'}"},
			`10:16 policy-invalid spec.mutations[0].patchType: Unsupported value: "jsonPatch": supported values: "ApplyConfiguration", "JSONPatch" (did you mean JSONPatch?)
11:5 policy-invalid spec.mutations[1].jsonPatch.expression: Required value: must be specified when patchType is JSONPatch`,
		},
		"targets": {
			situation{spec: "evaluation: {mutateExisting: {enabled: true}}\ntargetMatchConstraints: {expression: '{\"a\": object}'}" + oneMutation},
			`10:41 expression-invalid spec.targetMatchConstraints.expression: Invalid value: output type must be a map`,
		},
		"targets that are not enabled": {
			situation{spec: "targetMatchConstraints: {expression: 'resource.Get(\"v1\", \"pods\", \"a\", \"b\")'}" + oneMutation},
			`9:27 policy-not-mutating spec.targetMatchConstraints: the policy changes nothing: it has targetMatchConstraints, but evaluation.mutateExisting is not enabled`,
		},
		"nothing to do": {
			situation{spec: "mutations: []"},
			`9:14 policy-not-mutating spec.mutations: the policy changes nothing: it has no mutations`,
		},
		"reinvocationPolicy": {
			situation{spec: "reinvocationPolicy: Always" + oneMutation},
			`9:23 policy-invalid spec.reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"`,
		},
		"four arguments in a namespace": {
			situation{header: strings.Replace(header, "MutatingPolicy", "NamespacedMutatingPolicy", 1), spec: "variables:\n- {name: a, expression: 'resource.Get(\"v1\", \"pods\", \"ns\", \"n\")'}" + oneMutation},
			`10:40 expression-invalid spec.variables[0].expression: Invalid value: ERROR: <input>:1:13: found no matching overload for 'Get' applied to 'resource.Context.(string, string, string, string)'`,
		},
		"http in a namespace": {
			situation{header: strings.Replace(header, "MutatingPolicy", "NamespacedMutatingPolicy", 1), spec: "variables:\n- {name: a, expression: 'http.Get(\"https://x\")'}" + oneMutation},
			`6:3 policy-needs-flag spec: http.* is not allowed in namespaced policies; set --allowHTTPInNamespacedPolicies to enable (that is a flag of Kyverno's admission controller; without it Kyverno refuses the policy)`,
		},
		"defined twice": {
			situation{policies: header + "---\n" + strings.Replace(header, "matchConstraints:", "failurePolicy: Ignore\n  matchConstraints:", 1)},
			`6:3 policy-not-mutating
13:9 policy-defined-twice : it is defined twice, differently; the other one is at p.yaml:4:9 (a cluster keeps one of them: remove the other)
15:3 policy-not-mutating`,
		},
		"exceptions": {situation{policies: header + `
  mutations: []
---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: x}
spec:
  policyRefs:
  - {name: p, kind: MutatingPolicy}
  - {name: q, kind: MutatingPolicy}
  - {name: r, kind: ValidatingPolicy}
  matchConditions:
  - {name: a, expression: 'object.x'}
  reportResult: fail
  expiresAt: tomorrow
`}, `10:14 policy-not-mutating
22:17 policy-invalid spec.reportResult: Unsupported value: "fail": supported values: "skip", "pass"
23:14 policy-invalid spec.expiresAt: Invalid value: "tomorrow": spec.expiresAt in body must be of type date-time: "tomorrow"`},
		"exceptions of policies": {situation{policies: header + `
  mutations: []
---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: x}
spec:
  policyRefs:
  - {name: p, kind: MutatingPolicy}
  - {name: q, kind: MutatingPolicy}
  - {name: r, kind: ValidatingPolicy}
  matchConditions:
  - {name: a, expression: 'object.x'}
---
apiVersion: policies.kyverno.io/v1beta1
kind: PolicyException
metadata: {name: y}
spec: {policyRefs: []}
`}, `10:14 policy-not-mutating
18:5 exception-without-policy spec.policyRefs[1]: there is no MutatingPolicy "q", so the exception does nothing for it (give the policy as well, or correct the name)
21:28 expression-invalid spec.matchConditions[0].expression: Invalid value: output is expected to be of type bool (add == true if the field is a bool)
26:20 policy-invalid spec.policyRefs: Invalid value: null: must specify at least one policy ref`},
	} {
		got := tc.refused(t)
		// Most cases are not about the warning that a policy has no mutations.
		var lines []string
		for _, line := range strings.Split(got, "\n") {
			if place, _, ok := strings.Cut(line, " spec.mutations: the policy changes nothing"); ok && !strings.Contains(tc.want, "has no mutations") {
				line = place
			}
			lines = append(lines, line)
		}
		compare(t, name, strings.Join(lines, "\n"), tc.want)
	}
}
