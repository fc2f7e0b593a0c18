package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// legacyKustomization has preadmit as an exec plugin: a transformer without the
// annotation that makes it a function.
var legacyKustomization = map[string]string{
	"kustomization.yaml": "resources: [base]\ntransformers: [preadmit.yaml]\n",
	"base/kustomization.yaml": `resources: [service.yaml]
configMapGenerator:
- name: catalog
  literals: [colour=green]
`,
	"base/service.yaml": "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}\n",
	"preadmit.yaml": `apiVersion: preadmit.dev/v1alpha1
kind: Preadmit
metadata: {name: policies}
spec: {policyPaths: [policies]}
`,
	"policies/team.yaml": `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: team}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps, services]}
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{metadata: Object.metadata{labels: {"team": "web"}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: team}
spec: {policyName: team}
`,
	"empty/kustomization.yaml":  "resources: []\ntransformers: [preadmit.yaml]\n",
	"empty/preadmit.yaml":       "{apiVersion: preadmit.dev/v1alpha1, kind: Preadmit, metadata: {name: policies}}\n",
	"broken/kustomization.yaml": "resources: [../base]\ntransformers: [preadmit.yaml]\n",
	"broken/preadmit.yaml":      "{apiVersion: preadmit.dev/v1alpha1, kind: Preadmit, metadata: {name: policies}, spec: {policyPaths: [../policies]}}\n",
}

// legacyExpected is what both clients print.
const legacyExpected = `apiVersion: v1
data:
  colour: green
kind: ConfigMap
metadata:
  labels:
    team: web
  name: catalog-HASH
---
apiVersion: v1
kind: Service
metadata:
  labels:
    team: web
  name: web
spec:
  ports:
  - port: 80
`

// installPlugin puts a link to preadmit where kustomize looks for plugins.
func installPlugin(t *testing.T) {
	t.Helper()
	binary, err := exec.LookPath("preadmit")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	link := filepath.Join(home, "preadmit.dev/v1alpha1/preadmit/Preadmit")
	if err := os.MkdirAll(filepath.Dir(link), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, link); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUSTOMIZE_PLUGIN_HOME", home)
}

// kubectl returns the command of the machine.
func kubectl(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("kubectl")
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatal("kubectl is not installed:", err)
	default:
		t.Skip("kubectl is not installed:", err)
	}
	return path
}

// TestPlugin runs preadmit as an exec plugin. kubectl, which runs no functions, runs those.
func TestPlugin(t *testing.T) {
	for name, client := range map[string]func(t *testing.T) []string{
		"kubectl":   func(t *testing.T) []string { return []string{kubectl(t), "kustomize", "--enable-alpha-plugins"} },
		"kustomize": func(t *testing.T) []string { return []string{kustomize(t), "build", "--enable-alpha-plugins"} },
	} {
		t.Run(name, func(t *testing.T) {
			build, directory := client(t), t.TempDir()
			installPlugin(t)
			writeFiles(t, directory, legacyKustomization)

			got := output(t, directory, build[0], append(build[1:], ".")...)
			if want := strings.ReplaceAll(legacyExpected, "HASH", hashOf(got)); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if got := output(t, directory, build[0], append(build[1:], "empty")...); got != "" {
				t.Errorf("of nothing it makes %q", got)
			}
			r := command(t, directory, "", build[0], append(build[1:], "broken")...)
			if r.status == 0 || r.stdout != "" || !strings.Contains(r.stderr, "../policies: the path leads out of the working directory") {
				t.Errorf("exit status %d, output %q, messages:\n%s", r.status, r.stdout, r.stderr)
			}
		})
	}
}

// hashOf is the hash that kustomize adds to the name of the ConfigMap, or "".
func hashOf(build string) string {
	_, rest, _ := strings.Cut(build, "name: catalog-")
	hash, _, _ := strings.Cut(rest, "\n")
	return hash
}

func writeFiles(t *testing.T, directory string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
