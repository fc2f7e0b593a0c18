package krmfn

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/internal/settings"
)

// help prints the help of a command, or of the program.
func (p *Process) help(_ context.Context, given arguments) int {
	if len(given.operands) == 0 {
		return p.tell(programHelp)
	}
	c := commandNamed(given.operands[0])
	if c == nil {
		return p.misused(unknownCommand(given.operands[0]), "preadmit --help")
	}
	return p.tell(func(w io.Writer) { c.help(c, w) })
}

const programText = `preadmit runs the mutating policies of a Kubernetes cluster on manifests before they reach
the cluster. It reads manifests and prints them, changed as the API server would change
them. It needs no cluster.

Usage:
  preadmit COMMAND [flags] [arguments]

Commands:
%s
Examples:
  kustomize build . | preadmit render -p policies/
  preadmit render -p policies/ -c namespaces.yaml deployment.yaml

Without arguments, preadmit is a KRM function: it expects a ResourceList on standard input,
like 'preadmit fn'.

%s`

const statusText = `Exit status:
  0  success
  1  a policy denied a manifest
  2  the input, a policy or the command line is wrong
`

const environmentText = `Environment:
  PREADMIT_POLICIES  more paths of policies, like -p, separated by colons
`

func programHelp(w io.Writer) {
	var b strings.Builder
	for _, c := range commands() {
		entry(&b, c.name, 10, c.summary)
	}
	fmt.Fprintf(w, programText, b.String(), statusText)
}

// plainHelp prints the help of a command without flags.
func plainHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", sentence(c.summary), c.usage)
}

const versionText = `Print the version of preadmit and of Go, and the commit it was built from.

Usage:
  %s

Flags:
%s`

func versionHelp(c *command, w io.Writer) { fmt.Fprintf(w, versionText, c.usage, flagsHelp(c)) }

const renderText = `Print manifests as the policies change them. Text that no policy changes is printed byte
by byte as it was. If there is an error, nothing is printed.

Usage:
  %s

Manifests come from the named files. Without files, or for -, they come from standard input.
A directory means all *.yaml, *.yml and *.json files in it and its subdirectories, sorted,
without hidden files and without links to directories outside of it. Files in a directory
without Kubernetes objects (templates and values of charts, kustomizations and their
patches, configuration of other programs) are skipped and counted; -v lists them. A file
that cannot be read is an error if it has an apiVersion or a kind. A pipe can be given in
place of any file, as with <(command) in a shell. Files in UTF-16 need a byte order mark.

Policies, bindings and context among the manifests are used, and printed unchanged. Those
given with -p and -c are not printed.

With --in-place or --output-dir, the manifests are written to files instead: all of them,
or none if there is an error. A file that already has the new text is not written, and
symbolic links are kept. If another program changes a file during the run, that change is
kept and the run fails. Runs that write to the same directory wait for each other. With
--output-dir, a file keeps its path relative to the named directory; a named file keeps its
base name. Other files in the output directory stay, also those of manifests that no longer
exist. With --prune, a file that an earlier run with --prune wrote and that this run does not
write is removed, if it still has the same contents; otherwise a warning names it. The file
.preadmit-sums in the output directory has the sums, as sha256sum prints them: commit it with
the output. Output never overwrites a file that was read, and never leaves the output
directory.

Flags (those with PATH take files and directories, and may be repeated):
%s
%s
%s`

func renderHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, renderText, c.usage, flagsHelp(c), environmentText, statusText)
}

const viewText = `Print manifests as expressions of policies see them before any policy changes them:
decoded, normalised and with API defaults, as an API server shows them to mutating
admission. For example, object.spec.replicas is present even if the manifest does not have
it. Values of Secrets are printed.

Usage:
  %s

Manifests come from the named files. Without files, or for -, they come from standard input.
A directory means all *.yaml, *.yml and *.json files in it and its subdirectories, sorted,
without hidden files. The output omits documents that policies never see: policies, and
documents for local use.

Unlike on a server, the output does not have metadata.managedFields, nor the fields that
built-in admission plug-ins add.

Flags (those with PATH take files and directories, and may be repeated):
%s
Exit status:
  0  success
  2  the input or the command line is wrong
`

func viewHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, viewText, c.usage, flagsHelp(c))
}

const functionText = `Run as a KRM function: read a ResourceList from standard input and write it back with
its items as the policies change them. If there is an error, the items are unchanged and
the results say why.

Usage:
  %s

Policies, bindings and context among the items are used. The functionConfig can give more
of them, and options. It is one of:

  a Preadmit:
    apiVersion: preadmit.dev/v1alpha1
    kind: Preadmit
    metadata: {name: any}
    spec: {policyPaths: [policies/]}

  a ConfigMap, such as 'kpt fn eval --exec preadmit -- policyPaths=policies/' creates; lists
  are separated by commas or line breaks

  a policy; if it has no binding, it applies to everything that it matches

Paths in the functionConfig are relative to its file, or to the kpt package if the Kptfile
contains it. If the client does not give that location, they are relative to the working
directory. They must not leave the working directory or that package. Paths of flags may.

Linked as $KUSTOMIZE_PLUGIN_HOME/preadmit.dev/v1alpha1/preadmit/Preadmit, preadmit is an
exec plugin of kustomize, with a Preadmit as its configuration. Such plugins also run
under 'kubectl kustomize --enable-alpha-plugins', which runs no functions.

Options: field in the spec of a Preadmit, key in the data of a ConfigMap, and flag. A flag
wins over the other two, or is added to a list:
%s
%s
%s`

func functionHelp(c *command, w io.Writer) {
	var b strings.Builder
	for i := range settings.Table {
		o := &settings.Table[i]
		if o.Field == "" {
			continue
		}
		flag := ""
		if slices.Contains(o.Commands, c.name) {
			flag = flagUsage(o)
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %-25s  %-17s  %s", o.Field, o.Key, flag), " ") + "\n")
		entry(&b, "", 4, o.Help)
	}
	fmt.Fprintf(w, functionText, c.usage, b.String(), environmentText, statusText)
}

const (
	helpWidth = 88
	flagWidth = 32
)

// flagsHelp returns the help of the flags of a command.
func flagsHelp(c *command) string {
	var b strings.Builder
	for _, o := range settings.Flags(c.name) {
		name := flagUsage(o)
		if o.Short == "" {
			name = "    " + name
		}
		entry(&b, name, flagWidth, o.Help)
	}
	entry(&b, "-h, --help", flagWidth, "print this help")
	return b.String()
}

// flagUsage returns the flag with its argument, such as "-p, --policy PATH".
func flagUsage(o *settings.Option) string {
	usage := "--" + o.Flag
	if o.Short != "" {
		usage = "-" + o.Short + ", " + usage
	}
	if o.Arg != "" {
		usage += " " + o.Arg
	}
	return usage
}

// entry writes an entry of a table, wrapped at helpWidth columns.
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

// sentence returns a summary as a sentence.
func sentence(summary string) string {
	return strings.ToUpper(summary[:1]) + summary[1:] + "."
}
