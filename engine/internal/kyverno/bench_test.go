package kyverno

import (
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// BenchmarkSteps runs the rules of a policy on a pod: a strategic merge patch with
// anchors, and a foreach with variables.
func BenchmarkSteps(b *testing.B) {
	const head = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, mutate: "
	for name, mutate := range map[string]string{
		"anchors": `{patchStrategicMerge: {spec: {containers: [{(name): "*", +(tty): true}]}}}`,
		"foreach": `{foreach: [{list: request.object.spec.containers, patchStrategicMerge: {spec: {containers: [{name: "{{ element.name }}", tty: true}]}}}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			stream, _ := manifest.Read("policy", []byte(head+mutate+"}]}\n"))
			compiled, diagnostics := New(&given.Values{}, given.UserInfo{}, "", 36).Compile(stream.Documents(), nil)
			if len(diagnostics) > 0 {
				b.Fatal(diagnostics)
			}
			e := evaluationOf(b, "Pod", object(b, fuzzedPod), policy.User{}, given.UserInfo{})
			for b.Loop() {
				for _, invocation := range compiled[0].Plan(e.request).Invocations {
					for step := range invocation.Steps(e.request) {
						if step.Failure != nil {
							b.Fatal(step.Failure.Err)
						}
					}
				}
			}
		})
	}
}

// BenchmarkSettled runs rules on an object that they have already changed, as in the replay.
func BenchmarkSettled(b *testing.B) {
	const policies = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  background: false
  rules:
  - name: variable
    match: {any: [{resources: {kinds: ["*"]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {team: "{{request.object.metadata.name}}"}}}}
  - name: plain
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {metadata: {annotations: {note: "yes"}}}}
  - name: anchors
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {spec: {containers: [{(name): "*", imagePullPolicy: Always}]}}}
`
	stream, _ := manifest.Read("policy", []byte(policies))
	compiled, diagnostics := New(&given.Values{}, given.UserInfo{}, "", 36).Compile(stream.Documents(), nil)
	if len(diagnostics) > 0 {
		b.Fatal(diagnostics)
	}
	pod := object(b, `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: web}}, spec: {containers: [{name: a, image: "x:1", env: [{name: A, value: b}], ports: [{containerPort: 80, protocol: TCP}]}]}}`)
	e := evaluationOf(b, "Pod", pod, policy.User{}, given.UserInfo{})
	e.request.Memo = &change.Memo{}
	changed := 0
	run := func() {
		for step := range (webhook{compiled[0].(*program)}).Steps(e.request) {
			if step.Failure != nil {
				b.Fatal(step.Failure.Err)
			}
			if step.Object != nil {
				e.request.Object = step.Object
				changed++
			}
		}
	}
	run()
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
	if changed != 3 {
		b.Fatalf("%d rules have changed the object", changed)
	}
}
