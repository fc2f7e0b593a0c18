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
	// applications is how many were rendered, and others are the files that belong to none.
	applications int
	others       []string
	// head has the applications of the working tree if this is the base. varying are the values there that were
	// not compared.
	head    map[string]*origins
	varying []varying
	// before is what the base says.
	before map[said]bool
}

// reportOn runs the policies on the manifests that the operands name, for a report.
func (p *Process) reportOn(ctx context.Context, given arguments) *reported {
	r := &reported{}
	given.apply(&r.config)
	r.begin(ctx, p, p.files(&r.config), given.operands)
	return r
}

// conclude builds the report of the run. manifests and policies are the streams whose text the
// report shows.
func (r *reported) conclude(manifests, policies []*manifest.Stream) {
	r.report = &report.Report{}
	if r.run.outcome != nil {
		r.report = report.New(r.run.outcome, manifests, policies, r.run.secrets(&r.config))
		r.report.Locate(r.run.locate)
	}
	r.describe()
}

// describe completes the report with what the run has told, and with the options of reports.
func (r *reported) describe() {
	r.report.Diagnostics, r.report.Full, r.report.Verbose = r.run.diagnostics, r.config.options.Full, r.config.options.Verbose
}

// begin runs the policies on the manifests that operands name.
func (r *reported) begin(ctx context.Context, p *Process, f *files, operands []string) {
	r.config.partial = true
	r.config.observers = append([]engine.Observer{engine.Explain(), engine.Objections()}, r.config.observers...)
	if r.config.options.Build {
		r.build(ctx, p, f, operands)
		return
	}
	r.manifests = f.stream(operands, &r.config)
	r.run = p.admit(ctx, &r.config, f, r.manifests, nil)
	r.run.add(tellUnseen(r.manifests, nil)...)
	adviseVariables(r.manifests, r.run.diagnostics)
	r.manifests = r.run.streams(r.manifests)
}

// consequence says what errors of the run mean for the report.
func (r *reported) consequence() string {
	if r.run.outcome == nil {
		return "no report"
	}
	return "the report omits manifests that failed"
}

// isColored reports whether standard output is to have colours.
func (p *Process) isColored(c *config) bool {
	if c.options.Color != "" && c.options.Color != "auto" {
		return c.options.Color == "always"
	}
	return p.StdoutIsTerminal && !p.NoColor
}

// explain prints what changes in the manifests, which policy changes it, and why other policies
// do not apply.
func (p *Process) explain(ctx context.Context, given arguments) int {
	r := p.reportOn(ctx, given)
	p.decide(ctx, &r.config, r.run, nil, false)
	if r.config.options.Output == "html" {
		r.conclude(r.manifests, r.run.policies)
	} else { // the other formats show no manifest text
		r.conclude(nil, nil)
	}
	p.report(r.report.Diagnostics, r.consequence(), r.config.options.Verbose)
	if r.run.outcome == nil {
		return r.run.status()
	}
	if err := r.report.Narrow(r.config.options.Filter, policyNames(r.run)); err != nil {
		return p.misused(err, "preadmit explain --help")
	}
	var b bytes.Buffer
	switch r.config.options.Output {
	case "json":
		report.JSON(&b, r.report)
	case "html":
		if err := report.HTML(&b, r.report); err != nil {
			return p.misused(fmt.Errorf("the HTML page cannot be built: %w", err), "preadmit explain --help")
		}
	default:
		report.Explain(&b, r.report, p.isColored(&r.config))
	}
	return p.emit(b.Bytes(), r.run.status())
}

// writeFindings writes findings in a format for programs.
func writeFindings(w io.Writer, format string, findings []source.Diagnostic, kyvernoVersion string) {
	switch format {
	case "json":
		report.FindingsJSON(w, findings, kyvernoVersion)
	case "sarif":
		report.SARIF(w, findings)
	case "github":
		report.GitHub(w, findings)
	case "junit":
		var cases []report.Case
		for _, d := range findings {
			cases = append(cases, report.FindingCase(d))
		}
		if len(cases) == 0 { // CI systems treat an empty report as an error
			cases = []report.Case{{Suite: "preadmit", Name: "nothing found"}}
		}
		report.JUnit(w, cases)
	}
}

// texts returns the text of streams, for comparison with the expected text.
func texts(streams []*manifest.Stream) string { return string(manifest.Join(streams)) }

const explainText = `Explain what the policies change in every manifest: the field, its value before and after,
the policy, binding, param and rule with their positions, and why other policies did not
apply. A value before a change may be an API default, because policies see defaults.

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
