package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/preadmit/preadmit/engine"
	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// Explain writes for people what changes in every manifest, who did it, and why other
// policies did nothing.
func Explain(w io.Writer, r *Report, colored bool) {
	for i, m := range r.Manifests {
		if i > 0 {
			io.WriteString(w, "\n")
		}
		fmt.Fprintf(w, "%s%s\n", paint(m.ID, bold, colored), paint(at(m.At), dim, colored))
		if len(m.Edits) == 0 {
			io.WriteString(w, "  nothing changes\n")
		}
		for _, e := range m.Edits {
			explainEdit(w, e, colored)
		}
		for _, s := range m.Dropped {
			fmt.Fprintf(w, "  %s %s\n", paint("dropped by the server", yellow, colored), change1(s.Op, s.Path, s.Old, s.New, colored))
			fmt.Fprintf(w, "      by %s%s\n", source.Printable(s.by()), paint(at(s.At), dim, colored))
		}
		for _, n := range m.NotApplied {
			fmt.Fprintf(w, "  %s %s%s\n      %s\n", paint("not applied:", dim, colored), source.Printable(n.name()), paint(at(n.At), dim, colored), source.Printable(n.Reason))
		}
	}
	where := ""
	if r.Field != "" {
		where = " in " + r.Field
	}
	if len(r.Manifests) > 0 {
		io.WriteString(w, "\n")
	}
	fmt.Fprintf(w, "%s\n", paint(fmt.Sprintf("%d of %d manifests change%s", r.Changed(), r.Total, where), bold, colored))
}

func explainEdit(w io.Writer, e Edit, colored bool) {
	fmt.Fprintf(w, "  %s%s\n", change1(e.Op, e.Path, e.Old, e.New, colored), paint(at(e.At), dim, colored))
	if text := block(e.Op, e.Path, e.New); text != "" {
		io.WriteString(w, paintLines(text, green, colored))
	}
	for _, s := range e.Causes {
		fmt.Fprintf(w, "      by %s%s", source.Printable(s.by()), paint(at(s.At), dim, colored))
		if s.Pass > 1 {
			io.WriteString(w, " (reinvoked)")
		}
		if len(e.Causes) > 1 || s.Op != e.Op {
			fmt.Fprintf(w, ": %s", change1(s.Op, s.Path, s.Old, s.New, false))
		}
		io.WriteString(w, "\n")
	}
}

// by names what made a step.
func (s Step) by() string {
	if s.Fate == engine.Pinned {
		return "admission: the value the server had decided on before the policies ran"
	}
	if s.Fate == engine.Normalized {
		return "normalization: it is what the server stores"
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

// longestInline is how many characters of a value stand beside its path.
const longestInline = 60

// change1 writes a change on one line.
func change1(op change.Op, path string, old, value any, colored bool) string {
	switch op {
	case change.Add:
		return paint("+ "+path, green, colored) + suffix(": ", value)
	case change.Remove:
		return paint("- "+path, red, colored) + suffix(" (was ", old) + map[bool]string{true: ")"}[suffix("", old) != ""]
	case change.Move:
		return paint("~ "+path, yellow, colored) + " (moved)"
	}
	if isBig(old) || isBig(value) {
		return paint("~ "+path, yellow, colored)
	}
	return paint("~ "+path, yellow, colored) + ": " + inline(old) + " → " + inline(value)
}

func suffix(before string, value any) string {
	if isBig(value) {
		return ""
	}
	return before + inline(value)
}

func isBig(value any) bool { return len(inline(value)) > longestInline }

func inline(value any) string { return string(manifest.JSON(value)) }

// block is a value too big for the line of its path, as YAML.
func block(op change.Op, path string, value any) string {
	if op != change.Add && op != change.Replace || !isBig(value) {
		return ""
	}
	key := path[strings.LastIndexAny(path, ".")+1:]
	if object, ok := value.(map[string]any); ok {
		return string(manifest.YAML(object))
	}
	return string(manifest.YAML(map[string]any{key: value}))
}

func paintLines(text, with string, colored bool) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString("        " + paint(l, with, colored))
	}
	return b.String()
}
