package krmfn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/input"
	"github.com/preadmit/preadmit/internal/output"
	"github.com/preadmit/preadmit/internal/settings"
	"github.com/preadmit/preadmit/internal/triage"
)

// mutationCode is the code of a change by policies, which diff finds.
const mutationCode = "mutation"

// decisions are what a team has decided about the findings of a run.
type decisions struct {
	process *Process
	command string
	rules   *triage.Rules
	judge   *triage.Judge
	// policies are the policies and bindings of the run by file, in the order of their positions.
	policies map[string][]*manifest.Document
	baseline *baseline
	// base begins the names of files in the base of diff --base.
	base string
	// found are the findings that a baseline records.
	found []triage.Entry
	// kept are entries of the baseline that this run could not find.
	kept []triage.Entry
	// failed are the objects with errors, of which other findings may not be found.
	failed map[string]bool
}

// comparing is the name of diff --base in a baseline.
const comparing = "diff-base"

// baseline is the file with the findings of the past.
type baseline struct {
	name, real string
	text       []byte
	entries    triage.Baseline
}

// decide applies the decisions of a team to the findings of a run: its diagnostics and, if r is not nil,
// the changes in a report. output says that the run is for its output.
func (p *Process) decide(ctx context.Context, c *config, a *admission, r *report.Report, output bool) *decisions {
	d := &decisions{process: p, command: c.given.command, rules: &triage.Rules{}, failed: map[string]bool{}}
	if c.options.Base != "" {
		d.command, d.base, r = comparing, report.InState(c.options.Base, ""), nil
	}
	if c.given.file != nil {
		d.rules = &c.given.file.Rules
	}
	d.judge = triage.NewJudge(d.rules)
	defer a.relocate()
	known, problems := p.readBaseline(c)
	if d.rules.IsEmpty() && known == nil && problems == nil {
		return d
	}
	d.index(a.inputs)
	findings := d.judged(a, output)
	if source.HasErrors(problems) {
		d.withoutBaseline(a, findings)
		a.add(problems...)
		a.outcome = nil
	} else {
		d.baseline = known
		a.decided(d.fresh(ctx, c, a, findings, r))
	}
	if n := d.judge.Accepted; n > 0 {
		fmt.Fprintf(p.Stderr, "preadmit: %s accepted in %s\n", plural(n, "finding is", "findings are"), source.Printable(c.given.file.Name))
	}
	return d
}

// judged returns the findings of a run that are not accepted.
func (d *decisions) judged(a *admission, output bool) (findings []triage.Finding) {
	for _, found := range a.diagnostics {
		f := d.finding(found)
		if at := a.located(found).At; at.File != found.At.File {
			f.Source = d.below(d.rules.Dir, at.File)
		}
		if f.Was == source.Error && f.Subject != "" {
			d.failed[f.Subject] = true
		}
		judged, counts := d.judge.Judge(f, output)
		if f.Diagnostic = judged; counts {
			findings = append(findings, f)
		}
	}
	return findings
}

// withoutBaseline leaves out the findings that a baseline may have, because it cannot be read.
func (d *decisions) withoutBaseline(a *admission, findings []triage.Finding) {
	all := len(findings)
	findings = slices.DeleteFunc(findings, isRecorded)
	a.decided(findings)
	if left := all - len(findings); left > 0 {
		fmt.Fprintf(d.process.Stderr, "preadmit: %s left out: without the baseline, it is not known what is new\n", plural(left, "finding is", "findings are"))
	}
}

// decided sets the diagnostics, and what follows from them. A warning that a team has made an error does
// not mean that something could not be evaluated.
func (a *admission) decided(findings []triage.Finding) {
	a.diagnostics = nil
	denied, invalid := false, false
	for _, f := range findings {
		a.add(f.Diagnostic)
		denied = denied || f.Was == source.Error && f.Code == deniedCode
		invalid = invalid || f.Was == source.Error && f.Code != deniedCode
	}
	if a.outcome != nil {
		a.outcome.Denied, a.outcome.Invalid = denied, invalid
	}
}

// index finds the policies in streams.
func (d *decisions) index(streams []*manifest.Stream) {
	d.policies = map[string][]*manifest.Document{}
	for _, s := range streams {
		for _, doc := range s.Documents() {
			if at := doc.At(nil); engine.IsPolicy(doc.Kind()) {
				d.policies[at.File] = append(d.policies[at.File], doc)
			}
		}
	}
}

// finding returns a diagnostic with what decisions look at.
func (d *decisions) finding(found source.Diagnostic) triage.Finding {
	f := triage.Finding{Diagnostic: found, Was: found.Severity}
	at := []source.Position{found.At}
	for _, place := range found.Related {
		at = append(at, place.At)
	}
	for _, p := range at {
		p.File = strings.TrimPrefix(p.File, d.base)
		if name := d.policyAt(p); name != "" && !slices.Contains(f.Policies, name) {
			f.Policies = append(f.Policies, name)
		}
	}
	f.File = d.fileOf(found)
	return f
}

// fileOf returns the file that a diagnostic is about, relative to the configuration file.
func (d *decisions) fileOf(found source.Diagnostic) string {
	return d.below(d.rules.Dir, d.nameOf(found))
}

// nameOf returns the name of the file that a diagnostic is about: that of the object, if there is one.
func (d *decisions) nameOf(found source.Diagnostic) string {
	file := found.At.File
	if found.Subject != "" && found.Origin.IsKnown() {
		file = found.Origin.File
	}
	return strings.TrimPrefix(file, d.base)
}

// below returns the path of a file relative to a directory.
func (d *decisions) below(dir, file string) string {
	if file == "" || file == "-" {
		return ""
	}
	if name, err := filepath.Rel(dir, input.RealPath(d.process.absolute(filepath.FromSlash(file)))); err == nil {
		return filepath.ToSlash(name)
	}
	return file
}

// policyAt returns the name of the policy or binding at a position, or "".
func (d *decisions) policyAt(at source.Position) string {
	policies := d.policies[at.File]
	i := sort.Search(len(policies), func(i int) bool { return policies[i].At(nil).Compare(at) > 0 })
	if i == 0 || at.Line == 0 {
		return ""
	}
	return policies[i-1].Name()
}

// unused returns the accepted findings that this run should have found, and has not: those with the code
// of changes or those with other codes, in the files that the run has read.
func (d *decisions) unused(c *config, ofChanges bool) []source.Diagnostic {
	if c.options.Shard != "" || len(c.given.operands) == 0 && !c.options.Build {
		return nil
	}
	read := d.operands(c)
	return d.judge.Unused(func(a *triage.Acceptance) bool {
		return (a.Code == mutationCode) == ofChanges &&
			slices.ContainsFunc(read, func(name string) bool { return a.Concerns(d.below(d.rules.Dir, name)) })
	})
}

// operands returns the files and directories that a run reads for its manifests and policies.
func (d *decisions) operands(c *config) []string {
	names := slices.DeleteFunc(slices.Clone(c.given.operands), isStdin)
	if len(c.given.operands) == 0 && (c.options.Build || d.command == comparing) {
		names = []string{"."}
	}
	for _, p := range c.documents[settings.Policies].paths {
		names = append(names, p.name)
	}
	return names
}

// readBaseline reads the file of --baseline; nil without that option. The file need not exist if it is
// written.
func (p *Process) readBaseline(c *config) (*baseline, []source.Diagnostic) {
	name := c.options.Baseline
	if name == "" {
		return nil, nil
	}
	b := &baseline{name: name, real: input.RealPath(p.absolute(name)), entries: triage.Baseline{}}
	var err error
	if b.text, err = new(limit.Input).ReadFile(b.real); os.IsNotExist(err) && c.options.WriteBaseline {
		return b, nil
	}
	if err != nil {
		var pathError *fs.PathError
		if errors.As(err, &pathError) {
			err = pathError.Err
		}
		d := source.Errorf(source.Position{}, "path-unreadable", "%s: the baseline cannot be read: %v", source.Name(name), err)
		if os.IsNotExist(err) {
			d = d.Saying(source.Messagef("%s: there is no such baseline", source.Name(name))).With("--write-baseline writes it")
		}
		return nil, []source.Diagnostic{d}
	}
	var problems []source.Diagnostic
	b.entries, problems = triage.ReadBaseline(name, b.text, []string{"check", "diff", comparing})
	return b, problems
}

// isRecorded reports whether a baseline records a finding.
func isRecorded(f triage.Finding) bool {
	return f.Severity != source.Info && triage.Unacceptable(f.Code) == ""
}

// entry returns a finding as an entry of the baseline; an empty one if it is not recorded.
func (d *decisions) entry(f triage.Finding) triage.Entry {
	if !isRecorded(f) {
		return triage.Entry{}
	}
	e := triage.Entry{Object: f.Subject, Field: f.Field, Code: f.Code, Policy: strings.Join(f.Policies, ", ")}
	e.File = d.below(filepath.Dir(d.baseline.real), d.nameOf(f.Diagnostic))
	return e
}

// fresh returns the findings that the baseline does not have, and leaves only such changes in a report.
// With --write-baseline, the baseline has all that it may have. Only a complete run says what is gone.
func (d *decisions) fresh(ctx context.Context, c *config, a *admission, findings []triage.Finding, r *report.Report) (fresh []triage.Finding) {
	var known []bool
	edits, accepted := d.edits(r)
	if d.baseline != nil {
		all := slices.Concat(findings, edits)
		lasting := a.lasting(ctx, all)
		for _, f := range all {
			if id := lasting[f.Subject]; id != "" {
				d.failed[id] = d.failed[f.Subject]
				f.Subject = id
			}
			d.found = append(d.found, d.entry(f))
		}
		known = d.compare(c, a.outcome != nil && !a.unread)
	}
	isKnown := func(i int) bool { return accepted[i] || known != nil && known[i+len(findings)] }
	for i, f := range findings {
		if known == nil || !known[i] {
			fresh = append(fresh, f)
		}
	}
	if i := -1; r != nil {
		r.Leave(func(*report.Manifest, *report.Edit) bool { i++; return isKnown(i) })
	}
	return fresh
}

// edits returns the changes in a report as findings, and which of them are accepted.
func (d *decisions) edits(r *report.Report) (edits []triage.Finding, accepted []bool) {
	if r == nil {
		return nil, nil
	}
	for _, m := range r.Manifests {
		for _, e := range m.Edits {
			f := triage.Finding{
				Diagnostic: source.Diagnostic{At: e.At, Severity: source.Warning, Code: mutationCode, Subject: m.ID, Origin: m.At, Field: e.Path},
				Policies:   e.Policies(),
			}
			f.File = d.fileOf(f.Diagnostic)
			_, counts := d.judge.Judge(f, false)
			edits, accepted = append(edits, f), append(accepted, !counts)
		}
	}
	return edits, accepted
}

// compare returns which of the findings are known, and says how many, and how many others are gone.
func (d *decisions) compare(c *config, isComplete bool) []bool {
	recorded, index := []triage.Entry{}, []int{}
	for i, e := range d.found {
		if e.Code != "" {
			recorded, index = append(recorded, e), append(index, i)
		}
	}
	known, compared := make([]bool, len(d.found)), d.baseline.entries.Compare(d.command, recorded)
	for i, at := range index {
		known[at] = compared.Known[i] || c.options.WriteBaseline
	}
	gone := compared.Gone
	compared.Gone = slices.DeleteFunc(slices.Clone(gone), func(e triage.Entry) bool { return d.isElsewhere(c, e) })
	if d.found = recorded; c.options.WriteBaseline {
		d.kept = slices.DeleteFunc(gone, func(e triage.Entry) bool { return slices.Contains(compared.Gone, e) })
		d.baseline.entries[d.command] = slices.Concat(recorded, d.kept)
		return known
	}
	if isComplete {
		d.tell(compared)
	}
	return known
}

// isElsewhere reports whether an entry is about a file that this run does not read.
func (d *decisions) isElsewhere(c *config, e triage.Entry) bool {
	if c.options.Shard != "" || e.File == "" {
		return e.File != ""
	}
	full := filepath.Join(filepath.Dir(d.baseline.real), filepath.FromSlash(e.File))
	return exists(full) && !slices.ContainsFunc(d.operands(c), func(name string) bool {
		return input.IsWithin(full, input.RealPath(d.process.absolute(name)))
	})
}

// tell says how many findings are in the baseline, and which are gone.
func (d *decisions) tell(compared triage.Comparison) {
	name, gone := source.Printable(d.baseline.name), 0
	compared.Gone = slices.DeleteFunc(compared.Gone, func(e triage.Entry) bool { return d.failed[e.Object] })
	for _, e := range compared.Gone {
		gone += e.Count
	}
	if compared.Left > 0 {
		fmt.Fprintf(d.process.Stderr, "preadmit: %s in %s\n", plural(compared.Left, "finding is", "findings are"), name)
	}
	if gone == 0 {
		return
	}
	fmt.Fprintf(d.process.Stderr, "preadmit: %s not found any more; --write-baseline removes what is gone:\n", plural(gone, "finding of "+name+" is", "findings of "+name+" are"))
	for i, e := range compared.Gone {
		if i == source.FewPlaces {
			fmt.Fprintf(d.process.Stderr, "  and %d more\n", len(compared.Gone)-i)
			break
		}
		fmt.Fprintf(d.process.Stderr, "  %s\n", source.Printable(e.String()))
	}
}

// writeBaseline writes the findings of --write-baseline.
func (d *decisions) writeBaseline(ctx context.Context, c *config) int {
	if d.baseline == nil || !c.options.WriteBaseline {
		return exitDone
	}
	r := &output.File{Name: d.baseline.name, Real: d.baseline.real, Within: filepath.Dir(d.baseline.real), Data: d.baseline.entries.Text(), Origin: d.baseline.text, Unseen: d.baseline.text == nil}
	var problems []source.Diagnostic
	if err := d.process.ledger.Claim("the baseline", r.Real); err != nil {
		problems = append(problems, output.Unwritable(r.Name, err))
	}
	if _, problems = output.Write(ctx, []*output.File{r}, problems, nil, d.process.Stderr); len(problems) > 0 {
		d.process.report(problems, "nothing written", c.options.Verbose)
		return exitInvalid
	}
	kept := ""
	if n := len(d.kept); n > 0 {
		kept = fmt.Sprintf("; %s kept", plural(n, "entry of a file that this run does not read is", "entries of files that this run does not read are"))
	}
	fmt.Fprintf(d.process.Stderr, "preadmit: %s written to %s%s\n", plural(len(d.found), "finding", "findings"), source.Printable(d.baseline.name), kept)
	return exitDone
}
