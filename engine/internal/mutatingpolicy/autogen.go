package mutatingpolicy

import (
	"fmt"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/policydoc"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// rewrite returns the policy that Kyverno generates from a policy for pods, for controllers with a
// pod template at a path. Kyverno replaces texts in the expressions of matchConditions and
// ApplyConfigurations: see autogenTexts, autogenMetadata and autogenNotWrapped. It does not rewrite
// variables (autogenVariables), JSON patches (autogenJSONPatch) and audit annotations.
func (l *Language) rewrite(d *definition, spec policy.Node, template []string) (*definition, error) {
	copied := *d
	r := policydoc.New(d.document)
	copied.scope = l.environment(d.kind).Scope(false)
	copied.variables(r, spec.At("variables"))
	matching := rewriteTexts(spec.At("matchConditions"), template, "expression")
	copied.conditions = conditions(r, matching, copied.scope)
	copied.mutations = mutations(r, rewriteTexts(spec.At("mutations"), template, "applyConfiguration", "expression"), copied.scope)
	copied.annotations = annotations(r, spec.At("auditAnnotations"), copied.scope)
	if len(r.Problems) > 0 {
		first, _, _ := strings.Cut(r.Problems[0].Message, "\n")
		return nil, fmt.Errorf("%s: %s", r.Problems[0].Field, first)
	}
	if copied.readsNamespace() {
		copied.inServer = l.inServer(&copied, matching)
	}
	return &copied, nil
}

// rewriteTexts returns a list in whose items the text at a path is rewritten.
func rewriteTexts(n policy.Node, template []string, path ...string) policy.Node {
	list, _ := change.Clone(n.Value).([]any)
	for _, item := range list {
		of, _ := item.(map[string]any)
		for _, name := range path[:len(path)-1] {
			of, _ = of[name].(map[string]any)
		}
		last := path[len(path)-1]
		if text, ok := of[last].(string); ok {
			of[last] = rewriteText(text, template)
		}
	}
	return policy.Node{Value: list, Path: n.Path}
}

var (
	specText     = lazyregexp.New(`\b(object|oldObject|Object)\.spec`)
	metadataText = lazyregexp.New(`\b(object|oldObject|Object)\.metadata\.(labels|annotations)`)
)

// rewriteText rewrites an expression as Kyverno v1.19.0 does for pod controllers.
func rewriteText(text string, template []string) string {
	path := strings.Join(template, ".")
	text = specText().ReplaceAllString(text, "${1}."+path+".spec")
	text = metadataText().ReplaceAllString(text, "${1}."+path+".metadata.${2}")
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "Object")
	rest, isLiteral := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), "{")
	end := closingBrace(rest)
	if !ok || !isLiteral || end <= 0 {
		return text
	}
	open, name := "Object{", "Object"
	for _, part := range template {
		name += "." + part
		open += part + ": " + name + "{"
	}
	return open + rest[:end] + strings.Repeat("}", len(template)+1) + rest[end+1:]
}

// closingBrace returns the index of the closing brace for an opening brace before the text. It
// only counts braces.
func closingBrace(text string) int {
	depth := 1
	for i, c := range text {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}
