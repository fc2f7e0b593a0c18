package krmfn

import (
	"context"
	"fmt"
	"io"
	"strings"
)

// help explains a command, or the program.
func (p *Process) help(_ context.Context, given arguments) int {
	if len(given.operands) == 0 {
		return p.write(programHelp)
	}
	c := commandNamed(given.operands[0])
	if c == nil {
		return p.misused(unknownCommand(given.operands[0]), "preadmit --help")
	}
	return p.write(func(w io.Writer) { c.help(c, w) })
}

const programText = `preadmit runs the mutating policies of a Kubernetes cluster on manifests before
they reach the cluster: manifests in, the same manifests out, changed as the API
server would change them. It needs no cluster.

Usage:
  preadmit COMMAND [flags] [arguments]

Commands:
%s
Examples:
  kustomize build . | preadmit render -p policies/
  preadmit render -p policies/ -c namespaces.yaml deployment.yaml

Started without arguments, preadmit is a KRM function: it expects a ResourceList on
standard input, as 'preadmit fn' does.

%s`

const statusText = `Exit status:
  0  done
  1  a policy denied a manifest
  2  the input, a policy or the command line is wrong
`

const environmentText = `Environment:
  PREADMIT_POLICIES  paths of policies besides those of -p, separated by colons
`

func programHelp(w io.Writer) {
	var b strings.Builder
	for _, c := range commands() {
		entry(&b, c.name, 10, c.summary)
	}
	fmt.Fprintf(w, programText, b.String(), statusText)
}

// plainHelp explains a command without flags.
func plainHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", sentence(c.summary), c.usage)
}

const versionText = `Print the version, and what the program was built from.

Usage:
  %s

Flags:
%s`

func versionHelp(c *command, w io.Writer) { fmt.Fprintf(w, versionText, c.usage, flagsHelp(c)) }

const renderText = `Print manifests as the policies change them, and nothing else. What no policy
changes is printed as it was, byte by byte. If anything is wrong nothing is printed.

Usage:
  %s

Manifests come from the files named, from standard input for -, or if none is named. A
directory means the *.yaml, *.yml and *.json files in it and below it, sorted, without
hidden ones, and without what links to directories outside of it lead to. Files in it that
hold no Kubernetes objects (templates and values of charts, kustomizations and their
patches, configuration of other programs) are passed over and counted; -v lists them. A
pipe, as the shell makes one for <(command), does for every file.

Policies, bindings and context among the manifests count, and are printed unchanged;
those given with -p and -c are not printed.

With --in-place or --output-dir nothing is printed, and the manifests go into files: all
of them, or none if anything is wrong. A file that has its text already is not touched,
and a symbolic link stays one. A file that others have changed meanwhile is left to them,
and the run fails; runs in one directory wait for each other. Below --output-dir files
have the names that they have below the directory named; a file that is named itself has
its own. No output goes into a file that was read, or out of the directory named.

Flags (those with PATH take files and directories, and may be repeated):
%s
%s
%s`

func renderHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, renderText, c.usage, flagsHelp(c), environmentText, statusText)
}

const viewText = `Print manifests as the expressions of policies see them before any policy has changed
them: decoded, normalised and with the defaults of the API, as an API server shows them
to mutating admission. An example is object.spec.replicas, which is there whether or not
the manifest has it. Values of Secrets are printed.

Usage:
  %s

Manifests come from the files named, from standard input for -, or if none is named. A
directory means the *.yaml, *.yml and *.json files in it and below it, sorted, without
hidden ones. Left out is what no policy sees: policies themselves, and documents for
local use.

Not in the view, though a server has it, are metadata.managedFields and what the server's
built-in admission plug-ins add.

Flags (those with PATH take files and directories, and may be repeated):
%s
Exit status:
  0  done
  2  the input or the command line is wrong
`

func viewHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, viewText, c.usage, flagsHelp(c))
}

const functionText = `Run as a KRM function: read a ResourceList from standard input and write it back with
its items as the policies change them. If anything is wrong, the items come back
unchanged, with results that say why.

Usage:
  %s

Policies, bindings and context among the items count. More of them, and options, come
from the functionConfig, which is one of

  a Preadmit:
    apiVersion: preadmit.dev/v1alpha1
    kind: Preadmit
    metadata: {name: any}
    spec: {policyPaths: [policies/]}

  a ConfigMap, as 'kpt fn eval --exec preadmit -- policyPaths=policies/' makes it; lists
  are separated by commas or line breaks

  a policy; it is bound to everything that it matches unless there is a binding

Paths in it are relative to the file of the functionConfig, or to the package of kpt whose
Kptfile has it, if the client tells, else to the working directory. They must not
lead out of the working directory or that package. The paths of flags may.

Linked as $KUSTOMIZE_PLUGIN_HOME/preadmit.dev/v1alpha1/preadmit/Preadmit, preadmit is an
exec plugin of kustomize, with a Preadmit as its configuration. Such plugins also run
under 'kubectl kustomize --enable-alpha-plugins', which runs no functions.

Options, as field of the spec of a Preadmit, as key of the data of a ConfigMap, and as
flag (which wins, or adds to a list):
%s
%s
%s`

func functionHelp(c *command, w io.Writer) {
	var b strings.Builder
	for i := range options {
		o := &options[i]
		if o.field == "" {
			continue
		}
		flag := ""
		if c.flags(o) {
			flag = o.flagUsage()
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %-25s  %-17s  %s", o.field, o.key, flag), " ") + "\n")
		entry(&b, "", 4, o.help)
	}
	fmt.Fprintf(w, functionText, c.usage, b.String(), environmentText, statusText)
}

const (
	helpWidth = 88
	flagWidth = 32
)

// flagsHelp explains the flags of a command.
func flagsHelp(c *command) string {
	var b strings.Builder
	for _, o := range optionsOf(c) {
		name := o.flagUsage()
		if o.short == "" {
			name = "    " + name
		}
		entry(&b, name, flagWidth, o.help)
	}
	entry(&b, "-h, --help", flagWidth, "print this")
	return b.String()
}

// flagUsage shows how the flag is written.
func (o *option) flagUsage() string {
	usage := "--" + o.flag
	if o.short != "" {
		usage = "-" + o.short + ", " + usage
	}
	if o.arg != "" {
		usage += " " + o.arg
	}
	return usage
}

// entry writes a line of a table; further lines if the text is too long for one.
func entry(b *strings.Builder, name string, width int, text string) {
	line := fmt.Sprintf("  %-*s ", width, name)
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > helpWidth {
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", width+3)
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

// sentence makes a summary a sentence.
func sentence(summary string) string {
	return strings.ToUpper(summary[:1]) + summary[1:] + "."
}
