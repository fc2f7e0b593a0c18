package manifest

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/source"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// mended returns a diagnostic with the fix that follows its advice, if the text around it has its usual form.
func (r *streamReader) mended(d source.Diagnostic, why reason) source.Diagnostic {
	line := r.stream.line(d.At.Line)
	rest := afterColumn(line, d.At.Column)
	before := line[:len(line)-len(rest)]
	insert := func(text string) source.Edit { return source.Edit{At: d.At, New: text} }
	replace := func(size int, text string) source.Edit {
		return source.Edit{At: d.At, To: moved(d.At, rest[:size]), New: text}
	}
	switch why {
	case tabIndentation:
		if tabs := len(rest) - len(strings.TrimLeft(rest, "\t")); tabs > 0 {
			return d.Mended("Indent with spaces", replace(tabs, strings.Repeat("  ", tabs)))
		}
	case controlCharacter:
		if _, size := utf8.DecodeRuneInString(rest); size > 0 {
			return d.Mended("Remove the character", replace(size, ""))
		}
	case directive:
		return d.Mended("Remove the line", source.Edit{At: d.At, To: source.Position{File: d.At.File, Line: d.At.Line + 1, Column: 1}})
	case separatorContent:
		return d.Mended("Put the content on the next line", insert("\n"))
	case afterEnd, afterJSON:
		return d.Mended("Put --- before the next document", separated(d.At, before))
	case duplicateKey:
		if last := r.entryEnd(d.At); last > 0 {
			return d.Mended("Remove this entry", source.Edit{At: startOf(d.At), To: source.Position{File: d.At.File, Line: last, Column: 1}})
		}
	case nullKey, badKey, booleanKey:
		return quoted(d, "Quote the key", unquotedKey().FindString(rest))
	case notFinite, reservedCharacter:
		if value := unquotedValue().FindString(rest); isWhole(value, before, rest, r.stream.line(d.At.Line+1)) {
			return quoted(d, "Quote the value", value)
		}
	case unknownAnchor:
		return r.anchored(d, strings.TrimPrefix(anchorName().FindString(rest), "*"))
	case template:
		return quoted(d, "Quote the value, if it is a variable of a policy", templateValue().FindString(rest))
	}
	return d
}

var (
	// unquotedKey matches a key without quotes and brackets.
	unquotedKey = lazyregexp.New(`^[^\s"'\[\]{}:,#?]+`)
	// unquotedValue matches a value without quotes and brackets, up to the end of its line or a comment.
	unquotedValue = lazyregexp.New(`^[^\s"'\[\]{},#][^"'\[\]{},#]*`)
	// anchorName matches an anchor or an alias.
	anchorName = lazyregexp.New(`[&*][^\s,\[\]{}]+`)
	// templateValue matches a value of actions in braces, up to the end of its line.
	templateValue = lazyregexp.New(`^\{\{[^"]*\}\}$`)
)

// anchored returns a diagnostic about an alias with the anchor that was probably meant.
func (r *streamReader) anchored(d source.Diagnostic, name string) source.Diagnostic {
	near := source.Nearest(name, r.anchorsBefore(d.At))
	if near == "" {
		return d
	}
	return d.Advised(source.Advice{Text: "did you mean *" + near + "? An alias cannot refer to another document", Old: name, New: near})
}

// anchorsBefore returns the names of anchors between the beginning of a document and a place.
func (r *streamReader) anchorsBefore(at source.Position) (names []string) {
	for number := at.Line; number > 0; number-- {
		line := r.stream.line(number)
		for _, name := range anchorName().FindAllString(line, -1) {
			if name[0] == '&' {
				names = append(names, name[1:])
			}
		}
		if strings.HasPrefix(line, "---") {
			break
		}
	}
	return names
}

// separated returns the edit that puts a separator, which needs a line of its own, before a place.
func separated(at source.Position, before string) source.Edit {
	if strings.TrimSpace(before) == "" {
		return source.Edit{At: startOf(at), New: "---\n"}
	}
	return source.Edit{At: at, New: "\n---\n"}
}

// isWhole reports whether a value at the beginning of rest ends where the value ends for a reader: at a comma or
// bracket only within brackets, and not if the next line goes on with it.
func isWhole(value, before, rest, next string) bool {
	after := rest[len(value):]
	if strings.ContainsAny(before, "[{") {
		return after != "" && strings.ContainsAny(after[:1], ",]}")
	}
	indent := len(before) - len(strings.TrimLeft(before, " -"))
	content := strings.TrimSpace(next)
	isContinued := content != "" && content[0] != '#' && len(next)-len(strings.TrimLeft(next, " ")) > indent
	isComment := strings.HasPrefix(after, "#") && strings.TrimRight(value, " \t") != value
	return !isContinued && (after == "" || isComment)
}

// quoted returns d with the fix that puts quotes around the text at its position.
func quoted(d source.Diagnostic, title, text string) source.Diagnostic {
	text = strings.TrimRight(text, " \t")
	const quote = `"`
	if text == "" || strings.ContainsAny(text, "\"\\") {
		return d
	}
	return d.Mended(title, source.Edit{At: d.At, New: quote}, source.Edit{At: moved(d.At, text), New: quote})
}

// After returns the edit that adds a document at the end of the file. ok is false for an item of a list, and
// for a document that is in no file.
func (d *Document) After(text string) (edit source.Edit, ok bool) {
	s := d.unit.stream
	if s.origin != nil || len(d.at) > 0 {
		return edit, false
	}
	if !strings.HasSuffix(s.text, "\n") {
		text = "\n" + text
	}
	return source.Edit{At: s.position(len(s.text)), New: text}, true
}

// Without returns the edit that removes an item of a list in block style. ok is false for other values.
func (d *Document) Without(item change.Path) (edit source.Edit, ok bool) {
	if d.unit.stream.origin != nil || d.unit.rewritten != nil {
		return edit, false
	}
	t := d.unit.tape()
	value, _ := t.find(d.root, item)
	list, _ := t.find(d.root, item[:len(item)-1])
	if n := &t.nodes[value]; !item[len(item)-1].IsIndex() || value == list || n.lead < 0 {
		return edit, false
	}
	s := d.unit.stream
	at := startOf(s.position(int(t.nodes[value].start)))
	return source.Edit{At: at, To: startOf(s.position(t.lineAfter(value, int(t.nodes[list].column))))}, true
}

// entryEnd returns the number of the line after an entry in block style, whose key is at a position; 0 if the
// entry has another form.
func (r *streamReader) entryEnd(key source.Position) int {
	line := r.stream.line(key.Line)
	if indent := len(line) - len(strings.TrimLeft(line, " ")); indent != key.Column-1 {
		return 0 // the first entry of a list item, or an entry in braces
	}
	end, lines := key.Line+1, len(r.stream.lines())
	for number := end; number <= lines; number++ {
		next := r.stream.line(number)
		content := strings.TrimLeft(next, " ")
		indent := len(next) - len(content)
		switch {
		case content == "", content[0] == '#':
			continue // it belongs to the entry if more of the entry follows
		case indent > key.Column-1, indent == key.Column-1 && (content == "-" || strings.HasPrefix(content, "- ")):
			end = number + 1
			continue
		}
		break
	}
	return end
}

func startOf(p source.Position) source.Position {
	p.Column = 1
	return p
}

// moved returns the position after a text on the same line.
func moved(p source.Position, by string) source.Position {
	p.Column += utf8.RuneCountInString(by)
	return p
}

// afterColumn returns the part of a line that begins at a column, which counts characters from 1.
func afterColumn(line string, column int) string {
	line = strings.TrimPrefix(line, byteOrderMark)
	for range column - 1 {
		_, size := utf8.DecodeRuneInString(line)
		line = line[size:]
	}
	return line
}

// Mended returns a diagnostic about the string at a path with advice, and with the fix that follows it.
func (d *Document) Mended(of source.Diagnostic, path change.Path, m source.Mend) source.Diagnostic {
	of = of.With(m.Advice)
	if i, ok := d.scalarAt(path); ok && len(m.Changes) > 0 {
		if _, isText := d.unit.tape().value(i).(string); isText {
			x := d.extent(i)
			return of.Mended(m.Title, source.Edit{At: x.At, To: x.To, Scalar: &source.Rewrite{Changes: m.Changes}})
		}
	}
	return of
}

// Retyped returns a diagnostic about the scalar at a path with the fix that it is quoted, or not, or made a list or a map,
// if it fits then.
func (d *Document) Retyped(of source.Diagnostic, path change.Path, fits func(value any) bool) source.Diagnostic {
	i, ok := d.scalarAt(path)
	if !ok {
		return of
	}
	for _, as := range []source.Rewrite{{}, {Listed: true}, {Spaced: true}} {
		if splices, meant := d.unit.tape().rewritten(i, as); len(splices) > 0 && fits(meant) {
			title := "Quote the value"
			switch {
			case as.Listed:
				title = "Write a list"
			case as.Spaced:
				title = "Write a space after the colon"
			case splices[0].text == "":
				title = "Remove the quotes"
			}
			x := d.extent(i)
			return of.Mended(title, source.Edit{At: x.At, To: x.To, Scalar: &as})
		}
	}
	return of
}

// Quoted returns a diagnostic about the scalar at a path, which is no text, with the fix that it is quoted.
func (d *Document) Quoted(of source.Diagnostic, path change.Path) source.Diagnostic {
	return d.Retyped(of, path, func(value any) bool { _, isText := value.(string); return isText })
}

// Listed returns a diagnostic about the scalar at a path with the fix that it becomes the only item of a list.
func (d *Document) Listed(of source.Diagnostic, path change.Path) source.Diagnostic {
	return d.Retyped(of, path, func(value any) bool { _, isList := value.([]any); return isList })
}

// Put returns a diagnostic with the fix that gives the field at a path a value, unless the document is in no file.
func (d *Document) Put(of source.Diagnostic, path change.Path, value any) source.Diagnostic {
	text, isText := value.(string)
	if !isText {
		text = string(JSON(value))
	}
	return d.Replace(of, "Write "+path[len(path)-1].Key+": "+text, path, value)
}

// Remove returns a diagnostic with the fix that removes the field at a path.
func (d *Document) Remove(of source.Diagnostic, path change.Path) source.Diagnostic {
	return d.Replace(of, "Remove "+path[len(path)-1].Key, path, nil)
}

// Texted returns a diagnostic with the fix that writes the list at a path as a text of YAML.
func (d *Document) Texted(of source.Diagnostic, path change.Path) source.Diagnostic {
	if d.unit.stream.origin != nil || d.unit.rewritten != nil {
		return of
	}
	t := d.unit.tape()
	i, _ := t.find(d.root, path)
	n := &t.nodes[i]
	if n.kind != blockSequence {
		return d.Replace(of, "Write a text", path, string(JSON(t.value(i))))
	}
	var text strings.Builder
	for line := range strings.Lines(t.text[t.lineStart(int(n.start)):min(int(n.end)+1, len(t.text))]) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		text.WriteString(strings.TrimRight(line[min(int(n.column), indent):], " \t\r\n") + "\n")
	}
	return d.Replace(of, "Write a text", path, strings.TrimSpace(text.String()))
}

// Replace is Put with a title.
func (d *Document) Replace(of source.Diagnostic, title string, path change.Path, value any) source.Diagnostic {
	if d.unit.stream.origin != nil || d.unit.rewritten != nil {
		return of
	}
	put := &source.Put{Value: value}
	for _, e := range path {
		if put.Keys = append(put.Keys, e.Key); e.IsIndex() {
			put.Keys[len(put.Keys)-1] = e.Index
		}
	}
	return of.Mended(title, source.Edit{At: d.At(nil), Put: put})
}

// isRewritable reports whether the node at index i is a scalar, or a map that can be in a list.
func (t *tape) isRewritable(i int) bool {
	kind := t.nodes[i].kind
	return kind.isScalar() && kind != absent || kind.isMap()
}

// scalarAt returns the node of a scalar that can be edited, or of a map.
func (d *Document) scalarAt(path change.Path) (i int, ok bool) {
	if d.unit.stream.origin != nil || d.unit.rewritten != nil || len(path) == 0 {
		return 0, false
	}
	t := d.unit.tape()
	i, _ = t.find(d.root, path)
	above, _ := t.find(d.root, path[:len(path)-1])
	return i, i != above && t.isRewritable(i)
}

// Extent returns the place of the scalar at a path.
func (d *Document) Extent(path change.Path) (x source.Extent) {
	if i, ok := d.scalarAt(path); ok {
		x = d.extent(i)
	}
	return x
}

// extent returns the place of the scalar at index i.
func (d *Document) extent(i int) source.Extent {
	n, position := &d.unit.tape().nodes[i], d.unit.stream.position
	return source.Extent{At: position(int(n.start)), To: position(int(n.end))}
}

// requoted returns the splices that put the scalar at index i in quotes or out of them, and its value then. A block
// scalar has no splices.
func (t *tape) requoted(i int) (splices []splice, value any) {
	n := &t.nodes[i]
	start, end := int(n.start), int(n.end)
	switch text := t.text[start:end]; n.kind {
	case plain:
		return []splice{{start: start, end: start, text: `"`}, {start: end, end: end, text: `"`}}, text
	case singleQuoted, doubleQuoted:
		value, _ = Value(text[1 : len(text)-1]) // a text does not fit
		return []splice{{start: start, end: start + 1}, {start: end - 1, end: end}}, value
	}
	return nil, nil
}

// inList returns the splices that make the scalar or map at index i the only item of a list, and the value then. A
// scalar that brackets or its line would end has no splices.
func (t *tape) inList(i int) (splices []splice, value any) {
	n := &t.nodes[i]
	start, end := int(n.start), int(n.end)
	switch text := t.text[start:end]; {
	case n.kind == blockMap && t.startsLine(start) && n.marks&anchored == 0:
		splices = []splice{{start: start, end: start, text: "- "}}
		for at := t.nextLine(start); at < end; at = t.nextLine(at) {
			if line := strings.TrimLeft(t.text[at:lineEnd(t.text, at)], " \r"); line != "" {
				splices = append(splices, splice{start: at, end: at, text: "  "})
			}
		}
		return splices, []any{t.value(i)}
	case n.kind.isBlock():
		return nil, nil
	case n.kind == literal, n.kind == folded, strings.Contains(text, "\n"), n.kind == plain && strings.ContainsAny(text, ",[]{}"), n.marks&anchored != 0:
		return nil, nil
	}
	return []splice{{start: start, end: start, text: "["}, {start: end, end: end, text: "]"}}, []any{t.value(i)}
}

// spaced returns the splices that make a map of the plain scalar at index i, by a space after its colon, and the value
// then.
func (t *tape) spaced(i int) (splices []splice, value any) {
	n := &t.nodes[i]
	text := t.text[n.start:n.end]
	key, rest, _ := strings.Cut(text, ":")
	if n.kind != plain || strings.ContainsAny(text, "\n ") || rest == "" || strings.HasPrefix(rest, "/") {
		return nil, nil
	}
	value, err := Value(text[:len(key)+1] + " " + rest)
	if _, isMap := value.(map[string]any); err != nil || !isMap {
		return nil, nil
	}
	at := int(n.start) + len(key) + 1
	return []splice{{start: at, end: at, text: " "}}, value
}

// rewritten returns the splices that rewrite the scalar at index i, and its new value. It returns none if the scalar
// cannot have that form.
func (t *tape) rewritten(i int, as source.Rewrite) (splices []splice, value any) {
	switch {
	case as.Listed:
		return t.inList(i)
	case as.Spaced:
		return t.spaced(i)
	case len(as.Changes) > 0:
		return t.changed(i, as.Changes)
	}
	return t.requoted(i)
}

// Edits returns the edits of the text that rewrite a scalar, or give a field a value, as an edit of a fix says. ok
// is false if the stream has no such scalar or object any more, or if something else would read differently then. It
// only reads the map around the place again.
func (s *Stream) Edits(e source.Edit) (edits []source.Edit, ok bool) {
	from, to := s.offset(e.At), s.offset(e.To)
	d := s.documentAt(from)
	switch {
	case d == nil || d.unit.rewritten != nil:
		return nil, false
	case e.Put != nil:
		if d.start != from {
			return nil, false
		}
		return d.put(e.Put)
	}
	i := d.nodeAt(from)
	for t := d.unit.tape(); i < int(t.nodes[d.root].next) && int(t.nodes[i].start) == from; i++ {
		if n := &t.nodes[i]; t.isRewritable(i) && int(n.end) == to {
			return d.rewrite(i, *e.Scalar)
		}
	}
	return nil, false
}

// documentAt returns the document that has the text at an offset; nil if none has.
func (s *Stream) documentAt(offset int) *Document {
	start := func(d *Document) int {
		if d.unit.rewritten != nil {
			return d.unit.start // it has another text
		}
		return d.window.start
	}
	after, _ := slices.BinarySearchFunc(s.docs, offset+1, func(d *Document, at int) int { return cmp.Compare(start(d), at) })
	if after == 0 || s.docs[after-1].unit.rewritten == nil && s.docs[after-1].window.end < offset {
		return nil
	}
	return s.docs[after-1]
}

// nodeAt returns the index of the first node of the document that does not start before an offset.
func (d *Document) nodeAt(offset int) int {
	nodes := d.unit.tape().nodes[:d.unit.tape().nodes[d.root].next]
	i, _ := slices.BinarySearchFunc(nodes[d.root:], offset, func(n node, at int) int { return cmp.Compare(int(n.start), at) })
	return d.root + i
}

// part returns the smallest map with the node at index i that can be read alone. That is the whole document if there
// are anchors, or if it might become JSON.
func (d *Document) part(i int) *Document {
	t := d.unit.tape()
	if root := &t.nodes[d.root]; len(t.anchors) > 0 || root.kind.isFlow() && root.marks&fromJSON == 0 {
		return d
	}
	parents := t.parents()
	for i != d.root && !t.nodes[i].kind.isMap() {
		i = int(parents[i])
	}
	if i == d.root {
		return d
	}
	above := int(parents[i])
	p := &Document{unit: d.unit, root: i, column: int(t.nodes[above].column)}
	if t.nodes[above].kind.isMap() {
		p.window = valueWindow(t, i, p.column)
	} else {
		p.window = itemWindow(t, above, i)
	}
	return p
}

// rewrite returns the edits that rewrite the scalar or map at index i.
func (d *Document) rewrite(i int, as source.Rewrite) (edits []source.Edit, ok bool) {
	t := d.unit.tape()
	p := d.part(int(t.parents()[i]))
	splices, value := t.rewritten(i, as)
	object := p.Object()
	if len(splices) == 0 || !put(object, t.pathBetween(p.root, i), value) || !p.readsAs(splices, object) {
		return nil, false
	}
	position := d.unit.stream.position
	for _, s := range splices {
		edits = append(edits, source.Edit{At: position(s.start), To: position(s.end), New: s.text})
	}
	return edits, true
}

// pathBetween returns the path from the node at index root to the one at index i, which is in it.
func (t *tape) pathBetween(root, i int) (path change.Path) {
	for parents := t.parents(); i != root; i = int(parents[i]) {
		above := int(parents[i])
		if t.nodes[above].kind.isMap() {
			path = path.Key(t.key(i - 1))
			continue
		}
		index := 0
		for item := above + 1; item != i; item = int(t.nodes[item].next) {
			index++
		}
		path = path.Index(index)
	}
	slices.Reverse(path)
	return path
}

// put returns the edits that give a field a value.
func (d *Document) put(p *source.Put) (edits []source.Edit, ok bool) {
	t, s := d.unit.tape(), d.unit.stream
	part, keys := d.partAt(p.Keys)
	object := part.Object()
	if !setAt(object, keys, p.Value) {
		return nil, false
	}
	e := part.edits(nil, object, nil, t.styleOf(part.root, d.unit.rootOf(d.root), d.unit.lineBreak))
	if e == nil || len(e.anew) > 0 {
		return nil, false
	}
	for _, sp := range t.end(e.splices, false) {
		text := strings.ReplaceAll(sp.text, "\r\n", "\n")
		if sp.line && text != "" && sp.start > 0 && t.text[sp.start-1] != '\n' {
			text = "\n" + text
		}
		edits = append(edits, source.Edit{At: s.position(sp.start), To: s.position(sp.end), New: text})
	}
	slices.SortStableFunc(edits, func(a, b source.Edit) int { return a.At.Compare(b.At) })
	return edits, len(edits) > 0
}

// partAt returns the part of the document with the innermost map that keys lead through, and what is left of the keys
// there.
func (d *Document) partAt(keys []any) (part *Document, left []any) {
	t := d.unit.tape()
	inner, left := d.root, keys
	for i, n := d.root, 0; n < len(keys)-1; n++ {
		switch key := keys[n].(type) {
		case string:
			i = t.lookup(i, key)
		case int:
			i = t.item(i, key)
		}
		if i < 0 || t.nodes[i].kind == alias {
			break
		}
		if t.nodes[i].kind.isMap() {
			inner, left = i, keys[n+1:]
		}
	}
	if part = d.part(inner); part.root != inner {
		return d, keys
	}
	return part, left
}

// setAt gives the field that keys lead to a value. It adds the maps around the field that are missing.
func setAt(object any, keys []any, value any) bool {
	for i, key := range keys {
		isLast := i == len(keys)-1
		switch key := key.(type) {
		case string:
			fields, isMap := object.(map[string]any)
			switch {
			case !isMap:
				return false
			case isLast && value == nil:
				delete(fields, key)
			case isLast:
				fields[key] = value
			case fields[key] == nil:
				fields[key] = map[string]any{}
			}
			object = fields[key]
		case int:
			items, isList := object.([]any)
			if !isList || key >= len(items) || isLast {
				return false
			}
			object = items[key]
		}
	}
	return true
}

// changed returns the splices that change parts of the text of the scalar at index i, and its value then. There are
// none for a text that a scalar of its form cannot have.
func (t *tape) changed(i int, changes []source.Change) (splices []splice, value any) {
	n := &t.nodes[i]
	text := t.string(n)
	if n.kind == plain && source.Changed(text, changes) == "" {
		return []splice{{start: int(n.start), end: int(n.end), text: `""`}}, ""
	}
	for _, c := range changes {
		from, to := t.byteOf(i, c.From), t.byteOf(i, c.To)
		if c.To > 0 && strings.TrimSpace(text[c.To-1:c.To]) != "" {
			to = max(from, len(strings.TrimRight(t.text[:to], " \t\r\n"))) // the line may end there
		}
		written, ok := t.inScalar(i, c.New)
		if !ok {
			return nil, nil
		}
		splices = append(splices, splice{start: from, end: to, text: written})
	}
	return splices, source.Changed(text, changes)
}

// put sets the value at a path of an object, which has one there.
func put(object any, path change.Path, value any) bool {
	holder, _ := path[:len(path)-1].Get(object)
	switch last := path[len(path)-1]; h := holder.(type) {
	case map[string]any:
		h[last.Key] = value
	case []any:
		h[last.Index] = value
	default:
		return false
	}
	return true
}

// inScalar returns a text as it is written in the scalar at index i. ok is false if it cannot be.
func (t *tape) inScalar(i int, text string) (written string, ok bool) {
	n, line := &t.nodes[i], text
	switch n.kind {
	case doubleQuoted:
		quoted := doubleQuote(text)
		return quoted[1 : len(quoted)-1], utf8.ValidString(text)
	case literal:
		line = strings.ReplaceAll(text, "\n", "")
		text = strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", int(n.column)))
	}
	quoted, ok := singleQuote(line)
	if ok && n.kind == singleQuoted {
		text = quoted[1 : len(quoted)-1]
	}
	return text, ok && utf8.ValidString(text)
}
