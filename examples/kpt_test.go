package examples

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree returns the text of every file below a directory, by path.
func tree(t *testing.T, directory string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(directory, path)
		files[name] = read(t, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// sameTree compares the files of two directories.
func sameTree(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got, ok := got[name]; !ok {
			t.Errorf("%s is lost", name)
		} else if got != text {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", name, got, text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is new", name)
		}
	}
}

func TestKpt(t *testing.T) {
	clients(t, "kpt")
	directory := copied(t, "kpt")
	before := tree(t, filepath.Join(directory, "shop"))
	output(t, directory, "kpt", "fn", "render", "shop", "--allow-exec")
	after := tree(t, filepath.Join(directory, "shop"))
	changed := "deployment.yaml"
	golden(t, "kpt/expected.yaml", after[changed])

	// Nothing else changes: Kptfile, files for local use, policies.
	before[changed] = after[changed]
	sameTree(t, after, before)

	// The result is stable, and the same from any working directory.
	output(t, t.TempDir(), "kpt", "fn", "render", filepath.Join(directory, "shop"), "--allow-exec")
	sameTree(t, tree(t, filepath.Join(directory, "shop")), before)
}

// TestKptPaths gives the policies by path, relative to the package.
func TestKptPaths(t *testing.T) {
	clients(t, "kpt")
	const config = `apiVersion: preadmit.dev/v1alpha1
kind: Preadmit
metadata:
  name: policies
  annotations:
    config.kubernetes.io/local-config: "true"
spec:
  policyPaths: [../policies]
`
	for name, c := range map[string]struct{ options, eval string }{
		"ConfigMap": {"configMap:\n      policyPaths: policies\n", "-- policyPaths=shop/policies"},
		"Preadmit":  {"configPath: config/preadmit.yaml\n", "--fn-config eval.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := copied(t, "kpt")
			shop := filepath.Join(directory, "shop")
			write(t, filepath.Join(shop, ".krmignore"), "policies\n") // not items, so preadmit must read the files
			if err := os.Mkdir(filepath.Join(shop, "config"), 0o777); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(shop, "config/preadmit.yaml"), config)
			write(t, filepath.Join(directory, "eval.yaml"), strings.Replace(config, "../", "shop/", 1))
			kptfile := read(t, filepath.Join(shop, "Kptfile"))
			write(t, filepath.Join(shop, "Kptfile"), strings.Replace(kptfile, "configMap:\n      kubernetesVersion: \"1.36\"\n", c.options, 1))

			want := read(t, "kpt/expected.yaml")
			eval := output(t, directory, "bash", "-c", `kpt fn eval shop --exec "preadmit fn" -o unwrap `+c.eval)
			if !strings.Contains(eval, "example.com/on-call: checkout") {
				t.Errorf("kpt fn eval gives:\n%s", eval)
			}
			output(t, t.TempDir(), "kpt", "fn", "render", shop, "--allow-exec")
			if got := read(t, filepath.Join(shop, "deployment.yaml")); got != want {
				t.Errorf("kpt fn render gives:\n%s", got)
			}
		})
	}
}

// TestKptFailure shows that no file changes if preadmit fails.
func TestKptFailure(t *testing.T) {
	clients(t, "kpt")
	const duplicate = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: twice\ndata:\n  a: \"1\"\n  a: \"2\"\n"
	for name, c := range map[string]struct{ file, text, says string }{
		"denied":         {"policies/on-call-param.yaml", "", "[error] v1/Service/shop/web: policy 'on-call.example.com' with binding 'on-call.example.com' denied request"},
		"duplicate key":  {"twice.yaml", duplicate, "data.a: the key is repeated"},
		"unknown option": {"Kptfile", strings.Replace(read(t, "kpt/shop/Kptfile"), "kubernetesVersion", "kubernetesversion", 1), "did you mean kubernetesVersion?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := filepath.Join(copied(t, "kpt"), "shop")
			write(t, filepath.Join(shop, c.file), c.text)
			before := tree(t, shop)
			r := command(t, shop, "", "kpt", "fn", "render", "--allow-exec", "--truncate-output=false")
			if r.status == 0 || !strings.Contains(r.stderr, c.says) {
				t.Errorf("exit status %d, messages:\n%s", r.status, r.stderr)
			}
			sameTree(t, tree(t, shop), before)
		})
	}
}

// TestKptWarning shows that kpt shows a warning of a successful run.
func TestKptWarning(t *testing.T) {
	clients(t, "kpt")
	shop := filepath.Join(copied(t, "kpt"), "shop")
	for _, file := range []string{"on-call.yaml", "on-call-param.yaml", "read-only.yaml"} {
		if err := os.Remove(filepath.Join(shop, "policies", file)); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, shop)
	r := command(t, shop, "", "kpt", "fn", "render", "--allow-exec")
	if r.status != 0 || !strings.Contains(r.stderr, "[warning]: no policy was given, so nothing changes") {
		t.Errorf("exit status %d, messages:\n%s", r.status, r.stderr)
	}
	sameTree(t, tree(t, shop), before)
}
