package krmfn

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
)

// exec runs a program that prints manifests, and prints them as the policies change them.
func (p *Process) exec(ctx context.Context, given arguments) int {
	if len(given.operands) == 0 || !given.dashed {
		return p.misused(errors.New("expected -- and a command that prints manifests, as in: preadmit exec -p policies/ -- kustomize build ."), "preadmit exec --help")
	}
	var c config
	given.apply(&c)
	c.unlisted = true
	return p.mutate(ctx, &c, func(f *files) []*manifest.Stream {
		p := f.process
		return f.rendered(ctx, &c, &Program{Args: given.operands, Dir: p.Dir, Stdin: p.Stdin, Stderr: p.Stderr, MaxOutput: int(c.options.InputLimit)})
	})
}

// rendered runs a program and returns the manifests that it prints.
func (f *files) rendered(ctx context.Context, c *config, program *Program) []*manifest.Stream {
	output, err := f.process.start(ctx, program)
	return f.printed(c, program, output, err)
}

// start runs a program.
func (p *Process) start(ctx context.Context, program *Program) ([]byte, error) {
	if p.Run == nil {
		return nil, errors.New("no programs can be run here")
	}
	return p.Run(ctx, program)
}

// printed returns the manifests in the output of a program, or reports its error.
func (f *files) printed(c *config, program *Program, output []byte, err error) []*manifest.Stream {
	if err != nil {
		f.failProgram(program, err)
		return nil
	}
	set := f.set()
	set.read = c.within(f.bounds())
	name := "output of " + program.name()
	set.set.Files = append(set.set.Files, input.NewFile(name, output))
	return f.filled(set.parse(), "the "+name, c)
}

func (f *files) failProgram(program *Program, err error) {
	d := source.Errorf(source.Position{}, "command-failed", "%s failed: %v", program.call(), err)
	var exceeded *limit.Error
	if errors.As(err, &exceeded) {
		d.Code, d.Advice = exceeded.Code, exceeded.Advice
	}
	f.diagnostics = append(f.diagnostics, d)
}

const execText = `Run a command that prints manifests, and print them as the policies change them. Nothing is
printed if the command fails or prints no manifests. Its messages go to standard error. A
List is printed as its separate items.

Usage:
  %s

Examples:
  preadmit exec -p policies/ -- kustomize build overlays/production
  preadmit exec -p policies/ -n shop -- helm template shop charts/shop --include-crds

The command runs without a shell. Line numbers in messages refer to its output.

Flags (those with PATH take files and directories, and may be repeated):
%s
%s
Exit status:
  0  success
  1  a policy denied a manifest
  2  the command failed or printed no manifests, or the input, a policy or the command
     line is wrong
`

func execHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, execText, c.usage, flagsHelp(c), environmentText)
}
