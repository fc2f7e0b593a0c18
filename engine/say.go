package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
)

// say returns the outcome of a run. All diagnostics are masked here. If anything has failed, all
// documents are reset.
func (r *run) say() *Outcome {
	outcome := &Outcome{Secrets: r.input.secrets, KyvernoVersion: r.kyvernoVersion()}
	diagnostics := slices.Concat(r.policies.problems, r.diagnostics)
	if err := r.ctx.Err(); err != nil {
		r.forget()
		diagnostics = append(diagnostics, source.Errorf(source.Position{}, "interrupted", "the run did not finish: %v", err))
	}
	for _, j := range r.jobs {
		outcome.Manifests = append(outcome.Manifests, j.result)
		outcome.Denied = outcome.Denied || j.denied
		for _, d := range j.diagnostics {
			if d.Subject == j.result.ID {
				d.Origin = j.document.At(nil)
			}
			diagnostics = append(diagnostics, d)
		}
	}
	diagnostics = append(diagnostics, r.tellBlocked()...)
	for _, o := range r.observers {
		if o.ended != nil {
			diagnostics = append(diagnostics, o.ended(r, outcome)...)
		}
	}
	outcome.Diagnostics = r.decide(unique(diagnostics))
	if r.set != nil && r.set.settings.options.Strict {
		escalate(outcome.Diagnostics)
	}
	outcome.Invalid = invalidates(outcome.Diagnostics)
	for _, o := range r.observers {
		o.warned(outcome.Diagnostics)
	}
	if outcome.Failed() && !isPartial(r.observers) {
		for _, j := range r.jobs {
			j.document.Reset()
		}
	}
	return outcome
}

// forget drops what an interrupted run has found about the manifests: a policy that was interrupted
// seems to deny them.
func (r *run) forget() {
	for _, j := range r.jobs {
		j.diagnostics, j.blocked, j.denied, j.result.Reason = nil, nil, false, ""
	}
}

// kyvernoVersion returns the version of Kyverno as which its policies ran, or "" without such
// policies.
func (r *run) kyvernoVersion() string {
	for _, program := range r.server.programs {
		if strings.HasPrefix(program.Hook().Configuration, "kyverno-") {
			return cmp.Or(r.set.settings.options.KyvernoVersion, DefaultKyvernoVersion)
		}
	}
	return ""
}

// decide removes from diagnostics what must not be shown.
func (r *run) decide(diagnostics []source.Diagnostic) []source.Diagnostic {
	if r.set == nil {
		return r.input.secrets.Messages(diagnostics)
	}
	if len(diagnostics) > 0 || r.watched { // observers find more text than diagnostics
		r.set.learnPrivate(r.input.secrets, slices.Concat(r.input.local, r.input.manifests))
	}
	return r.set.files.decide(diagnostics, r.input.secrets)
}

// unique removes repeated warnings. It keeps the same mistake at two places of an expression.
func unique(diagnostics []source.Diagnostic) []source.Diagnostic {
	type said struct {
		code, subject, field, message string
		at                            source.Position
	}
	seen := map[said]bool{}
	var kept []source.Diagnostic
	for _, d := range diagnostics {
		key := said{code: d.Code, subject: d.Subject, field: d.Field, message: d.Message}
		if d.Excerpt != "" {
			key.at = d.At
		}
		if d.Severity != source.Error && seen[key] {
			continue
		}
		seen[key] = true
		kept = append(kept, d)
	}
	source.Sort(kept)
	return kept
}

// escalate turns warnings and notes into errors if they mean that preadmit cannot tell what a cluster would
// do.
func escalate(diagnostics []source.Diagnostic) {
	for i := range diagnostics {
		if entry, _ := source.Lookup(diagnostics[i].Code); entry.Unsure {
			diagnostics[i].Severity = source.Error
		}
	}
}

// invalidates reports whether there is an error other than a denial.
func invalidates(diagnostics []source.Diagnostic) bool {
	for _, d := range diagnostics {
		if d.Severity == source.Error && d.Code != source.CodeDenied {
			return true
		}
	}
	return false
}
