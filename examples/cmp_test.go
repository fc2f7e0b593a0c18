package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRenderers shows that a pipe, exec and the plugin of Argo CD have the same output for a
// kustomization.
func TestRenderers(t *testing.T) {
	clients(t, "kustomize")
	const directory, policies = "kustomize/base", "../../quickstart/policies"
	build := output(t, directory, "kustomize", "build", ".")
	want := command(t, directory, build, "preadmit", "render", "-p", policies)
	if want.status != 0 || want.stdout == build {
		t.Fatalf("exit status %d, messages:\n%s", want.status, want.stderr)
	}
	for _, args := range [][]string{
		{"exec", "-p", policies, "--", "kustomize", "build", "."},
		{"cmp", "generate", "-p", policies},
	} {
		if got := command(t, directory, "", "preadmit", args...); got != want {
			t.Errorf("%v: got:\n%+v\nwant:\n%+v", args, got, want)
		}
	}
}

// TestRenderersRunNoFunctions shows that kustomize, started by the plugin of Argo CD, does not run
// programs that a repository names.
func TestRenderersRunNoFunctions(t *testing.T) {
	clients(t, "kustomize")
	directory := t.TempDir()
	for name, text := range map[string]string{
		"kustomization.yaml": `resources: [service.yaml]
transformers:
- |-
  apiVersion: example.com/v1
  kind: Function
  metadata:
    name: function
    annotations: {config.kubernetes.io/function: "exec: {path: ./function.sh}"}
`,
		"service.yaml": "{apiVersion: v1, kind: Service, metadata: {name: web}}\n",
		"function.sh":  "#!/bin/sh\ntouch was-run\ncat\n",
	} {
		write(t, filepath.Join(directory, name), text)
	}
	if err := os.Chmod(filepath.Join(directory, "function.sh"), 0o777); err != nil {
		t.Fatal(err)
	}
	r := command(t, directory, "", "preadmit", "cmp", "generate")
	if r.status != 2 || r.stdout != "" || !strings.Contains(r.stderr, "external plugins disabled") {
		t.Errorf("exit status %d, output %q, messages:\n%s", r.status, r.stdout, r.stderr)
	}
	if _, err := os.Stat(filepath.Join(directory, "was-run")); err == nil {
		t.Error("the function was run")
	}
}
