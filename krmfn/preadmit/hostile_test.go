//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hostile is input that tries to exhaust time or memory.
type hostile struct {
	name string
	// files are the files in the working directory; "-" is standard input.
	files     map[string]generator
	arguments []string
	// want is expected in the messages; empty if the run must succeed.
	want string
	// megabytes is the memory limit of the process; zero means usualMegabytes.
	megabytes int
}

// A generator writes a text, which need not fit into memory.
type generator func(w *bufio.Writer)

const (
	// usualMegabytes is the memory limit of a hostile run. A run without work takes 40.
	usualMegabytes = 400
	// patience is the time after which a run counts as endless.
	patience = 3 * time.Minute
)

// TestHostile runs the binary on hostile input. Every run must end, report the exceeded limit, and
// use limited memory.
func TestHostile(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "preadmit")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, h := range slices.Concat(inputCases(), celCases(), patchCases(), jmespathCases(), kyvernoCases(), treeCases(), schemaCases()) {
		t.Run(h.name, func(t *testing.T) { h.run(t, binary) })
	}
}

func (h hostile) run(t *testing.T, binary string) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// The shell limits the memory in case our limits fail. Not every system supports this.
	c := exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -d 3000000 2>/dev/null; exec "$0" "$@"`, binary}, h.arguments...)...)
	c.Dir = t.TempDir()
	var stdin *io.PipeReader
	for name, generate := range h.files {
		if name == "-" {
			stdin = pipe(generate)
			defer stdin.Close()
			c.Stdin = stdin
			continue
		}
		f, err := os.Create(filepath.Join(c.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		write(f, generate)
	}
	var stdout, stderr head
	c.Stdout, c.Stderr = &stdout, &stderr
	c.WaitDelay = time.Second
	err := c.Run()
	usage, _ := c.ProcessState.SysUsage().(*syscall.Rusage)
	t.Logf("%v of CPU, %d MB", c.ProcessState.UserTime().Round(10*time.Millisecond), megabytes(usage))
	switch {
	case ctx.Err() != nil:
		t.Fatalf("it does not end: %.2000s", stderr.String())
	case h.want == "" && err != nil, h.want != "" && (err == nil || !strings.Contains(stderr.String(), h.want)):
		t.Errorf("%v: want %q, got\n%.2000s", err, h.want, stderr.String())
	case h.want != "" && stdout.written > 0:
		t.Errorf("it failed, and wrote %d bytes", stdout.written)
	}
	if most := max(h.megabytes, usualMegabytes); megabytes(usage) > most {
		t.Errorf("it took %d MB, more than %d", megabytes(usage), most)
	}
	if stderr.written > 3<<20 {
		t.Errorf("the messages have %d bytes", stderr.written)
	}
}

// megabytes returns the peak memory of a process.
func megabytes(usage *syscall.Rusage) int {
	if runtime.GOOS == "darwin" {
		return int(usage.Maxrss >> 20)
	}
	return int(usage.Maxrss >> 10)
}

func write(to io.WriteCloser, generate generator) {
	w := bufio.NewWriter(to)
	generate(w)
	w.Flush()
	to.Close()
}

// pipe returns a reader of the text of a generator.
func pipe(generate generator) *io.PipeReader {
	r, w := io.Pipe()
	go write(w, generate)
	return r
}

// head keeps the beginning of the written text.
type head struct {
	bytes.Buffer
	written int
}

func (h *head) Write(p []byte) (int, error) {
	h.written += len(p)
	if room := 1<<16 - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// text writes a text.
func text(s string) generator { return func(w *bufio.Writer) { w.WriteString(s) } }

// repeat writes a text many times, with the number of each for %d.
func repeat(before, s, after string, n int) generator {
	numbered := strings.Contains(s, "%d")
	return func(w *bufio.Writer) {
		w.WriteString(before)
		for i := range n {
			one := s
			if numbered {
				one = strings.ReplaceAll(s, "%d", strconv.Itoa(i))
			}
			if _, err := w.WriteString(one); err != nil {
				return
			}
		}
		w.WriteString(after)
	}
}
