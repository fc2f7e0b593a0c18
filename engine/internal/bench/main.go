// Command bench measures preadmit as whole processes and prints a table: processor time
// (user and system) and peak memory, medians of interleaved runs, as ratios to two floors
// of the same measurement. One floor is an empty Go program, the other one that parses
// the stream with yaml.v3 and encodes it again.
//
//	go -C engine/internal/bench run .
//
// The machine may be busy: ratios hold when times do not, wall times excepted. The files
// in order: main.go (the table), streams.go (what is measured on), measure.go (one
// process).
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

func main() {
	runs := flag.Int("runs", 5, "runs of each command, of which the median counts")
	flag.Parse()
	var err error
	if flag.Arg(0) == "floor" {
		err = floor(os.Stdin, os.Stdout)
	} else {
		err = bench(*runs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// row is one line of the table: what a command costs, against another one.
type row struct {
	name              string
	command, against  command
	figure            func(usage) float64
	asked, stretch    float64
	againstInputBytes bool
}

func bench(runs int) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t, err := newTools(dir)
	if err != nil {
		return err
	}
	fmt.Printf("%s/%s, %d processors, %s, medians of %d interleaved runs\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), runs)
	fmt.Println("| | measured | asked | stretch |\n|---|---|---|---|")
	for _, r := range t.rows() {
		ours, theirs, err := interleaved(runs, r.command, r.against)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		divisor := r.figure(theirs)
		if r.againstInputBytes {
			divisor = float64(r.command.inputBytes)
		}
		fmt.Printf("| %s | %.2f | ≤ %g | %g |\n", r.name, r.figure(ours)/divisor, r.asked, r.stretch)
	}
	return nil
}

// tools are the programs that are measured, and the files that they read.
type tools struct{ dir, preadmit, empty, self string }

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
	for _, build := range []*exec.Cmd{
		exec.Command("go", "build", "-o", t.empty, source),
		exec.Command("go", "-C", filepath.Join("..", "..", ".."), "build", "-trimpath", "-ldflags", "-s -w", "-o", t.preadmit, "./krmfn/preadmit"),
	} {
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return nil, fmt.Errorf("%v: %w", build, err)
		}
	}
	return t, writeFiles(dir)
}

// rows are the lines of the table.
func (t *tools) rows() []row {
	const one, thousand, tenThousand = 1, 1000, 10_000
	empty := command{path: t.empty}
	render := func(policies string, n int, args ...string) command {
		if args == nil {
			args = []string{"render"}
		}
		return t.on(n, t.preadmit, append(args, "-p", filepath.Join(t.dir, policies), "-")...)
	}
	floor := func(n int) command { return t.on(n, t.self, "floor") }
	return []row{
		{name: "1,000 manifests, ten policies, all changed: CPU / floor", command: render(tenPolicies, thousand), against: floor(thousand), figure: usage.cpu, asked: 0.6, stretch: 0.35},
		{name: "the same, wall / floor's wall", command: render(tenPolicies, thousand), against: floor(thousand), figure: usage.elapsed, asked: 0.5, stretch: 0.25},
		{name: "no policy matches: CPU / floor", command: render(noMatch, thousand), against: floor(thousand), figure: usage.cpu, asked: 0.05, stretch: 0.03},
		{name: "`version` / empty", command: command{path: t.preadmit, args: []string{"version"}}, against: empty, figure: usage.cpu, asked: 6, stretch: 4},
		{name: "one manifest, one policy / empty", command: render(onePolicy, one), against: empty, figure: usage.cpu, asked: 9, stretch: 7},
		{name: "one manifest, ten policies / empty", command: render(tenPolicies, one), against: empty, figure: usage.cpu, asked: 11, stretch: 9},
		{name: "peak memory, 1,000 manifests / input", command: render(tenPolicies, thousand), against: empty, figure: usage.peakBytes, asked: 15, stretch: 10, againstInputBytes: true},
		{name: "peak memory, 10,000 manifests / input", command: render(tenPolicies, tenThousand), against: empty, figure: usage.peakBytes, asked: 8, stretch: 6, againstInputBytes: true},
		{name: "CPU of 10,000 / of 1,000", command: render(tenPolicies, tenThousand), against: render(tenPolicies, thousand), figure: usage.cpu, asked: 10.3, stretch: 10},
		{name: "`diff` / `render`", command: render(tenPolicies, thousand, "diff"), against: render(tenPolicies, thousand), figure: usage.cpu, asked: 1.3, stretch: 1.15},
		{name: "`explain` / `render`", command: render(tenPolicies, thousand, "explain"), against: render(tenPolicies, thousand), figure: usage.cpu, asked: 1.3, stretch: 1.15},
		{name: "ten Kyverno patchStrategicMerge rules: CPU / floor", command: render(tenKyverno, thousand), against: floor(thousand), figure: usage.cpu, asked: 0.6, stretch: 0.35},
	}
}
