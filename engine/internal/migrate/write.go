package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/manifest"
)

// writer writes a policy as YAML.
type writer struct{ strings.Builder }

func (w *writer) line(indent int, format string, args ...any) {
	w.WriteString(strings.Repeat(" ", indent) + fmt.Sprintf(format, args...) + "\n")
}

func (w *writer) comments(indent int, comments []string) {
	for _, c := range comments {
		w.line(indent, "%s", c)
	}
}

// scalar returns a string as a YAML scalar.
func scalar(s string) string {
	written := strings.TrimSuffix(strings.TrimPrefix(string(manifest.YAML(map[string]any{"a": s})), "a: "), "\n")
	switch {
	case strings.Contains(written, "\n"):
		return strconv.Quote(s)
	case strings.HasPrefix(written, `"`) && !strings.ContainsAny(s, "'\t") && strings.Contains(s, `"`):
		return "'" + s + "'"
	}
	return written
}

func flow(values []string) string {
	written := make([]string, len(values))
	for i, v := range values {
		written[i] = scalar(v)
		if strings.ContainsAny(v, "*,[]{} ") && written[i] == v {
			written[i] = strconv.Quote(v)
		}
	}
	return "[" + strings.Join(written, ", ") + "]"
}

// expression writes a field whose value is an expression.
func (w *writer) expression(indent int, key, text string) {
	written := scalar(text)
	if !strings.Contains(text, "\n") && !(strings.HasPrefix(written, `"`) && strings.Contains(written, `\`)) {
		w.line(indent, "%s: %s", key, written)
		return
	}
	w.block(indent, key+": |-", text)
}

// block writes a text of several lines below a key.
func (w *writer) block(indent int, key, text string) {
	w.line(indent, "%s", key)
	for line := range strings.SplitSeq(text, "\n") {
		w.line(indent+2, "%s", line)
	}
}

// value writes a value of the original policy, or of a selector.
func (w *writer) value(indent int, key string, value map[string]any) {
	w.block(indent, key+":", strings.TrimSuffix(string(manifest.YAML(value)), "\n"))
}

// metadata writes the metadata of a policy as the user wrote it, with another name.
func (w *writer) metadata(r *remarks, name string) {
	written, marked := r.block("metadata")
	inFlow := func(line string) bool {
		return strings.Contains(line, autogenAnnotation) && !strings.HasPrefix(strings.TrimSpace(line), autogenAnnotation+":")
	}
	if len(written) < 2 || strings.TrimSpace(written[0]) != "metadata:" && commentIn(written[0]) == nil || slices.ContainsFunc(written, inFlow) {
		w.reformatted(r.metadata, marked, name)
		return
	}
	var kept []string
	for i, line := range written {
		trimmed := strings.TrimSpace(line)
		if keyIndent(line) == keyIndent(written[1]) && strings.HasPrefix(trimmed, "name:") {
			comment := ""
			if c := commentIn(marked[i]); c != nil {
				comment = "   " + c[0]
			}
			line = line[:keyIndent(line)] + "name: " + scalar(name) + comment
		}
		if strings.HasPrefix(trimmed, autogenAnnotation+":") {
			continue
		}
		kept = append(kept, line)
	}
	for i, line := range kept {
		if strings.TrimSpace(line) == "annotations:" && (i+1 == len(kept) || keyIndent(kept[i+1]) <= keyIndent(line)) {
			continue
		}
		w.line(0, "%s", line)
	}
}

// reformatted writes metadata in another form than the user, after its comments.
func (w *writer) reformatted(metadata map[string]any, written []string, name string) {
	for _, line := range written {
		w.comments(0, commentIn(line))
	}
	metadata = maps.Clone(metadata)
	metadata["name"] = name
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		annotations = maps.Clone(annotations)
		delete(annotations, autogenAnnotation)
		if metadata["annotations"] = annotations; len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	w.value(0, "metadata", metadata)
}

const autogenAnnotation = "pod-policies.kyverno.io/autogen-controllers"

// constraints writes a block of constraints.
func (w *writer) constraints(key string, c constraints) {
	w.line(2, "%s:", key)
	w.line(4, "resourceRules:")
	for _, r := range c.rules {
		w.line(4, "- apiGroups: %s", flow(r.groups))
		w.line(6, "apiVersions: %s", flow(r.versions))
		w.line(6, "operations: %s", flow(r.operations))
		w.line(6, "resources: %s", flow(r.resources))
	}
	if c.namespaces != nil {
		w.value(4, "namespaceSelector", c.namespaces)
	}
	if c.selector != nil {
		w.value(4, "objectSelector", c.selector)
	}
}

func (w *writer) conditions(key string, conditions []condition, comments []string) {
	w.comments(2, comments)
	if len(conditions) > 0 {
		w.line(2, "%s:", key)
	}
	seen := map[string]int{}
	for _, c := range conditions {
		name := c.name
		if seen[name]++; seen[name] > 1 {
			name += "-" + strconv.Itoa(seen[name])
		}
		w.line(2, "- name: %s", scalar(name))
		w.expression(4, "expression", c.x.Pretty())
	}
}

// yaml returns the policy of a rule. first says that it is the first policy of its document,
// which gets the comments that belong to no rule.
func (c *converter) yaml(r *remarks, first bool) string {
	var w writer
	about := c.remarks(r)
	if first {
		w.comments(0, r.head())
	}
	w.line(0, "apiVersion: %s", c.apiVersion())
	w.line(0, "kind: %s", c.kind())
	w.metadata(r, c.name)
	w.line(0, "spec:")
	w.comments(2, append(about[""], about["name"]...))
	if c.rule.Ignore {
		w.line(2, "failurePolicy: Ignore")
	}
	if c.isNative {
		w.line(2, "reinvocationPolicy: Never")
	} else {
		c.evaluation(&w)
	}
	w.comments(2, append(about["match"], about["exclude"]...))
	w.constraints("matchConstraints", c.matched)
	w.conditions("matchConditions", c.matched.conditions, about["preconditions"])
	if c.target != nil {
		w.constraints("targetMatchConstraints", c.target.matched)
		w.conditions("targetMatchConditions", c.target.matched.conditions, nil)
	}
	w.conditions("variables", c.variables, about["context"])
	w.mutations(c.mutations, about["mutate"])
	if c.isNative {
		w.WriteString("---\n" + bindingOf(c.name))
	}
	return w.String()
}

// remarks returns the comments of the rule, by section. Those of joined rules are about mutations.
func (c *converter) remarks(r *remarks) map[string][]string {
	about := map[string][]string{}
	if !c.rule.Generated {
		about = r.rule(c.rule.Document, c.rule.Root.Path)
	}
	for _, other := range c.joined {
		more := r.rule(c.rule.Document, other.rule.Root.Path)
		for _, section := range append([]string{""}, sections...) {
			about["mutate"] = append(about["mutate"], more[section]...)
		}
	}
	return about
}

func (w *writer) mutations(mutations []mutation, comments []string) {
	w.comments(2, comments)
	w.line(2, "mutations:")
	for _, m := range mutations {
		if m.comment != "" {
			w.line(2, "# %s", m.comment)
		}
		w.line(2, "- patchType: %s", m.patchType)
		w.line(4, "%s:", map[string]string{applyConfiguration: "applyConfiguration", jsonPatch: "jsonPatch"}[m.patchType])
		w.expression(6, "expression", m.expression.Pretty())
	}
}

func (c *converter) apiVersion() string {
	if c.isNative {
		return "admissionregistration.k8s.io/v1"
	}
	return "policies.kyverno.io/v1"
}

// evaluation writes how the policy is evaluated.
func (c *converter) evaluation(w *writer) {
	if c.replacesAtomics || c.target != nil {
		w.line(2, "evaluation:")
		if c.target != nil {
			w.line(4, "mutateExisting:")
			w.line(6, "enabled: true")
		}
		if c.replacesAtomics {
			w.line(4, "useServerSideApply: true   # lists that do not merge by key are replaced as a whole")
		}
	}
	// The controllers have separate policies, because Kyverno 1.19.0 only replaces texts in
	// expressions.
	w.line(2, "autogen:")
	w.line(4, "podControllers:")
	w.line(6, "controllers: []")
}

// ruleName returns the name of the policy for a rule.
func ruleName(rule kyverno.Rule, several bool) string {
	name := rule.Policy
	written := rule.Root.At("name").Text()
	suffix := ""
	if rule.Generated {
		if rest, ok := strings.CutPrefix(rule.Name, "autogen-cronjob-"); ok {
			written, suffix = rest, "-cronjobs"
		} else if rest, ok := strings.CutPrefix(rule.Name, "autogen-"); ok {
			written, suffix = rest, "-controllers"
		}
	}
	if several && written != rule.Policy {
		name += "-" + written
	}
	return dnsName(name + suffix)
}

// dnsName converts a text to a valid name of an object.
func dnsName(text string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, text)
	return strings.Trim(name, "-.")
}

// kind returns the kind of the policy.
func (c *converter) kind() string {
	switch {
	case c.isNative:
		return string(MutatingAdmissionPolicy)
	case c.rule.Namespace != "":
		return "NamespacedMutatingPolicy"
	}
	return string(MutatingPolicy)
}
