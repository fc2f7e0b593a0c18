package examples

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// client runs preadmit on the manifests of a directory with the policies of another directory, and
// returns the output.
type client struct {
	name  string
	needs []string
	run   func(t *testing.T, policies, manifests string) (stream string)
}

const samePolicies = `apiVersion: preadmit.dev/v1alpha1
kind: Preadmit
metadata:
  name: policies
  annotations:
    config.kubernetes.io/local-config: "true"
    config.kubernetes.io/function: |
      exec:
        path: preadmit
spec:
  namespace: shop
  policyPaths: [policies]
`

var allClients = []client{
	{"kustomize", []string{"kustomize"}, func(t *testing.T, policies, manifests string) string {
		directory, names := sameInput(t, policies, manifests)
		write(t, filepath.Join(directory, "preadmit.yaml"), samePolicies)
		write(t, filepath.Join(directory, "kustomization.yaml"), "resources:\n- "+strings.Join(names, "\n- ")+"\ntransformers: [preadmit.yaml]\n")
		return output(t, directory, "kustomize", append(build, ".")...)
	}},
	{"kpt", []string{"kpt"}, func(t *testing.T, policies, manifests string) string {
		directory, names := sameInput(t, policies, manifests)
		write(t, filepath.Join(directory, "preadmit.yaml"), samePolicies)
		write(t, filepath.Join(directory, ".krmignore"), "policies\n")
		write(t, filepath.Join(directory, "Kptfile"), "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: same\n"+
			"pipeline:\n  mutators:\n  - exec: preadmit fn\n    configPath: preadmit.yaml\n")
		output(t, directory, "kpt", "fn", "render", "--allow-exec")
		var b strings.Builder
		for _, name := range names {
			b.WriteString("---\n" + read(t, filepath.Join(directory, name)))
		}
		return b.String()
	}},
	{"Argo CD", []string{"argocd-cmp-server", "cmpclient", "kustomize", "helm"}, func(t *testing.T, policies, manifests string) string {
		return startPlugin(t, policies).generated(t, manifests, ".", "null")
	}},
	{"Helm 3", []string{"helm3"}, func(t *testing.T, policies, manifests string) string {
		return sameChart(t, helms["v3"], policies, manifests)
	}},
	{"Helm 4", []string{"helm"}, func(t *testing.T, policies, manifests string) string {
		return sameChart(t, helms["v4"], policies, manifests)
	}},
}

// sameInput returns a directory with the manifests and a directory "policies", and the names of the
// manifests.
func sameInput(t *testing.T, policies, manifests string) (directory string, names []string) {
	t.Helper()
	directory = copied(t, manifests)
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if err := os.CopyFS(filepath.Join(directory, "policies"), os.DirFS(policies)); err != nil {
		t.Fatal(err)
	}
	return directory, names
}

// sameChart renders a chart with the manifests and preadmit as post-renderer.
func sameChart(t *testing.T, h helm, policies, manifests string) string {
	t.Helper()
	directory := copied(t, "helm")
	templates := filepath.Join(directory, "chart/templates")
	if err := os.RemoveAll(templates); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(templates, os.DirFS(manifests)); err != nil {
		t.Fatal(err)
	}
	full, err := filepath.Abs(policies)
	if err != nil {
		t.Fatal(err)
	}
	r := h.run(t, directory, "--policy="+full)
	if r.status != 0 {
		t.Fatalf("exit status %d\n%s", r.status, r.stderr)
	}
	return r.stdout
}

// byPlace returns the objects of a stream by kind, namespace and name, because clients sort them.
func byPlace(t *testing.T, stream string) map[string]map[string]any {
	t.Helper()
	objects := map[string]map[string]any{}
	for _, document := range documents(stream) {
		object := parse(t, document)
		metadata, _ := object["metadata"].(map[string]any)
		namespace, _ := metadata["namespace"].(string)
		name, _ := metadata["name"].(string)
		kind, _ := object["kind"].(string)
		objects[kind+"/"+namespace+"/"+name] = object
	}
	return objects
}

// TestSame gives the same policies and manifests to all clients. They format and sort YAML
// differently, but the objects must be the same as with 'preadmit render'. It uses no manifests
// without a name, which kustomize and kpt refuse, and no folded text with empty lines, to which both
// add lines.
func TestSame(t *testing.T) {
	directories := []string{"quickstart"}
	for _, name := range []string{
		"custom-resource", "jsonpatch-remove", "kep-3962-sidecar", "kyverno-after-map", "kyverno-image-pull-policy", "label-from-params",
		"pinned-by-admission", "secret-string-data", "unset-annotations",
	} {
		directories = append(directories, filepath.Join(cases, name))
	}
	for _, directory := range directories {
		policies, manifests := filepath.Join(directory, "policies"), filepath.Join(directory, "manifests")
		for _, c := range allClients {
			t.Run(filepath.Base(directory)+" "+c.name, func(t *testing.T) {
				t.Parallel()
				clients(t, c.needs...)
				want := byPlace(t, output(t, directory, "preadmit", "render", "-n", "shop", "-p", "policies", "manifests"))
				got := byPlace(t, c.run(t, policies, manifests))
				if !reflect.DeepEqual(got, want) {
					t.Errorf("got:\n%v\nwant:\n%v", got, want)
				}
			})
		}
	}
}
