package report

import (
	"fmt"
	"slices"
	"strings"
)

// line is a line of one text or both; the number is zero where it is not in a text.
type line struct {
	text          string
	before, after int
}

// maxDistance bounds the search for a shortest difference.
const maxDistance = 3000

// compare aligns the lines of two texts, after E. Myers, "An O(ND) difference algorithm
// and its variations" (1986).
func compare(before, after string) []line {
	a, b := splitLines(before), splitLines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var lines []line
	for i := range head {
		lines = append(lines, line{a[i], i + 1, i + 1})
	}
	lines = append(lines, middle(a[head:len(a)-tail], b[head:len(b)-tail], head)...)
	for i := range tail {
		lines = append(lines, line{a[len(a)-tail+i], len(a) - tail + i + 1, len(b) - tail + i + 1})
	}
	return lines
}

func splitLines(text string) []string { return slices.Collect(strings.Lines(text)) }

// middle aligns lines that follow offset equal ones.
func middle(a, b []string, offset int) []line {
	trace, found := search(a, b)
	var reversed []line
	x, y := len(a), len(b)
	if found {
		for d := len(trace) - 1; d > 0; d-- {
			v, k := trace[d-1], x-y
			previous := k - 1
			if k == -d || k != d && v[k-1] < v[k+1] {
				previous = k + 1
			}
			startX := v[previous]
			startY := startX - previous
			for x > startX && y > startY && a[x-1] == b[y-1] {
				x, y = x-1, y-1
				reversed = append(reversed, line{a[x], offset + x + 1, offset + y + 1})
			}
			if previous == k+1 {
				y--
				reversed = append(reversed, line{text: b[y], after: offset + y + 1})
			} else {
				x--
				reversed = append(reversed, line{text: a[x], before: offset + x + 1})
			}
		}
		for x > 0 {
			x, y = x-1, y-1
			reversed = append(reversed, line{a[x], offset + x + 1, offset + y + 1})
		}
	}
	for ; y > 0; y-- {
		reversed = append(reversed, line{text: b[y-1], after: offset + y})
	}
	for ; x > 0; x-- {
		reversed = append(reversed, line{text: a[x-1], before: offset + x})
	}
	slices.Reverse(reversed)
	return reversed
}

// search finds the furthest points on each diagonal, for growing distances.
func search(a, b []string) (trace []map[int]int, found bool) {
	v := map[int]int{1: 0}
	for d := 0; d <= min(len(a)+len(b), maxDistance); d++ {
		next := map[int]int{}
		for k := -d; k <= d; k += 2 {
			x := 0
			if left, right := v[k-1], v[k+1]; d > 0 && (k == -d || k != d && left < right) {
				x = right
			} else if d > 0 {
				x = left + 1
			}
			y := x - k
			for x < len(a) && y < len(b) && x >= 0 && y >= 0 && a[x] == b[y] {
				x, y = x+1, y+1
			}
			next[k] = x
			if x >= len(a) && y >= len(b) {
				return append(trace, next), true
			}
		}
		trace = append(trace, next)
		v = next
	}
	return nil, false
}

// context is how many unchanged lines surround a change.
const context = 3

// hunks cuts aligned lines into the parts around changes.
func hunks(lines []line) [][]line {
	var parts [][]line
	start, end := -1, 0
	for i, l := range lines {
		if l.before > 0 && l.after > 0 {
			continue
		}
		if start >= 0 && i-context > end {
			parts = append(parts, lines[start:end])
			start = -1
		}
		if start < 0 {
			start = max(i-context, 0)
		}
		end = min(i+1+context, len(lines))
	}
	if start >= 0 {
		parts = append(parts, lines[start:end])
	}
	return parts
}

// span is the range of lines of a hunk in one text, as a unified diff has it.
func span(lines []line, number func(l line) int) string {
	first, count := 0, 0
	for _, l := range lines {
		if n := number(l); n > 0 {
			if count == 0 {
				first = n
			}
			count++
		}
	}
	if count == 1 {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d,%d", first, count)
}
