package hookcall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/preadmit/preadmit/engine/policy"
)

// runs counts the processes of a test.
type runs struct {
	mu sync.Mutex
	n  int
}

// run runs a program in a shell.
func (r *runs) run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer) error {
	r.mu.Lock()
	r.n++
	r.mu.Unlock()
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Stdin, command.Stdout, command.Stderr, command.WaitDelay = stdin, stdout, os.Stderr, time.Second
	err := command.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func same(a, b policy.Answer) bool {
	return bytes.Equal(bytes.TrimSpace(a.Body), bytes.TrimSpace(b.Body)) && a.Status == b.Status
}

// ask sends reviews with the numbers from 0 to a program in sh, and returns the answers.
func ask(t *testing.T, script string, reviews int, timeout, patience time.Duration) (answers []string, processes int, problems []string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are for sh")
	}
	file := filepath.Join(t.TempDir(), "webhook")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &runs{}
	c, err := New(t.Context(), []Target{{Name: "w", Program: []string{"sh", file}}}, nil, r.run, same)
	if err != nil {
		t.Fatal(err)
	}
	c.senders[0].(*program).patience = patience
	w := policy.WebhookName{Configuration: "w", Name: "w.example.com", Timeout: timeout}
	if !c.Answers(w) {
		t.Fatal("the program answers for nothing")
	}
	for i := range reviews {
		a, err := c.Answer(t.Context(), policy.Call{Webhook: w, Review: map[string]any{"n": int64(i)}})
		if err != nil {
			a.Body = []byte(err.Error())
		}
		answers = append(answers, strings.TrimSpace(string(a.Body)))
	}
	for _, p := range c.Problems() {
		problems = append(problems, p.Code)
	}
	c.Close()
	return answers, r.n, problems
}

const (
	soon  = 50 * time.Millisecond
	later = 20 * time.Second
)

// TestPrograms asks programs of several manners for three answers, each twice.
func TestPrograms(t *testing.T) {
	const echo = `printf '{"got":%s}' "$review"`
	for name, c := range map[string]struct {
		script            string
		timeout, patience time.Duration
		processes         int
		answer, problem   string
	}{
		"line by line":         {"while read -r review; do " + echo + "; echo; done", later, later, 1, `{"got":{"n":#}}`, ""},
		"without a line feed":  {"while read -r review; do " + echo + "; done", later, later, 1, `{"got":{"n":#}}`, ""},
		"in parts":             {`while read -r review; do printf '{"got":'; sleep 0.05; printf '%s}' "$review"; done`, later, later, 1, `{"got":{"n":#}}`, ""},
		"all input first":      {"review=$(cat); " + echo, later, soon, 6, `{"got":{"n":#}}`, ""},
		"first line, and ends": {"read -r review; " + echo, later, later, 6, `{"got":{"n":#}}`, ""},
		"two, and ends":        {"read -r review; " + echo + "; read -r review || exit 0; " + echo, later, later, 5, `{"got":{"n":#}}`, ""},
		"no input":             {`echo '{"a":1}'`, later, later, 0, `{"a":1}`, ""},
		"no JSON":              {"cat >/dev/null; echo hello", later, soon, 6, "hello", ""},
		"no JSON, line by line": {
			"while read -r review; do echo hello; done", later, soon, 6, "hello", "",
		},
		"no output":    {"cat >/dev/null", later, soon, 6, "", ""},
		"fails":        {"cat >/dev/null; exit 3", later, soon, 3, "sh: exit status 3", ""},
		"fails before": {"exit 3", later, later, 3, "sh: exit status 3", ""},
		"never":        {"exec sleep 60", 200 * time.Millisecond, soon, 3, "sh took longer than 200ms: context deadline exceeded", ""},
		"numbers its answers": {
			`i=0; while read -r review; do i=$((i+1)); echo "{\"i\":$i}"; done`, later, later, 1, "", "webhook-not-deterministic",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers, processes, problems := ask(t, c.script, 3, c.timeout, c.patience)
			for i, a := range answers {
				if want := strings.ReplaceAll(c.answer, "#", fmt.Sprint(i)); a != want && c.problem == "" {
					t.Errorf("answer %d is %q, want %q", i, a, want)
				}
			}
			if processes != c.processes && c.processes > 0 {
				t.Errorf("%d processes, want %d", processes, c.processes)
			}
			if strings.Join(problems, " ") != c.problem {
				t.Errorf("%v, want %q", problems, c.problem)
			}
		})
	}
}

// TestLateAnswer shows that a process that is late for one review is replaced for the next one.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	answers, _, _ := ask(t, `while read -r review; do case $review in *1*) exec sleep 60;; esac; echo "{\"got\":$review}"; done`, 3, time.Second, later)
	want := []string{`{"got":{"n":0}}`, "sh took longer than 1s: context deadline exceeded", `{"got":{"n":2}}`}
	if fmt.Sprint(answers) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", answers, want)
	}
}

// TestLargeAnswer shows that a program cannot fill the memory.
func TestLargeAnswer(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"cat >/dev/null; exec yes", `read -r review; printf '{"a":"'; exec yes`} {
		if answers, _, _ := ask(t, script, 1, later, soon); answers[0] != "sh: "+errTooLarge.Error() {
			t.Errorf("%q", answers)
		}
	}
}

// TestCanceled shows that no process outlives the run.
func TestCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := &runs{}
	c, err := New(ctx, []Target{{Name: "w", Program: []string{"sleep", "60"}}}, nil, r.run, same)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(soon, cancel)
	_, err = c.Answer(ctx, policy.Call{Webhook: policy.WebhookName{Configuration: "w", Timeout: later}, Review: map[string]any{}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	c.Close()
}

// TestWords compares words of a command line.
func TestWords(t *testing.T) {
	for line, want := range map[string]string{
		"a b":              `["a" "b"]`,
		"  a\t b \n":       `["a" "b"]`,
		`a 'b c' "d e"`:    `["a" "b c" "d e"]`,
		`a\ b c\"d`:        `["a b" "c\"d"]`,
		`--x='{"a": "b"}'`: `["--x={\"a\": \"b\"}"]`,
		`"a\"b" "c\d" '\'`: `["a\"b" "c\\d" "\\"]`,
		`'' ""`:            `["" ""]`,
		`$HOME *`:          `["$HOME" "*"]`,
		"":                 "[]",
		`a "b`:             "the quote \" is not closed (character 3 after exec:)",
		`é 'b"`:            "the quote ' is not closed (character 3 after exec:)",
		`a \`:              "nothing follows the backslash at the end",
	} {
		words, err := splitWords(line)
		got := fmt.Sprintf("%q", words)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
