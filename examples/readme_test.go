package examples

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const readme = "../README.md"

// transcript is a command in a "console" block of a README, after "$ ", with its output.
type transcript struct {
	// from and to are the line numbers of the output, from 0; to is exclusive.
	from, to        int
	command, output string
}

// transcripts finds the commands of a Markdown text.
func transcripts(lines []string) []transcript {
	var found []transcript
	inside := false
	for i := 0; i < len(lines); i++ {
		switch line := lines[i]; {
		case line == "```console":
			inside = true
		case line == "```":
			inside = false
		case inside && strings.HasPrefix(line, "$ "):
			s := transcript{command: line[len("$ "):], from: i + 1}
			for strings.HasSuffix(lines[s.from-1], "\\") {
				s.command += "\n" + lines[s.from]
				s.from++
			}
			s.to = s.from
			for lines[s.to] != "```" && !strings.HasPrefix(lines[s.to], "$ ") {
				s.output += lines[s.to] + "\n"
				s.to++
			}
			found = append(found, s)
			i = s.to - 1
		}
	}
	return found
}

// readmeClients are the programs that the READMEs of examples need in addition to preadmit.
var readmeClients = map[string][]string{
	"kustomize": {"kustomize", "kubectl"}, "kpt": {"kpt"}, "helm": {"helm", "helm3"}, "argocd": {"kustomize", "helm"},
	"terraform": {"terraform"},
}

// useProvider builds the Terraform provider and configures Terraform to use the build.
func useProvider(t *testing.T) {
	t.Helper()
	directory := t.TempDir()
	output(t, "..", "go", "build", "-o", directory, "./tfprovider/terraform-provider-preadmit")
	config := filepath.Join(directory, "terraformrc")
	write(t, config, fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"preadmit/preadmit\" = %q\n  }\n  direct {}\n}\ndisable_checkpoint = true\n", directory))
	t.Setenv("TF_CLI_CONFIG_FILE", config)
}

// TestReadmeCommands runs the commands of the README and of the page about policies in the root, and
// the commands of every example's README in a copy of the example.
func TestReadmeCommands(t *testing.T) {
	examples, err := filepath.Glob("*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples = slices.DeleteFunc(examples, func(file string) bool {
		return filepath.Dir(file) == "playground" // its own tests build the page as its README says
	})
	if _, err := exec.LookPath("terraform"); err == nil {
		useProvider(t)
	}
	for _, file := range append(examples, readme, "../krmfn/docs/policies.md") {
		t.Run(strings.Trim(filepath.Dir(file), "./"), func(t *testing.T) {
			t.Parallel()
			directory := ".."
			if slices.Contains(examples, file) {
				example := filepath.Dir(file)
				clients(t, readmeClients[example]...)
				directory = example // the program in examples/library/admit is part of the module
				if example != "library" {
					directory = copied(t, example)
				}
				if example == "webhooks" {
					buildWebhook(t, directory)
				}
			}
			checkCommands(t, directory, file)
		})
	}
}

// durations match the durations in the output of kpt.
var durations = regexp.MustCompile(`(?m)(^\[(?:PASS|FAIL)\] .*) in [\d.hms]+$`)

// checkCommands runs the commands of a README in a directory.
func checkCommands(t *testing.T, directory, file string) {
	t.Helper()
	lines := strings.Split(read(t, file), "\n")
	commands := transcripts(lines)
	if len(commands) == 0 {
		t.Fatalf("%s shows no command", file)
	}
	var rewritten []string
	done := 0
	for _, s := range commands {
		r := command(t, directory, "", "bash", "-c", "exec 2>&1\n"+s.command)
		got := durations.ReplaceAllString(r.stdout, "$1 in 0.1s")
		if got != s.output && !*update {
			t.Errorf("$ %s\ngot:\n%s\nwant:\n%s", s.command, got, s.output)
		}
		rewritten = append(rewritten, lines[done:s.from]...)
		if got != "" {
			rewritten = append(rewritten, strings.Split(strings.TrimSuffix(got, "\n"), "\n")...)
		}
		done = s.to
	}
	if *update {
		write(t, file, strings.Join(append(rewritten, lines[done:]...), "\n"))
	}
}

// unrun matches shell lines of the README that need a release or a cluster (for those of snapshot and
// verify, stories of krmfn have one), and the line with the tests, which TestReadmeTests checks.
var unrun = regexp.MustCompile(`^(go install|export|kubectl get|go test|preadmit snapshot) |\| preadmit verify `)

// TestReadmeLines runs the shell lines of the README without output, each in a directory with files
// of the examples.
func TestReadmeLines(t *testing.T) {
	clients(t, "kustomize", "kpt", "helm")
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(read(t, readme), -1)
	run := 0
	for _, block := range blocks {
		for line := range strings.Lines(block[1]) {
			if unrun.MatchString(line) {
				continue
			}
			run++
			directory := copied(t, "kustomize")
			for name, from := range map[string]string{"shop": "kpt/shop", "chart": "helm/chart"} {
				if err := os.CopyFS(filepath.Join(directory, name), os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
			}
			write(t, filepath.Join(directory, "policies.yaml"), read(t, "quickstart/policies/pull-policy.yaml"))
			if err := os.CopyFS(filepath.Join(directory, "cluster"), os.DirFS("quickstart/policies")); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(directory, "context.yaml"), "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n")
			if r := command(t, directory, "", "bash", "-o", "pipefail", "-c", line); r.status != 0 || r.stdout+r.stderr == "" {
				t.Errorf("$ %sexit status %d\n%s", line, r.status, r.stderr)
			}
		}
	}
	if run == 0 {
		t.Error("README.md has no lines for a shell")
	}
}

// TestReadmeTests checks that the CI script has the README's command for the tests.
func TestReadmeTests(t *testing.T) {
	const tests = "go test ./..."
	if !strings.Contains(read(t, readme), "```sh\n"+tests+"\n```\n") {
		t.Errorf("README.md does not show %q", tests)
	}
	if !strings.Contains(read(t, "../.ci/run"), "\n\t"+tests+" ") {
		t.Errorf(".ci/run does not run %q", tests)
	}
}
