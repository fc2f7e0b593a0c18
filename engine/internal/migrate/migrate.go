package migrate

import (
	"errors"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/manifest"
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
	of map[*manifest.Document][]made
}

// made is a policy to which rules were converted.
type made struct {
	rules      []kyverno.Rule
	kind, name string
	yaml       string
}

// New begins a migration.
func New(target Target, language *kyverno.Language, schemas *schema.Registry) *Migration {
	return &Migration{target: target, language: language, schemas: schemas, of: map[*manifest.Document][]made{}}
}

// Policy converts the mutate rules of a document.
func (m *Migration) Policy(d *manifest.Document) []source.Diagnostic {
	rules, problems := m.language.Rules(d)
	if source.HasErrors(problems) {
		return problems
	}
	written := 0
	for _, rule := range rules {
		if !rule.Generated {
			written++
		}
	}
	var converted []*converter
	for _, rule := range rules {
		c := &converter{rule: rule, schemas: m.schemas, isNative: m.target == MutatingAdmissionPolicy}
		if rule.First && len(rules) > 1 {
			c.refuse(rule.Root.Path, "applyRules One: only the first rule that changes the object applies", "give the rules conditions that exclude each other, and leave applyRules out")
			return append(problems, c.problems...)
		}
		err := c.convert()
		if err != nil && !errors.Is(err, errReported) {
			c.refuse(rule.Root.Path, err.Error(), "")
		}
		if err == nil {
			converted = append(converted, c)
		} else {
			problems = append(problems, c.problems...)
		}
	}
	policies := mergedRules(converted)
	for i, c := range policies {
		problems = append(problems, c.problems...)
		name := ruleName(c.rule, written > 1)
		p := made{rules: []kyverno.Rule{c.rule}, kind: c.kind(), name: name, yaml: c.yaml(name, i == 0)}
		for _, other := range c.joined {
			p.rules = append(p.rules, other.rule)
		}
		m.of[d] = append(m.of[d], p)
	}
	return unique(problems)
}

// unique drops problems of a generated rule that were reported for its original.
func unique(problems []source.Diagnostic) []source.Diagnostic {
	var kept []source.Diagnostic
	for _, p := range problems {
		if !slices.ContainsFunc(kept, func(other source.Diagnostic) bool {
			return other.At == p.At && other.Code == p.Code && other.Field == p.Field
		}) {
			kept = append(kept, p)
		}
	}
	return kept
}

// Write returns the documents that replace a document.
func (m *Migration) Write(d *manifest.Document) ([]string, []source.Diagnostic) {
	switch {
	case m.target == MutatingAdmissionPolicy && isException(d.Kind()):
		return m.noException(d)
	case m.target == MutatingAdmissionPolicy && isMutatingPolicy(d.Kind()):
		return native(d)
	case kyverno.IsException(d.Kind()):
		return m.exception(d)
	case !kyverno.IsPolicy(d.Kind()):
		return []string{textOf(d)}, nil
	}
	var texts []string
	for _, p := range m.of[d] {
		texts = append(texts, p.yaml)
	}
	rest, problems := m.rest(d)
	if rest != "" || len(texts) == 0 {
		texts = append(texts, rest)
	}
	return texts, problems
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

// rest returns a policy with the rules that do not mutate; "" if there are no such rules.
func (m *Migration) rest(d *manifest.Document) (string, []source.Diagnostic) {
	object := d.Object()
	spec, _ := object["spec"].(map[string]any)
	rules, _ := spec["rules"].([]any)
	var others []any
	for _, rule := range rules {
		if fields, ok := rule.(map[string]any); !ok || fields["mutate"] == nil {
			others = append(others, rule)
		}
	}
	switch {
	case len(others) == len(rules):
		return textOf(d), nil
	case len(others) == 0:
		return "", nil
	}
	spec["rules"] = others
	if err := d.Set(object, nil); err != nil {
		return "", []source.Diagnostic{source.Errorf(d.At(nil), "policy-not-convertible", "the rules that do not mutate cannot be kept: %v", err)}
	}
	text := textOf(d)
	d.Reset()
	return text, nil
}
