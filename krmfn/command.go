// Package krmfn is preadmit on the command line and as a KRM function of kustomize,
// kpt and other clients. It turns flags, or the functionConfig of a ResourceList, into
// engine.Options, and an engine.Outcome into a stream of manifests, or into the
// ResourceList with results, and an exit status.
//
// Laws:
//
//	standard output is whole or empty: manifests are written only if all went well
//	a ResourceList that fails comes back with its items as they were, and with results
//	every failure is in the exit status and on standard error; no success is empty,
//	unless that is allowed
//	no output goes into a file that was read, but for manifests that are edited in place,
//	or out of the directory that was named for it
//
// The files in order: command.go (Main and the commands), options.go (the table of
// options), flags.go, functionconfig.go and inline.go (options from both frontends),
// files.go (paths to files), ignore.go, sift.go and unseen.go (what in directories is
// no manifest, or not all), ledger.go (which were read and which are written),
// policies.go (lone policies), admit.go (the run), progress.go, transcript.go, render.go,
// write.go, replace.go, lock_flock.go with lock_other.go, and owner_unix.go with
// owner_other.go (manifests to files), view.go, pods.go and fn.go (what prints
// manifests), program.go (the only one that starts programs), exec.go, cmp.go with
// helm.go and parameters.go (what runs renderers), plugin.go (kustomize's old plugins),
// explain.go, build.go (what renders a repository) and diff.go (what prints reports of a
// run), check.go, test.go, expect.go, coverage.go, kyvernotest.go, kyvernorun.go and
// kyvernoresult.go (tests of policies, and what they run), convert.go, results.go, version.go,
// help.go, completion.go.
package krmfn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// Process is what a command has of the process it runs in.
type Process struct {
	// Args are the arguments without the name of the program.
	Args []string
	// Dir is the working directory, an absolute path.
	Dir string
	// Policies are paths of policies besides those of the options.
	Policies       []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StdoutIsClosed says that nobody gets what is written to standard output.
	StdoutIsClosed bool
	// StdinIsTerminal and StderrIsTerminal say that a person is on the other end.
	StdinIsTerminal, StdoutIsTerminal, StderrIsTerminal bool
	// NoColor says that the user wants no colours, whatever the output is.
	NoColor bool
	// Getenv returns a variable of the environment, or "". It may be nil.
	Getenv func(name string) string
	// Run runs a program; without it none can be run. RunProgram does it.
	Run func(ctx context.Context, program *Program) ([]byte, error)
	// Now tells the time.
	Now func() time.Time
	// Build describes the program; it may be nil.
	Build *debug.BuildInfo

	ledger *ledger
}

// The exit statuses.
const (
	exitDone    = 0
	exitDenied  = 1
	exitDiffers = 1 // of diff; of check and test: there are findings, or failures
	exitInvalid = 2
)

// command is one of the program's commands.
type command struct {
	name, usage, summary string
	// flags reports which options are flags of the command.
	flags func(o *option) bool
	run   func(p *Process, ctx context.Context, given arguments) int
	help  func(c *command, w io.Writer)
}

// commands is the table of commands. It is a function because help refers to it.
func commands() []command {
	none := func(*option) bool { return false }
	return []command{
		{"render", "preadmit render [flags] [FILE|DIR|-]...", "print manifests as the policies change them", (*option).isRenderFlag, (*Process).render, renderHelp},
		{"fn", "preadmit fn [flags] < RESOURCELIST", "run as a KRM function, for kustomize, kpt and others", (*option).isFunctionFlag, (*Process).function, functionHelp},
		{"exec", "preadmit exec [flags] -- COMMAND [ARGUMENT]...", "run a command and print its manifests as the policies change them", (*option).isRenderFlag, (*Process).exec, execHelp},
		{"cmp", "preadmit cmp generate|parameters [flags]", "be a config management plugin of Argo CD", (*option).isRenderFlag, (*Process).cmp, cmpHelp},
		{"explain", "preadmit explain [flags] [FILE|DIR|-]...", "say what changes, who does it, and why others do not", ranFlags("explain"), (*Process).explain, explainHelp},
		{"diff", "preadmit diff [flags] [FILE|DIR|-]...", "show how the policies change the text of manifests", ranFlags("diff"), (*Process).diff, diffHelp},
		{"check", "preadmit check [flags] [FILE|DIR|-]...", "find mistakes in policies, and policies that get in each other's way", ranFlags("check"), (*Process).check, checkHelp},
		{"test", "preadmit test [flags] [FILE|DIR]...", "run tests of policies", ranFlags("test"), (*Process).test, testHelp},
		{"pods", "preadmit pods [flags] [FILE|DIR|-]...", "print the Pods that the cluster will run, as the policies change them", (*option).isRenderFlag, (*Process).pods, podsHelp},
		{"view", "preadmit view [flags] [FILE|DIR|-]...", "print manifests as policies see them", (*option).isViewFlag, (*Process).view, viewHelp},
		{"convert", "preadmit convert [flags] [FILE|DIR|-]...", "print policies in another form, and prove that it is the same", (*option).isConvertFlag, (*Process).convert, convertHelp},
		{"version", "preadmit version [flags]", "print the version", none, (*Process).version, versionHelp},
		{"completion", "preadmit completion bash|zsh|fish", "print a script that completes commands and flags in a shell", none, (*Process).completion, completionHelp},
		{"help", "preadmit help [COMMAND]", "explain a command", none, (*Process).help, plainHelp},
	}
}

// Main runs the command that the arguments name and returns the exit status: 0 done, 1
// a policy denied a manifest, 2 bad input.
func Main(ctx context.Context, process *Process) int {
	p := new(Process)
	*p = *process
	p.ledger = newLedger()
	if len(p.Args) == 0 {
		return p.function(ctx, arguments{bare: true})
	}
	name, args := p.Args[0], p.Args[1:]
	switch name {
	case "-h", "--help":
		name = "help"
	case "--version":
		name = "version"
	}
	c := commandNamed(name)
	switch {
	case c == nil && p.getenv(pluginConfig) != "":
		return p.plugin(ctx, name)
	case c == nil:
		return p.misused(unknownCommand(name), "preadmit --help")
	}
	given, err := parseFlags(c, args)
	if errors.Is(err, errHelp) {
		return p.write(func(w io.Writer) { c.help(c, w) })
	}
	if err != nil {
		return p.misused(err, "preadmit "+c.name+" --help")
	}
	return c.run(p, ctx, given)
}

// getenv returns a variable of the environment.
func (p *Process) getenv(name string) string {
	if p.Getenv == nil {
		return ""
	}
	return p.Getenv(name)
}

func commandNamed(name string) *command {
	for _, c := range commands() {
		if c.name == name {
			return &c
		}
	}
	return nil
}

func unknownCommand(name string) error {
	if strings.HasPrefix(name, "-") {
		return misusef("command-unknown", "expected a command before %s, as in: preadmit render %s", name, name)
	}
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return misusef("command-unknown", "unknown command %q; %s", name, source.Suggest(name, names))
}

// misuse is an error about how the program was called.
type misuse struct{ code, text string }

// Error implements error.
func (m *misuse) Error() string { return m.text }

func misusef(code, format string, args ...any) error {
	return &misuse{code, fmt.Sprintf(format, args...)}
}

// misused says that the program was not called the way it is meant to.
func (p *Process) misused(err error, help string) int {
	m := &misuse{code: "usage"}
	errors.As(err, &m)
	fmt.Fprintf(p.Stderr, "preadmit: %s\nRun '%s' for how to use it.\n", source.Errorf(source.Position{}, m.code, "%v", err), help)
	return exitInvalid
}

// write prints something on standard output, whole.
func (p *Process) write(print func(w io.Writer)) int {
	var b strings.Builder
	print(&b)
	return p.emit([]byte(b.String()), exitDone)
}

// emit writes the output of a command. The exit status is the given one if that
// succeeds.
func (p *Process) emit(output []byte, status int) int {
	return p.emitFrom(len(output) == 0, status, func(w io.Writer) error {
		_, err := w.Write(output)
		return err
	})
}

// emitManifests is emit for manifests, which are not held in memory once more.
func (p *Process) emitManifests(manifests []*manifest.Stream, status int) int {
	empty := !slices.ContainsFunc(manifests, func(s *manifest.Stream) bool { return s.Text() != "" })
	return p.emitFrom(empty, status, func(w io.Writer) error { return manifest.WriteJoined(w, manifests) })
}

// emitFrom is emit for what write writes.
func (p *Process) emitFrom(empty bool, status int, write func(io.Writer) error) int {
	err := p.checkStdout(empty)
	if err == nil {
		err = write(p.Stdout)
	}
	if err != nil {
		d := source.Errorf(source.Position{}, "output-unwritable", "the output could not be written: %v", err)
		var refused *refusal
		if errors.As(err, &refused) {
			d = d.With(refused.advice)
		}
		fmt.Fprintf(p.Stderr, "preadmit: %s\n", d)
		return exitInvalid
	}
	return status
}

// emitText writes the output of a command whose exit status is an answer by itself: what
// it says in words may be lost.
func (p *Process) emitText(output []byte, status int) int {
	heard := *p
	heard.StdoutIsClosed = false
	return heard.emit(output, status)
}

// checkStdout fails if the output would be lost, or lost together with the input.
func (p *Process) checkStdout(empty bool) error {
	switch {
	case empty:
		return nil
	case p.StdoutIsClosed:
		return &refusal{"standard output is closed, or is " + os.DevNull + " opened for reading, too", "to have no output, redirect it with > " + os.DevNull}
	}
	return p.ledger.checkStream(p.Stdout)
}

// report prints diagnostics on standard error. If there are errors they come first,
// after a line that counts them and ends in consequence: clients show few lines.
func (p *Process) report(diagnostics []source.Diagnostic, consequence string) {
	p.reportFolded(diagnostics, consequence, limit.Messages)
}

// reportOnTree is report for a whole repository: of many messages of the same kind it
// prints some, unless all are wanted.
func (p *Process) reportOnTree(diagnostics []source.Diagnostic, consequence string, verbose bool) {
	most := fewOfAKind
	if verbose {
		most = limit.Messages
	}
	p.reportFolded(diagnostics, consequence, most)
}

// Of a kind of messages with more than manyOfAKind, fewOfAKind are printed.
const (
	manyOfAKind = 12
	fewOfAKind  = 10
)

// messageKind is what messages have in common that are of one kind.
type messageKind struct {
	severity     source.Severity
	code, advice string
}

func (p *Process) reportFolded(diagnostics []source.Diagnostic, consequence string, most int) {
	var b strings.Builder
	if source.HasErrors(diagnostics) {
		fmt.Fprintf(&b, "preadmit: %s: %s\n", count(diagnostics), consequence)
	}
	kinds := map[messageKind]int{}
	for _, d := range diagnostics {
		kinds[messageKind{d.Severity, d.Code, d.Advice}]++
	}
	rest := "-v lists them"
	if most >= limit.Messages {
		rest = "they are left out"
	}
	printed, seen := 0, map[messageKind]int{}
	for _, severity := range []source.Severity{source.Error, source.Warning, source.Info} {
		for _, d := range diagnostics {
			if d.Severity != severity {
				continue
			}
			kind := messageKind{d.Severity, d.Code, d.Advice}
			seen[kind]++
			if many := kinds[kind]; many > manyOfAKind && seen[kind] > most && d.Code != deniedCode {
				if seen[kind] == most+1 {
					fmt.Fprintf(&b, "%s[%s]: %d more like these; %s\n", d.Severity, d.Code, many-most, rest)
				}
				continue
			}
			if printed++; printed <= limit.Messages {
				b.WriteString(source.Printable(d.String()) + "\n")
			}
		}
	}
	if printed > limit.Messages {
		fmt.Fprintf(&b, "%d more messages are left out\n", printed-limit.Messages)
	}
	io.WriteString(p.Stderr, b.String())
}

// count says how many errors and warnings there are: "1 denied, 2 errors, 1 warning".
func count(diagnostics []source.Diagnostic) string {
	type manifest struct {
		id string
		at source.Position
	}
	denied := map[manifest]bool{}
	errors, warnings := 0, 0
	for _, d := range diagnostics {
		switch {
		case d.Code == deniedCode:
			denied[manifest{d.Subject, d.Origin}] = true
		case d.Severity == source.Error:
			errors++
		case d.Severity == source.Warning:
			warnings++
		}
	}
	var parts []string
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, plural(n, one, many))
		}
	}
	add(len(denied), "manifest denied", "manifests denied")
	add(errors, "error", "errors")
	add(warnings, "warning", "warnings")
	return strings.Join(parts, ", ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
