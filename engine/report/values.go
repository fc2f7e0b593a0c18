package report

import (
	"fmt"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

// What differs is never cut. Of what two values have in common, this many characters are shown at
// most, beside the path and on a line of a larger value, unless the report is full.
const (
	longestInline = 60
	longestLine   = 160
)

// inline returns a value as printable JSON on one line.
func inline(value any) string { return source.Printable(string(manifest.JSON(value))) }

func isBig(value any) bool { return utf8.RuneCountInString(inline(value)) > longestInline }

// isBig reports whether a value is too long for the line of the path.
func (d difference) isBig() bool { return d.op != change.Move && (isBig(d.old) || isBig(d.value)) }

// cut removes the middle of a text that has more than most characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	head := most / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(most-1-head):])
}

// cutPair shortens two texts if one of them has more than most characters. It cuts the common parts
// far from the differences.
func cutPair(a, b string, most int) (string, string) {
	if utf8.RuneCountInString(a) <= most && utf8.RuneCountInString(b) <= most {
		return a, b
	}
	from, to := []rune(a), []rune(b)
	begin, end := common(from, to)
	around := most / 4
	side := func(text []rune) string {
		head, differing, tail := text[:begin], text[begin:len(text)-end], text[len(text)-end:]
		before, after := string(head), string(tail)
		if len(head) > around {
			before = "…" + string(head[len(head)-around+1:])
		}
		if len(tail) > around {
			after = string(tail[:around-1]) + "…"
		}
		return before + string(differing) + after
	}
	return side(from), side(to)
}

// common returns how many items two lists have in common at their beginnings, and how many of the
// other items at their ends.
func common[T comparable](a, b []T) (begin, end int) {
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	for end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return begin, end
}

// difference is a change with its values. The last element of its path is the key of the value, or
// the index of an item.
type difference struct {
	op         change.Op
	path       string
	last       change.Element
	old, value any
}

// opMarks and opColors are the signs and colours of operations.
var (
	opMarks  = map[change.Op]string{change.Add: "+ ", change.Remove: "- ", change.Replace: "~ ", change.Move: "~ "}
	opColors = map[change.Op]string{change.Add: green, change.Remove: red, change.Replace: yellow, change.Move: yellow}
)

// head returns the path with the sign of the operation.
func (d difference) head(colored bool) string {
	return paint(opMarks[d.op]+d.path, opColors[d.op], colored)
}

// oneLine returns the change on one line. If full is false, only the surroundings of the difference
// remain of what does not change.
func (d difference) oneLine(full, colored bool) string {
	old, value := inline(d.old), inline(d.value)
	if d.op == change.Replace && !full {
		old, value = cutPair(old, value, longestInline)
	}
	return d.with(old, value, colored)
}

// named returns the change on one line with short values, for places that are about another change.
func (d difference) named() string {
	return d.with(cut(inline(d.old), longestInline), cut(inline(d.value), longestInline), false)
}

// with returns the change with texts of its values.
func (d difference) with(old, value string, colored bool) string {
	text := d.head(colored)
	switch d.op {
	case change.Add:
		return text + ": " + value
	case change.Remove:
		return text + " (was " + old + ")"
	case change.Move:
		return text + " (moved)"
	}
	return text + ": " + old + " → " + value
}

// block returns a change to values that are too long for one line, as removed and added lines of
// YAML. If full is false, only the surroundings of the differences remain of what does not change.
func (d difference) block(full bool) []line {
	if !d.isBig() {
		return nil
	}
	var before, after []string
	if d.op != change.Add {
		before = yamlLines(d.last, d.old)
	}
	if d.op != change.Remove {
		after = yamlLines(d.last, d.value)
	}
	lines := align(before, after)
	if full {
		return lines
	}
	cutLines(lines)
	return withoutMiddles(lines)
}

// yamlLines returns the lines of a value as YAML: a map alone, any other value with its key or as
// an item of a list.
func yamlLines(last change.Element, value any) []string {
	if object, ok := value.(map[string]any); ok {
		return splitLines(string(manifest.YAML(object)))
	}
	if last.IsIndex() {
		return splitLines(string(manifest.YAML(map[string]any{"items": []any{value}})))[1:]
	}
	return splitLines(string(manifest.YAML(map[string]any{last.Key: value})))
}

// cutLines shortens long lines that do not change. Where one line replaces another, both are cut
// around the difference.
func cutLines(lines []line) {
	for i := 0; i < len(lines); {
		removed := run(lines[i:], '-')
		added := run(lines[i+removed:], '+')
		for n := range removed {
			if removed == added {
				was, is := &lines[i+n], &lines[i+removed+n]
				was.text, is.text = cutPair(was.text, is.text, longestLine)
			}
		}
		if i += removed + added; i < len(lines) && removed+added == 0 {
			lines[i].text = cut(lines[i].text, longestLine)
			i++
		}
	}
}

// run returns how many lines at the beginning have an op.
func run(lines []line, op byte) int {
	n := 0
	for n < len(lines) && lines[n].op == op {
		n++
	}
	return n
}

// leftOut is the op of a line that replaces hidden lines.
const leftOut = '.'

// withoutMiddles removes the middle of long runs of lines that do not change.
func withoutMiddles(lines []line) []line {
	var out []line
	for len(lines) > 0 {
		n := run(lines, lines[0].op)
		part := lines[:n]
		lines = lines[n:]
		if part[0].op != ' ' || n <= 2*diffContext+1 {
			out = append(out, part...)
			continue
		}
		out = append(out, part[:diffContext]...)
		out = append(out, line{leftOut, fmt.Sprintf("⋯ %d lines\n", n-2*diffContext)})
		out = append(out, part[n-diffContext:]...)
	}
	return out
}
