package krmfn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/redact"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/settings"
)

// diff shows how the policies change the text of manifests.
func (p *Process) diff(ctx context.Context, given arguments) int {
	var c config
	given.apply(&c)
	var r *reported
	switch {
	case c.options.Base == "" && given.has("base"):
		return p.misused(misusef("argument-invalid", "--base: the name is empty; expected a commit or a directory"), "preadmit diff --help")
	case c.options.Base != "" && len(c.documents[settings.Against].paths) > 0:
		return p.misused(misusef("argument-invalid", "--base and --against exclude each other: --base compares the policies, too"), "preadmit diff --help")
	case c.options.Base != "":
		var err error
		if r, err = p.reportSince(ctx, given, &engine.Results{}); err != nil {
			return p.noBase(err, &c)
		}
	case len(c.documents[settings.Against].paths) > 0:
		r = p.reportAgainst(ctx, given)
	default:
		r = p.reportOn(ctx, given)
		r.conclude(r.manifests, nil)
	}
	d := p.decide(ctx, &r.config, r.run, r.report, false)
	r.excuse()
	if r.run.outcome != nil {
		r.run.add(d.unused(&r.config, true)...)
	}
	r.report.Diagnostics = r.news()
	status := exitDone
	if r.run.status() != exitDone {
		status = exitInvalid
	} else if r.report.Changed() > 0 {
		status = exitDiffers
	}
	return p.tellDifferences(r, max(status, d.writeBaseline(ctx, &r.config)))
}

// noBase reports why there is nothing to compare with: mistakes in the files of the base, or in the command line.
func (p *Process) noBase(err error, c *config) int {
	var unread source.Errors
	if !errors.As(err, &unread) {
		return p.misused(err, "preadmit diff --help")
	}
	p.report(unread, "no report", c.options.Verbose)
	return exitInvalid
}

// tellDifferences prints the report of diff.
func (p *Process) tellDifferences(r *reported, status int) int {
	p.report(r.run.diagnostics, r.consequence(), r.config.options.Verbose)
	var b bytes.Buffer
	switch output := r.config.options.Output; {
	case r.config.options.Quiet:
		return p.emitText(nil, status)
	case output == "json":
		report.JSON(&b, r.report)
	case output == "sarif", output == "github":
		writeFindings(&b, output, report.Findings(r.report), r.report.KyvernoVersion)
	case output == "junit":
		report.JUnit(&b, report.Cases(r.report))
	case output == "markdown":
		report.Markdown(&b, r.report)
	default:
		p.diffText(&b, r)
		return p.emitText(b.Bytes(), status)
	}
	return p.emit(b.Bytes(), status)
}

// diffText writes the difference as text: as a diff, or as --stat and --name-only say.
func (p *Process) diffText(w io.Writer, r *reported) {
	c := &r.config
	switch {
	case c.options.NameOnly:
		report.Names(w, r.report)
		return
	case c.options.Stat:
		report.Stat(w, r.report, p.isColored(c))
	default:
		report.Unified(w, r.report, report.Style{Colored: p.isColored(c), Terminal: p.StdoutIsTerminal})
	}
	if r.run.outcome == nil {
		return
	}
	if c.options.Build && c.options.Base == "" {
		others := 0
		for _, f := range r.report.Files {
			if slices.Contains(r.others, f.Name) && f.Before != f.After {
				others++
			}
		}
		fmt.Fprintf(p.Stderr, "%d of %s change\n", r.report.ChangedFiles()-others, plural(r.applications, "application", "applications"))
		if len(r.others) > 0 {
			fmt.Fprintf(p.Stderr, "%d of %s change\n", others, plural(len(r.others), "other file", "other files"))
		}
	}
	report.Summary(p.Stderr, r.report)
}

// reportAgainst runs the policies of --against and of -p on the same manifests, and reports
// how the two outputs differ.
func (p *Process) reportAgainst(ctx context.Context, given arguments) *reported {
	before, after := &reported{}, &reported{}
	given.apply(&before.config)
	given.apply(&after.config)
	before.config.placed = func(c *config) {
		c.documents[settings.Policies].paths = c.documents[settings.Against].paths
	}
	before.config.placed(&before.config)
	first, second := p.files(&before.config), p.files(&after.config)
	before.begin(ctx, p, first, given.operands)
	second.stdin, second.reader.Pipes = first.stdin, first.reader.Pipes
	after.begin(ctx, p, second, given.operands)
	after.report = &report.Report{}
	if before.run.outcome == nil || after.run.outcome == nil {
		after.run.outcome = nil
	} else {
		after.report = report.Against(before.side(), after.side(), after.secretsOfBoth(before))
		after.report.Locate(after.run.locate)
	}
	after.run.add(unknown(before.run.diagnostics, after.run.diagnostics)...)
	after.describe()
	return after
}

// unknown returns the diagnostics that are not among the known ones.
func unknown(diagnostics, known []source.Diagnostic) []source.Diagnostic {
	texts := map[string]bool{}
	for _, d := range known {
		texts[d.String()] = true
	}
	return slices.DeleteFunc(slices.Clone(diagnostics), func(d source.Diagnostic) bool { return texts[d.String()] })
}

func (r *reported) side() report.Run { return report.Run{Outcome: r.run.outcome, Streams: r.manifests} }

// secretsOfBoth returns what hides the values of Secrets of two runs; nil with --show-secrets.
func (r *reported) secretsOfBoth(other *reported) *redact.Redactor {
	if r.config.options.ShowSecrets {
		return nil
	}
	both := &redact.Redactor{}
	both.Add(r.run.outcome.Secrets)
	both.Add(other.run.outcome.Secrets)
	return both
}

const diffText = `Show how the policies change the text of manifests, as a unified diff. It answers: would the
cluster still change this commit? The header of each hunk names the object and the policies
that change it. A summary follows on standard error. The formats for programs give the line
of every change in the manifest.

With --build, preadmit runs kustomize and helm to render every kustomization and chart in
the directories, except those that another one uses, and evaluates each separately. Messages
begin in the file of the repository from which an object comes: at its field, if the object is
written there as it was rendered; at the generator of a kustomization; at the object or at line
1 of a template. They name the directory of the kustomization or chart, too. The diff is one of
the rendered output. kustomize fetches bases that are URLs, and charts of kustomizations into their
chartHome; it has no flag to forbid that. The configuration file names the releases of charts: their
names, namespaces and values; --release and --chart-values do so for a single chart. Objects that Helm
creates only for helm test are left out, and notes name them. --shard 2/8
renders every eighth application, beginning with the second. Manifests that no kustomization and no chart uses are
evaluated together, as they are written, in one of the shards. This command merges the
reports of shards:

  jq -s '{manifests: map(.manifests[]), changed: map(.changed) | add,
    diagnostics: map(.diagnostics[])}' shard-*.json

With --base, the diff answers: what does this commit change in the cluster? It compares the
objects that the cluster holds after the base and after the working tree, each with its own
policies, context and manifests. The header of each hunk says whether the manifest, a policy
that differs, or the context that a policy reads has changed it. git checks the base out in a
temporary directory, and writes nothing to the repository. Paths outside of the repository are
the same in both states. An object that a policy denies in the working tree is an error and not
in the diff. If one denies it in the base, too, the manifests are compared as they are written,
so that an accepted denial hides no later change; for the same reason, the denial is a note. A
denial only in the base is a warning: the object is new. With --build, values and names that Helm renders otherwise each
time, such as those of randAlphaNum, are not compared, and notes name them.

With --against, the diff compares two outputs: with the policies of --against, and with the
policies of -p. It shows what a change to policies does to the manifests.

Usage:
  %s

Examples:
  preadmit diff -p policies/ manifests/
  kustomize build . | preadmit diff -p policies/ -
  preadmit diff -p policies/ -o sarif manifests/ > preadmit.sarif
  preadmit diff -p policies/ --build --stat .
  preadmit diff -p policies/ -o markdown manifests/ | gh pr comment --body-file -
  preadmit diff -p policies/ --base origin/main... manifests/
  preadmit diff -p policies/ --against other-policies/ manifests/

Flags (those with PATH take files and directories, and may be repeated):
%s
%s
Exit status:
  0  the policies change nothing
  1  the policies change something
  2  a policy denied a manifest, or the input, a policy or the command line is wrong
`

func diffHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, diffText, c.usage, flagsHelp(c), environmentText)
}
