package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
)

// benchManifests returns a stream of n manifests: 40 % Deployments, 20 % Services, 20 % ConfigMaps
// and 20 % custom resources.
func benchManifests(n int) []byte {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString("---\n")
		}
		switch i % 5 {
		case 0, 1:
			fmt.Fprintf(&b, `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-%[1]d # the app
  namespace: shop
  labels:
    app: web-%[1]d
spec:
  replicas: 2
  selector:
    matchLabels:
      app: web-%[1]d
  template:
    metadata:
      labels:
        app: web-%[1]d
    spec:
      # the main container
      containers:
      - name: app
        image: registry.example.com/app:%[1]d
        ports:
        - containerPort: 8080
          name: http
        env:
        - name: A
          value: "1"
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
        readinessProbe:
          httpGet:
            path: /healthz
            port: http
      - name: side
        image: busybox
        command: ["sh", "-c", "sleep 1d"]
`, i)
		case 2:
			fmt.Fprintf(&b, "apiVersion: v1\nkind: Service\nmetadata:\n  name: web-%[1]d\n  namespace: shop\nspec:\n  selector:\n    app: web-%[1]d\n  ports:\n  - name: http\n    port: 80\n", i)
		case 3:
			fmt.Fprintf(&b, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cfg-%d\n  namespace: shop\ndata:\n  config.yaml: |\n    a: 1\n    ---\n    b: 2\n  other: >-\n    folded text\n    goes on\n", i)
		default:
			fmt.Fprintf(&b, "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: w-%d\n  namespace: shop\nspec:\n  size: 1\n", i)
		}
	}
	return []byte(b.String())
}

// benchPolicies returns ten policies: five for the containers of Deployments, five for the labels
// of all objects.
func benchPolicies() []byte {
	var b strings.Builder
	b.WriteString(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`)
	fields := []string{"allowPrivilegeEscalation: false", "runAsNonRoot: true", "privileged: false", "readOnlyRootFilesystem: true", "runAsUser: 1000"}
	for i := range 10 {
		rule := `{apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: [CREATE]}`
		expression := fmt.Sprintf(`Object{metadata: Object.metadata{labels: {"l%d": variables.team}}}`, i)
		if i < 5 {
			rule = `{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: [CREATE]}`
			expression = fmt.Sprintf(`Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{name: c.name, securityContext: Object.spec.template.spec.containers.securityContext{%s}})}}}}`, fields[i])
		}
		fmt.Fprintf(&b, `---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: p%[1]d}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - %[2]s
  matchConditions:
  - {name: c, expression: "object.metadata.namespace == 'shop'"}
  variables:
  - {name: team, expression: "'t' + object.metadata.namespace"}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: '%[3]s'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: p%[1]d}
spec: {policyName: p%[1]d}
`, i, rule, expression)
	}
	return []byte(b.String())
}

func benchSet(b *testing.B, options Options) *Set {
	policies, diagnostics := manifest.Read("policies.yaml", benchPolicies())
	if len(diagnostics) > 0 {
		b.Fatal(diagnostics)
	}
	set, diagnostics := Compile([]*manifest.Stream{policies}, nil, options)
	if set == nil {
		b.Fatal(diagnostics)
	}
	return set
}

// BenchmarkRun runs ten policies on a hundred manifests, all of which change.
func BenchmarkRun(b *testing.B) {
	for _, replay := range []NonIdempotent{NonIdempotentWarn, NonIdempotentSkip} {
		b.Run("non-idempotent="+string(replay), func(b *testing.B) {
			set := benchSet(b, Options{NonIdempotent: replay})
			text := benchManifests(100)
			b.ReportAllocs()
			for b.Loop() {
				stream, diagnostics := manifest.Read("-", text)
				if len(diagnostics) > 0 {
					b.Fatal(diagnostics)
				}
				if outcome := set.Run(context.Background(), []*manifest.Stream{stream}); outcome.Failed() {
					b.Fatal(outcome.Diagnostics)
				}
				stream.Bytes()
			}
		})
	}
}

// BenchmarkCompile compiles ten policies.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		benchSet(b, Options{})
	}
}

// BenchmarkStages measures each stage of a run: ten policies and a hundred manifests, all of which
// change. Reading and compiling have separate benchmarks.
func BenchmarkStages(b *testing.B) {
	set := benchSet(b, Options{NonIdempotent: NonIdempotentSkip})
	text := benchManifests(100)
	read := func() []*manifest.Stream {
		stream, diagnostics := manifest.Read("-", text)
		if len(diagnostics) > 0 {
			b.Fatal(diagnostics)
		}
		return []*manifest.Stream{stream}
	}
	begin := func() *run { return set.begin(context.Background(), set.sort(read()), nil) }
	admit := func(r *run) *run {
		for _, j := range r.jobs {
			j.written = unwritten(r.admit(r.load(j), &change.Memo{}))
		}
		return r
	}
	write := func(r *run) *run {
		for _, j := range r.jobs {
			w := r.server.write(*j.written)
			j.written = &w
		}
		return r
	}
	for _, stage := range []struct {
		name    string
		prepare func() *run
		carry   func(*run)
	}{
		{"read and sort", func() *run { return &run{set: set} }, func(r *run) { r.set.sort(read()) }},
		{"schedule", begin, func(r *run) { r.schedule() }},
		{"admit", begin, func(r *run) { admit(r) }},
		{"write", func() *run { return admit(begin()) }, func(r *run) { write(r) }},
		{"observe", func() *run { r := write(admit(begin())); r.observers = []Observer{Explain(), replays}; return r }, func(r *run) {
			for _, j := range r.jobs {
				r.observe(j.written)
				r.conclude(j.written)
			}
		}},
		{"say", func() *run { return write(admit(begin())) }, func(r *run) { r.say() }},
	} {
		b.Run(stage.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				r := stage.prepare()
				b.StartTimer()
				stage.carry(r)
				if r.jobs != nil && r.failed() {
					b.Fatal(r.diagnostics)
				}
			}
		})
	}
}
