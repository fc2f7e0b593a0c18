package migrate

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// Target is the kind of the converted policies.
type Target string

// The targets.
const (
	MutatingPolicy          Target = "MutatingPolicy"
	MutatingAdmissionPolicy Target = "MutatingAdmissionPolicy"
)

// Migration converts the policies among documents.
type Migration struct {
	target   Target
	language *kyverno.Language
	schemas  *schema.Registry
	// of are the policies to which a document was converted.
	of map[*manifest.Document][]*converter
}

// New begins a migration.
func New(target Target, language *kyverno.Language, schemas *schema.Registry) *Migration {
	return &Migration{target: target, language: language, schemas: schemas, of: map[*manifest.Document][]*converter{}}
}

// Policy converts the mutate rules of a document.
func (m *Migration) Policy(d *manifest.Document) (problems []source.Diagnostic) {
	defer recovered(d, &problems)
	rules, problems := m.language.Rules(d)
	if source.HasErrors(problems) {
		return problems
	}
	var converted []*converter
	refused := map[string]bool{} // a generated rule has the problems of its original
	for _, rule := range rules {
		c := &converter{rule: rule, schemas: m.schemas, isNative: m.target == MutatingAdmissionPolicy}
		if rule.First && len(rules) > 1 {
			_ = c.refuse(rule.Root.Path, "applyRules One: only the first rule that changes the object applies", "give the rules conditions that exclude each other, and leave applyRules out")
			return append(problems, c.problems...)
		}
		if err := c.convert(); err != nil {
			_ = c.failed(rule.Root.Path, err)
			if from := rule.Root.Path.String(); !refused[from] {
				refused[from] = true
				problems = append(problems, c.problems...)
			}
			continue
		}
		converted = append(converted, c)
	}
	policies, unmerged := mergedRules(converted)
	if unmerged != nil {
		return unique(append(problems, unmerged.problems...))
	}
	m.of[d] = policies
	written := slices.DeleteFunc(rules, func(r kyverno.Rule) bool { return r.Generated })
	for _, c := range policies {
		c.name = ruleName(c.rule, len(written) > 1)
		problems = append(problems, c.problems...)
	}
	return unique(append(problems, keptItems(d, converted)...))
}

// keptItems notes once for a document that items of lists stay two of which Kyverno keeps one.
func keptItems(d *manifest.Document, converted []*converter) []source.Diagnostic {
	i := slices.IndexFunc(converted, (*converter).keepsItems)
	if i < 0 {
		return nil
	}
	note := source.Warningf(d.At(converted[i].patch), source.CodePolicyConvertedAlmost, "two items of one key in a list, such as two variables of one name, stay two; Kyverno keeps one")
	note.Severity, note.Subject = source.Info, d.Kind().Kind+" "+d.Name()
	return []source.Diagnostic{note}
}

// Origin reports whether the policy with a kind and a name comes from a document, and whether it was
// converted.
func (m *Migration) Origin(d *manifest.Document, subject string) (converted, found bool) {
	if d.Kind().Kind+" "+d.Name() == subject {
		return false, true
	}
	isNative := m.target == MutatingAdmissionPolicy && isMutatingPolicy(d.Kind()) && string(m.target)+" "+d.Name() == subject
	return true, isNative || slices.ContainsFunc(m.of[d], func(c *converter) bool { return c.kind()+" "+c.name == subject })
}

// recovered reports a panic, which is a defect of this program.
func recovered(d *manifest.Document, problems *[]source.Diagnostic) {
	if problem := recover(); problem != nil {
		p := source.Errorf(d.At(nil), source.CodeInternal, "the conversion of this policy failed: %v", problem).With("this is a defect of preadmit: please report it, with the policy")
		p.Subject = d.Kind().Kind + " " + d.Name()
		*problems = append(*problems, p)
	}
}

// unique drops problems of a generated rule that were reported for its original.
func unique(problems []source.Diagnostic) []source.Diagnostic {
	type place struct {
		at          source.Position
		code, field string
	}
	seen := map[place]bool{}
	return slices.DeleteFunc(problems, func(p source.Diagnostic) bool {
		at := place{p.At, p.Code, p.Field}
		again := seen[at]
		seen[at] = true
		return again
	})
}

// Write returns the documents that replace a document.
func (m *Migration) Write(d *manifest.Document) (texts []string, problems []source.Diagnostic) {
	defer recovered(d, &problems)
	switch {
	case m.target == MutatingAdmissionPolicy && isException(d.Kind()):
		return m.noException(d)
	case m.target == MutatingAdmissionPolicy && isMutatingPolicy(d.Kind()):
		return native(d)
	case kyverno.IsException(d.Kind()):
		return m.exception(d)
	case !kyverno.IsPolicy(d.Kind()), len(m.of[d]) == 0: // the policy mutates nothing
		return []string{textOf(d)}, nil
	}
	r, head := remarksOf(d), headOf(d, m.of[d][0].apiVersion(), m.of[d][0].kind())
	for i, c := range m.of[d] {
		texts = append(texts, c.yaml(head, r, i == 0))
	}
	return append(texts, restOf(d)...), nil
}

// textOf returns the text of a document, with its edits.
func textOf(d *manifest.Document) string {
	_, after := d.Text()
	after = strings.TrimPrefix(after, "---\n")
	if !strings.HasSuffix(after, "\n") {
		after += "\n"
	}
	return after
}

// restOf returns a policy with the rules that do not mutate, if there are any.
func restOf(d *manifest.Document) []string {
	object := d.Object()
	spec, _ := object["spec"].(map[string]any)
	rules, _ := spec["rules"].([]any)
	others := slices.DeleteFunc(rules, func(rule any) bool { return policy.Node{Value: rule}.At("mutate").Given() })
	if len(others) == 0 {
		return nil
	}
	spec["rules"] = others
	return []string{setIn(d, object)}
}
