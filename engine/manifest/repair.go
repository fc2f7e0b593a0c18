package manifest

import (
	"math"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// repair gives the first error about malformed YAML in a unit, if it is the one at index at, the fix after which the unit
// can be read, or can be read farther. It tries what is usual near the error.
func (r *streamReader) repair(u *unit, at int) {
	if r.isTrial || at >= len(r.found) || r.found[at].Code != explanations[malformed].code || len(r.found[at].Fixes) > 0 || u.end-u.start > mostRepaired {
		return
	}
	d := &r.found[at]
	t := trouble{r: r, text: r.stream.text[u.start:u.end], first: r.stream.position(u.start).Line, at: d.At}
	best, farthest := repairing{}, d.At.Line+1 // an error on the next line may be a consequence
	for _, try := range t.repairs() {
		if reached := t.readsTo(try); reached > farthest {
			best, farthest = try, reached
		}
	}
	if best.title != "" {
		*d = d.Mended(best.title, source.Edit{At: best.at, To: best.to, New: best.text})
	}
}

// mostRepaired is the size of units, in bytes, that are read again to find a fix.
const mostRepaired = 1 << 20

// trouble is a unit that cannot be read, with the place of the error.
type trouble struct {
	r     *streamReader
	text  string
	first int // the number of its first line
	at    source.Position
}

// repairing replaces the text between two places of a line.
type repairing struct {
	title    string
	at, to   source.Position
	text     string
	from, by int // the bytes of the line that are replaced, and their number
}

var (
	// tightKey matches a key with a value directly after its colon, and tightDash an item directly after its dash.
	tightKey  = lazyregexp.New(`^ *(?:- +)*[A-Za-z_][\w.-]*:([^\s:/])`)
	tightDash = lazyregexp.New(`^ *(?:- +)*-([\w"'/.*{\[])`)
	// bareKey matches a line with only a key that has no colon, or with a value after it.
	bareKey = lazyregexp.New(`^ *(?:- +)*[A-Za-z_][\w.-]*()(?: +[^\s:#].*)?$`)
	// listAfterKey matches a list that starts on the line of its key, and badEscaped a backslash that starts no escape.
	listAfterKey = lazyregexp.New(`^( *)(?:- +)*[\w.-]+:( +)- `)
	badEscaped   = lazyregexp.New(`\\([^0abtnvfre "/\\N_LPxuU])`)
	// valueOf matches the value of a key or an item.
	valueOf = lazyregexp.New(`^ *(?:- +)*(?:[+=<^X]?\([^()]*\): +|[\w./-]+: +|- +)(\S.*)$`)
)

// repairs returns what may be meant, the most probable first.
func (t *trouble) repairs() (all []repairing) {
	near := []int{t.at.Line}
	for number := t.at.Line - 1; number >= t.first && len(near) < 2; number-- {
		if content := strings.TrimSpace(t.line(number)); content != "" && content[0] != '#' {
			near = append(near, number)
		}
	}
	for _, number := range near {
		line := t.line(number)
		if m := tightKey().FindStringSubmatchIndex(line); m != nil {
			all = append(all, t.insert("Write a space after the colon", number, m[2], " "))
		}
		if m := tightDash().FindStringSubmatchIndex(line); m != nil {
			all = append(all, t.insert("Write a space after the dash", number, m[2], " "))
		}
		if m := bareKey().FindStringSubmatchIndex(line); m != nil {
			all = append(all, t.insert("Write a colon after the key", number, m[2], ":"))
		}
		if m := listAfterKey().FindStringSubmatchIndex(line); m != nil {
			all = append(all, t.replace("Start the list on the next line", number, m[4], m[5]-m[4], "\n"+line[m[2]:m[3]]+"  "))
		}
	}
	all = append(all, t.closings()...)
	for _, number := range near {
		all = append(all, t.alignments(number)...)
	}
	for _, number := range near {
		all = append(all, t.quotings(number)...)
	}
	return all
}

// line returns a line without its line break.
func (t *trouble) line(number int) string { return t.r.stream.line(number) }

// insert returns the repair that inserts a text at a byte of a line.
func (t *trouble) insert(title string, number, at int, text string) repairing {
	return t.replace(title, number, at, 0, text)
}

// replace returns the repair that replaces bytes of a line.
func (t *trouble) replace(title string, number, at, size int, text string) repairing {
	line := t.line(number)
	start := source.Position{File: t.at.File, Line: number, Column: 1}
	return repairing{title, moved(start, line[:at]), moved(start, line[:at+size]), text, at, size}
}

// closings returns the repairs that close a quote or a bracket at the end of the line on which it opens.
func (t *trouble) closings() (all []repairing) {
	for number := t.at.Line; number >= t.first && len(all) < 2; number-- {
		line := t.line(number)
		m := valueOf().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		end := len(strings.TrimRight(line, " \t"))
		switch quote := m[1][:1]; quote {
		case `"`, `'`:
			if isOpen(m[1]) {
				all = append(all, t.insert("Add the closing quote", number, end, quote))
			}
		case "[", "{":
			b := brackets{}
			if b.line(0, m[1]); len(b.stack) > 0 {
				all = append(all, t.insert("Add the closing bracket", number, end, closer(m[1], b.stack)))
			}
		}
	}
	return all
}

// closer returns the brackets that close the open ones of a text.
func closer(text string, open []int) string {
	var b strings.Builder
	for _, at := range slices.Backward(open) {
		b.WriteByte(text[at] + 2) // in ASCII, ] and } are two after [ and {
	}
	return b.String()
}

// isOpen reports whether the quote with which a value begins does not end on the line.
func isOpen(value string) bool {
	quote := value[0]
	for i := 1; i < len(value); i++ {
		switch {
		case quote == '"' && value[i] == '\\':
			i++
		case value[i] == quote && quote == '\'' && i+1 < len(value) && value[i+1] == quote:
			i++
		case value[i] == quote:
			return false
		}
	}
	return true
}

// alignments returns the repairs that indent a line like one before it, the one that moves it least first.
func (t *trouble) alignments(number int) (all []repairing) {
	const most = 4
	line := t.line(number)
	indent := len(line) - len(strings.TrimLeft(line, " "))
	var columns []int
	add := func(column int) {
		if column != indent && !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
	}
	if below := t.line(t.at.Line); number < t.at.Line { // the error may be that this one is not like the line before
		add(len(below) - len(strings.TrimLeft(below, " ")))
	}
	for above, lowest := number-1, 1<<30; above >= t.first && lowest > 0; above-- {
		other := t.line(above)
		content := strings.TrimLeft(other, " ")
		if content == "" || content[0] == '#' {
			continue
		}
		column := len(other) - len(content)
		for lowest = min(lowest, column); ; column = len(other) - len(content) {
			add(column)
			inner, isItem := strings.CutPrefix(content, "- ")
			if !isItem {
				break
			}
			content = strings.TrimLeft(inner, " ")
		}
	}
	slices.SortStableFunc(columns, func(a, b int) int { return max(a-indent, indent-a) - max(b-indent, indent-b) })
	for _, column := range columns[:min(most, len(columns))] {
		all = append(all, t.replace("Align the line", number, 0, indent, strings.Repeat(" ", column)))
	}
	return all
}

// quotings returns the repairs that quote the value on a line, or write its backslash as an escape.
func (t *trouble) quotings(number int) (all []repairing) {
	line := t.line(number)
	if m := badEscaped().FindStringSubmatchIndex(line); m != nil && number == t.at.Line && strings.Contains(line[:m[0]], `"`) {
		return []repairing{t.insert(`Write \\ for the backslash`, number, m[0], `\`)}
	}
	if m := valueOf().FindStringSubmatchIndex(line); m != nil {
		value, _, _ := strings.Cut(strings.ReplaceAll(line[m[2]:m[3]], "\t#", " #"), " #")
		value = strings.TrimRight(value, " \t")
		if quoted, ok := singleQuote(value); ok && (strings.Contains(value, `"`) || strings.Contains(value, `\`)) {
			all = append(all, t.replace("Quote the value", number, m[2], len(value), quoted))
		} else if ok {
			all = append(all, t.replace("Quote the value", number, m[2], len(value), `"`+value+`"`))
		}
	}
	return all
}

// readsTo returns the number of the line up to which the unit can be read after a repair.
func (t *trouble) readsTo(try repairing) int {
	lines := strings.SplitAfterN(t.text, "\n", try.at.Line-t.first+2)
	i := try.at.Line - t.first
	if i >= len(lines) || try.from+try.by > len(lines[i]) {
		return 0
	}
	lines[i] = lines[i][:try.from] + try.text + lines[i][try.from+try.by:]
	_, problems := read("", []byte(strings.Join(lines, "")), streamReader{bounds: t.r.bounds, plain: t.r.plain, trees: t.r.trees, isTrial: true})
	for _, p := range problems {
		if p.Severity == source.Error {
			return p.At.Line + t.first - 1 - strings.Count(try.text, "\n")
		}
	}
	return math.MaxInt
}
