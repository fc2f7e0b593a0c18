package examples

import (
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
