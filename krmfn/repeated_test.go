package krmfn

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRepeatedKeys shows what clients make of a repeated key, of which preadmit therefore says that it is an
// error: kubectl and Terraform take the last value, kustomize refuses the file. A kube-apiserver 1.36.3 got
// the last value from kubectl 1.32 with --validate strict, warn and ignore.
func TestRepeatedKeys(t *testing.T) {
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: first\n  x: last\n"
	dir := t.TempDir()
	for name, text := range map[string]string{"cm.yaml": manifest, "kustomization.yaml": "resources: [cm.yaml]\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, client := range []struct {
		command []string
		stdin   string
		want    string
	}{
		{[]string{"kubectl", "annotate", "--local", "-f", "cm.yaml", "a=b", "-o", "jsonpath={.data.x}"}, "", "last"},
		{[]string{"terraform", "console"}, `yamldecode(file("cm.yaml")).data.x` + "\n", `"last"`},
		{[]string{"kustomize", "build", "."}, "", `mapping key "x" already defined`},
	} {
		t.Run(client.command[0], func(t *testing.T) {
			if _, err := exec.LookPath(client.command[0]); err != nil {
				t.Skip(err)
			}
			c := exec.Command(client.command[0], client.command[1:]...)
			c.Dir, c.Stdin = dir, strings.NewReader(client.stdin)
			if output, _ := c.CombinedOutput(); !strings.Contains(string(output), client.want) {
				t.Errorf("%s says %s", client.command[0], output)
			}
		})
	}
	t.Run("preadmit", func(t *testing.T) {
		var out, errs strings.Builder
		status := Main(t.Context(), &Process{Args: []string{"render", "cm.yaml"}, Dir: dir, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs})
		if status == 0 || !strings.Contains(errs.String(), "error[duplicate-key]") || out.Len() > 0 {
			t.Errorf("status %d: %s", status, errs.String())
		}
	})
}
