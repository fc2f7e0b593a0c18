package mapolicy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/admissionpolicy"
	"github.com/preadmit/preadmit/engine/internal/celenv"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Convert edits a document to the form of v1. The document is a draft, or a policy or binding of
// an older version. A draft without an equivalent in v1 is an error. Documents that the language
// does not claim are not changed.
func (l *Language) Convert(d *manifest.Document) []source.Diagnostic {
	if kind := d.Kind(); !slices.Contains(l.Kinds(), gvk.Kind{Group: kind.Group, Kind: kind.Kind}) {
		return nil
	}
	r := l.shared.Reader(d)
	object := d.Object()
	isDraft := l.isDraft(r)
	if isDraft {
		definition := l.draft(r)
		r.Doc.Problems = r.Doc.Problems[1:] // the warning about drafts is not needed here
		if !source.HasErrors(r.Doc.Problems) {
			convertDraft(r, definition, object["spec"].(map[string]any))
		}
	} else if d.Kind().Kind == "MutatingAdmissionPolicyBinding" && d.Kind().Version == "v1alpha1" {
		// The default of v1alpha1 must be explicit in v1.
		if ref, ok := change.Keys("spec", "paramRef").Get(object); ok {
			if ref, ok := ref.(map[string]any); ok && ref["parameterNotFoundAction"] == nil {
				ref["parameterNotFoundAction"] = "Deny"
			}
		}
	}
	object["apiVersion"] = group + "/v1"
	if isDraft && !source.HasErrors(r.Doc.Problems) {
		l.checkConverted(r, object)
	}
	if source.HasErrors(r.Doc.Problems) {
		return r.Doc.Problems
	}
	if err := d.Set(object, l.schemas.Lookup(d.Kind()).Type()); err != nil {
		r.Doc.Advise(nil, "policy-not-convertible", "the policy cannot be rewritten: "+err.Error(), "")
	}
	return r.Doc.Problems
}

// checkConverted reports errors of a server about the result.
func (l *Language) checkConverted(r *admissionpolicy.Reader, object map[string]any) {
	text, err := json.Marshal(object)
	if err != nil {
		r.Doc.Advise(nil, "policy-not-convertible", "the policy cannot be rewritten: "+err.Error(), "")
		return
	}
	stream, problems := manifest.Read("converted", text)
	if len(problems) == 0 {
		converted := l.shared.Reader(stream.Documents()[0])
		if l.shared.Decodes(converted, draftAdvice) {
			l.definition(converted)
		}
		problems = converted.Doc.Problems
	}
	for _, problem := range problems {
		noForm(r, r.Doc.Root.At("spec"), "a server would refuse it: "+problem.Field+": "+problem.Message, "")
	}
}

// noForm reports that a part of a draft has no equivalent in v1.
func noForm(r *admissionpolicy.Reader, n policy.Node, why, advice string) {
	r.Doc.Advise(n.Path, "policy-not-convertible", "there is no form of "+group+"/v1 for this: "+why, advice)
}

// lost warns about a field without an equivalent in v1, which is left out.
func lost(r *admissionpolicy.Reader, n policy.Node, advice string) {
	if !n.Given() {
		return
	}
	d := source.Warningf(r.Doc.Document.At(n.Path), "policy-field-lost", "the field has no equivalent in %s/v1, and is left out", group).With(advice)
	d.Subject, d.Field = r.Doc.Subject, n.Path.String()
	r.Doc.Problems = append(r.Doc.Problems, d)
}

// convertDraft converts the spec of a draft to v1.
func convertDraft(r *admissionpolicy.Reader, d *definition, spec map[string]any) {
	root := r.Doc.Root.At("spec")
	if kind := root.At("paramKind"); kind.At("version").Given() {
		spec["paramKind"] = map[string]any{"apiVersion": d.policy.ParamKind.APIVersion(), "kind": d.policy.ParamKind.Kind}
	}
	lost(r, root.At("mutationValidationPolicy"), "preadmit checks all policies; see the option non-idempotent")
	delete(spec, "mutationValidationPolicy")
	spec["reinvocationPolicy"] = "Never"
	if d.reinvocable {
		spec["reinvocationPolicy"] = "IfNeeded"
	}
	mutations, _ := spec["mutations"].([]any)
	for i, item := range root.At("mutations").Items() {
		m, mutation := d.mutations[i], mutations[i].(map[string]any)
		if m.once && d.reinvocable {
			noForm(r, item.At("reinvocationPolicy"), "all mutations of a policy are reinvoked, or none", "split the policy into two")
		}
		delete(mutation, "reinvocationPolicy")
		if m.draft == nil {
			continue
		}
		lost(r, item.At("message"), "the server words its own messages")
		lost(r, item.At("reason"), "")
		for _, name := range draftFields {
			delete(mutation, name)
		}
		member := map[string]string{jsonPatch: "jsonPatch", applyConfiguration: "applyConfiguration"}[m.patchType]
		mutation["patchType"] = m.patchType
		mutation[member] = map[string]any{"expression": convertedExpression(r, m)}
	}
}

// convertedExpression returns the v1 expression for a mutation of a draft.
func convertedExpression(r *admissionpolicy.Reader, m mutation) string {
	d := m.draft
	text := strings.TrimSpace(d.rewritten.text)
	mayBeNull := d.rewritten.uses("null")
	if d.rewritten.uses(unsetKey) || strings.Contains(text, unsetKey) {
		noForm(r, d.source, "an ApplyConfiguration cannot remove anything", `write a JSONPatch with op "remove"`)
	}
	if m.patchType == applyConfiguration && m.program.NestsLiterals() {
		warning := source.Warningf(r.Doc.Document.At(d.source.Path), "policy-nested-maps",
			"the expression gives maps within lists or maps, which API servers refuse").
			With("write Object literals in their place, for instance Object.spec.containers{…}")
		warning.Subject, warning.Field = r.Doc.Subject, d.source.Path.String()
		r.Doc.Problems = append(r.Doc.Problems, warning)
	}
	empty := "[]"
	switch result := m.program.DraftType(); {
	case result == celenv.AnObject:
		empty = "Object{}"
		if mayBeNull {
			text = wrap("[", text, "].map(o, o == null ? Object{} : o)[0]")
		}
	case result == celenv.OnePatch && mayBeNull:
		text = wrap("[", text, "].filter(p, p != null)")
	case result == celenv.OnePatch:
		text = wrap("[", text, "]")
	case result == celenv.NestedPatches:
		text = wrap("(", text, ").flatten()")
	case result == celenv.Undecided:
		noForm(r, d.source, "a mutation of v1 returns a patch, never null or a bool", "let a ValidatingAdmissionPolicy deny requests")
	}
	if d.condition != nil {
		text = wrap("(", strings.TrimSpace(d.conditionText), ")") + "\n? " + wrap("(", text, ")") + "\n: " + empty
	}
	return text + strings.Repeat("\n", min(strings.Count(text, "\n"), 1))
}

// wrap puts a text between two others. A text of several lines, or with a comment, gets its own
// lines, because a comment may be at its end.
func wrap(before, text, after string) string {
	if strings.Contains(text, "\n") || strings.Contains(text, "//") {
		return before + "\n" + text + "\n" + after
	}
	return before + text + after
}
