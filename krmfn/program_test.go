package krmfn

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// observer collects the written text and calls a function for it.
type observer struct {
	text    string
	observe func(text string)
}

func (o *observer) Write(b []byte) (int, error) {
	o.text += string(b)
	o.observe(o.text)
	return len(b), nil
}

// patient is a script that prints when it starts and when it gets a signal.
const patient = `trap 'echo told >&2; exit 0' TERM
echo ready >&2
while :; do sleep 1 & wait $!; done`

// TestStopped shows that a program ends with preadmit, and that its incomplete output is not used.
func TestStopped(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell here")
	}
	for name, stop := range map[string]func(cancel func()){
		"signal": func(func()) {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Signal(syscall.SIGTERM)
			}
			if err != nil {
				t.Error(err)
			}
		},
		"context": func(cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var stdout bytes.Buffer
			stderr := &observer{}
			stderr.observe = func(text string) {
				if text == "ready\n" {
					stop(cancel)
				}
			}
			status := Main(ctx, &Process{
				Args: []string{"exec", "--", "sh", "-c", patient}, Dir: t.TempDir(),
				Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: stderr, Run: RunProgram,
			})
			want := map[string]string{"signal": "terminated signal received", "context": "context canceled"}[name]
			if status != exitInvalid || stdout.Len() > 0 || !strings.Contains(stderr.text, "told\n") || !strings.Contains(stderr.text, "error[command-failed]: sh failed: "+want) {
				t.Errorf("status %d, %q, %q", status, &stdout, stderr.text)
			}
		})
	}
}

// TestNoPrograms shows that a process without Run starts nothing.
func TestNoPrograms(t *testing.T) {
	var stdout, stderr bytes.Buffer
	status := Main(context.Background(), &Process{Args: []string{"exec", "--", "sh"}, Dir: t.TempDir(), Stdout: &stdout, Stderr: &stderr})
	if status != exitInvalid || !strings.Contains(stderr.String(), "error[command-failed]: sh failed: no programs can be run here") {
		t.Errorf("status %d, %q", status, &stderr)
	}
}

// TestMissingPrograms shows that a program that is not installed is named with what to do.
func TestMissingPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "app/kustomization.yaml"), "resources: []\n")
	policies, err := filepath.Abs("../examples/quickstart/policies")
	if err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"chart failed: no directory in PATH has it: install chart":                                             {"exec", "--", "chart"},
		"app: error[command-failed]: kustomize build . failed: no directory in PATH has it: install kustomize": {"diff", "-p", policies, "--build", "app"},
		"no directory in PATH has it: install git":                                                             {"diff", "-p", policies, "--base", "main", "app"},
	} {
		var stdout, stderr bytes.Buffer
		status := Main(context.Background(), &Process{Args: args, Dir: dir, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Run: RunProgram})
		if status != exitInvalid || !strings.Contains(stderr.String(), want) {
			t.Errorf("%v: status %d, %q", args, status, &stderr)
		}
	}
}

// TestReport shows that every run overwrites the file, even without messages.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	report := filepath.Join(dir, "report")
	policies, err := filepath.Abs("testdata/shared/team.yaml")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, report, "of an earlier run\n")
	for _, c := range []struct{ stdin, want string }{
		{"{apiVersion: v1, kind: Service, metadata: {name: a}}", ""},
		{"{", "preadmit: 1 error: no output\n"},
		{"{apiVersion: v1, kind: Service, metadata: {name: a}}", ""},
	} {
		var stderr bytes.Buffer
		Main(context.Background(), &Process{
			Args: []string{"render", "--report=report", "-p", policies}, Dir: dir,
			Stdin: strings.NewReader(c.stdin), Stdout: &bytes.Buffer{}, Stderr: &stderr,
		})
		data, err := os.ReadFile(report)
		if err != nil || string(data) != stderr.String() || !strings.HasPrefix(string(data), c.want) || c.want == "" && len(data) > 0 {
			t.Errorf("%v, %q, want %q; standard error has %q", err, data, c.want, &stderr)
		}
	}
}

// TestReportFull shows that a report that cannot be written is a failure.
func TestReportFull(t *testing.T) {
	const full = "/dev/full"
	if !isFile(full) {
		t.Skip("there is no " + full)
	}
	var stdout, stderr bytes.Buffer
	status := Main(context.Background(), &Process{
		Args: []string{"exec", "--report", full, "--", "sh", "-c", "echo warning >&2; echo '{apiVersion: v1, kind: Service, metadata: {name: a}}'"},
		Dir:  t.TempDir(), Stdout: &stdout, Stderr: &stderr, Run: RunProgram,
	})
	if status != exitInvalid || stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "warning\n") || !strings.Contains(stderr.String(), "no space left") {
		t.Errorf("status %d, %q, %q", status, &stdout, &stderr)
	}
}
