package migrate

import (
	"fmt"
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

// headOf returns a document without its spec, for another kind: as the user wrote it, with its comments.
func headOf(d *manifest.Document, apiVersion, kind string) *manifest.Document {
	metadata, _ := d.Value("metadata").(map[string]any)
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		if delete(annotations, autogenAnnotation); len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	object := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	text := setIn(d, object)
	if i := strings.Index("\n"+text, "\n{"); i >= 0 { // to which no spec can be added
		text = text[:i] + string(manifest.YAML(object))
	}
	stream, _ := manifest.Read(d.Stream().Name(), []byte(text))
	return stream.Documents()[0]
}

// setIn returns the text of a document as another object.
func setIn(d *manifest.Document, object map[string]any) string {
	defer d.Reset()
	if err := d.Set(object, nil); err != nil {
		return string(manifest.YAML(object))
	}
	return textOf(d)
}

// named returns the text of a document with another name.
func named(d *manifest.Document, name string) string {
	object := d.Object()
	object["metadata"].(map[string]any)["name"] = name
	return setIn(d, object)
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

// yaml returns the policy of a rule, with the head of its document. first says that it is the first policy of the
// document, which gets the comments that belong to no rule.
func (c *converter) yaml(head *manifest.Document, r *remarks, first bool) string {
	var w writer
	about := c.remarks(r)
	begin := named(head, c.name)
	for !first && isBlank(begin) {
		_, begin, _ = strings.Cut(begin, "\n")
	}
	var ofSpec []string
	if first {
		ofSpec = r.spec(c.rule.Document)
	}
	w.WriteString(r.withoutEnd(begin))
	w.line(0, "spec:")
	w.comments(2, ofSpec)
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
		about = r.rule(c.rule.Document, c.rule.Root)
	}
	for _, other := range c.joined {
		more := r.rule(c.rule.Document, other.rule.Root)
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
