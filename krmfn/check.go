package krmfn

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
)

// check finds mistakes in policies, alone or with manifests.
func (p *Process) check(ctx context.Context, given arguments) int {
	var c config
	given.apply(&c)
	in := p.inspect(ctx, &c, p.files(&c))
	a := in.reported.run
	findings := joined(in.findings, c.options.Verbose)
	status := exitDone
	switch {
	case a.outcome == nil || a.outcome.Invalid || a.unread:
		status = exitInvalid
	case slices.ContainsFunc(findings, func(d source.Diagnostic) bool { return d.Severity != source.Info }):
		status = exitDiffers
	}
	if status != exitDone {
		fmt.Fprintf(p.Stderr, "preadmit: %s%s\n", counted(findings), report.AsKyverno(a.kyvernoVersion()))
	}
	return p.tellFindings(&c, findings, len(policyNames(a)), a.kyvernoVersion(), max(status, in.decisions.writeBaseline(ctx, &c)))
}

// inspection is a run that looks for mistakes.
type inspection struct {
	reported  reported
	decisions *decisions
	// findings are sorted by position.
	findings []source.Diagnostic
}

// inspect finds mistakes in the policies, alone or with the manifests that the operands name.
func (p *Process) inspect(ctx context.Context, c *config, f *files) *inspection {
	in := &inspection{reported: reported{config: *c}}
	r := &in.reported
	c = &r.config
	c.checkFieldsStrictly()
	f.checking = true
	if operands := c.given.operands; len(operands) > 0 || c.options.Build {
		r.begin(ctx, p, f, operands)
	} else {
		r.run = p.admit(ctx, c, f, nil, nil)
	}
	j := p.judge(ctx, c, r.run)
	if a := r.run; a.outcome != nil && !a.unread {
		j.findings = append(j.findings, j.decisions.unused(c, false)...)
	}
	in.decisions, in.findings = j.decisions, j.findings
	source.Sort(in.findings)
	return in
}

// judged are the findings of a run, as the team has decided about them.
type judged struct {
	decisions *decisions
	findings  []source.Diagnostic
}

// judge returns the findings of a run.
func (p *Process) judge(ctx context.Context, c *config, a *admission) judged {
	d := p.decide(ctx, c, a, nil, false)
	findings := slices.DeleteFunc(a.diagnostics, func(found source.Diagnostic) bool {
		_, isSet := d.rules.Severities[found.Code]
		switch {
		case a.unread && slices.Contains(aboutMissing, found.Code), a.blind && slices.Contains(aboutContext, found.Code):
			return true
		case found.Severity == source.Info:
			return !slices.Contains(checkedNotes, found.Code) && !isSet || c.options.Output == "junit" // JUnit has no notes
		}
		return false
	})
	source.Sort(findings)
	return judged{d, findings}
}

// checkFieldsStrictly makes strict the default of the option field-validation.
func (c *config) checkFieldsStrictly() {
	if validation := &c.options.Engine.FieldValidation; *validation == "" {
		*validation = engine.FieldValidationStrict
	}
}

// tellFindings prints the findings of check.
func (p *Process) tellFindings(c *config, findings []source.Diagnostic, policies int, kyverno string, status int) int {
	var b bytes.Buffer
	if c.options.Output == "" || c.options.Output == "text" {
		for _, d := range findings {
			fmt.Fprintln(&b, d)
		}
		if status == exitDone {
			found := "nothing found"
			if len(findings) > 0 {
				found = counted(findings) + ", no mistakes found"
			}
			fmt.Fprintf(&b, "%s checked, %s%s\n", plural(policies, "policy", "policies"), found, report.AsKyverno(kyverno))
		}
		return p.emitText(b.Bytes(), status)
	}
	writeFindings(&b, c.options.Output, findings, kyverno)
	return p.emit(b.Bytes(), status)
}

// counted says how many errors, warnings and notes there are, each as often as it was found.
func counted(findings []source.Diagnostic) string {
	number := map[source.Severity]int{}
	for _, d := range findings {
		number[d.Severity] += max(1, d.Count)
	}
	var parts []string
	add := func(severity source.Severity, one, many string) {
		if n := number[severity]; n > 0 {
			parts = append(parts, plural(n, one, many))
		}
	}
	add(source.Error, "error", "errors")
	add(source.Warning, "warning", "warnings")
	add(source.Info, "note", "notes")
	if len(parts) == 0 {
		return "no findings"
	}
	return strings.Join(parts, ", ")
}

// checkedNotes are the codes of findings that are notes and do not change the exit status.
var checkedNotes = []string{"value-not-stored", "pods-only", "refusal-averted", "validation-redundant", "webhook-unpredicted", "policy-not-mutating", "order-dependent", "always-true", "always-false", "costly", "field-missing"}

// aboutMissing are the codes of findings about missing policies, which may be among those that could
// not be read.
var aboutMissing = []string{"binding-without-policy", "exception-without-policy", "values-without-policy", source.CodeNoPolicies}

// aboutContext are the codes of findings that context may refute.
var aboutContext = []string{"name-unknown", "resource-unknown", "schema-missing", "param-not-found", "namespace-assumed", "api-call-assumed", "context-failed", "conversion-missing", "no-objects"}

// policyNames returns the names of the policies of a run, without bindings.
func policyNames(a *admission) []string {
	var names []string
	for _, s := range a.inputs {
		for _, d := range s.Documents() {
			if isPolicyItself(d) {
				names = append(names, d.Name())
			}
		}
	}
	return names
}

const checkText = `Find mistakes in policies that a cluster would accept, and policies that conflict with each
other. Policies are compiled and checked against the schemas of the kinds that they match, and
policies in CEL, Kyverno's rules and Gatekeeper's mutators run on objects that are generated to reach
their branches.
With manifests, check also runs the policies on them in every order (in a fixed sample of
the orders if there are many). Of the manifests on which the policies do the same, it tries
three of different form.

A finding has one of these codes, or the code of an error:
  field-undefined        an expression or a patch reads or writes a field that a matched kind
                         does not have
  type-mismatch          a field is compared with, or set to, a value of another type
  atomic-list            an ApplyConfiguration writes a list or map that merging replaces
                         completely
  parent-missing         a JSONPatch writes below a list or map that manifests may lack
  field-missing          a note: an expression reads a list or map that manifests may lack
  condition-unreachable  !has() of a field that API defaults always set, a condition that is
                         never true, or a comparison with a value that a field cannot have
  always-true            a note: a condition or a validation is true for all objects of the
                         kinds that the policy matches; always-false: it is never true
  costly                 a note: an expression may exceed the server's limit of costs
  order-dependent        the result, or which refusal is reported (a note), depends on a
                         random order, such as that of two policies
  policies-fight         two policies write different values to the same field
  always-fails           a policy with failurePolicy Ignore fails on every manifest, or any
                         policy in CEL or rule of Kyverno on all objects generated for it
  changes-nothing        a mutation writes only what every object that it reaches has already
  never-applies          no object meets the conditions of a mutator or a rule, or the match
                         block of a policy, or that of a binding together with its policy's
  name-unknown           a policy names a kind or resource that no cluster serves
  not-idempotent         policies change or deny their own output
  value-not-stored       a note, not a mistake: a server omits the value or stores it in
                         another form
  pods-only              a note, not a mistake: a policy matches only Pods, and the manifests
                         have only controllers
  policy-not-mutating    a note: the policy validates, or belongs to another program
  mutation-refused       a validating policy refuses what a mutating policy writes
  validation-redundant   a note: a mutating policy repairs all that a validating one refuses
  refusal-averted        a note: without a policy, a server would refuse the manifest
  webhook-unpredicted    a note: a webhook may change the manifests as well

Usage:
  %s

Examples:
  preadmit check -p policies/
  preadmit check -p policies/ manifests/
  preadmit check -p policies/ -o sarif manifests/ > preadmit.sarif

Flags (those with PATH take files and directories, and may be repeated):
%s
%s
Exit status:
  0  no mistakes found
  1  mistakes found
  2  policies do not compile, or the input or the command line is wrong
`

func checkHelp(c *command, w io.Writer) {
	fmt.Fprintf(w, checkText, c.usage, flagsHelp(c), environmentText)
}
