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
	config    config
	manifests []*manifest.Stream
	run       *admission
	report    *report.Report
	// applications is how many were rendered.
	applications int
}

// reportOn runs the policies on what the operands name, for a report.
func (p *Process) reportOn(ctx context.Context, given arguments) *reported {
	r := &reported{}
	given.apply(&r.config)
	r.begin(ctx, p, p.files(&r.config), given.operands)
	return r
}

// conclude makes the report of the run, with the texts of the streams.
func (r *reported) conclude(manifests, policies []*manifest.Stream) {
	r.report = &report.Report{}
	if r.run.outcome != nil {
		r.report = report.New(r.run.outcome, manifests, policies, r.run.secrets(&r.config))
	}
	r.report.Diagnostics = r.run.diagnostics
}

// begin runs the policies on what operands name.
func (r *reported) begin(ctx context.Context, p *Process, f *files, operands []string) {
	r.config.partial = true
	r.config.observers = append(r.config.observers, engine.Explain())
	if r.config.build {
		r.build(ctx, p, f, operands)
		return
	}
	r.manifests = f.stream(operands, &r.config)
	r.run = p.admit(ctx, &r.config, f, r.manifests, nil)
	r.run.add(tellUnseen(r.manifests)...)
	adviseVariables(r.manifests, r.run.diagnostics)
	r.manifests = r.run.streams(r.manifests)
}

// consequence is what errors of the run mean for the report.
func (r *reported) consequence() string {
	if r.run.outcome == nil {
		return "no report"
	}
	return "the report is without what failed"
}

// isColored reports whether standard output is to have colours.
func (p *Process) isColored(c *config) bool {
	if c.color != "" && c.color != "auto" {
		return c.color == "always"
	}
	return p.StdoutIsTerminal && !p.NoColor
}

// explain says what changes in the manifests, who does it, and why others do not.
func (p *Process) explain(ctx context.Context, given arguments) int {
	r := p.reportOn(ctx, given)
	if r.config.output == "html" {
		r.conclude(r.manifests, r.run.policies)
	} else { // which shows no texts
		r.conclude(nil, nil)
	}
	p.reportOnTree(r.report.Diagnostics, r.consequence(), r.config.verbose)
	if r.run.outcome == nil {
		return r.run.status()
	}
	r.report.Narrow(r.config.filter)
	var b bytes.Buffer
	switch r.config.output {
	case "json":
		report.JSON(&b, r.report)
	case "html":
		if err := report.HTML(&b, r.report); err != nil {
			return p.misused(fmt.Errorf("the page could not be made: %w", err), "preadmit explain --help")
		}
	default:
		report.Explain(&b, r.report, p.isColored(&r.config))
	}
	return p.emit(b.Bytes(), r.run.status())
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
  preadmit explain -p policies/ --changed --object 'Deployment/check*' manifests/
  preadmit explain -p policies/ -o html manifests/ > report.html

Flags (those with PATH take files and directories, and may be repeated):
%s
%s
%s`

func explainHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, explainText, c.usage, flagsHelp(c), environmentText, statusText)
}
