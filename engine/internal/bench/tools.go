package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// tools are the measured programs, and the directory of their input.
type tools struct{ dir, preadmit, empty, self string }

// module is the root of the module, relative to this directory.
var module = filepath.Join("..", "..", "..")

func newTools(dir string) (*tools, error) {
	t := &tools{dir: dir, preadmit: filepath.Join(dir, "preadmit"), empty: filepath.Join(dir, "empty")}
	var err error
	if t.self, err = os.Executable(); err != nil {
		return nil, err
	}
	source := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return nil, err
	}
	if err := build(t.empty, source); err != nil {
		return nil, err
	}
	if err := build(t.preadmit, "./krmfn/preadmit"); err != nil {
		return nil, err
	}
	if err := buildCEL(dir); err != nil {
		return nil, err
	}
	for _, n := range []int{1, 1000, 10_000} {
		if err := t.writeStream(n); err != nil {
			return nil, err
		}
	}
	return t, writePolicies(dir)
}

// build builds a program of the module as releases are built.
func build(to, what string) error {
	command := exec.Command("go", "-C", module, "build", "-trimpath", "-ldflags", "-s -w", "-o", to, what)
	command.Env, command.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%v: %w", command, err)
	}
	return nil
}

func (t *tools) streamFile(n int) string { return filepath.Join(t.dir, strconv.Itoa(n)+".yaml") }

func (t *tools) writeStream(n int) error {
	file, err := os.Create(t.streamFile(n))
	if err != nil {
		return err
	}
	command := exec.Command(t.self, "stream", strconv.Itoa(n))
	command.Stdout, command.Stderr = file, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%v: %w", command, err)
	}
	return file.Close()
}

// on returns a stream of n manifests.
func (t *tools) on(n int) input {
	info, err := os.Stat(t.streamFile(n))
	if err != nil {
		panic(err) // the file was just written
	}
	return input{t.streamFile(n), info.Size()}
}

// machine describes the machine.
func machine() string {
	model := firstLine("/proc/cpuinfo", "model name")
	memory := firstLine("/proc/meminfo", "MemTotal")
	return fmt.Sprintf("%s/%s, %d processors (%s), %s of memory, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), model, memory, runtime.Version())
}

// firstLine returns the text after the colon in the first line of a file that begins with a
// prefix. It returns "unknown" if no line has it, as on systems other than Linux.
func firstLine(file, prefix string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.HasPrefix(name, prefix) {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// load returns the load average of the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, ok := strings.Cut(string(text), " ")
	if !ok {
		return "unknown"
	}
	return first
}
