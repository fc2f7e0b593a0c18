package editor

import (
	"strings"

	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// literal matches what is before the brace of an Object.
var literal = lazyregexp.New(`^(?:Object(?:\.\w+)*|JSONPatch)$`)

// brace is a bracket of an expression that is open at the cursor.
type brace struct {
	// opening is the bracket, or 0 for the whole expression, and operand is what it follows.
	opening byte
	operand string
	// of is the type of the literal that the bracket begins: "Object.spec", "JSONPatch", or "".
	of string
	// text is what follows the bracket.
	text string
	// field is the field whose value is being typed, or "".
	field string
	// tail is what follows the last comma or colon.
	tail string
	// quote is the quote of the text that is being typed, or "".
	quote string
	// from is where the operand begins that the bracket belongs to: what it follows, or else itself.
	from int
}

// operandBefore returns the operand at the end of a part of an expression, with its calls, or "".
func operandBefore(before string) string {
	_, operand := readBraces(before)
	return operand
}

// openBraces returns the brackets of an expression that are open at its end, the innermost last. The first
// one is the expression.
func openBraces(before string) []brace {
	open, _ := readBraces(before)
	return open
}

// isText reports whether a part of an expression ends in a text in quotes.
func isText(before string) bool {
	open := openBraces(before)
	return open[len(open)-1].quote != ""
}

// readBraces returns the brackets that are open at the end of an expression, and the operand there.
func readBraces(before string) (open []brace, operand string) {
	r := braces{text: before, open: []brace{{text: before}}, from: -1}
	for i := 0; i < len(before); i++ {
		last := &r.open[len(r.open)-1]
		switch char := before[i]; char {
		case '"', '\'':
			if r.from < 0 {
				r.from = i
			}
			end := endOfText(before, i)
			if end < 0 {
				last.tail, last.quote = before[i+1:], before[i:i+1]
				return r.open, ""
			}
			i = end
		case '{', '[', '(':
			r.enter(i)
		case '}', ']', ')':
			r.leave(i)
		case ',':
			last.field, r.start, r.from = "", i+1, -1
		case ':':
			if last.field == "" {
				last.field = strings.Trim(strings.TrimSpace(before[r.start:i]), "\"'")
				r.start = i + 1
			}
			r.from = -1
		case '/':
			if r.from = -1; strings.HasPrefix(before[i:], "//") {
				i += strings.IndexByte(before[i:]+"\n", '\n') // a comment
			}
		default:
			r.step(i)
		}
	}
	r.open[len(r.open)-1].tail = before[min(r.start, len(before)):]
	return r.open, r.operand(len(before))
}

// braces goes over an expression.
type braces struct {
	text string
	open []brace
	// start is where begins what follows the last comma, colon or bracket, and from where the operand begins that
	// goes on; -1 if none does.
	start, from int
}

// operand returns the operand before a place.
func (r *braces) operand(end int) string {
	if r.from < 0 {
		return ""
	}
	return strings.TrimSpace(r.text[r.from:end])
}

// enter goes over a bracket that opens.
func (r *braces) enter(i int) {
	b := brace{opening: r.text[i], operand: r.operand(i), text: r.text[i+1:], from: r.from}
	if literal().MatchString(b.operand) && b.opening == '{' {
		b.of = b.operand
	}
	if r.from < 0 {
		b.from = i
	}
	r.open, r.start, r.from = append(r.open, b), i+1, -1
}

// leave goes over a bracket that closes.
func (r *braces) leave(i int) {
	if r.from = i; len(r.open) > 1 {
		r.from, r.open = r.open[len(r.open)-1].from, r.open[:len(r.open)-1]
	}
	r.start = i // what is closed is no name
}

// step goes over a character of a name or of an operator.
func (r *braces) step(i int) {
	switch char := r.text[i]; {
	case strings.IndexByte(". \t\r\n", char) >= 0, char == '?' && i > 0 && r.text[i-1] == '.':
	case !isWord(rune(char)) || char == '-':
		r.from = -1
	case r.from < 0 || isApart(r.text[r.from:i]):
		r.from = i
	}
}

// isApart reports whether a name that follows a text does not belong to it.
func isApart(text string) bool {
	trimmed := strings.TrimRight(text, " \t\r\n")
	return trimmed != text && !strings.HasSuffix(trimmed, ".") && !strings.HasSuffix(trimmed, ".?")
}

// endOfText returns the offset of the quote that ends a text in CEL; -1 if the text is open.
func endOfText(before string, start int) int {
	for i := start + 1; i < len(before); i++ {
		switch before[i] {
		case '\\':
			i++
		case before[start]:
			return i
		}
	}
	return -1
}

// patchFields are the fields of a JSONPatch.
var patchFields = []Item{
	{Kind: FieldItem, Name: "from", Detail: "string"},
	{Kind: FieldItem, Name: "op", Detail: "string", Doc: "add, remove, replace, move, copy or test"},
	{Kind: FieldItem, Name: "path", Detail: "string"},
	{Kind: FieldItem, Name: "value", Detail: "any value"},
}

// withBraces inserts a colon after each field of a literal, and begins the value.
func (l *lines) withBraces(items []Item) []Item {
	for i := range l.withColons(items) {
		if item := &items[i]; strings.HasSuffix(item.Insert, ":") {
			item.Insert += " "
		}
	}
	return items
}

// fieldValues lists the values of a field in a literal.
func (sc *scope) fieldValues(b brace) []Item {
	if b.of == "JSONPatch" && b.field == "op" {
		return quoted(patchOperations)
	}
	n, name := sc.valueIn(b)
	switch of := sc.typeOf(n); {
	case of == "object":
		return []Item{{Kind: FunctionItem, Name: name, Insert: name + "{", Detail: of}}
	case of == "list of objects":
		return []Item{{Kind: FunctionItem, Name: "[" + name, Insert: "[" + name + "{", Detail: of}}
	case of == "boolean":
		return []Item{{Kind: ValueItem, Name: "false"}, {Kind: ValueItem, Name: "true"}}
	}
	return quoted(sc.enumeration(n))
}

// valueIn returns the value of a field in a literal, and the name of its type.
func (sc *scope) valueIn(b brace) (n named, name string) {
	path := append(strings.Split(b.of, ".")[1:], b.field)
	if b.of == "JSONPatch" {
		path = nil
		if match := patchPath().FindStringSubmatch(b.text); match != nil && b.field == "value" {
			path = namesIn(match[1])
		}
	}
	return named{kinds: sc.kinds, path: path}, strings.Join(append([]string{"Object"}, path...), ".")
}

// patchPath matches the path of a JSON Patch.
var patchPath = lazyregexp.New(`\bpath\s*:\s*["']/([^"']*)["']`)

// namesIn returns the names in a path of a JSON Patch that are not indexes of lists.
func namesIn(pointer string) []string {
	var names []string
	for _, part := range strings.Split(pointer, "/") {
		if !isIndex(part) {
			names = append(names, unescape.Replace(part))
		}
	}
	return names
}

func isIndex(part string) bool { return part == "-" || strings.Trim(part, "0123456789") == "" }

// How a path of a JSON Patch writes names.
var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// enumeration returns the values of a field.
func (sc *scope) enumeration(n named) []string {
	if len(n.path) == 0 {
		return nil
	}
	for _, kind := range n.kinds {
		if found := sc.state.enumeration(kind, n.path); len(found) > 0 {
			return found
		}
	}
	return nil
}

// patchOperations are the operations of a JSON Patch.
var patchOperations = []string{"add", "copy", "move", "remove", "replace", "test"}

func quoted(all []string) []Item {
	var items []Item
	for _, value := range all {
		items = append(items, Item{Kind: ValueItem, Name: `"` + value + `"`})
	}
	return items
}

// completeText lists what a text in quotes can be: a path or an operation of a JSON Patch, a value of a field,
// or a key of a map.
func (sc *scope) completeText(open []brace) Completion {
	b := open[len(open)-1]
	c := Completion{Word: b.tail}
	switch {
	case b.of == "JSONPatch" && (b.field == "path" || b.field == "from"):
		slash := strings.LastIndex(b.tail, "/")
		c.Word = b.tail[slash+1:]
		c.Items = sc.pointers(b.tail[:max(slash, 0)])
		if slash < 0 {
			for i := range c.Items {
				c.Items[i].Insert = "/" + c.Items[i].Name
			}
		}
	case b.of == "JSONPatch" && b.field == "op":
		c.Items = texts(patchOperations)
	case b.of != "":
		n, _ := sc.valueIn(b)
		c.Items = texts(sc.enumeration(n))
	case b.opening == '[' && b.operand != "":
		c.Items = sc.keys(sc.resolve(b.operand))
	case b.opening == '{' && b.field == "" && open[len(open)-2].of != "":
		n, _ := sc.valueIn(open[len(open)-2])
		c.Items = sc.keys(n)
	}
	return c
}

func texts(all []string) []Item {
	var items []Item
	for _, value := range all {
		items = append(items, Item{Kind: ValueItem, Name: value})
	}
	return items
}

// pointers lists what can follow a path of a JSON Patch.
func (sc *scope) pointers(before string) []Item {
	n := named{kinds: sc.patched(), path: namesIn(strings.TrimPrefix(before, "/"))}
	if of := sc.typeOf(n); strings.HasPrefix(of, "list of ") && !isIndex(before[strings.LastIndex(before, "/")+1:]) {
		return []Item{{Kind: ValueItem, Name: "-", Doc: "after the last item"}, {Kind: ValueItem, Name: "0", Doc: "the first item"}}
	}
	items := sc.known(n)
	for i := range items {
		items[i].Name = escape.Replace(items[i].Name)
	}
	return items
}
