package kyverno

import (
	"os"
	"testing"

	"github.com/preadmit/preadmit/engine/internal/kyverno/given"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
)

// BenchmarkSteps runs the rules of a policy on a pod: a strategic merge patch with
// anchors, and a foreach with variables.
func BenchmarkSteps(b *testing.B) {
	for name, file := range map[string]string{"anchors": "defects/two-anchored-items", "foreach": "defects/generated-nested-foreach"} {
		b.Run(name, func(b *testing.B) {
			text, err := os.ReadFile("../../testdata/kyverno/" + file + "/policy.yaml")
			if err != nil {
				b.Fatal(err)
			}
			stream, _ := manifest.Read("policy", text)
			compiled, diagnostics := New(&given.Values{}, given.UserInfo{}, "", 36).Compile(stream.Documents())
			if len(diagnostics) > 0 {
				b.Fatal(diagnostics)
			}
			e := evaluationOf(b, "Pod", object(b, fuzzedPod), policy.User{}, userInfo{})
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
