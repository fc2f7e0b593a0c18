// Package growth checks that the cost of every command grows at most a little faster than its
// input, in every dimension in which input can grow. Its test runs the program in its directory
// command. To see the costs of some dimensions and commands:
//
//	go run -cover -covermode=atomic -coverpkg=./engine/...,./internal/...,./krmfn/...,./tfprovider/... ./internal/growth/command 'edits/.*/diff'
//
// The cost is counted, not timed: it is the number of blocks of statements that a command executes,
// which the coverage of the Go compiler counts in programs but not in tests, and the number of bytes
// that it allocates. Without other goroutines, both are the same in every run.
//
// The files in order: growth.go, counters.go (blocks of statements), dimensions.go (what grows),
// languages.go, objects.go, text.go, policies.go, surroundings.go, findings.go, generated.go, commands.go,
// verify.go, terraform.go, decisions.go, webhooks.go, trees.go and editors.go (the dimensions).
package growth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/krmfn"
)

// Check measures the dimensions whose name and command match a pattern, all of them if it is "". It
// prints the costs that match a pattern, or else those that grow too fast, and returns an error if
// there are such. The program must have been built with -covermode=atomic.
func Check(pattern string) error {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	tooFast, measured := 0, 0
	for _, d := range dimensions() {
		for _, command := range d.commands {
			if !wanted.MatchString(d.name + "/" + command) {
				continue
			}
			g, err := measure(d, command)
			if err != nil {
				return err
			}
			if measured++; g.tooFast() {
				tooFast++
			}
			if pattern != "" || g.tooFast() {
				fmt.Println(g)
			}
		}
	}
	if fmt.Printf("%d of %d costs grow too fast\n", tooFast, measured); tooFast > 0 || measured == 0 {
		return fmt.Errorf("the cost of 4 N must be at most %d times that of N, and its bytes %d times", mostBlocks, mostBytes)
	}
	return nil
}

const (
	// mostBlocks is how many times as many blocks of statements four times the input may execute.
	mostBlocks = 5
	// mostBytes is the same for allocated bytes. It is larger because the capacity of slices grows
	// in steps.
	mostBytes = 10
	// noise is how many bytes the runtime itself may allocate meanwhile, such as for pools that a
	// garbage collection has emptied.
	noise = 32 << 10
)

// cost is what a command costs.
type cost struct{ blocks, bytes int64 }

func (c cost) minus(other cost) cost { return cost{c.blocks - other.blocks, c.bytes - other.bytes} }

// growth is how the cost of a command grows in a dimension: the costs of N and 4 N, without that of 1.
type growth struct {
	dimension    dimension
	command      string
	small, large cost
}

func (g growth) tooFast() bool {
	return g.large.blocks > mostBlocks*g.small.blocks || g.large.bytes > mostBytes*max(g.small.bytes, 0)+noise
}

func (g growth) String() string {
	times := func(large, small int64) float64 { return float64(large) / float64(small) }
	return fmt.Sprintf("%-32s %-8s %4d: %9d blocks %10d bytes, %5d: %5.2f times the blocks, %5.2f times the bytes", g.dimension.name, g.command,
		g.dimension.n, g.small.blocks, g.small.bytes, 4*g.dimension.n, times(g.large.blocks, g.small.blocks), times(g.large.bytes, g.small.bytes))
}

// measure runs a command on inputs of growing sizes.
func measure(d dimension, command string) (growth, error) {
	sizes := []int{1, 1, d.n, 4 * d.n} // once more than needed, for caches that the first use of a process fills
	costs := make([]cost, len(sizes))
	dir, err := os.MkdirTemp("", "growth")
	if err != nil {
		return growth{}, err
	}
	defer os.RemoveAll(dir)
	for i, n := range sizes {
		in := filepath.Join(dir, fmt.Sprint(i))
		run, err := d.prepare(command, n, in)
		if err == nil {
			costs[i], err = costOf(run)
		}
		if err != nil {
			return growth{}, fmt.Errorf("%s/%s, %d: %w", d.name, command, n, err)
		}
	}
	return growth{d, command, costs[2].minus(costs[1]), costs[3].minus(costs[1])}, nil
}

// prepare returns what runs a command, or a call of the provider, on the input of a size.
func (d dimension) prepare(command string, n int, dir string) (func() error, error) {
	if call, ok := calls[command]; ok {
		return call(d.files(n))
	}
	return d.process(command, n, dir)
}

// process writes the input of a size to a directory, for a command.
func (d dimension) process(command string, n int, dir string) (func() error, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	args, stdin := strings.Fields(command), ""
	var manifests []string
	for name, text := range d.files(n) {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			return nil, err
		}
		switch name {
		case configurationFile, baselineFile, answersFile:
		case policiesFile:
			args = append(args, "-p", name)
		case contextFile:
			args = append(args, "-c", name)
		case stdinFile:
			stdin = text
		default:
			if !strings.Contains(name, "/") && command != generate && command != serve {
				manifests = append(manifests, name)
			}
		}
	}
	slices.Sort(manifests)
	var stderr bytes.Buffer
	p := &krmfn.Process{
		Args: slices.Concat(args, d.flags, manifests), Dir: dir, Stdin: strings.NewReader(stdin),
		Stdout: new(bytes.Buffer), Stderr: &stderr, Run: d.starter(n),
	}
	if d.session != nil {
		return converse(p, d.session(n)), nil
	}
	return func() error { return d.run(p, &stderr) }, nil
}

// run runs a command, which must not fail otherwise than the dimension says.
func (d dimension) run(p *krmfn.Process, stderr *bytes.Buffer) error {
	if status := krmfn.Main(context.Background(), p); status > 1 && (d.refusal == "" || !strings.Contains(stderr.String(), d.refusal)) {
		return fmt.Errorf("status %d: %.500s", status, stderr)
	}
	return nil
}

// costOf returns what a function costs.
func costOf(run func() error) (cost, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var failure error
	blocks, err := count(func() { failure = run() })
	runtime.ReadMemStats(&after)
	return cost{blocks, int64(after.TotalAlloc - before.TotalAlloc)}, errors.Join(failure, err)
}
