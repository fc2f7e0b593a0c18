package engine_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// pullPolicy is a policy with its binding, as in a cluster.
const pullPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: team}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{metadata: Object.metadata{labels: {"team": object.data.owner}}}'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: team}
spec: {policyName: team}
`

// Policies change an object that is in memory.
func ExampleSet_Admit() {
	set, err := engine.CompileYAML(engine.Options{}, []byte(pullPolicy))
	if err != nil {
		fmt.Println(err)
		return
	}
	object := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "shop"},
		"data": map[string]any{"owner": "payments"},
	}
	answer, err := set.Admit(context.Background(), object)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := json.Marshal(answer.Object["metadata"])
	fmt.Printf("%s\n", text)
	for _, c := range answer.Changes {
		fmt.Println(c)
	}
	// Output:
	// {"labels":{"team":"payments"},"name":"shop"}
	// policy team, binding team, mutations[0]: add metadata.labels: map[team:payments]
}

// What a policy denies is an error with the API server's own text.
func ExampleSet_Admit_denied() {
	policies, _ := manifest.Read("policies.yaml", []byte(pullPolicy))
	set, _ := engine.Compile([]*manifest.Stream{policies}, nil, engine.Options{})
	_, err := set.Admit(context.Background(), map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "shop"},
	})
	fmt.Println(source.HasCode(err, source.CodeDenied))
	fmt.Println(err)
	// Output:
	// true
	// error[denied]: ConfigMap/default/shop: policy 'team' with binding 'team' denied request: expression 'Object{metadata: Object.metadata{labels: {"team": object.data.owner}}}' resulted in error: no such key: data
	//     policies.yaml:11:5: policy team, binding team, mutations[0]
}

// Files keep their comments and their order. Only what policies change is edited.
func ExampleSet_Run() {
	policies, _ := manifest.Read("policies.yaml", []byte(pullPolicy))
	manifests, _ := manifest.Read("shop.yaml", []byte(`apiVersion: v1
kind: ConfigMap # of the shop
metadata:
  name: shop
data:
  owner: payments
`))
	set, diagnostics := engine.Compile([]*manifest.Stream{policies}, nil, engine.Options{})
	if err := source.Join(diagnostics); err != nil {
		fmt.Println(err)
		return
	}
	outcome := set.Run(context.Background(), []*manifest.Stream{manifests})
	if err := source.Join(outcome.Diagnostics); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", manifests.Bytes())
	// Output:
	// apiVersion: v1
	// kind: ConfigMap # of the shop
	// metadata:
	//   name: shop
	//   labels:
	//     team: payments
	// data:
	//   owner: payments
}
