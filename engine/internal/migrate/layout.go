package migrate

import "strings"

// A layout is an expression that can be broken into lines.
type layout interface {
	// flat returns the expression on one line.
	flat() string
	// lines writes the expression on several lines. indent is the indentation of all lines but
	// the first.
	lines(b *strings.Builder, indent string)
}

// width is the maximum width of lines, where possible.
const width = 88

// print writes a layout on one line if it fits, or else on several.
func print(b *strings.Builder, l layout, indent string, column int) {
	if text := l.flat(); column+len(text) <= width {
		b.WriteString(text)
		return
	}
	l.lines(b, indent)
}

// pretty returns an expression with line breaks.
func pretty(l layout) string {
	var b strings.Builder
	print(&b, l, "", 0)
	return b.String()
}

// plain is an expression that stays on one line.
type plain string

func (p plain) flat() string                            { return string(p) }
func (p plain) lines(b *strings.Builder, indent string) { b.WriteString(string(p)) }

// group is a list of layouts in brackets.
type group struct {
	open  string
	items []layout
	close string
}

func (g group) flat() string {
	items := make([]string, len(g.items))
	for i, item := range g.items {
		items[i] = item.flat()
	}
	return g.open + strings.Join(items, ", ") + g.close
}

func (g group) lines(b *strings.Builder, indent string) {
	if len(g.items) == 0 {
		b.WriteString(g.open + g.close)
		return
	}
	b.WriteString(g.open)
	for i, item := range g.items {
		b.WriteString("\n" + indent + "  ")
		print(b, item, indent+"  ", len(indent)+2)
		if i < len(g.items)-1 {
			b.WriteString(",")
		}
	}
	b.WriteString("\n" + indent + g.close)
}

// named is a layout after a name.
type named struct {
	name  string
	value layout
}

func (n named) flat() string { return n.name + n.value.flat() }
func (n named) lines(b *strings.Builder, indent string) {
	b.WriteString(n.name)
	print(b, n.value, indent, len(indent)+len(n.name))
}

// either is a conditional: condition ? yes : no.
type either struct {
	condition string
	yes, no   layout
}

func (e either) flat() string {
	return bracket(e.condition, " ? ") + " ? " + operand(e.yes) + " : " + e.no.flat()
}

func (e either) lines(b *strings.Builder, indent string) {
	b.WriteString(bracket(e.condition, " ? ") + "\n" + indent + "? ")
	print(b, bracketed(e.yes), indent+"  ", len(indent)+2)
	b.WriteString("\n" + indent + ": ")
	if other, ok := e.no.(either); ok { // a chain of conditionals is not indented
		print(b, other, indent, len(indent)+2)
		return
	}
	print(b, e.no, indent+"  ", len(indent)+2)
}

// bracketed returns a layout that can be an operand.
func bracketed(l layout) layout {
	if _, ok := l.(either); ok {
		return group{"(", []layout{l}, ")"}
	}
	return l
}

// joined is a sum of lists.
type joined []layout

func (j joined) flat() string {
	parts := make([]string, len(j))
	for i, part := range j {
		parts[i] = operand(part)
	}
	return strings.Join(parts, " + ")
}

func operand(l layout) string { return bracketed(l).flat() }

func (j joined) lines(b *strings.Builder, indent string) {
	for i, part := range j {
		if i == 0 {
			print(b, bracketed(part), indent, len(indent))
			continue
		}
		b.WriteString("\n" + indent + "+ ")
		print(b, bracketed(part), indent+"  ", len(indent)+2)
	}
}
