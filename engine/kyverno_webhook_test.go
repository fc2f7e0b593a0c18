package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/manifest"
)

// admissionPolicy is a MutatingAdmissionPolicy for Pods with its binding.
func admissionPolicy(name, reinvocation, object string) string {
	return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  reinvocationPolicy: %[2]s
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: '%[3]s'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s}
---
`, name, reinvocation, object)
}

// clusterPolicy is a ClusterPolicy for Pods with one rule.
func clusterPolicy(name, rule string) string {
	return fmt.Sprintf(`apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: %s}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    %s
---
`, name, rule)
}

// ignoring gives policies the failurePolicy Ignore.
func ignoring(policies string) string {
	return strings.ReplaceAll(policies, "spec:\n  rules", "spec:\n  failurePolicy: Ignore\n  rules")
}

const webPod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: web\n    image: nginx\n"

// hasGracePeriod returns a rule that sets a label if the grace period, which is 30 by default, has a text.
func hasGracePeriod(text, label string) string {
	return fmt.Sprintf("preconditions: {all: [{key: \"{{ request.object.spec.terminationGracePeriodSeconds }}\", operator: Equals, value: %q}]}\n    mutate: {patchStrategicMerge: {metadata: {labels: {%s: set}}}}", text, label)
}

// TestWebhook runs both languages on a Pod, and lists the author and the pass of every change.
func TestWebhook(t *testing.T) {
	count := `Object{metadata: Object.metadata{labels: {"containers": string(object.spec.containers.size())}}}`
	add := "mutate: {patchesJson6902: '- {op: add, path: /spec/containers/-, value: {name: added, image: x}}'}"
	for _, c := range []struct{ name, policies, want string }{
		{
			"a change by Kyverno has the policy run again",
			admissionPolicy("count", "IfNeeded", count) +
				clusterPolicy("add", "preconditions: {all: [{key: \"{{ length(request.object.spec.containers) }}\", operator: Equals, value: 1}]}\n    "+add),
			`1 policy count, binding count, mutations[0]: metadata.labels.containers 1
			1 policy add, rule r: spec.containers[1]
			2 policy count, binding count, mutations[0]: metadata.labels.containers 2`,
		},
		{
			"a policy that does not want to be",
			admissionPolicy("count", "Never", count) + clusterPolicy("add", "preconditions: {all: [{key: \"{{ length(request.object.spec.containers) }}\", operator: Equals, value: 1}]}\n    "+add),
			`1 policy count, binding count, mutations[0]: metadata.labels.containers 1
			1 policy add, rule r: spec.containers[1]`,
		},
		{
			"Kyverno runs again where a policy changed its output",
			admissionPolicy("count", "IfNeeded", count) +
				clusterPolicy("add", "mutate: {foreach: [{list: 'request.object.metadata.labels.containers', patchStrategicMerge: {metadata: {annotations: {count: \"{{ element }}\"}}, spec: {containers: [{name: added, image: x}]}}}]}"),
			`1 policy count, binding count, mutations[0]: metadata.labels.containers 1
			1 policy add, rule r, foreach[0] element 0: metadata.annotations.count 1
			1 policy add, rule r, foreach[0] element 0: spec.containers[0]
			2 policy count, binding count, mutations[0]: metadata.labels.containers 2
			2 policy add, rule r, foreach[0] element 0: metadata.annotations.count 2`,
		},
		{
			"Kyverno does not run again on its own output",
			clusterPolicy("add", "mutate: {patchStrategicMerge: {metadata: {labels: {text: \"n{{ request.object.metadata.labels.text || '' }}\"}}}}"),
			`1 policy add, rule r: metadata.labels.text n`,
		},
		{
			"a rule that matches and does nothing lets Kyverno read integers, in policies after it, too",
			clusterPolicy("a-first", hasGracePeriod("30.0", "a")) + clusterPolicy("b-skipped", hasGracePeriod("none", "b")) + clusterPolicy("c-after", hasGracePeriod("30.0", "c")) + clusterPolicy("d-integer", hasGracePeriod("30", "d")),
			`1 policy a-first, rule r: metadata.labels.a set
			1 policy d-integer, rule r: metadata.labels.d set`,
		},
		{
			"the defaults of the API are there already",
			clusterPolicy("pull", "mutate: {patchStrategicMerge: {spec: {containers: [{(name): \"*\", +(imagePullPolicy): Never}]}}}"), ``,
		},
		{
			"but not those of what a rule before it added",
			clusterPolicy("add", "mutate: {patchStrategicMerge: {spec: {containers: [{name: added, image: x}]}}}") +
				clusterPolicy("pull", "mutate: {patchStrategicMerge: {spec: {containers: [{(name): \"added\", +(imagePullPolicy): Never}]}}}"),
			`1 policy add, rule r: spec.containers[0]
			1 policy pull, rule r: spec.containers[0].imagePullPolicy Never`,
		},
		{
			"after a rule that fails, policies with failurePolicy Ignore see nothing",
			ignoring(clusterPolicy("first", "mutate: {patchStrategicMerge: {metadata: {labels: {first: ran}}}}")+
				clusterPolicy("fails", "mutate: {patchesJson6902: '[{\"op\": \"replace\", \"path\": \"/metadata/labels/x\", \"value\": \"y\"}]'}")+
				clusterPolicy("second", "mutate: {patchStrategicMerge: {metadata: {labels: {second: ran}}}}")) +
				clusterPolicy("other", "mutate: {patchStrategicMerge: {metadata: {labels: {other: ran}}}}"),
			`1 policy other, rule r: metadata.labels.other ran
			1 policy first, rule r: metadata.labels.first ran`,
		},
		{
			"after a precondition that fails, policies with failurePolicy Ignore see the changes that are dropped",
			ignoring(clusterPolicy("drops", "mutate: {patchStrategicMerge: {metadata: {annotations: {dropped: seen}}}}\n  - name: fails\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    preconditions: {all: [{key: \"{{ request.object.metadata.labels.none }}\", operator: Equals, value: a}]}\n    mutate: {patchStrategicMerge: {metadata: {labels: {fails: ran}}}}") +
				clusterPolicy("reads", "mutate: {patchStrategicMerge: {metadata: {labels: {read: \"{{ request.object.metadata.annotations.dropped }}\"}}}}") +
				clusterPolicy("last", "mutate: {patchStrategicMerge: {metadata: {labels: {last: ran}}}}")),
			`1 policy reads, rule r: metadata.labels.read seen
			1 policy last, rule r: metadata.labels.last ran`,
		},
		{
			"where Kyverno crashes, a server ignores the webhook, also what policies before it did",
			ignoring(clusterPolicy("first", "mutate: {patchesJson6902: '- {op: add, path: /spec/hostname, value: \"first\\x7f\"}'}")+
				clusterPolicy("crashes", "mutate: {patchStrategicMerge: {metadata: {labels: {crashes: ran}}}}")+
				clusterPolicy("last", "mutate: {patchStrategicMerge: {metadata: {labels: {last: ran}}}}")) +
				clusterPolicy("other", "mutate: {patchStrategicMerge: {metadata: {labels: {other: ran}}}}"),
			"1 policy other, rule r: metadata.labels.other ran\n1 policy first, rule r: spec.hostname first\x7f\n1 policy crashes, rule r: spec.hostname",
		},
		{
			"a rule that fails leaves nothing behind, and the others the object",
			ignoring(clusterPolicy("ignored", "mutate: {foreach: [{list: '[`1`, `2`]', patchesJson6902: \"- {op: add, path: /metadata/labels/x, value: done}\\n- {op: test, path: /spec/containers/0/name, value: '{{ element == `1` && 'web' || 'other' }}'}\"}]}")) +
				clusterPolicy("label", "mutate: {patchStrategicMerge: {metadata: {labels: {text: \"{{ request.object.metadata.labels.x || 'none' }}\"}}}}"),
			`1 policy label, rule r: metadata.labels.text none`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, diagnostics := Compile([]*manifest.Stream{readText(t, "policies", c.policies)}, nil, Options{NonIdempotent: "skip"})
			if set == nil {
				t.Fatal(diagnostics)
			}
			input := readText(t, "manifests", webPod)
			outcome := set.Run(context.Background(), []*manifest.Stream{input}, Explain(), Views())
			if outcome.Failed() {
				t.Fatal(outcome.Diagnostics)
			}
			if c.want == "" {
				if got := string(input.Bytes()); got != webPod {
					t.Errorf("changed to\n%s", got)
				}
				return
			}
			var got []string
			for _, change := range outcome.Manifests[0].Changes {
				path, text := change.Path.String(), ""
				if path == "metadata.labels" || path == "metadata.annotations" {
					for key, value := range change.New.(map[string]any) {
						path, text = path+"."+key, fmt.Sprintf(" %v", value)
					}
				} else if value, ok := change.New.(string); ok {
					text = " " + value
				}
				if change.Disposition == Written {
					got = append(got, fmt.Sprintf("%d %s: %s%s", change.Pass, change.By, path, text))
				}
			}
			if text := strings.Join(got, "\n"); text != strings.ReplaceAll(c.want, "\t", "") {
				t.Errorf("got\n%s", text)
			}
		})
	}
}

// TestDroppedChanges has a policy whose patch does not fit the object without changes that Kyverno
// drops: a server cannot apply it.
func TestDroppedChanges(t *testing.T) {
	policies := ignoring(clusterPolicy("drops", "mutate: {patchStrategicMerge: {metadata: {annotations: {dropped: seen}}}}\n  - name: fails\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    preconditions: {all: [{key: \"{{ request.object.metadata.labels.none }}\", operator: Equals, value: a}]}\n    mutate: {patchStrategicMerge: {metadata: {labels: {fails: ran}}}}") +
		clusterPolicy("misses", "mutate: {patchesJson6902: '- {op: add, path: /metadata/annotations/x, value: \"y\"}'}"))
	set, diagnostics := Compile([]*manifest.Stream{readText(t, "policies", policies)}, nil, Options{NonIdempotent: "skip"})
	if set == nil {
		t.Fatal(diagnostics)
	}
	outcome := set.Run(context.Background(), []*manifest.Stream{readText(t, "manifests", webPod)})
	if text := fmt.Sprint(outcome.Diagnostics); !outcome.Failed() || !strings.Contains(text, "a server cannot apply the patch of policy misses") {
		t.Errorf("got %s", text)
	}
}

// TestTargets changes other manifests of the input, in the order of the stream, and reports the
// missing target.
func TestTargets(t *testing.T) {
	policies := `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: collect
    match: {any: [{resources: {kinds: [ConfigMap], names: ["from-*"]}}]}
    mutate:
      targets:
      - {apiVersion: v1, kind: Pod, name: web}
      - {apiVersion: v1, kind: Secret, name: missing}
      foreach:
      - list: keys(request.object.data)
        patchesJson6902: |-
          - {op: add, path: "/spec/containers/0/env/-", value: {name: "{{ element }}", value: "{{ length(target.spec.containers[0].env || ` + "`[]`" + `) }}"}}
`
	manifests := webPod + `---
apiVersion: v1
kind: ConfigMap
metadata: {name: from-b}
data: {B: b, A: a}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: from-a}
data: {C: c}
`
	set, diagnostics := Compile([]*manifest.Stream{readText(t, "policies", policies)}, nil, Options{})
	if set == nil {
		t.Fatal(diagnostics)
	}
	input := readText(t, "manifests", manifests)
	outcome := set.Run(context.Background(), []*manifest.Stream{input}, Explain(), Views())
	if outcome.Failed() {
		t.Fatal(outcome.Diagnostics)
	}
	want := webPod + `    env:
    - name: A
      value: "0"
    - name: B
      value: "0"
    - name: C
      value: "2"
`
	if got, _, _ := strings.Cut(string(input.Bytes()), "---\n"); got != want {
		t.Errorf("got\n%s", got)
	}
	pod, trigger := outcome.Manifests[0], outcome.Manifests[1]
	if !pod.DependsOnOthers {
		t.Error("other manifests had no part in what became of the pod")
	}
	last := pod.Changes[len(pod.Changes)-1]
	if got, want := last.By.String(), "policy p, rule collect, foreach[0] element 0, triggered by ConfigMap from-a"; got != want || last.Pass != 0 {
		t.Errorf("the last change is by %q in pass %d", got, last.Pass)
	}
	found := false
	for _, n := range trigger.NotApplied {
		found = found || n.Reason.String() == "the target Secret missing is not in the input"
	}
	if !found {
		t.Errorf("nothing about the missing target: %v", trigger.NotApplied)
	}
}

// TestTargetsOne has rules with targets in a policy with applyRules One: the first that changes a target
// is the last that runs.
func TestTargetsOne(t *testing.T) {
	policies := `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  applyRules: One
  rules:
  - {name: own, match: {any: [{resources: {kinds: [ConfigMap]}}]}, mutate: {patchStrategicMerge: {metadata: {labels: {own: ran}}}}}
  - {name: none, match: {any: [{resources: {kinds: [ConfigMap]}}]}, mutate: {targets: [{apiVersion: v1, kind: Secret, name: none}], patchStrategicMerge: {metadata: {labels: {none: ran}}}}}
  - {name: first, match: {any: [{resources: {kinds: [ConfigMap]}}]}, mutate: {targets: [{apiVersion: v1, kind: Pod, name: web}], patchStrategicMerge: {metadata: {labels: {first: ran}}}}}
  - {name: second, match: {any: [{resources: {kinds: [ConfigMap]}}]}, mutate: {targets: [{apiVersion: v1, kind: Pod, name: web}], patchStrategicMerge: {metadata: {labels: {second: ran}}}}}
`
	again := strings.Replace(policies, "{labels: {own: ran}}", `{labels: {own: "{{ request.object.metadata.labels.own || '' }}x"}}`, 1)
	for _, c := range []struct{ name, policies, want string }{
		{"a rule that is settled on the stored trigger", policies, "map[first:ran]"},
		{"a rule that changes the stored trigger again", again, "<nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, diagnostics := Compile([]*manifest.Stream{readText(t, "policies", c.policies)}, nil, Options{NonIdempotent: "skip"})
			if set == nil {
				t.Fatal(diagnostics)
			}
			outcome := set.Run(context.Background(), []*manifest.Stream{readText(t, "manifests", webPod+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")}, Explain(), Views())
			if outcome.Failed() {
				t.Fatal(outcome.Diagnostics)
			}
			metadata, _ := outcome.Manifests[0].After["metadata"].(map[string]any)
			if got := fmt.Sprint(metadata["labels"]); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestTargetsAgain has two rules with targets in a policy. Kyverno v1.19.0 creates an update request for
// each, in which it runs both (ProcessUR in pkg/background/mutate/mutate.go), so a warning says if a rule
// would change its result again.
func TestTargetsAgain(t *testing.T) {
	const match = "match: {any: [{resources: {kinds: [ConfigMap]}}]}"
	policies := `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - {name: first, ` + match + `, mutate: {targets: [{apiVersion: v1, kind: Pod, name: web}], patchStrategicMerge: {metadata: {labels: {first: ran}}}}}
  - {name: second, ` + match + `, mutate: {targets: [{apiVersion: v1, kind: Pod, name: web}], PATCH}}
`
	const label, add = "patchStrategicMerge: {metadata: {labels: {second: ran}}}", "patchesJson6902: '- {op: add, path: /spec/containers/0/args/-, value: x}'"
	const back = "patchStrategicMerge: {metadata: {labels: {first: changed}}}"
	for _, c := range []struct{ name, policies, warned string }{
		{"rules that settle", strings.Replace(policies, "PATCH", label, 1), ""},
		{"a rule that adds an item", strings.Replace(policies, "PATCH", add, 1), "policy p, rule second: Kyverno runs all rules"},
		{"one such rule", strings.Replace(strings.Replace(policies, "PATCH", add, 1), "[ConfigMap]", "[Secret]", 1), ""},
		{"a rule that changes what another one writes", strings.Replace(policies, "PATCH", back, 1), "policy p, rule first: Kyverno runs all rules"},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, diagnostics := Compile([]*manifest.Stream{readText(t, "policies", c.policies)}, nil, Options{NonIdempotent: "skip"})
			if set == nil {
				t.Fatal(diagnostics)
			}
			outcome := set.Run(context.Background(), []*manifest.Stream{readText(t, "manifests", webPod+"    args: [a]\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")})
			if outcome.Failed() {
				t.Fatal(outcome.Diagnostics)
			}
			warned := fmt.Sprint(outcome.Diagnostics)
			if (c.warned == "") != (len(outcome.Diagnostics) == 0) || !strings.Contains(warned, c.warned) {
				t.Errorf("got %s", warned)
			}
		})
	}
}

// TestUpdate has a rule that compares with the object before an update, and a Policy that applies
// only in the namespace of the run.
func TestUpdate(t *testing.T) {
	policies := clusterPolicy("changed", "preconditions: {all: [{key: \"{{ request.object.spec.containers[0].image }}\", operator: NotEquals, value: \"{{ request.oldObject.spec.containers[0].image }}\"}]}\n    mutate: {patchStrategicMerge: {metadata: {labels: {was: \"{{ request.oldObject.spec.containers[0].image }}\"}}}}") +
		strings.Replace(clusterPolicy("confined", "mutate: {patchStrategicMerge: {metadata: {labels: {operation: \"{{ request.operation }}\"}}}}"), "ClusterPolicy", "Policy", 1)
	pods := webPod + "---\n" + strings.Replace(webPod, "name: web", "name: web\n  namespace: elsewhere", 1)
	set, diagnostics := Compile([]*manifest.Stream{readText(t, "policies", policies)}, nil, Options{
		Operation: "UPDATE", Namespace: "shop", Old: []*manifest.Stream{readText(t, "old", strings.ReplaceAll(pods, "nginx", "busybox"))},
	})
	if set == nil {
		t.Fatal(diagnostics)
	}
	outcome := set.Run(context.Background(), []*manifest.Stream{readText(t, "manifests", pods)}, Explain(), Views())
	if outcome.Failed() {
		t.Fatal(outcome.Diagnostics)
	}
	var labels []any
	for _, m := range outcome.Manifests {
		labels = append(labels, m.After["metadata"].(map[string]any)["labels"])
	}
	if got := fmt.Sprint(labels); got != "[map[operation:UPDATE was:busybox] map[was:busybox]]" {
		t.Errorf("got %s", got)
	}
}

// TestConsulted has rules that read other objects, and one that does not.
func TestConsulted(t *testing.T) {
	patch := "mutate: {patchStrategicMerge: {metadata: {labels: {text: \"{{ x }}\"}}}}"
	for name, c := range map[string]struct {
		policies string
		want     bool
	}{
		"variable":  {clusterPolicy("p", "context: [{name: x, variable: {value: a}}]\n    "+patch), false},
		"configMap": {clusterPolicy("p", "context: [{name: x, configMap: {name: c, namespace: default}}]\n    "+strings.Replace(patch, "{{ x }}", "{{ x.data.a }}", 1)), true},
		"namespace": {strings.Replace(clusterPolicy("p", strings.Replace(patch, "{{ x }}", "y", 1)), "kinds: [Pod]", "kinds: [Pod], namespaceSelector: {matchLabels: {a: b}}", 1), true},
	} {
		set, diagnostics := Compile([]*manifest.Stream{readText(t, "policies", c.policies)}, nil, Options{})
		if set == nil {
			t.Fatal(diagnostics)
		}
		manifests := webPod + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n"
		outcome := set.Run(context.Background(), []*manifest.Stream{readText(t, "manifests", manifests)}, Explain(), Views())
		if outcome.Failed() || outcome.Manifests[0].DependsOnOthers != c.want {
			t.Errorf("%s: %v %v", name, outcome.Manifests[0].DependsOnOthers, outcome.Diagnostics)
		}
	}
}
