package krmfn

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/output"
)

// The names of the files that contain tests.
const (
	testFile        = "preadmit-test.yaml"
	kyvernoTestFile = "kyverno-test.yaml"
)

var (
	testKind           = gvk.Kind{Group: "preadmit.dev", Version: "v1alpha1", Kind: "PreadmitTest"}
	kyvernoContextKind = gvk.Kind{Group: "cli.kyverno.io", Version: "v1alpha1", Kind: "Context"}
)

// tester runs tests and collects their results.
type tester struct {
	process     *Process
	ctx         context.Context
	given       arguments
	config      config // from the flags
	cases       []report.Case
	coverage    coverage
	rewrites    []rewrite
	diagnostics []source.Diagnostic
	// kyvernoVersion is that of the outcomes, or "" if no policy of Kyverno ran.
	kyvernoVersion string
}

// rewrite is new text for the expected file of a case. The file must be below dir, the directory
// of its test.
type rewrite struct {
	index int
	dir   string
	file  *output.File
}

// test runs the tests in directories.
func (p *Process) test(ctx context.Context, given arguments) int {
	t := &tester{process: p, ctx: ctx, given: given}
	given.apply(&t.config)
	operands := given.operands
	if len(operands) == 0 {
		operands = []string{"."}
	}
	for _, name := range operands {
		t.find(name)
	}
	if len(t.cases) == 0 && len(t.diagnostics) == 0 {
		t.diagnostics = append(t.diagnostics, source.Errorf(source.Position{}, "no-tests", "there is no %s or %s in %s", testFile, kyvernoTestFile, strings.Join(operands, ", ")).
			With("see 'preadmit test --help' for the format"))
	}
	t.writeExpected()
	return t.finish()
}

// find runs the tests in a file or directory. Tests may be in hidden directories, such as
// .kyverno-test.
func (t *tester) find(name string) {
	root := t.process.absolute(name)
	read := t.process.files(&t.config).set()
	_ = filepath.WalkDir(root, func(full string, e fs.DirEntry, err error) error { // its function returns no errors
		switch {
		case err != nil:
			read.fail(path{name: name}, err)
		case e.IsDir() && e.Name() == ".git" && full != root:
			return fs.SkipDir
		case !e.IsDir() && (full == root || e.Name() == testFile || e.Name() == kyvernoTestFile):
			t.file(read, full)
		}
		return nil
	})
	t.diagnostics = append(t.diagnostics, read.files.diagnostics...)
}

// file runs the tests in a file.
func (t *tester) file(read *fileSet, full string) {
	name := read.files.reader.Name(input.Path{}, full)
	read.files.reader.Limit = limit.Input{Bytes: int(t.config.options.InputLimit)} // for each file
	if err := errors.Join(read.set.Add(input.Path{Name: full})...); err != nil {
		read.fail(path{name: name}, err)
		return
	}
	data := read.set.Files[len(read.set.Files)-1].Text
	stream, diagnostics := manifest.Read(name, data)
	t.diagnostics = append(t.diagnostics, diagnostics...)
	for _, d := range stream.Documents() {
		switch {
		case d.Kind() == testKind:
			t.own(d, data, full)
		case filepath.Base(full) == kyvernoTestFile:
			t.kyverno(d, full)
		default:
			t.diagnostics = append(t.diagnostics, source.Errorf(d.At(nil), "test-kind", "unknown test with apiVersion %q and kind %q", d.Kind().APIVersion(), d.Kind().Kind).
				With("expected "+testKind.APIVersion()+" "+testKind.Kind))
		}
	}
}

// testRun is a run of the engine for a test.
type testRun struct {
	config    config
	run       *admission
	manifests []*manifest.Stream
}

// testFields are the fields of the spec of a PreadmitTest that a Preadmit does not have.
var testFields = []string{"manifests", "expected", "denied", "warnings", "objects"}

// expected is what the spec of a PreadmitTest expects.
type expected struct {
	manifests      []any
	output, denied string
	// objects are the expectations for single objects, if there are any: given.
	objects  []expectation
	given    bool
	warnings *expectedWarnings
}

// own runs a PreadmitTest. Its spec has the fields of a Preadmit, and in addition the manifests
// and the expected results.
func (t *tester) own(d *manifest.Document, text []byte, full string) *testRun {
	r := &testRun{}
	t.given.apply(&r.config)
	f := t.functionConfig(d, text, &r.config, filepath.Dir(full))
	want := f.expected(d.Object())
	r.config.partial = want.given
	read := t.process.files(&r.config)
	read.diagnostics = f.diagnostics
	set := read.set()
	for _, item := range want.manifests {
		text, _ := item.(string)
		from := f.from
		from.name = text
		set.addAll([]path{from})
	}
	r.manifests = set.parse()
	t.evaluate(r, read, r.manifests, nil)
	var failure string
	switch {
	case source.HasErrors(f.diagnostics):
		failure = problemsOf(r.run.diagnostics)
	case want.given:
		failure = r.judgeObjects(want.objects)
	default:
		failure = t.judge(r, filepath.Dir(full), want.output, want.denied)
	}
	if want.warnings != nil && !source.HasErrors(f.diagnostics) {
		failure = strings.TrimLeft(strings.TrimRight(failure, "\n")+"\n"+strings.Join(want.warnings.unmet(warningsIn(r.run.diagnostics)), "\n"), "\n")
	}
	t.cases = append(t.cases, report.Case{Suite: d.At(nil).File, Name: d.Name(), Failure: failure})
	return r
}

// expected takes the fields of a PreadmitTest out of an object, and reads the others as those of a
// Preadmit.
func (f *functionConfig) expected(object map[string]any) (want expected) {
	spec, _ := object["spec"].(map[string]any)
	want.manifests, _ = spec["manifests"].([]any)
	want.output, _ = spec["expected"].(string)
	want.denied, _ = spec["denied"].(string)
	texts, warned := spec["warnings"]
	objects, given := spec["objects"]
	want.given = given
	for _, key := range testFields {
		delete(spec, key)
		f.further = append(f.further, "spec."+key)
	}
	f.fields(object)
	if len(want.manifests) == 0 {
		f.fail(change.Keys("spec", "manifests"), "option-value", "expected a list of paths", "")
	}
	if given {
		want.objects = f.expectations(objects)
	}
	if warned {
		want.warnings = f.expectedWarnings(texts, change.Keys("spec", "warnings"))
	}
	if (want.output != "") == (want.denied != "") && !given || given && want.output+want.denied != "" {
		f.fail(change.Keys("spec"), "option-value", "expected one of expected (a file), denied (a part of the message) and objects (expectations for some of them)", "")
	}
	return want
}

// evaluate runs the policies for a test. lone is a policy without a binding, or nil.
func (t *tester) evaluate(r *testRun, read *files, manifests []*manifest.Stream, lone *manifest.Document) {
	r.config.observers = append(r.config.observers, engine.Cover(), engine.Explain()) // explained, so that a diff hides what policies have copied
	r.run = t.process.admit(t.ctx, &r.config, read, manifests, lone)
	if r.run.outcome != nil {
		t.coverage.add(r.run.outcome.Parts)
		t.kyvernoVersion = cmp.Or(t.kyvernoVersion, r.run.outcome.KyvernoVersion)
	}
}

// functionConfig returns a reader of the options in a document. Paths in it are relative to
// dir.
func (t *tester) functionConfig(d *manifest.Document, text []byte, c *config, dir string) *functionConfig {
	return &functionConfig{
		document: d, config: c, strings: map[string]change.Path{}, from: path{base: dir},
		lines: func() []string { return strings.SplitAfter(string(text), "\n") },
	}
}

// judge returns why a test fails, or "" if it passes. The expected file is dir/name.
func (t *tester) judge(r *testRun, dir, name, denied string) string {
	problems := problemsOf(r.run.diagnostics)
	status := r.run.status()
	if denied != "" {
		switch {
		case status == exitDone:
			return fmt.Sprintf("expected a message with %q, but the policies did not deny anything", denied)
		case status != exitDenied || !strings.Contains(problems, denied):
			return fmt.Sprintf("expected a message with %q, but got\n%s", denied, problems)
		}
		return ""
	}
	if status != exitDone {
		return problems
	}
	got := texts(r.manifests)
	if t.config.options.Update {
		t.rewrites = append(t.rewrites, rewrite{len(t.cases), dir, &output.File{Name: name, Data: []byte(got)}})
		return ""
	}
	want, err := new(limit.Input).ReadFile(filepath.Join(dir, name))
	if err != nil {
		return fmt.Sprintf("%s cannot be read; --update writes it", name)
	}
	return r.difference(name, string(want), got)
}

// writeExpected updates the expected files. It never writes outside of the directory of a test,
// nor to a file that a test reads, which is known only after all tests have run.
func (t *tester) writeExpected() {
	texts := map[string][]byte{} // by paths
	for _, u := range t.rewrites {
		file := filepath.Join(u.dir, u.file.Name)
		if text, ok := texts[input.RealPath(file)]; ok && bytes.Equal(text, u.file.Data) {
			continue // another test has written the same text
		}
		var problems []source.Diagnostic
		if err := t.process.ledger.PlaceBelow(u.file, "the output of test "+t.cases[u.index].Name, file, u.dir); err != nil {
			problems = []source.Diagnostic{output.Unwritable(u.file.Name, err)}
		} else {
			texts[u.file.Real] = u.file.Data
			_, problems = output.Write(t.ctx, []*output.File{u.file}, nil, nil, t.process.Stderr)
		}
		for _, d := range problems {
			t.cases[u.index].Failure += d.At.String() + ": " + d.Text() + "\n"
		}
	}
}

// hasNoKind reports whether a document has no kind.
func hasNoKind(d *manifest.Document) bool { return d.Kind().Kind == "" }

// difference returns a diff between the expected text and the output, without the values of Secrets; "" if
// they are the same. It does not show expected text that cannot be parsed, because its Secrets
// are not known.
func (r *testRun) difference(name, want, got string) string {
	if want == got {
		return ""
	}
	expected, problems := manifest.Read(name, []byte(want))
	secrets := r.run.secrets(&r.config).With(expected.Documents())
	if secrets != nil && (source.HasErrors(problems) || slices.ContainsFunc(expected.Documents(), hasNoKind)) {
		return name + " cannot be parsed or has a document without a kind, so it is not shown\n" + problemsOf(problems)
	}
	from, to := unixBreaks(want), unixBreaks(got)
	headline := "the output is not what " + name + " expects\n"
	if (from == want) != (to == got) {
		headline = "the line breaks of the output (\\n or \\r\\n) are not those of " + name + "\n"
	}
	var documents []*manifest.Document
	for _, s := range r.manifests {
		documents = append(documents, s.Documents()...)
	}
	f := report.Compare(name, from, to, report.Hidden(documents, r.run.outcome), secrets)
	if from != to && f.Before == f.After {
		return headline + "they differ only in comments of Secrets, which are hidden; --show-secrets shows them\n"
	}
	return headline + report.Diff(name+"\texpected", name+"\tgot", f.Before, f.After)
}

// unixBreaks returns a text with Unix line breaks.
func unixBreaks(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// finish prints the results of the tests.
func (t *tester) finish() int {
	failed := 0
	for i := range t.cases {
		c := &t.cases[i]
		c.Suite, c.Name, c.Failure = source.Printable(c.Suite), source.Printable(c.Name), source.PrintableLines(c.Failure)
		if c.Failure != "" {
			failed++
		}
	}
	status := exitDone
	switch {
	case source.HasErrors(t.diagnostics):
		status = exitInvalid
	case failed > 0:
		status = exitDiffers
	}
	t.process.report(t.diagnostics, "not all tests could be run", t.config.options.Verbose)
	if failed > 0 {
		fmt.Fprintf(t.process.Stderr, "preadmit: %d of %s failed\n", failed, plural(len(t.cases), "test", "tests"))
	}
	var b bytes.Buffer
	switch t.config.options.Output {
	case "", "text":
		t.text(&b, failed)
		return t.process.emitText(b.Bytes(), status)
	case "junit":
		report.JUnit(&b, t.cases)
	default:
		writeFindings(&b, t.config.options.Output, t.findings(), t.kyvernoVersion)
	}
	return t.process.emit(b.Bytes(), status)
}

func (t *tester) text(w io.Writer, failed int) {
	for _, c := range t.cases {
		result := "ok    "
		if c.Failure != "" {
			result = "FAILED"
		}
		fmt.Fprintf(w, "%s  %s  %s\n", result, c.Suite, c.Name)
		for l := range strings.Lines(c.Failure) {
			fmt.Fprintf(w, "        %s\n", strings.TrimRight(l, "\n"))
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed%s\n", len(t.cases)-failed, failed, report.AsKyverno(t.kyvernoVersion))
	t.coverage.text(w)
}

// findings returns a diagnostic for each failed test.
func (t *tester) findings() []source.Diagnostic {
	findings := slices.Clone(t.diagnostics)
	for _, c := range t.cases {
		if c.Failure != "" {
			findings = append(findings, source.Diagnostic{At: source.Position{File: c.Suite}, Severity: source.Error, Code: "test-failed", Subject: c.Name}.
				Saying(source.MessageOf(source.Span{Text: strings.TrimRight(c.Failure, "\n"), Origin: source.Ours})))
		}
	}
	return findings
}

const testText = `Run the tests in the named directories, or in the working directory: every
preadmit-test.yaml, and the mutation tests of every kyverno-test.yaml, also in hidden
directories. Example of a preadmit-test.yaml:

  apiVersion: preadmit.dev/v1alpha1
  kind: PreadmitTest
  metadata: {name: what the test shows}
  spec:
    policyPaths: [policies]     # and all other fields of a Preadmit, see 'preadmit help fn'
    manifests: [manifests]
    expected: expected.yaml     # the exact output, or
    denied: must have an owner  # a part of the message of the denial, or
    objects:                    # expectations for some of the objects
    - object: Deployment/check* # KIND/NAME, with * and ?, as for 'preadmit explain'
      fields:                   # values in the output; null for a field that must be absent
        spec.template.spec.containers[0].imagePullPolicy: Always
        metadata.labels[example.com/team]: payments
    - {object: Service/checkout, unchanged: true}
    - {object: Pod/bare, denied: must have an owner}
    - {object: Pod/old, warnings: [no probes]} # a part of each warning of validating policies
    - {object: Pod/old, auditAnnotations: {owners/team: payments}} # POLICY/KEY and a part of the value
    warnings: []                # the same for all objects together

At the end, a table shows for every policy how many mutations, validations, conditions and
branches (of ? :) ran in any of the tests. Those that never ran are listed below the table.

Paths are relative to the file. A file may hold several tests, separated by ---.

A kyverno-test.yaml has the same meaning as for 'kyverno test' 1.19: policies run one after
the other, on objects without defaults, with the cluster that the test describes. A resource
that a policy does not match passes. Unlike 'kyverno test', preadmit fails a result that
names a policy, rule or resource which the test does not have.

--update writes only files below the directory of the test, and never a file that a test
reads.

Usage:
  %s

Examples:
  preadmit test
  preadmit test --update policies/
  preadmit test -o junit policies/ > junit.xml

Flags (those with PATH take files and directories, and may be repeated):
%s
%s
Exit status:
  0  all tests passed
  1  some tests failed
  2  there are no tests, a test cannot be read, or the command line is wrong
`

func testHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, testText, c.usage, flagsHelp(c), environmentText)
}
