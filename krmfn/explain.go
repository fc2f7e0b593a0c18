package krmfn

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
)

// reported is a run with its report.
type reported struct {
	config config
	run    *admission
	report *report.Report
}

// reportOn runs the policies and makes the report.
func (p *Process) reportOn(ctx context.Context, given arguments) *reported {
	r := &reported{}
	given.apply(&r.config)
	f := p.files(&r.config)
	r.config.partial = true
	manifests := f.stream(given.operands, &r.config)
	r.config.observers = append(r.config.observers, engine.Explain())
	r.run = p.admit(ctx, &r.config, f, manifests, nil)
	r.report = &report.Report{}
	if r.run.outcome != nil {
		r.report = report.New(r.run.outcome, r.run.streams(manifests), r.run.policies, r.run.secrets(&r.config))
	}
	r.report.Diagnostics = r.run.diagnostics
	return r
}

// consequence is what errors of the run mean for the report.
func (r *reported) consequence() string {
	if r.run.outcome == nil {
		return "no report"
	}
	return "the report is without what failed"
}

// isColored reports whether standard output is to have colours.
func (p *Process) isColored() bool { return p.StdoutIsTerminal && !p.NoColor }

// explain says what changes in the manifests, who does it, and why others do not.
func (p *Process) explain(ctx context.Context, given arguments) int {
	r := p.reportOn(ctx, given)
	p.report(r.report.Diagnostics, r.consequence())
	if r.run.outcome == nil {
		return r.run.status()
	}
	if r.config.field != "" {
		r.report.Narrow(r.config.field)
	}
	var b bytes.Buffer
	switch r.config.output {
	case "json":
		report.JSON(&b, r.report)
	case "html":
		if err := report.HTML(&b, r.report); err != nil {
			return p.misused(fmt.Errorf("the page could not be made: %w", err), "preadmit explain --help")
		}
	default:
		report.Explain(&b, r.report, p.isColored())
	}
	return p.emit(b.Bytes(), r.run.status())
}

// diff shows how the policies change the text of manifests.
func (p *Process) diff(ctx context.Context, given arguments) int {
	r := p.reportOn(ctx, given)
	status := exitDone
	if r.run.status() != exitDone {
		status = exitInvalid
	} else if r.report.Changed() > 0 {
		status = exitDiffers
	}
	p.report(r.report.Diagnostics, r.consequence())
	var b bytes.Buffer
	switch r.config.output {
	case "json":
		report.JSON(&b, r.report)
	case "sarif", "github":
		writeFindings(&b, r.config.output, report.Findings(r.report))
	case "junit":
		report.JUnit(&b, report.Cases(r.report))
	default:
		report.Unified(&b, r.report, report.Style{Colored: p.isColored(), Terminal: p.StdoutIsTerminal})
		return p.emitText(b.Bytes(), status)
	}
	return p.emit(b.Bytes(), status)
}

// writeFindings writes findings in a format for programs.
func writeFindings(w io.Writer, format string, findings []source.Diagnostic) {
	switch format {
	case "json":
		report.FindingsJSON(w, findings)
	case "sarif":
		report.SARIF(w, findings)
	case "github":
		report.GitHub(w, findings)
	case "junit":
		var cases []report.Case
		for _, d := range findings {
			cases = append(cases, report.FindingCase(d))
		}
		if len(cases) == 0 { // which CI systems take for a report that went wrong
			cases = []report.Case{{Suite: "preadmit", Name: "nothing found"}}
		}
		report.JUnit(w, cases)
	}
}

// texts joins streams, for comparison with what is expected.
func texts(streams []*manifest.Stream) string { return string(manifest.Join(streams)) }

const explainText = `Say what the policies change in every manifest: the field, its value before and after,
the policy, binding, param and rule, and where they stand; and why other policies did
nothing. Values before are those that policies see, defaults of the API included.

Usage:
  %s

Examples:
  preadmit explain -p policies/ deployment.yaml
  preadmit explain -p policies/ --field spec.template.spec.containers deployment.yaml
  preadmit explain -p policies/ -o html manifests/ > report.html

Flags (those with PATH take files and directories, and may be repeated):
%s
%s
%s`

func explainHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, explainText, c.usage, flagsHelp(c), environmentText, statusText)
}

const diffText = `Show how the policies change the text of manifests, as a unified diff: would the cluster
still change this commit? In the formats for programs every change stands at its line in
the manifest.

Usage:
  %s

Examples:
  preadmit diff -p policies/ manifests/
  kustomize build . | preadmit diff -p policies/ -
  preadmit diff -p policies/ -o sarif manifests/ > preadmit.sarif

Flags (those with PATH take files and directories, and may be repeated):
%s
%s
Exit status:
  0  the policies change nothing
  1  they change something
  2  a policy denied a manifest, or the input, a policy or the command line is wrong
`

func diffHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, diffText, c.usage, flagsHelp(c), environmentText)
}
