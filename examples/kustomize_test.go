package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const overlay = "overlays/production"

// build is the command that runs preadmit in kustomize.
var build = []string{"build", "--enable-alpha-plugins", "--enable-exec"}

func TestKustomize(t *testing.T) {
	clients(t, "kustomize")
	got := output(t, "kustomize", "kustomize", append(build, overlay)...)
	golden(t, "kustomize/expected.yaml", got)

	// Without --enable-exec kustomize silently skips the function.
	without := output(t, "kustomize", "kustomize", "build", "--enable-alpha-plugins", overlay)
	if without == got {
		t.Error("the function changed nothing")
	}
	for _, name := range []string{"name: catalog-", "internal.config.kubernetes.io", "kustomize.config.k8s.io"} {
		if a, b := strings.Count(got, name), strings.Count(without, name); a != b {
			t.Errorf("%q occurs %d times with the function, %d times without", name, a, b)
		}
	}
}

// indented indents a text as the items of a block in YAML.
func indented(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by) + "\n"
}

// TestKustomizeForms gives the same policies in other ways, with the same result.
func TestKustomizeForms(t *testing.T) {
	clients(t, "kustomize")
	const function = `    config.kubernetes.io/function: |
      exec:
        path: preadmit
`
	policies := func(t *testing.T) string {
		var b strings.Builder
		for _, name := range []string{"cost-center-param", "cost-center", "security-context"} {
			b.WriteString("---\n" + read(t, "kustomize/"+overlay+"/policies/"+name+".yaml"))
		}
		return b.String()
	}
	inline := func(t *testing.T) string {
		return "apiVersion: preadmit.dev/v1alpha1\nkind: Preadmit\nmetadata:\n  name: policies\n  annotations:\n" + function +
			"spec:\n  policies:\n  - |\n" + indented(policies(t), "    ")
	}
	for name, prepare := range map[string]func(t *testing.T, production string){
		"inline policies": func(t *testing.T, production string) {
			write(t, filepath.Join(production, "preadmit.yaml"), inline(t))
		},
		"inline transformer": func(t *testing.T, production string) {
			kustomization := read(t, filepath.Join(production, "kustomization.yaml"))
			write(t, filepath.Join(production, "kustomization.yaml"),
				strings.Replace(kustomization, "- preadmit.yaml\n", "- |\n"+indented(inline(t), "  "), 1))
		},
		"ConfigMap": func(t *testing.T, production string) {
			write(t, filepath.Join(production, "preadmit.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: policies\n  annotations:\n"+
				function+"data:\n  policyPaths: policies/security-context.yaml,policies/cost-center.yaml,policies/cost-center-param.yaml\n")
		},
		"resources for local use": func(t *testing.T, production string) {
			local := strings.ReplaceAll(policies(t), "\nmetadata:\n", "\nmetadata:\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\n")
			// All resources get the namespace of the overlay.
			local = strings.ReplaceAll(local, "namespace: platform", "namespace: shop")
			write(t, filepath.Join(production, "local.yaml"), local)
			kustomization := read(t, filepath.Join(production, "kustomization.yaml"))
			write(t, filepath.Join(production, "kustomization.yaml"), strings.Replace(kustomization, "- ../../base\n", "- ../../base\n- local.yaml\n", 1))
			write(t, filepath.Join(production, "preadmit.yaml"), strings.Replace(read(t, filepath.Join(production, "preadmit.yaml")), "  policyPaths: [policies]\n", "", 1))
		},
		"component": func(t *testing.T, production string) {
			component := filepath.Join(production, "../../component")
			if err := os.Mkdir(component, 0o777); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"preadmit.yaml", "policies"} {
				if err := os.Rename(filepath.Join(production, name), filepath.Join(component, name)); err != nil {
					t.Fatal(err)
				}
			}
			write(t, filepath.Join(component, "kustomization.yaml"),
				"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ntransformers:\n- preadmit.yaml\n")
			// The overlay moves below another kustomization.
			kustomization := read(t, filepath.Join(production, "kustomization.yaml"))
			before, _, _ := strings.Cut(kustomization, "transformers:")
			if err := os.Mkdir(filepath.Join(production, "finished"), 0o777); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(production, "finished/kustomization.yaml"), strings.Replace(before, "../../base", "../../../base", 1))
			write(t, filepath.Join(production, "kustomization.yaml"), "resources:\n- finished\ncomponents:\n- ../../component\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := copied(t, "kustomize")
			prepare(t, filepath.Join(directory, overlay))
			if got, want := output(t, directory, "kustomize", append(build, overlay)...), read(t, "kustomize/expected.yaml"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestKustomizePlugin runs preadmit as a plugin of the old kind, which kubectl also runs.
func TestKustomizePlugin(t *testing.T) {
	for _, client := range [][]string{{"kustomize", "build"}, {"kubectl", "kustomize"}} {
		t.Run(client[0], func(t *testing.T) {
			t.Parallel()
			clients(t, client[0])
			directory := copied(t, "kustomize")
			production := filepath.Join(directory, overlay)
			config := filepath.Join(production, "preadmit.yaml")
			before, rest, _ := strings.Cut(read(t, config), "  annotations:\n")
			_, spec, _ := strings.Cut(rest, "spec:\n")
			write(t, config, before+"spec:\n"+spec)
			script := `home=$PWD/plugins/preadmit.dev/v1alpha1/preadmit
mkdir -p "$home" && ln -sf "$(command -v preadmit)" "$home/Preadmit"
KUSTOMIZE_PLUGIN_HOME=$PWD/plugins ` + strings.Join(client, " ") + " --enable-alpha-plugins " + overlay
			run := func() result { return command(t, directory, "", "bash", "-c", script) }
			fails := func(says string) {
				t.Helper()
				if r := run(); r.status == 0 || r.stdout != "" || !strings.Contains(r.stderr, says) {
					t.Errorf("exit status %d, output:\n%s\nmessages:\n%s", r.status, r.stdout, r.stderr)
				}
			}

			if r, want := run(), read(t, "kustomize/expected.yaml"); r.stdout != want {
				t.Errorf("got:\n%s\n%s\nwant:\n%s", r.stdout, r.stderr, want)
			}
			removeParam(t, directory)
			fails("no params found for policy binding with `Deny`")
			write(t, config, strings.Replace(read(t, config), "[policies]", "[../../base]", 1))
			fails("../../base: the path leads out of the working directory")
			write(t, filepath.Join(production, "kustomization.yaml"), "transformers: [preadmit.yaml]\n")
			write(t, config, "apiVersion: preadmit.dev/v1alpha1\nkind: Preadmit\nmetadata: {name: policies}\n")
			if r := run(); r.status != 0 || r.stdout != "" {
				t.Errorf("of nothing it makes %q, exit status %d\n%s", r.stdout, r.status, r.stderr)
			}
		})
	}
}

// removeParam removes a param that a policy requires.
func removeParam(t *testing.T, directory string) {
	t.Helper()
	if err := os.Remove(filepath.Join(directory, overlay, "policies/cost-center-param.yaml")); err != nil {
		t.Fatal(err)
	}
}

func TestKustomizeDenied(t *testing.T) {
	clients(t, "kustomize")
	directory := copied(t, "kustomize")
	removeParam(t, directory)
	r := command(t, directory, "", "kustomize", append(build, overlay)...)
	if r.status == 0 || r.stdout != "" || !strings.Contains(r.stderr, "no params found for policy binding with `Deny`") {
		t.Errorf("exit status %d, output:\n%s\nmessages:\n%s", r.status, r.stdout, r.stderr)
	}
}

// TestKustomizeAnnotations shows that a policy that removes all annotations does not remove the
// internal annotations of kustomize.
func TestKustomizeAnnotations(t *testing.T) {
	clients(t, "kustomize")
	directory := copied(t, "kustomize")
	write(t, filepath.Join(directory, overlay, "policies/none.yaml"), `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: none
spec:
  rules:
  - name: none
    match:
      any:
      - resources:
          kinds: [ConfigMap]
    mutate:
      patchesJson6902: |-
        - {op: remove, path: /metadata/annotations}
`)
	want := strings.Replace(read(t, "kustomize/expected.yaml"), "  annotations:\n    example.com/cost-center: \"4711\"\n", "", 1)
	if got := output(t, directory, "kustomize", append(build, overlay)...); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestKustomizeEmpty builds a kustomization with only the transformer.
func TestKustomizeEmpty(t *testing.T) {
	clients(t, "kustomize")
	directory := copied(t, "kustomize")
	write(t, filepath.Join(directory, overlay, "kustomization.yaml"), "transformers:\n- preadmit.yaml\n")
	if got := output(t, directory, "kustomize", append(build, overlay)...); got != "" {
		t.Errorf("got:\n%s", got)
	}
}
