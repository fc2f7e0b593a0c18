// Command bench measures preadmit as whole processes and prints a table in Markdown: processor
// time (user and system), elapsed time and peak memory. The figures are medians of interleaved
// runs, as ratios to floors of the same measurement. The floors are an empty Go program, a
// program that parses the stream with yaml.v3 and encodes it again, and a Terraform data source
// that copies its strings.
//
//	go -C engine/internal/bench run .
//
// It takes about three minutes and needs an idle machine: garbage collection takes idle processor time, and most
// of it in the floor, so ratios to the floor are higher on a busy one. Without Terraform in PATH its row is left
// out, with a note in the table.
//
// Another table has what our own packages for CEL save against the packages that they replace.
//
// The files in order: main.go (the table), tools.go (the programs), streams.go and terraform.go
// (their input), cel.go (programs with the packages that ours replace), measure.go (processes).
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

func main() {
	runs := flag.Int("runs", 5, "runs of each command, of which the median counts")
	flag.Parse()
	var err error
	switch flag.Arg(0) {
	case "floor":
		err = floor(os.Stdin, os.Stdout)
	case "stream":
		err = printStream(flag.Arg(1), os.Stdout)
	default:
		err = bench(*runs, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// row is a row of the table: a figure of a command divided by a figure of another command.
type row struct {
	name           string
	figure         func(measured) float64
	asked, stretch float64
}

// ratio divides a figure of one command by the same figure of another.
func ratio(of func(usage) float64, command, by string) func(measured) float64 {
	return func(m measured) float64 { return of(m[command]) / of(m[by]) }
}

// memory divides the peak memory of a command by the size of its input.
func memory(command string) func(measured) float64 {
	return func(m measured) float64 { return float64(m[command].peak) / float64(m[command].input) }
}

// rows are the lines of the table.
var rows = []row{
	{"1,000 manifests, ten policies, all changed: CPU / floor", ratio(usage.cpu, "render", "floor"), 0.6, 0.35},
	{"the same, elapsed time / that of the floor", ratio(usage.elapsed, "render", "floor"), 0.5, 0.25},
	{"no policy matches: CPU / floor", ratio(usage.cpu, "no match", "floor"), 0.05, 0.03},
	{"`version` / empty program", ratio(usage.cpu, "version", "empty"), 6, 4},
	{"one manifest, one policy / empty program", ratio(usage.cpu, "one policy", "empty"), 9, 7},
	{"one manifest, ten policies / empty program", ratio(usage.cpu, "ten policies", "empty"), 11, 9},
	{"peak memory, 1,000 manifests / input", memory("render"), 15, 10},
	{"peak memory, 10,000 manifests / input", memory("render 10,000"), 8, 6},
	{"CPU of 10,000 manifests / of 1,000", ratio(usage.cpu, "render 10,000", "render 1,000"), 10.3, 10},
	{"`diff` / `render`", ratio(usage.cpu, "diff", "render"), 1.3, 1.15},
	{"`explain` / `render`", ratio(usage.cpu, "explain", "render"), 1.3, 1.15},
	{"ten Kyverno patchStrategicMerge rules: CPU / floor", ratio(usage.cpu, "kyverno", "floor"), 0.6, 0.35},
	{"ten ValidatingAdmissionPolicies besides the ten policies / those alone", ratio(usage.cpu, "validating", "render"), 1.4, 1.2},
	{"Terraform: plan of 1,000 manifests, ten policies / a data source that copies", ratio(usage.cpu, "plan", "plan of copies"), 1.8, 1.4},
}

// groups returns the commands in groups that are measured in turn. Slow groups have fewer runs,
// a fast one has one more.
func (t *tools) groups(runs int) []group {
	thousand, tenThousand, one := t.on(1000), t.on(10_000), t.on(1)
	render := func(policies string) []string {
		return []string{"render", "-p", filepath.Join(t.dir, policies), "-"}
	}
	on := func(input input, label string, path string, args ...string) command {
		return command{label: label, path: path, args: args, input: input}
	}
	return []group{
		{4*runs + 1, []command{
			{label: "empty", path: t.empty},
			{label: "version", path: t.preadmit, args: []string{"version"}},
			on(one, "one policy", t.preadmit, render(onePolicy)...),
			on(one, "ten policies", t.preadmit, render(tenPolicies)...),
			{label: celOnly, path: filepath.Join(t.dir, celOnly)},
			{label: celParser, path: filepath.Join(t.dir, celParser)},
			{label: celLibrary, path: filepath.Join(t.dir, celLibrary)},
		}},
		{runs, []command{
			on(thousand, "floor", t.self, "floor"),
			on(thousand, "render", t.preadmit, render(tenPolicies)...),
			on(thousand, "no match", t.preadmit, render(noMatch)...),
			on(thousand, "kyverno", t.preadmit, render(tenKyverno)...),
			on(thousand, "validating", t.preadmit, render(tenAndTen)...),
			on(thousand, "diff", t.preadmit, "diff", "-p", filepath.Join(t.dir, tenPolicies), "-"),
			on(thousand, "explain", t.preadmit, "explain", "-p", filepath.Join(t.dir, tenPolicies), "-"),
		}},
		{max(1, runs/2), []command{
			on(thousand, "render 1,000", t.preadmit, render(tenPolicies)...),
			on(tenThousand, "render 10,000", t.preadmit, render(tenPolicies)...),
		}},
		{max(1, runs/2), t.plans()},
	}
}

func bench(runs int, to io.Writer) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t, err := newTools(dir)
	if err != nil {
		return err
	}
	all := measured{}
	for _, g := range t.groups(runs) {
		if err := g.measure(all); err != nil {
			return err
		}
	}
	fmt.Fprintf(to, "%s; medians of %d interleaved runs and more, load %s at the end.\n\n", machine(), max(1, runs/2), load())
	fmt.Fprintln(to, "| | measured | asked | stretch |\n|---|---|---|---|")
	for _, r := range rows {
		text := strconv.FormatFloat(r.figure(all), 'f', 2, 64)
		if text == "NaN" {
			text = "not measured: there is no terraform in PATH"
		}
		fmt.Fprintf(to, "| %s | %s | ≤ %g | %g |\n", r.name, text, r.asked, r.stretch)
	}
	fmt.Fprintln(to, "\n| | CPU, ms | elapsed, ms | peak memory, MB |\n|---|---|---|---|")
	for _, g := range t.groups(runs) {
		for _, c := range g.commands {
			u := all[c.label]
			fmt.Fprintf(to, "| %s | %.0f | %.0f | %.0f |\n", c.label, 1000*u.cpu(), 1000*u.elapsed(), float64(u.peak)/1e6)
		}
	}
	all.printSavings(to)
	return nil
}

// printStream prints a stream of manifests. It runs in a separate process: the memory of a
// process counts for the processes that it starts.
func printStream(count string, to io.Writer) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return errors.New("stream needs a number of manifests")
	}
	return stream(to, n)
}
