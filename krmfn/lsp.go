package krmfn

import (
	"context"
	"fmt"
	"io"

	"github.com/preadmit/preadmit/internal/lsp"
)

// serve runs a language server on standard input and output.
func (p *Process) serve(ctx context.Context, given arguments) int {
	orderly, err := lsp.Serve(ctx, p.Stdin, p.Stdout, lsp.Options{
		Version: p.build().Version, Dir: p.Dir,
		Open: func(dir string) lsp.Workspace { return p.workspace(dir, given.operands) },
	})
	if err != nil {
		fmt.Fprintf(p.Stderr, "preadmit: the messages of the editor cannot be read: %v\n", err)
	}
	if !orderly {
		return exitInvalid
	}
	return exitDone
}

const serveText = `Serve an editor with the Language Server Protocol on standard input and output. Editors
start this command.

The workspace is the directory that the editor has opened. Its .preadmit.yaml names the
policies and their context; the values are those of check. The manifests are the files
that the arguments name, or else all files of the workspace that hold manifests. Text
that is not saved yet counts instead of that on the disk. Of several directories each is
a workspace; the innermost one counts for a file. The server starts no program: charts
and kustomizations are not rendered.

Usage:
  %s

Actions, with their kinds in the protocol:
  quickfix          the fix of a finding, if its message proposes one
  quickfix          Accept in .preadmit.yaml: FINDING
  refactor.extract  Extract into a variable
  refactor.extract  Extract N occurrences into a variable
  refactor.rewrite  Convert to FORM
  refactor.rewrite  Write a test for KIND/NAME

An action that is not possible has the reason, if the editor shows it.

Exit status:
  0  the editor has ended the server
  2  the editor has disconnected without ending the server
`

func serveHelp(c *command, w io.Writer) { fmt.Fprintf(w, serveText, c.usage) }
