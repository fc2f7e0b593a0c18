// Package krmfn is preadmit on the command line and as a KRM function of kustomize,
// kpt and other clients. It turns flags, or the functionConfig of a ResourceList, into
// engine.Options. It turns an engine.Outcome into an exit status and a stream of manifests,
// or a ResourceList with results.
//
// Laws:
//
//	standard output is complete or empty: manifests are written only if there are no errors
//	a ResourceList that fails is returned with unchanged items, and with results
//	every failure is in the exit status and on standard error; empty output is a failure,
//	unless the user allows it
//	output never goes to a file that was read, except manifests edited in place, and never
//	outside of the output directory
//
// The files in order: command.go (Main and the commands), options.go (values of options), flags.go,
// configuration.go, functionconfig.go and inline.go (options from the command line, from the configuration file
// and from the functionConfig), files.go (paths to files), unseen.go (objects that only the cluster creates) and
// artifacts.go (directories in ExternalArtifacts of Flux), policies.go (lone policies), admit.go (the run),
// webhooks.go (who answers for webhooks), decide.go (what a team has decided about its findings), progress.go,
// transcript.go, render.go, write.go and rest.go (manifests to files, and what --copy-others copies), view.go,
// pods.go and fn.go (commands that print manifests), program.go (the only file that starts programs), snapshot.go
// with snapshotfiles.go (what a cluster has), verify.go (what it answers), exec.go, cmp.go with helm.go and
// parameters.go (commands that run renderers), plugin.go (kustomize's old plugins), explain.go, matrix.go,
// build.go, charts.go, charttests.go, kustomize.go, rendered.go and again.go (renders a repository), diff.go
// (reports of a run) and base.go (of two states of a repository), check.go, test.go, expect.go, coverage.go,
// kyvernotest.go, kyvernorun.go and kyvernoresult.go (tests of policies), convert.go, results.go, lsp.go with
// workspace.go, readings.go, refactor.go, accept.go and writetest.go (for editors), effective.go, version.go,
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

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/output"
	"github.com/preadmit/preadmit/internal/settings"
)

// Process is the environment of a command: its arguments, streams and variables.
type Process struct {
	// Args are the arguments without the name of the program.
	Args []string
	// Dir is the working directory, an absolute path.
	Dir string
	// Policies are paths of policies in addition to those of the options.
	Policies       []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StdoutIsClosed reports that text written to standard output is lost.
	StdoutIsClosed bool
	// StdinIsTerminal, StdoutIsTerminal and StderrIsTerminal report whether a person reads or
	// writes the stream.
	StdinIsTerminal, StdoutIsTerminal, StderrIsTerminal bool
	// NoColor disables colours, unless --color always is given.
	NoColor bool
	// Getenv returns a variable of the environment, or "". It may be nil.
	Getenv func(name string) string
	// Run runs a program, like RunProgram. If it is nil, running a program is an error.
	Run func(ctx context.Context, program *Program) ([]byte, error)
	// Now tells the time.
	Now func() time.Time
	// Build describes the program; it may be nil.
	Build *debug.BuildInfo

	ledger  *output.Ledger
	callers *callers
	// buffers are the texts of files that are open in an editor; see input.Reader.
	buffers map[string]string
	// results are what earlier runs have kept for the next one, or nil.
	results *engine.Results
	// readings are the files that were read before; nil if files are read once.
	readings *readings
}

// The exit statuses.
const (
	exitDone    = 0
	exitDenied  = 1
	exitDiffers = 1 // diff found changes, check mistakes, test failures
	exitInvalid = 2
)

// command is one of the program's commands.
type command struct {
	name, usage, summary string
	run                  func(p *Process, ctx context.Context, given arguments) int
	help                 func(c *command, w io.Writer)
}

// commands is the table of commands. It is a function because help uses it.
func commands() []command {
	return []command{
		{"render", "preadmit render [flags] [FILE|DIR|-]...", "print manifests as the policies change them", (*Process).render, renderHelp},
		{"fn", "preadmit fn [flags] < RESOURCELIST", "run as a KRM function, for kustomize, kpt and others", (*Process).function, functionHelp},
		{"exec", "preadmit exec [flags] -- COMMAND [ARGUMENT]...", "run a command and print its manifests as the policies change them", (*Process).exec, execHelp},
		{"cmp", "preadmit cmp generate|parameters [flags]", "run as a config management plugin of Argo CD", (*Process).cmp, cmpHelp},
		{"explain", "preadmit explain [flags] [FILE|DIR|-]...", "say what changes, which policy changes it, and why other policies do not apply", (*Process).explain, explainHelp},
		{"report", "preadmit report [flags] [FILE|DIR|-]...", "count what every policy does to the manifests, and find those that match nothing", (*Process).matrix, matrixHelp},
		{"diff", "preadmit diff [flags] [FILE|DIR|-]...", "show how the policies change the text of manifests", (*Process).diff, diffHelp},
		{"check", "preadmit check [flags] [FILE|DIR|-]...", "find mistakes in policies, and policies that conflict", (*Process).check, checkHelp},
		{"test", "preadmit test [flags] [FILE|DIR]...", "run tests of policies", (*Process).test, testHelp},
		{"pods", "preadmit pods [flags] [FILE|DIR|-]...", "print the Pods that the cluster will run, as the policies change them", (*Process).pods, podsHelp},
		{"view", "preadmit view [flags] [FILE|DIR|-]...", "print manifests as policies see them", (*Process).view, viewHelp},
		{"convert", "preadmit convert [flags] [FILE|DIR|-]...", "convert policies to another kind, and verify the result", (*Process).convert, convertHelp},
		{"snapshot", "preadmit snapshot [flags] -o DIR|FILE", "write the policies of a cluster, and what they look up", (*Process).snapshot, snapshotHelp},
		{"verify", "preadmit verify [flags] [FILE|DIR|-]...", "ask a cluster whether it does with manifests what is predicted", (*Process).verify, verifyHelp},
		{"lsp", "preadmit lsp [FILE|DIR]...", "serve an editor: mistakes, completion and more while you type", (*Process).serve, serveHelp},
		{"options", "preadmit options [flags] COMMAND [DIR]", "print the values of options and where they come from", (*Process).effective, effectiveHelp},
		{"version", "preadmit version [flags]", "print the version", (*Process).version, versionHelp},
		{"completion", "preadmit completion bash|zsh|fish", "print a script that completes commands and flags in a shell", (*Process).completion, completionHelp},
		{"help", "preadmit help [COMMAND]", "explain a command", (*Process).help, plainHelp},
	}
}

// Main runs the command named by the arguments and returns the exit status: 0 for success, 1
// if a policy denied a manifest (or diff, check or test found something), 2 for wrong input.
func Main(ctx context.Context, process *Process) int {
	p := new(Process)
	*p = *process
	p.ledger, p.callers, p.Stderr = output.NewLedger(), &callers{}, shareable(p.Stderr)
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
		return p.tell(func(w io.Writer) { c.help(c, w) })
	}
	if err == nil {
		if problems := p.configure(&given); len(problems) > 0 {
			if p.report(problems, "nothing done", false); source.HasErrors(problems) {
				return exitInvalid
			}
		}
		err = given.complete()
	}
	if err != nil {
		return p.misused(err, "preadmit "+c.name+" --help")
	}
	defer p.closeCallers()
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
	return misusef("command-unknown", "unknown command %q; %s", name, source.Suggest(name, names).Text)
}

// misuse is an error about how the program was called.
type misuse struct{ code, text string }

// Error implements error.
func (m *misuse) Error() string { return m.text }

func misusef(code, format string, args ...any) error {
	return &misuse{code, fmt.Sprintf(format, args...)}
}

// misused reports an error in the command line.
func (p *Process) misused(err error, help string) int {
	m := &misuse{code: "usage"}
	errors.As(err, &m)
	fmt.Fprintf(p.Stderr, "preadmit: %s\nRun '%s' for help.\n", source.Errorf(source.Position{}, m.code, "%v", err), help)
	return exitInvalid
}

// write prints to standard output, completely or not at all.
func (p *Process) write(print func(w io.Writer)) int {
	var b strings.Builder
	print(&b)
	return p.emit([]byte(b.String()), exitDone)
}

// tell is write for what a program asks without reading it, as to learn whether preadmit is installed.
func (p *Process) tell(print func(w io.Writer)) int {
	var b strings.Builder
	print(&b)
	return p.emitText([]byte(b.String()), exitDone)
}

// emit writes the output of a command. It returns status if that succeeds.
func (p *Process) emit(output []byte, status int) int {
	return p.emitFrom(len(output) == 0, status, func(w io.Writer) error {
		_, err := w.Write(output)
		return err
	})
}

// emitManifests is emit for manifests. It does not copy their text.
func (p *Process) emitManifests(manifests []*manifest.Stream, status int) int {
	empty := !slices.ContainsFunc(manifests, func(s *manifest.Stream) bool { return s.Text() != "" })
	return p.emitFrom(empty, status, func(w io.Writer) error { return manifest.WriteJoined(w, manifests) })
}

// emitFrom is emit for output that the function write writes.
func (p *Process) emitFrom(empty bool, status int, write func(io.Writer) error) int {
	err := p.checkStdout(empty)
	if err == nil {
		err = write(p.Stdout)
	}
	if err != nil {
		d := source.Errorf(source.Position{}, "output-unwritable", "the output could not be written: %v", err).With(output.Advice(err))
		fmt.Fprintf(p.Stderr, "preadmit: %s\n", d)
		return exitInvalid
	}
	return status
}

// emitText writes the text of a command whose exit status is the main answer. A closed
// standard output is not an error for it.
func (p *Process) emitText(output []byte, status int) int {
	open := *p
	open.StdoutIsClosed = false
	return open.emit(output, status)
}

// checkStdout fails if the output would be lost or would overwrite an input.
func (p *Process) checkStdout(empty bool) error {
	switch {
	case empty:
		return nil
	case p.StdoutIsClosed:
		return output.Refuse("standard output is closed, or is "+os.DevNull+" opened for reading and writing", "to discard the output, redirect it with > "+os.DevNull)
	}
	return p.ledger.CheckStream(p.Stdout)
}

// report prints diagnostics on standard error. If there are errors, the first line counts
// them and ends in consequence, and the errors follow: clients show only a few lines. What is said
// of many places is printed once, with all places only if verbose is set.
func (p *Process) report(diagnostics []source.Diagnostic, consequence string, verbose bool) {
	var b strings.Builder
	if source.HasErrors(diagnostics) {
		fmt.Fprintf(&b, "preadmit: %s: %s\n", count(diagnostics), consequence)
	}
	printed := 0
	folded := joined(diagnostics, verbose)
	for _, severity := range []source.Severity{source.Error, source.Warning, source.Info} {
		for _, d := range folded {
			if d.Severity != severity {
				continue
			}
			if printed++; printed <= limit.Messages {
				b.WriteString(d.String() + "\n")
			}
		}
	}
	if printed > limit.Messages {
		fmt.Fprintf(&b, "%d more messages are omitted\n", printed-limit.Messages)
	}
	isCut := func(d source.Diagnostic) bool { return d.Count > len(d.Also)+1 }
	if slices.ContainsFunc(folded, isCut) && p.hasVerbose() {
		b.WriteString("-v lists all places\n")
	}
	io.WriteString(p.Stderr, b.String())
}

// hasVerbose reports whether the command has the flag -v.
func (p *Process) hasVerbose() bool {
	return len(p.Args) > 0 && slices.ContainsFunc(settings.Flags(p.Args[0]), func(o *settings.Option) bool { return o.Flag == "verbose" })
}

// joined folds diagnostics that say the same of several places. All places are listed if verbose is
// set.
func joined(diagnostics []source.Diagnostic, verbose bool) []source.Diagnostic {
	if verbose {
		return source.Fold(diagnostics, limit.Messages)
	}
	return source.Fold(diagnostics, source.FewPlaces)
}

// count returns text such as "1 manifest denied, 2 errors, 1 warning".
func count(diagnostics []source.Diagnostic) string {
	type manifest struct {
		id string
		at source.Position
	}
	denied := map[manifest]bool{}
	errors, warnings := 0, 0
	for _, d := range diagnostics {
		switch {
		case d.Code == deniedCode && d.Severity == source.Error:
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
