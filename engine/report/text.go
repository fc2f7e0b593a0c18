package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// Explain writes for people what changes in every manifest, which policies changed it, and why
// other policies were not applied.
func Explain(w io.Writer, r *Report, colored bool) {
	failed := r.failed()
	for i, m := range r.Manifests {
		if i > 0 {
			io.WriteString(w, "\n")
		}
		fmt.Fprintf(w, "%s%s\n", paint(m.ID, bold, colored), paint(at(m.At), dim, colored))
		switch {
		case failed[i]:
			fmt.Fprintf(w, "  %s\n", paint("not admitted: see the error", red, colored))
		case len(m.Edits) == 0:
			io.WriteString(w, "  nothing changes\n")
		}
		for _, e := range m.Edits {
			explainEdit(w, e, colored)
		}
		for _, s := range m.Dropped {
			fmt.Fprintf(w, "  %s %s\n", paint("dropped by the server", yellow, colored), oneLine(s.Op, s.Path, s.Old, s.New, colored))
			fmt.Fprintf(w, "      by %s%s\n", s.by(), paint(at(s.At), dim, colored))
		}
		for _, n := range fold(m.NotApplied) {
			fmt.Fprintf(w, "  %s %s%s\n      %s\n", paint("not applied:", dim, colored), n.name(), paint(at(n.At), dim, colored), n.Reason)
		}
		for _, a := range m.Audit {
			fmt.Fprintf(w, "  %s %s: %s\n", paint("audit annotation", dim, colored), source.Printable(a.Key), source.Printable(a.Value))
		}
	}
	where := ""
	if r.Field != "" {
		where = " in " + r.Field
	}
	if r.resembling != "" {
		where += "; did you mean " + r.resembling + "?"
	}
	if len(r.Manifests) > 0 {
		io.WriteString(w, "\n")
	}
	fmt.Fprintf(w, "%s\n", paint(fmt.Sprintf("%d of %d manifests change%s", r.Changed(), r.Total, where), bold, colored))
}

// opMarks and opColors are the signs and colours of operations.
var (
	opMarks  = map[change.Op]string{change.Add: "+ ", change.Remove: "- ", change.Replace: "~ ", change.Move: "~ "}
	opColors = map[change.Op]string{change.Add: green, change.Remove: red, change.Replace: yellow, change.Move: yellow}
)

// explainEdit writes a change with its values: on the line of the path, or below it as YAML.
func explainEdit(w io.Writer, e Edit, colored bool) {
	lines := block(e.Op, e.last, e.Old, e.New)
	text := oneLine(e.Op, e.Path, e.Old, e.New, colored)
	if lines != nil {
		text = paint(opMarks[e.Op]+e.Path, opColors[e.Op], colored)
	}
	fmt.Fprintf(w, "  %s%s\n", text, paint(at(e.At), dim, colored))
	for _, l := range lines {
		mark := string(l.op)
		if l.op == leftOut {
			mark = " "
		}
		fmt.Fprintf(w, "      %s", paint(mark+" "+strings.TrimRight(l.text, "\n")+"\n", lineColors[l.op], colored))
	}
	for _, s := range e.Causes {
		fmt.Fprintf(w, "      by %s%s", s.by(), paint(at(s.At), dim, colored))
		if s.Pass > 1 {
			io.WriteString(w, " (reinvoked)")
		}
		if len(e.Causes) > 1 || s.Op != e.Op {
			fmt.Fprintf(w, ": %s", oneLine(s.Op, s.Path, s.Old, s.New, false))
		}
		io.WriteString(w, "\n")
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
	return name(s.Policy, s.Binding, s.Param, s.Rule)
}

func (n NotApplied) name() string { return name(n.Policy, n.Binding, n.Param, n.Rule) }

func name(policy, binding, param, rule string) string {
	text := "policy " + policy
	for _, part := range [][2]string{{", binding ", binding}, {", param ", param}, {", ", rule}} {
		if part[1] != "" {
			text += part[0] + part[1]
		}
	}
	return text
}

func at(p source.Position) string {
	if !p.IsKnown() {
		return ""
	}
	return "  " + p.String()
}

// oneLine returns a change on one line. Long values are cut.
func oneLine(op change.Op, path string, old, value any, colored bool) string {
	text := paint(opMarks[op]+path, opColors[op], colored)
	switch op {
	case change.Add:
		return text + ": " + cut(inline(value), longestInline)
	case change.Remove:
		return text + " (was " + cut(inline(old), longestInline) + ")"
	case change.Move:
		return text + " (moved)"
	}
	before, after := inlinePair(old, value)
	return text + ": " + before + " → " + after
}
