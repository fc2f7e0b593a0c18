package report

import (
	"fmt"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/manifest"
	"github.com/preadmit/preadmit/engine/source"
)

const (
	// longestInline is the number of characters of a value that are shown beside its path.
	longestInline = 60
	// longestLine is the number of characters that are shown of a line of a larger value, and
	// longestRun the number of lines in a row.
	longestLine, longestRun = 160, 40
)

// inline returns a value as printable JSON on one line.
func inline(value any) string { return source.Printable(string(manifest.JSON(value))) }

func isBig(value any) bool { return utf8.RuneCountInString(inline(value)) > longestInline }

// inlinePair returns two values on one line each, without the long parts that they have in common.
func inlinePair(old, value any) (string, string) {
	return cutPair(inline(old), inline(value), longestInline)
}

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
// far from the differences first, then the middles of the differences.
func cutPair(a, b string, most int) (string, string) {
	if utf8.RuneCountInString(a) <= most && utf8.RuneCountInString(b) <= most {
		return a, b
	}
	from, to := []rune(a), []rune(b)
	begin, end := common(from, to)
	around := most / 4
	side := func(text []rune) string {
		head, middle, tail := text[:begin], string(text[begin:len(text)-end]), text[len(text)-end:]
		before, after := string(head), string(tail)
		if len(head) > around {
			before = "…" + string(head[len(head)-around+1:])
		}
		if len(tail) > around {
			after = string(tail[:around-1]) + "…"
		}
		return before + cut(middle, most-2*around) + after
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

// block returns a change to values that are too long for one line, as removed and added lines of
// YAML.
func block(op change.Op, last change.Element, old, value any) []line {
	if op == change.Move || !isBig(old) && !isBig(value) {
		return nil
	}
	var before, after []string
	if op != change.Add {
		before = yamlLines(last, old)
	}
	if op != change.Remove {
		after = yamlLines(last, value)
	}
	lines := align(before, after)
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

// cutLines shortens long lines. Where one line replaces another, both are cut around the
// difference.
func cutLines(lines []line) {
	for i := 0; i < len(lines); {
		removed := run(lines[i:], '-')
		added := run(lines[i+removed:], '+')
		for n := range removed + added {
			at := &lines[i+n]
			if n < removed && removed == added {
				pair := &lines[i+removed+n]
				at.text, pair.text = cutPair(at.text, pair.text, longestLine)
			}
			at.text = cut(at.text, longestLine)
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

// withoutMiddles removes the middle of long runs of lines with the same op.
func withoutMiddles(lines []line) []line {
	var out []line
	for len(lines) > 0 {
		n := run(lines, lines[0].op)
		most, head := longestRun, longestRun/2
		if lines[0].op == ' ' {
			most, head = 2*diffContext, diffContext
		}
		part := lines[:n]
		lines = lines[n:]
		if n <= most+1 {
			out = append(out, part...)
			continue
		}
		tail := most - head
		out = append(out, part[:head]...)
		out = append(out, line{leftOut, fmt.Sprintf("⋯ %d lines\n", n-most)})
		out = append(out, part[n-tail:]...)
	}
	return out
}
