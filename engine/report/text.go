package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/policy"
	"github.com/preadmit/preadmit/engine/source"
)

// explainer writes changes for people. full says that values are written whole.
type explainer struct {
	w             io.Writer
	colored, full bool
}

// Explain writes for people what changes in every manifest, which policies changed it, and why
// other policies were not applied.
func Explain(w io.Writer, r *Report, colored bool) {
	failed, x := r.failed(), explainer{w, colored, r.Full}
	for i, m := range r.Manifests {
		if i > 0 {
			io.WriteString(w, "\n")
		}
		fmt.Fprintf(w, "%s%s\n", paint(m.ID, bold, colored), paint(at(m.At)+m.renderedIn(), dim, colored))
		switch {
		case failed[i]:
			fmt.Fprintf(w, "  %s\n", paint("not admitted: see the error", red, colored))
		case len(m.Edits) == 0:
			io.WriteString(w, "  nothing changes\n")
		}
		for i := range m.Edits {
			x.edit(&m.Edits[i])
		}
		for _, s := range m.Dropped {
			fmt.Fprintf(w, "  %s ", paint("dropped by the server", yellow, colored))
			x.difference(s.difference(), "      ", "")
			fmt.Fprintf(w, "      by %s%s\n", s.by(), paint(at(s.At), dim, colored))
		}
		for _, n := range fold(m.NotApplied) {
			fmt.Fprintf(w, "  %s %s%s\n      %s\n", paint("not applied:", dim, colored), n.name(), paint(at(n.At), dim, colored), n.Reason)
		}
		for _, o := range m.Objections {
			x.objection(o)
		}
		for _, a := range m.Audit {
			fmt.Fprintf(w, "  %s %s: %s\n", paint("audit annotation", dim, colored), source.Printable(a.Key), source.Printable(a.Value))
		}
	}
	if len(r.Manifests) > 0 {
		io.WriteString(w, "\n")
	}
	headline := r.headline()
	if r.resembling != "" {
		headline += "; did you mean " + r.resembling + "?"
	}
	fmt.Fprintf(w, "%s\n", paint(headline, bold, colored))
}

// edit writes a change to a manifest and the steps that caused it.
func (x *explainer) edit(e *Edit) {
	io.WriteString(x.w, "  ")
	x.difference(e.difference(), "      ", at(e.At))
	for _, s := range e.Causes {
		by := s.by() + paint(at(s.At), dim, x.colored)
		if s.Pass > 1 {
			by += " (reinvoked)"
		}
		switch d := s.difference(); {
		case len(e.Causes) == 1 && s.Op == e.Op:
			fmt.Fprintf(x.w, "      by %s\n", by)
		case !x.full && !isWithin(s.Path, e.Path): // the cause of other edits, too, which have the rest
			fmt.Fprintf(x.w, "      by %s: %s\n", by, d.named())
		case d.isBig():
			fmt.Fprintf(x.w, "      by %s: ", by)
			x.difference(d, "          ", "")
		default:
			fmt.Fprintf(x.w, "      by %s: %s\n", by, d.oneLine(x.full, false))
		}
	}
}

// difference writes the rest of a line: a change, its place, and its values. Values that are too long
// for the line are below it as YAML.
func (x *explainer) difference(d difference, indent, place string) {
	text, lines := d.head(x.colored), d.block(x.full)
	if lines == nil {
		text = d.oneLine(x.full, x.colored)
	}
	fmt.Fprintf(x.w, "%s%s\n", text, paint(place, dim, x.colored))
	for _, l := range lines {
		marks := l.marks()
		if l.op == leftOut {
			marks = " "
		}
		for _, mark := range marks {
			fmt.Fprintf(x.w, "%s%s", indent, paint(string(mark)+" "+strings.TrimRight(l.text, "\n")+"\n", lineColors[l.op], x.colored))
		}
	}
}

// by returns the name of the rule or stage that made a step.
func (s Step) by() string {
	if s.Disposition == engine.Pinned {
		return "admission: the server had set this value before the policies ran"
	}
	if s.Disposition == engine.Normalized {
		return "normalization: the server stores this value"
	}
	if s.Plugin != "" {
		return "admission plug-in " + s.Plugin
	}
	return nameOf(s.Kind, s.Policy, s.Binding, s.Param, s.Rule)
}

func (n NotApplied) name() string { return nameOf(n.Kind, n.Policy, n.Binding, n.Param, n.Rule) }

// nameOf returns the name of a webhook or of a rule.
func nameOf(kind, policyName, binding, param, rule string) string {
	if kind == policy.WebhookKind {
		return policy.ID{Kind: kind, Policy: policyName, Rule: rule}.String()
	}
	return name(policyName, binding, param, rule)
}

func name(policy, binding, param, rule string) string {
	text := "policy " + policy
	for _, part := range [][2]string{{", binding ", binding}, {", param ", param}, {", ", rule}} {
		if part[1] != "" {
			text += part[0] + part[1]
		}
	}
	return text
}

// renderedIn says in which application the object was rendered.
func (m *Manifest) renderedIn() string {
	for _, p := range m.rendered() {
		return ", rendered in " + p.At.String()
	}
	return ""
}

func at(p source.Position) string {
	if !p.IsKnown() {
		return ""
	}
	return "  " + p.String()
}
