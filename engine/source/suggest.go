package source

import "strings"

// Suggest returns advice about an unknown name: the nearest known name, or else all known names.
func Suggest(name string, known []string) Advice {
	if best := Nearest(name, known); best != "" {
		return Meant(name, best)
	}
	if len(known) == 0 {
		return Advice{Text: "no name is possible here"}
	}
	return Advice{Text: "expected " + Alternatives(known)}
}

// Alternatives lists values: "a, b or c".
func Alternatives(values []string) string {
	if len(values) < 2 {
		return strings.Join(values, "")
	}
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// Nearest returns the known name that resembles name most, or "" if none does.
func Nearest(name string, known []string) string {
	best, least, letters := "", 0, 0
	for _, k := range known {
		d, differ := unlikeness(strings.ToLower(lastPart(name)), strings.ToLower(lastPart(k)))
		if d <= len(lastPart(k))/2 && (best == "" || d < least || d == least && differ < letters) {
			best, least, letters = k, d, differ
		}
	}
	return best
}

// Misspelt returns the known name that name probably misspells, or "". It is stricter
// than Nearest, because most unknown names are correct names of things that were not given.
func Misspelt(name string, known []string) string {
	best := Nearest(name, known)
	if d := distance(strings.ToLower(name), strings.ToLower(best)); best == "" || d > max(1, len(best)/5) {
		return ""
	}
	return best
}

// lastPart returns the text after the last dot of a field path, and the name of a flag without its dashes.
func lastPart(name string) string {
	return strings.TrimLeft(name[strings.LastIndexByte(name, '.')+1:], "-")
}

// unlikeness returns how unlike two names are, and how many letters differ. A name that is cut short, or that has more
// at its end, is like the whole.
func unlikeness(a, b string) (d, differ int) {
	const clear = 3 // letters that make a beginning
	differ = distance(a, b)
	if short := min(len(a), len(b)); short >= clear && a[:short] == b[:short] {
		return min(differ, 2), differ
	}
	return differ, differ
}

// distance counts the letters to insert, delete or replace, and the neighbours to swap, to turn a into b.
func distance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := row[j]
			if a[i] != b[j] {
				cost++
			}
			next[j+1] = min(cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
