package examples

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestCI compares the deployed manifests of the example with the output of the policies.
func TestCI(t *testing.T) {
	golden(t, "ci/deploy/shop.yaml", output(t, "ci", "preadmit", "render", "-p", "policies", "apps/shop.yaml"))
}

// gate is the expected output and exit status of a check in CI.
type gate struct {
	name, file, text string
	status           int
}

// checkGate runs the commands of a check on a copy of the example, one by one. The last one is
// 'preadmit diff'.
func checkGate(t *testing.T, commands []string) {
	t.Helper()
	if len(commands) == 0 || !strings.HasPrefix(commands[len(commands)-1], "preadmit diff ") {
		t.Fatalf("the last command is not preadmit diff: %q", commands)
	}
	for _, gate := range []gate{
		{"admitted", "deploy/shop.yaml", read(t, "ci/deploy/shop.yaml"), 0},
		{"not admitted", "deploy/shop.yaml", read(t, "ci/apps/shop.yaml"), 1},
		{"unreadable manifest", "deploy/shop.yaml", "kind: Deployment\n  metadata: {}\n", 2},
		{"no manifest", "deploy/shop.yaml", "# empty\n", 2},
		{"unreadable policy", "policies/mirror.yaml", "kind: ClusterPolicy\n  metadata: {}\n", 2},
	} {
		t.Run(gate.name, func(t *testing.T) {
			t.Parallel()
			directory := copied(t, "ci")
			write(t, filepath.Join(directory, gate.file), gate.text)
			failed := 0
			for i, line := range commands {
				// GitHub Actions runs commands in this way.
				r := command(t, directory, "", "bash", "-e", "-c", line)
				if r.status != 0 {
					failed++
				}
				if i == len(commands)-1 && r.status != gate.status {
					t.Errorf("exit status %d, want %d\n%s%s", r.status, gate.status, r.stdout, r.stderr)
				}
			}
			if (failed > 0) != (gate.status > 0) {
				t.Errorf("%d of %d commands failed", failed, len(commands))
			}
		})
	}
}

// TestCIWorkflow runs the commands of the workflow for GitHub Actions.
func TestCIWorkflow(t *testing.T) {
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "ci/.github/workflows/admission.yaml")), &workflow); err != nil {
		t.Fatal(err)
	}
	const install = "go install github.com/preadmit/preadmit/krmfn/preadmit@latest"
	var commands []string
	for _, job := range workflow.Jobs {
		for _, step := range job.Steps {
			if step.Run != "" && step.Run != install {
				commands = append(commands, step.Run)
			}
		}
	}
	checkGate(t, commands)
}

// TestCIHooks runs the hooks like pre-commit: with the arguments of the configuration, and with the
// names of the selected files unless the hook has pass_filenames: false.
func TestCIHooks(t *testing.T) {
	type hook struct {
		ID, Entry, Files string
		Args             []string
		PassFilenames    *bool `json:"pass_filenames"`
	}
	var config struct{ Repos []struct{ Hooks []hook } }
	if err := yaml.Unmarshal([]byte(read(t, "ci/.pre-commit-config.yaml")), &config); err != nil {
		t.Fatal(err)
	}
	var known []hook
	if err := yaml.Unmarshal([]byte(read(t, "../.pre-commit-hooks.yaml")), &known); err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, h := range config.Repos[0].Hooks {
		i := slices.IndexFunc(known, func(k hook) bool { return k.ID == h.ID })
		if i < 0 {
			t.Fatalf("there is no hook %s", h.ID)
		}
		words := append([]string{known[i].Entry}, h.Args...)
		if known[i].PassFilenames == nil || *known[i].PassFilenames {
			for _, file := range []string{"apps/shop.yaml", "deploy/shop.yaml", "flux.yaml"} {
				if regexp.MustCompile(h.Files).MatchString(file) {
					words = append(words, file)
				}
			}
		}
		commands = append(commands, strings.Join(words, " "))
	}
	checkGate(t, commands)
}

// TestCISnapshot compares the snapshot of the example with what preadmit writes.
func TestCISnapshot(t *testing.T) {
	for _, c := range []struct{ from, cluster string }{
		{"ci/policies", "ci/cluster"}, {"argocd/sidecar/policies", "argocd/cluster/cluster.yaml"},
	} {
		before := treeOf(t, c.cluster)
		if len(before) == 0 {
			t.Errorf("%s is empty", c.cluster)
		}
		written := filepath.Join(t.TempDir(), filepath.Base(c.cluster))
		output(t, ".", "preadmit", "snapshot", "--from", c.from, "--kubernetes-version", "1.36", "-o", written)
		if after := treeOf(t, written); !maps.Equal(before, after) {
			t.Errorf("%s is not what preadmit snapshot writes:\n%v\nit writes\n%v", c.cluster, before, after)
		}
	}
}

// treeOf returns the files of a directory, or a file.
func treeOf(t *testing.T, name string) map[string]string {
	t.Helper()
	if filepath.Ext(name) == ".yaml" {
		return map[string]string{"": read(t, name)}
	}
	return tree(t, name)
}

// TestCICluster runs the steps of the nightly workflow with a cluster that has no policies any more: it
// pushes a branch, opens one pull request, and verifies a sample of the manifests.
func TestCICluster(t *testing.T) {
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run string }
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "ci/.github/workflows/cluster.yaml")), &workflow); err != nil {
		t.Fatal(err)
	}
	directory, origin, bin := copied(t, "ci"), t.TempDir(), t.TempDir()
	write(t, filepath.Join(bin, "gh"), "#!/bin/sh\necho \"$@\" >> "+bin+"/log\ncase \"$1 $2\" in 'pr list') test -e "+bin+"/open && echo 1 || echo 0;; 'pr create') touch "+bin+"/open;; esac\n")
	write(t, filepath.Join(bin, "kubectl"), "#!/bin/sh\ncase \"$*\" in *create*) cat;; */version) echo '{\"gitVersion\": \"v1.36.1\"}';; */apis) echo '{\"groups\": []}';; */api/v1) echo '{\"resources\": []}';; *) echo 'Error from server (NotFound): nothing' >&2; exit 1;; esac\n")
	for _, name := range []string{"gh", "kubectl"} {
		if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const commit = " && git add -A && git -c user.name=a -c user.email=a@localhost commit -q -m a"
	output(t, directory, "bash", "-c", "git init -q --bare '"+origin+"' && git init -q && git remote add origin '"+origin+"'"+commit)
	steps, verified := 0, ""
	for range 2 { // two nights
		for _, step := range workflow.Jobs["cluster"].Steps {
			if step.Run == "" || strings.Contains(step.Run, "go install") || strings.Contains(step.Name, "kubeconfig") {
				continue
			}
			steps++
			r := command(t, directory, "", "bash", "-e", "-c", "export PATH='"+bin+"':\"$PATH\" GH_TOKEN=t\n"+step.Run)
			if verify := strings.Contains(step.Run, "verify"); verify {
				verified += r.stdout + r.stderr
			} else if r.status != 0 {
				t.Fatalf("%s: %d\n%s%s", step.Name, r.status, r.stdout, r.stderr)
			}
		}
		output(t, directory, "git", "reset", "-q", "--hard", "HEAD~1")
	}
	if steps != 6 || strings.Count(verified, "preadmit: 2 manifests:") != 2 {
		t.Errorf("%d steps\n%s", steps, verified)
	}
	if log := read(t, filepath.Join(bin, "log")); strings.Count(log, "pr create") != 1 || strings.Count(log, "pr list") != 2 {
		t.Error(log)
	}
	if changed := output(t, origin, "git", "show", "--stat", "--format=%s", "cluster-snapshot"); !strings.Contains(changed, "What the cluster has now\n") || !strings.Contains(changed, "cluster/ClusterPolicy.kyverno.io/mirror.yaml") || strings.Contains(changed, "deploy") {
		t.Error(changed)
	}
}
