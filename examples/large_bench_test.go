package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const largeManifest = `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-%d
  namespace: shop
spec:
  replicas: 3
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
        example.com/team: payments
    spec:
      containers:
      - name: web
        image: registry.example.com/shop/web:3.1
        ports:
        - containerPort: 8080
        env:
        - name: MODE
          value: production
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
          limits:
            memory: 256Mi
`

const largeFunction = `apiVersion: example.com/v1
kind: Cat
metadata:
  name: cat
  annotations:
    config.kubernetes.io/function: |
      exec: {path: /bin/cat}
`

// BenchmarkLarge reports the processor time of builds with kustomize, child processes included: without
// a function, with a function that changes nothing, and with preadmit around the build.
func BenchmarkLarge(b *testing.B) {
	if _, err := exec.LookPath("kustomize"); err != nil {
		b.Skip(err)
	}
	policies, err := filepath.Abs("quickstart/policies")
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{100, 1000} {
		directory := b.TempDir()
		var all strings.Builder
		for i := range n {
			fmt.Fprintf(&all, largeManifest, i)
		}
		if err := os.Mkdir(filepath.Join(directory, "function"), 0o777); err != nil {
			b.Fatal(err)
		}
		write(b, filepath.Join(directory, "all.yaml"), all.String())
		write(b, filepath.Join(directory, "kustomization.yaml"), "resources: [all.yaml]\n")
		write(b, filepath.Join(directory, "function/all.yaml"), all.String())
		write(b, filepath.Join(directory, "function/cat.yaml"), largeFunction)
		write(b, filepath.Join(directory, "function/kustomization.yaml"), "resources: [all.yaml]\ntransformers: [cat.yaml]\n")
		for name, command := range map[string]string{
			"build":    "kustomize build .",
			"function": strings.Join(append([]string{"kustomize"}, build...), " ") + " function",
			"exec":     "preadmit exec -p " + policies + " -- kustomize build .",
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) { processorTime(b, directory, command) })
		}
	}
}

// processorTime runs a command and reports the processor time per run.
func processorTime(b *testing.B, directory, line string) {
	b.Helper()
	seconds := 0.0
	for b.Loop() {
		words := strings.Fields(line)
		command := exec.Command(words[0], words[1:]...)
		command.Dir = directory
		if err := command.Run(); err != nil {
			b.Fatal(err)
		}
		seconds += (command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds()
	}
	b.ReportMetric(seconds/float64(b.N), "cpu-s/op")
}
