// Package triage decides which findings of a run count: a team sets the severity of codes, accepts
// single findings with a reason, and records the findings of the past in a baseline. All findings
// pass here once, after the run and before any report.
//
// What preadmit cannot read or evaluate counts always: an error whose code is usually an error stays
// one, except that a denial can be accepted.
//
// The files in order: triage.go (severities), accept.go (accepted findings), baseline.go (findings of
// the past).
package triage

import (
	"slices"

	"github.com/preadmit/preadmit/engine/source"
)

// Severity is what a team makes of the findings with a code.
type Severity string

// The severities. Off drops the findings.
const (
	Off     Severity = "off"
	Note    Severity = "note"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Severities are all severities.
var Severities = []string{string(Off), string(Note), string(Warning), string(Error)}

// Rules are the decisions of a team about findings.
type Rules struct {
	// Dir is the directory that the paths of accepted findings are relative to.
	Dir string
	// Severities are the severities of codes.
	Severities map[string]Severity
	Accepted   []Acceptance
}

// IsEmpty reports whether there are no decisions.
func (r *Rules) IsEmpty() bool { return len(r.Severities)+len(r.Accepted) == 0 }

// Fixed says why the severity of a code cannot be set, or "".
func Fixed(code string) string {
	entry, _ := source.Lookup(code)
	switch {
	case code == source.CodeDenied:
		return "a denial is an error; accept single ones, or turn validating policies into warnings with the option validation"
	case len(entry.Severities) > 0 && entry.Severities[0] == source.Error:
		return "without this error, a result would be missing or wrong"
	}
	return ""
}

// Unacceptable says why findings with a code cannot be accepted, or "".
func Unacceptable(code string) string {
	if code == source.CodeDenied {
		return ""
	}
	return Fixed(code)
}

// Finding is a message about a run with what decisions look at.
type Finding struct {
	source.Diagnostic
	// Was is its severity before any decision.
	Was source.Severity
	// Policies are the names of the policies that it is about.
	Policies []string
	// File is the path of the file that it is about, relative to the configuration file.
	File string
	// Source is the same of the file from which File, an application, was rendered; it may be "".
	Source string
}

// A Judge applies the rules to the findings of one run.
type Judge struct {
	// Accepted is how many findings were accepted.
	Accepted int
	rules    *Rules
	accepted *acceptances
}

// NewJudge returns a judge.
func NewJudge(rules *Rules) *Judge {
	return &Judge{rules: rules, accepted: newAcceptances(rules.Accepted)}
}

// Judge returns a finding as the team sees it, and whether it counts at all. If output depends on it,
// errors stay errors: there is no output without what they are about.
func (j *Judge) Judge(f Finding, output bool) (d source.Diagnostic, counts bool) {
	d = f.Diagnostic
	isFatal := d.Severity == source.Error
	if isFatal && d.Subject != "" {
		j.accepted.hide(f)
	}
	severity, set := j.rules.Severities[d.Code]
	switch {
	case isFatal && (output || Unacceptable(d.Code) != ""):
		return d, true
	case j.accepted.accept(f):
		j.Accepted++
		return d, false
	case set && severity == Off:
		return d, false
	case set:
		d.Severity = [...]source.Severity{source.Info, source.Warning, source.Error}[slices.Index(Severities, string(severity))-1]
	}
	return d, true
}

// Unused returns a finding for each accepted finding that no finding of the run was. counts says which
// of them the run could have found. Of an object with an error, other findings may not be found.
func (j *Judge) Unused(counts func(a *Acceptance) bool) (unused []source.Diagnostic) {
	for i := range j.rules.Accepted {
		a := &j.rules.Accepted[i]
		if j.accepted.used[i] || j.accepted.hidden[i] || !counts(a) {
			continue
		}
		d := source.Warningf(a.At, "acceptance-unused", "nothing is found any more that this accepts: %v", a).
			With("remove it from the configuration file, or correct its patterns")
		if a.Removal.At.IsKnown() {
			d = d.Mended("Remove the acceptance", a.Removal)
		}
		if d, counts := j.Judge(Finding{Diagnostic: d}, false); counts {
			unused = append(unused, d)
		}
	}
	return unused
}
