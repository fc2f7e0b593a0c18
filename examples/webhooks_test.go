package examples

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// buildWebhook runs the command of the README that builds the webhook, in a copy of the example.
func buildWebhook(t *testing.T, directory string) {
	t.Helper()
	build := regexp.MustCompile("(?m)^```sh\n(go build .*)\n```$").FindStringSubmatch(read(t, "webhooks/README.md"))
	if build == nil {
		t.Fatal("webhooks/README.md does not show how to build the webhook")
	}
	output(t, directory, "bash", "-c", build[1])
}

// serveWebhook starts the webhook and returns its URL.
func serveWebhook(t *testing.T, directory string) string {
	t.Helper()
	server := exec.Command(filepath.Join(directory, "bin/sidecar"), "-listen", "127.0.0.1:0")
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
	})
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// TestWebhooks asks the webhook of the example as a program, at a URL, and through its recorded answers:
// the changes, the warnings and what is recorded are the same.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	directory := copied(t, "webhooks")
	buildWebhook(t, directory)
	program := []string{"--webhook", "sidecar=exec:bin/sidecar", "--record-webhooks", "program.yaml"}
	url := []string{"--webhook", "sidecar=" + serveWebhook(t, directory), "--record-webhooks", "url.yaml"}
	ask := func(subcommand string, answerer []string) result {
		return command(t, directory, "", "preadmit", append([]string{subcommand, "-c", "webhooks.yaml", "manifests.yaml"}, answerer...)...)
	}
	same := func(subcommand string, answerer []string) {
		t.Helper()
		want := ask(subcommand, program)
		if !strings.Contains(want.stdout, "example.com/sidecar:1.2.0") || !strings.Contains(want.stderr, "the sidecar listens on port 9000") {
			t.Errorf("%s: status %d\n%s%s", subcommand, want.status, want.stdout, want.stderr)
		}
		if got := ask(subcommand, answerer); got != want {
			t.Errorf("%s with %q: status %d\n%s%s, want %d\n%s%s", subcommand, answerer, got.status, got.stdout, got.stderr, want.status, want.stdout, want.stderr)
		}
	}
	same("pods", url)
	same("render", url)
	same("render", []string{"--webhook-answers", "answers.yaml"})
	recorded := read(t, "webhooks/answers.yaml")
	for _, name := range []string{"program.yaml", "url.yaml"} {
		if got := read(t, filepath.Join(directory, name)); got != recorded {
			t.Errorf("%s differs from answers.yaml:\n%s", name, got)
		}
	}
}
