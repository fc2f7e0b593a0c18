package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"
)

// command is a process to measure.
type command struct {
	path string
	args []string
	// input is the file that it reads on standard input, of inputBytes; none if empty.
	input      string
	inputBytes int64
}

// on is a command that reads a stream of n manifests.
func (t *tools) on(n int, path string, args ...string) command {
	name := filepath.Join(t.dir, strconv.Itoa(n)+".yaml")
	info, err := os.Stat(name)
	if err != nil {
		panic(err) // writeFiles has just written it
	}
	return command{path: path, args: args, input: name, inputBytes: info.Size()}
}

// usage is what a process took.
type usage struct {
	user, system, wall time.Duration
	peak               int64 // bytes
}

func (u usage) cpu() float64       { return (u.user + u.system).Seconds() }
func (u usage) elapsed() float64   { return u.wall.Seconds() }
func (u usage) peakBytes() float64 { return float64(u.peak) }

// run runs a command once. An exit status of 1 is no error: diff has it if there are
// changes.
func (c command) run() (usage, error) {
	process := exec.Command(c.path, c.args...)
	process.Stdout = io.Discard
	if c.input != "" {
		file, err := os.Open(c.input)
		if err != nil {
			return usage{}, err
		}
		defer file.Close()
		process.Stdin = file
	}
	var said bytes.Buffer
	process.Stderr = &said
	start := time.Now()
	err := process.Run()
	wall := time.Since(start)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return usage{}, errors.Join(err, errors.New(said.String()))
	}
	state := process.ProcessState
	u := usage{user: state.UserTime(), system: state.SystemTime(), wall: wall}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.peak = r.Maxrss * 1024
	}
	return u, nil
}

// interleaved runs two commands in turn, after one run of each that does not count, and
// returns the medians.
func interleaved(runs int, a, b command) (usage, usage, error) {
	var as, bs []usage
	for i := range runs + 1 {
		x, err := a.run()
		if err != nil {
			return usage{}, usage{}, err
		}
		y, err := b.run()
		if err != nil {
			return usage{}, usage{}, err
		}
		if i > 0 {
			as, bs = append(as, x), append(bs, y)
		}
	}
	return median(as), median(bs), nil
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
		user:   time.Duration(middle(func(u usage) int64 { return int64(u.user + u.system) })),
		wall:   time.Duration(middle(func(u usage) int64 { return int64(u.wall) })),
		peak:   middle(func(u usage) int64 { return u.peak }),
		system: 0, // it is in user: the median is of the sum
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
