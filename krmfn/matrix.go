package krmfn

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/report"
)

// matrix prints what each policy does to each manifest.
func (p *Process) matrix(ctx context.Context, given arguments) int {
	r := &reported{}
	given.apply(&r.config)
	c := &r.config
	c.observers = append(c.observers, engine.Judge())
	r.begin(ctx, p, p.files(c), given.operands)
	p.decide(ctx, c, r.run, nil, false)
	if r.run.outcome == nil {
		p.report(r.run.diagnostics, r.consequence(), c.options.Verbose)
		return r.run.status()
	}
	p.report(r.run.diagnostics, "the report marks manifests that failed", c.options.Verbose)
	m := report.NewMatrix(r.run.outcome, r.run.diagnostics, r.run.secrets(c))
	for i := range m.Objects {
		m.Objects[i].At = r.run.locate(m.Objects[i].At, nil)
	}
	m.Verbose = c.options.Verbose
	m.Diagnostics = joined(m.Diagnostics, m.Verbose)
	var b bytes.Buffer
	switch c.options.Output {
	case "json":
		report.MatrixJSON(&b, m)
	case "csv":
		report.MatrixCSV(&b, m)
	case "markdown":
		report.MatrixMarkdown(&b, m)
	case "html":
		if err := report.MatrixHTML(&b, m); err != nil {
			return p.misused(fmt.Errorf("the HTML page cannot be built: %w", err), "preadmit report --help")
		}
	default:
		report.MatrixText(&b, m)
	}
	return p.emit(b.Bytes(), r.run.status())
}

const matrixText = `Say for every policy how many manifests it matches, changes and denies, and why it leaves
others alone; which policies and bindings match nothing, and why; and for every manifest what they
do to it.

What a policy does to a manifest is one of these actions; of several, the first is told:
  denied     a cluster refuses the manifest because of the policy
  changed    the policy changes the manifest
  warned     it warns, as validationActions says
  audited    it writes annotations of the audit event
  failed     it fails, and failurePolicy Ignore hides that; or preadmit cannot evaluate it
  accepted   it validates the manifest and has nothing to say
  unchanged  it changes nothing, because the manifest is as it wants it
  skipped    it matches the manifest, and its conditions are false

Usage:
  %s

Examples:
  preadmit report -p policies/ manifests/
  preadmit report -p policies/ --build -o html . > report.html
  preadmit report -p policies/ -o json manifests/ | jq '.policies[] | select(.matched == 0)'
  preadmit report -p policies/ -o csv --pods manifests/ > report.csv

Flags (those with PATH take files and directories, and may be repeated):
%s
%s
%s`

func matrixHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, matrixText, c.usage, flagsHelp(c), environmentText, statusText)
}
