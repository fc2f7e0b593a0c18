package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/report"
	"github.com/preadmit/preadmit/engine/source"
)

// Result is the result for the manifests.
type Result struct {
	// Status is "done", "denied" (as by a server), "invalid" (wrong input) or "empty" (no
	// manifests).
	Status string `json:"status"`
	// Output is the output of `preadmit render`; empty unless the status is done.
	Output string `json:"output"`
	// Files are the files of manifests, line by line.
	Files []ResultFile `json:"files"`
	// Report is the output of `preadmit explain -o json`.
	Report json.RawMessage `json:"report"`
}

// ResultFile is a file of manifests, before and after.
type ResultFile struct {
	Name  string       `json:"name"`
	Lines []ResultLine `json:"lines"`
}

// ResultLine is a line of a file; Before and After are its numbers.
type ResultLine struct {
	Text   string `json:"text"`
	Before int    `json:"before,omitempty"`
	After  int    `json:"after,omitempty"`
	// Edit identifies the edit of the line in the Report: the index of the manifest and the index
	// of the edit.
	Edit []int `json:"edit,omitempty"`
}

// Statuses of a Result.
const (
	done    = "done"
	denied  = "denied"
	invalid = "invalid"
	empty   = "empty"
)

// runner is Run or Check.
type runner func(*engine.Set, context.Context, []*manifest.Stream, ...engine.Observer) *engine.Outcome

// run runs the policies. The outcome is nil if the run did not start.
func (in *input) run(run runner, observers ...engine.Observer) *engine.Outcome {
	if source.HasErrors(in.diagnostics) {
		return nil
	}
	outcome := run(in.set, context.Background(), in.manifests, append(observers, engine.Explain())...)
	in.diagnostics = append(in.diagnostics, outcome.Diagnostics...)
	return outcome
}

// status returns the status of a run.
func (in *input) status(outcome *engine.Outcome) string {
	switch {
	case outcome != nil && outcome.Denied && !outcome.Invalid:
		return denied
	case source.HasErrors(in.diagnostics):
		return invalid
	case !slices.ContainsFunc(in.manifests, func(s *manifest.Stream) bool { return len(s.Documents()) > 0 }):
		return empty
	}
	return done
}

// report returns the report of a run. If the run did not start, the report has only diagnostics.
func (in *input) report(outcome *engine.Outcome) *report.Report {
	r := &report.Report{}
	if outcome != nil {
		r = report.New(outcome, in.manifests, in.policies, outcome.Secrets)
	}
	r.Diagnostics = in.diagnostics
	return r
}

// explain returns the results for the manifests with all changes.
func (s *Session) explain(r *Request) Result {
	in := s.input(r)
	outcome := in.run((*engine.Set).Run, s.progress())
	result := Result{Status: in.status(outcome), Files: []ResultFile{}}
	var b bytes.Buffer
	report.JSON(&b, in.report(outcome))
	result.Report = b.Bytes()
	if result.Status == done {
		result.Output = string(manifest.Join(in.manifests))
		result.Files = in.lines(outcome)
	}
	return result
}

// lines returns the lines of the files, unmasked: the page shows them next to the input.
func (in *input) lines(outcome *engine.Outcome) []ResultFile {
	open := report.New(outcome, in.manifests, nil, nil)
	index := map[*report.Edit][]int{}
	for m := range open.Manifests {
		for e := range open.Manifests[m].Edits {
			index[&open.Manifests[m].Edits[e]] = []int{m, e}
		}
	}
	var files []ResultFile
	for _, f := range open.Files {
		file := ResultFile{Name: f.Name, Lines: []ResultLine{}}
		for _, l := range f.Lines() {
			file.Lines = append(file.Lines, ResultLine{l.Text, l.Before, l.After, index[l.Edit]})
		}
		files = append(files, file)
	}
	return files
}

// check returns the findings of `preadmit check`.
func (s *Session) check(r *Request) json.RawMessage {
	in := s.input(r)
	kyverno := ""
	if outcome := in.run((*engine.Set).Check, s.progress()); outcome != nil {
		kyverno = outcome.KyvernoVersion
	}
	findings := slices.DeleteFunc(in.diagnostics, func(d source.Diagnostic) bool {
		return d.Severity == source.Info && d.Code != "value-not-stored"
	})
	source.Sort(findings)
	var b bytes.Buffer
	report.FindingsJSON(&b, findings, kyverno)
	return b.Bytes()
}

// Views are the manifests as policies see them.
type Views struct {
	Lines []ViewLine `json:"lines"`
	// Notes are the diagnostics of the view.
	Notes json.RawMessage `json:"notes"`
}

// ViewLine is a line of a view.
type ViewLine struct {
	Text string `json:"text"`
	// Filled reports that the server adds the line, so it is not in the manifest.
	Filled bool `json:"filled,omitempty"`
}

// view returns the manifests as policies see them.
func (s *Session) view(r *Request) Views {
	in := s.input(r)
	views := Views{Lines: []ViewLine{}}
	if !source.HasErrors(in.diagnostics) && !in.options.Plain {
		outcome := engine.View(in.manifests, in.context, in.options)
		in.diagnostics = append(in.diagnostics, outcome.Diagnostics...)
		if !outcome.Failed() {
			views.Lines = linesOf(outcome)
		}
	}
	var b bytes.Buffer
	report.FindingsJSON(&b, in.diagnostics, "")
	views.Notes = b.Bytes()
	return views
}

// pods returns the output of `preadmit pods`.
func (s *Session) pods(r *Request) Views {
	asked := *r
	if asked.Options["admission-plugins"] == nil {
		asked.Options = maps.Clone(asked.Options)
		if asked.Options == nil {
			asked.Options = map[string][]string{}
		}
		asked.Options["admission-plugins"] = []string{"default"}
	}
	in := s.input(&asked)
	pods := Views{Lines: []ViewLine{}}
	if !source.HasErrors(in.diagnostics) && !in.options.Plain {
		outcome := in.set.Run(context.Background(), in.manifests, engine.Pods(), s.progress())
		in.diagnostics = append(in.diagnostics, outcome.Diagnostics...)
		if text := strings.TrimSuffix(string(manifest.Join(outcome.Running())), "\n"); !outcome.Failed() && text != "" {
			for line := range strings.SplitSeq(text, "\n") {
				pods.Lines = append(pods.Lines, ViewLine{Text: line})
			}
		}
	}
	var b bytes.Buffer
	report.FindingsJSON(&b, in.diagnostics, "")
	pods.Notes = b.Bytes()
	return pods
}

// linesOf returns the lines of `preadmit view`, each compared with the manifest in the same form.
func linesOf(outcome *engine.Outcome) []ViewLine {
	lines := []ViewLine{}
	for _, m := range outcome.Manifests {
		if m.Before == nil {
			continue
		}
		if len(lines) > 0 {
			lines = append(lines, ViewLine{Text: "---"})
		}
		written, seen := string(manifest.YAML(m.Document.Object())), string(manifest.YAML(m.Before))
		for _, l := range report.Compare(m.ID, written, seen, nil, nil).Lines() {
			if l.After > 0 {
				lines = append(lines, ViewLine{l.Text, l.Before == 0})
			}
		}
	}
	return lines
}
