package krmfn

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/settings"
)

// effective prints the values of the options of a command, and where they come from.
func (p *Process) effective(_ context.Context, given arguments) int {
	if len(given.operands) == 0 || len(given.operands) > 2 || !slices.Contains(configured(), given.operands[0]) {
		return p.misused(misusef("argument-invalid", "expected a command, and then perhaps a directory; the command is %s", source.Alternatives(configured())), "preadmit options --help")
	}
	command, dir := given.operands[0], "."
	if len(given.operands) == 2 {
		dir = given.operands[1]
	}
	asked := arguments{command: command}
	if given.file != nil {
		asked.use(p, given.file)
		if i := given.file.In(input.RealPath(p.absolute(dir))); i >= 0 {
			asked.replace(asked.fromFile(p, given.file.Directories[i].Values()))
		}
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, o := range settings.Flags(command) {
		if o.Once != "" {
			continue
		}
		value, origin := o.Otherwise(), "default"
		var texts []string
		for _, s := range asked.settings {
			if s.option == o {
				texts = append(texts, source.Printable(s.text))
				origin = cmp.Or(s.from.at.String(), origin)
			}
		}
		if texts != nil {
			value = strings.Join(texts, ", ")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", o.Flag, cmp.Or(value, "none"), origin)
	}
	w.Flush()
	return p.emitText(b.Bytes(), exitDone)
}

// replace replaces the settings of the options that others set.
func (given *arguments) replace(others []setting) {
	kept := slices.DeleteFunc(slices.Clone(given.settings), func(s setting) bool {
		return slices.ContainsFunc(others, func(other setting) bool { return other.option == s.option })
	})
	given.settings = append(kept, others...)
}

const effectiveText = `Print the options of a command with their values and where the values come from: a place
in the configuration file ` + settings.FileName + `, or the default. With a directory, these are the
values for the manifests in it. A flag of the command replaces each of them.

Usage:
  %s

Examples:
  preadmit options check
  preadmit options render clusters/prod

Flags:
%s`

func effectiveHelp(c *command, w io.Writer) { fmt.Fprintf(w, effectiveText, c.usage, flagsHelp(c)) }
