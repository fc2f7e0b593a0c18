package krmfn

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gateSteps are the commands of the workflow in testdata/gate/repository.
var gateSteps = []string{"check kubernetes-manifests", "test tests", "diff --base main... kubernetes-manifests"}

// gateChanges are pull requests: files with a text and what replaces it. If the text is empty, the whole
// file is replaced, and without a replacement the file or directory is deleted.
var gateChanges = map[string]struct {
	file, from, to string
	red            bool
}{
	"head":             {file: "README.md", to: "text\n"},
	"moved lines":      {file: "kubernetes-manifests/redis.yaml", from: "apiVersion: apps/v1\n", to: "# The cache.\n\napiVersion: apps/v1\n"},
	"changed image":    {file: "kubernetes-manifests/cartservice.yaml", from: "v1.4.0", to: "v1.5.0", red: true},
	"changed denied":   {file: "kubernetes-manifests/redis.yaml", from: "redis:7.2", to: "redis:8.0", red: true},
	"changed policy":   {file: "policies/mirror.yaml", from: `params.data.host + "/"`, to: `params.data.host + "/mirror/"`, red: true},
	"denied manifest":  {file: "kubernetes-manifests/email.yaml", to: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: email}\nspec:\n  selector: {matchLabels: {app: email}}\n  template:\n    metadata: {labels: {app: email}}\n    spec: {containers: [{name: server, image: shop/email:v1}]}\n", red: true},
	"deleted param":    {file: "cluster/registry.yaml", red: true},
	"deleted context":  {file: "cluster/", red: true},
	"deleted policies": {file: "policies/", red: true},
	"stale acceptance": {file: "kubernetes-manifests/loadgenerator.yaml", from: "name: loadgenerator\n", to: "name: loadgenerator\n  labels: {owner: shop}\n", red: true},
}

// TestGate runs the workflow of a repository with a configuration file, a baseline and tests on pull
// requests. testdata/gate has what each step prints.
func TestGate(t *testing.T) {
	for name, change := range gateChanges {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			if err := os.CopyFS(r.dir, os.DirFS("testdata/gate/repository")); err != nil {
				t.Fatal(err)
			}
			r.git("add", "-A")
			r.git("commit", "-q", "-m", "main")
			r.git("checkout", "-q", "-b", "branch")
			file := filepath.Join(r.dir, change.file)
			text := change.to
			if change.from != "" {
				data, err := os.ReadFile(file)
				if err != nil || !strings.Contains(string(data), change.from) {
					t.Fatalf("%s does not have the text: %v", change.file, err)
				}
				text = strings.Replace(string(data), change.from, change.to, 1)
			}
			if text != "" {
				writeFile(t, file, text)
			} else if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			r.git("add", "-A")
			r.git("commit", "-q", "-m", name)
			got, worst := r.workflow()
			if (worst > 0) != change.red {
				t.Errorf("status %d", worst)
			}
			golden := filepath.Join("testdata/gate", strings.ReplaceAll(name, " ", "-")+".txt")
			if *update {
				writeFile(t, golden, got)
			}
			if want, err := os.ReadFile(golden); err != nil || string(want) != got {
				t.Errorf("%v, got\n%s", err, got)
			}
		})
	}
}

// workflow runs the steps and returns what they print, and the largest status.
func (r repository) workflow() (printed string, worst int) {
	var b strings.Builder
	for _, step := range gateSteps {
		var stdout, stderr bytes.Buffer
		status := Main(r.t.Context(), &Process{Args: strings.Fields(step), Dir: r.dir, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Run: RunProgram, Now: fakeClock()})
		fmt.Fprintf(&b, "$ preadmit %s\n%s%s(status %d)\n\n", step, stdout.String(), stderr.String(), status)
		worst = max(worst, status)
	}
	return strings.ReplaceAll(b.String(), r.dir, "$DIR"), worst
}
