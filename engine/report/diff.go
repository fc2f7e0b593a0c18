package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
)

// diffContext is how many unchanged lines are around a change.
const diffContext = 3

// Diff returns the unified diff of two texts with their names, or "" if the texts are equal.
func Diff(fromName, toName, from, to string) string {
	if from == to {
		return ""
	}
	lines := align(splitLines(from), splitLines(to))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", fromName, toName)
	var c counter
	for _, h := range hunks(lines, diffContext) {
		c.pass(lines[c.lines:h.start])
		c.writeHunk(&out, lines[h.start:h.end], "")
	}
	return out.String()
}

// line is a line of a diff: kept (' '), removed ('-') or added ('+').
type line struct {
	op   byte
	text string
}

// maxEdits is the largest number of removed and added lines for which the shortest diff of a number
// of lines is searched. Time and memory grow with its square, so the square grows with the lines.
func maxEdits(lines int) int {
	const all = 400 // for so many lines, the shortest diff is always found
	return int(math.Sqrt(float64(all * lines)))
}

// align returns the lines of a diff from a to b: kept, removed and added. Policies neither reorder
// nor add documents, so each document is compared with its counterpart. The cost of a diff is
// therefore the sum of the costs of its documents.
func align(a, b []string) []line {
	from, to := documents(a), documents(b)
	const changed = 16 // usually at most one line in 16 is removed or added
	lines := make([]line, 0, max(len(a), len(b))*(changed+1)/changed)
	if len(from) != len(to) {
		return alignOne(lines, a, b)
	}
	for i := range from {
		lines = alignOne(lines, from[i], to[i])
	}
	return lines
}

// documents splits lines before each separator of YAML documents.
func documents(lines []string) [][]string {
	var found [][]string
	begin := 0
	for i, text := range lines {
		if strings.HasPrefix(text, "---") && i > begin {
			found = append(found, lines[begin:i])
			begin = i
		}
	}
	return append(found, lines[begin:])
}

// alignOne appends the diff from a to b.
func alignOne(lines []line, a, b []string) []line {
	begin, end := common(a, b)
	lines = appendLines(lines, ' ', a[:begin])
	lines = append(lines, shortest(a[begin:len(a)-end], b[begin:len(b)-end])...)
	return appendLines(lines, ' ', a[len(a)-end:])
}

func appendLines(lines []line, op byte, texts []string) []line {
	for _, text := range texts {
		lines = append(lines, line{op, text})
	}
	return lines
}

// shortest returns the shortest diff from a to b. Lines that only one text has are removed or added
// in any case, so only the others are compared.
func shortest(a, b []string) []line {
	from, to := alsoIn(a, b), alsoIn(b, a)
	var lines []line
	i, j := 0, 0 // the lines of a and b that are in the diff
	until := func(nextA, nextB int) {
		lines = appendLines(appendLines(lines, '-', a[i:nextA]), '+', b[j:nextB])
		i, j = nextA, nextB
	}
	for _, l := range myers(linesAt(a, from), linesAt(b, to)) {
		switch l.op {
		case '-':
			from = from[1:]
		case '+':
			to = to[1:]
		default:
			until(from[0], to[0])
			lines = append(lines, l)
			i, j, from, to = i+1, j+1, from[1:], to[1:]
		}
	}
	until(len(a), len(b))
	return lines
}

// alsoIn returns the indexes of the lines that are in other, too.
func alsoIn(lines, other []string) []int {
	has := make(map[string]bool, len(other))
	for _, text := range other {
		has[text] = true
	}
	var found []int
	for i, text := range lines {
		if has[text] {
			found = append(found, i)
		}
	}
	return found
}

func linesAt(lines []string, indexes []int) []string {
	found := make([]string, len(indexes))
	for n, i := range indexes {
		found[n] = lines[i]
	}
	return found
}

// myers returns the shortest diff from a to b (E. Myers, An O(ND) Difference Algorithm, 1986).
// A diff with more than maxEdits edits may be longer.
func myers(a, b []string) []line {
	if len(a) == 0 || len(b) == 0 {
		return appendLines(appendLines(nil, '-', a), '+', b)
	}
	var traces [][]int
	reach := make([]int, 2*(len(a)+len(b))+3)
	middle := len(a) + len(b) + 1
	for d := range maxEdits(len(a)+len(b)) + 1 {
		traces = append(traces, slices.Clone(reach[middle-d-1:middle+d+2]))
		for k := -d; k <= d; k += 2 {
			x := reach[middle+k-1] + 1
			if k == -d || k != d && reach[middle+k-1] < reach[middle+k+1] {
				x = reach[middle+k+1]
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			reach[middle+k] = x
			if x >= len(a) && x-k >= len(b) {
				return trace(a, b, traces)
			}
		}
	}
	return around(a, b, change.Common(a, b))
}

// around returns a diff that keeps lines in common: for each line of b, the index of its line in a,
// or -1.
func around(a, b []string, pairs []int) []line {
	var lines []line
	begin := 0
	for j, i := range pairs {
		if i < 0 {
			lines = append(lines, line{'+', b[j]})
			continue
		}
		lines = append(appendLines(lines, '-', a[begin:i]), line{' ', b[j]})
		begin = i + 1
	}
	return appendLines(lines, '-', a[begin:])
}

// trace builds the diff backwards from the end of both texts. traces[d] is what myers had
// reached with d-1 edits on the diagonals -d-1 to d+1.
func trace(a, b []string, traces [][]int) []line {
	var lines []line
	x, y := len(a), len(b)
	keep := func(until int) {
		for x > until && y > 0 && a[x-1] == b[y-1] {
			x, y = x-1, y-1
			lines = append(lines, line{' ', a[x]})
		}
	}
	for d := len(traces) - 1; d > 0; d-- {
		reached := func(k int) int { return traces[d][k+d+1] }
		k := x - y
		if k == -d || k != d && reached(k-1) < reached(k+1) {
			keep(reached(k + 1))
			y--
			lines = append(lines, line{'+', b[y]})
		} else {
			keep(reached(k-1) + 1)
			x--
			lines = append(lines, line{'-', a[x]})
		}
	}
	keep(0)
	slices.Reverse(lines)
	return lines
}

// hunk is the part of a diff from start to end.
type hunk struct{ start, end int }

// hunks returns the changes with the lines around them, up to context on each side. Hunks that touch
// are joined.
func hunks(lines []line, context int) []hunk {
	var found []hunk
	for i, l := range lines {
		if l.op == ' ' {
			continue
		}
		h := hunk{max(0, i-context), min(len(lines), i+1+context)}
		if last := len(found) - 1; last >= 0 && h.start <= found[last].end {
			found[last].end = h.end
		} else {
			found = append(found, h)
		}
	}
	return found
}

// counter counts the lines of a diff that have been passed, and the lines of each side.
type counter struct{ lines, before, after int }

// pass counts the given lines as passed.
func (c *counter) pass(lines []line) {
	c.lines += len(lines)
	for _, l := range lines {
		if l.op != '+' {
			c.before++
		}
		if l.op != '-' {
			c.after++
		}
	}
}

// writeHunk writes the next lines as a hunk. The text about follows the line numbers in its header.
func (c *counter) writeHunk(out *strings.Builder, lines []line, about string) {
	start := *c
	c.pass(lines)
	side := func(before, count int) string {
		switch count {
		case 0:
			return fmt.Sprintf("%d,0", before)
		case 1:
			return fmt.Sprint(before + 1)
		}
		return fmt.Sprintf("%d,%d", before+1, count)
	}
	if about != "" {
		about = " " + about
	}
	fmt.Fprintf(out, "@@ -%s +%s @@%s\n", side(start.before, c.before-start.before), side(start.after, c.after-start.after), about)
	for _, l := range lines {
		for _, op := range l.marks() {
			out.WriteByte(byte(op))
			out.WriteString(l.text)
			if !strings.HasSuffix(l.text, "\n") {
				out.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
}

// marks returns the characters with which a line is written. CI systems obey commands in their logs,
// also after blanks, so a line that does not change, but looks like a command, is removed and added.
func (l line) marks() string {
	if l.op == ' ' && source.IsCommand(l.text) {
		return "-+"
	}
	return string(l.op)
}
