package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"
)

// command is a process to measure.
type command struct {
	label, path string
	args        []string
	environment []string
	// input is its standard input; it has none if the name is empty.
	input input
	// prepare creates what the command needs, unless it exists; nil for nothing.
	prepare func() error
}

// input is a file.
type input struct {
	name string
	size int64
}

// group is a list of commands that are measured in turn, each runs times.
type group struct {
	runs     int
	commands []command
}

// measured is the usage of commands, by their labels.
type measured map[string]usage

// usage has the resources that a process used.
type usage struct {
	processors, wall time.Duration
	peak, input      int64 // bytes
}

func (u usage) cpu() float64     { return u.processors.Seconds() }
func (u usage) elapsed() float64 { return u.wall.Seconds() }

// measure adds the medians of the runs of all commands, in turn. A first run of each command
// does not count.
func (g group) measure(all measured) error {
	taken := make([][]usage, len(g.commands))
	for i := range g.runs + 1 {
		for n, c := range g.commands {
			u, err := c.run()
			if err != nil {
				return fmt.Errorf("%s: %w", c.label, err)
			}
			if i > 0 {
				taken[n] = append(taken[n], u)
			}
		}
	}
	for n, c := range g.commands {
		all[c.label] = median(taken[n])
	}
	return nil
}

// changesFound is the exit status of diff if there are changes.
const changesFound = 1

// run runs a command once.
func (c command) run() (usage, error) {
	if c.prepare != nil {
		if err := c.prepare(); err != nil {
			return usage{}, err
		}
	}
	process := exec.Command(c.path, c.args...)
	process.Env = append(os.Environ(), c.environment...)
	if c.input.name != "" {
		file, err := os.Open(c.input.name)
		if err != nil {
			return usage{}, err
		}
		defer file.Close()
		process.Stdin = file
	}
	var stderr bytes.Buffer
	process.Stderr = &stderr
	start := time.Now()
	err := process.Run()
	wall := time.Since(start)
	var exit *exec.ExitError
	if err != nil && (c.label != "diff" || !errors.As(err, &exit) || exit.ExitCode() != changesFound) {
		return usage{}, fmt.Errorf("%w\n%s", err, stderr.String())
	}
	state := process.ProcessState
	u := usage{processors: state.UserTime() + state.SystemTime(), wall: wall, input: c.input.size}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		if u.peak = r.Maxrss; runtime.GOOS != "darwin" {
			u.peak *= 1024
		}
	}
	return u, nil
}

func median(runs []usage) usage {
	middle := func(of func(usage) int64) int64 {
		values := make([]int64, len(runs))
		for i, u := range runs {
			values[i] = of(u)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return usage{
		processors: time.Duration(middle(func(u usage) int64 { return int64(u.processors) })),
		wall:       time.Duration(middle(func(u usage) int64 { return int64(u.wall) })),
		peak:       middle(func(u usage) int64 { return u.peak }),
		input:      runs[0].input,
	}
}

// floor parses every document into nodes and encodes it again with one encoder.
func floor(from io.Reader, to io.Writer) error {
	text, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	decoder, encoder := yaml.NewDecoder(bytes.NewReader(text)), yaml.NewEncoder(to)
	encoder.SetIndent(2)
	for {
		var node yaml.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return encoder.Close()
		} else if err != nil {
			return err
		}
		if err := encoder.Encode(&node); err != nil {
			return err
		}
	}
}
