package report

// numbered is a line of one text or both; the number is zero where it is not in a text.
type numbered struct {
	text          string
	before, after int
}

// compare aligns the lines of two texts.
func compare(before, after string) []numbered {
	var lines []numbered
	a, b := 0, 0
	for _, l := range align(splitLines(before), splitLines(after)) {
		n := numbered{text: l.text}
		if l.op != '+' {
			a++
			n.before = a
		}
		if l.op != '-' {
			b++
			n.after = b
		}
		lines = append(lines, n)
	}
	return lines
}
