package manifest

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"unsafe"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/source"
)

// Document is one object of a stream: a document of its own, or an item of a list.
type Document struct {
	unit *unit
	root int
	// at is the path from the root of the unit to the document.
	at change.Path
	// implied are values that a typed list gives its items where they lack them.
	implied [][2]string
	// kind, namespace and name are what it says of itself.
	kind            gvk.Kind
	namespace, name string
	local           bool
	window          window
	// start is where the first key is in the text of the tape.
	start int
	// column is that of the block collection around the document, if there is one.
	column  int
	splices []splice
	// anew are the indexes of values of which Set could not edit the text.
	anew []int
}

// A window is the part of a text that holds a document, with the blank lines below,
// and that can be read by itself after column blanks.
type window struct {
	start, end, column int
}

func (u *unit) window(root int) window {
	switch n := &u.tape().nodes[root]; {
	case n.kind.isFlow():
		return window{start: int(n.start), end: int(n.end)}
	case u.rewritten != nil:
		return window{end: len(u.text())}
	default:
		return window{start: u.start, end: u.end}
	}
}

// rootOf is the root of the unit's document that holds the node at index i.
func (u *unit) rootOf(i int) int {
	after, _ := slices.BinarySearch(u.roots, i+1)
	return u.roots[after-1]
}

// itemWindow is the window on an item of a list.
func itemWindow(t *tape, list, item int) window {
	n := &t.nodes[item]
	if n.lead < 0 {
		return window{start: int(n.start), end: int(n.end)}
	}
	column := int(t.nodes[list].column)
	return window{start: int(n.lead) + 1, end: skipBlankLines(t.text, t.lineAfter(item, column)), column: column + 1}
}

// valueWindow is the window on the value of a key in the map at a column.
func valueWindow(t *tape, value, column int) window {
	n := &t.nodes[value]
	if n.lead < 0 {
		return window{start: int(n.start), end: int(n.end)}
	}
	return window{start: int(n.lead), end: skipBlankLines(t.text, t.lineAfter(value, column))}
}

// Stream returns the stream that the document is part of.
func (d *Document) Stream() *Stream { return d.unit.stream }

// Kind returns the kind of the object; its parts are empty where the document has
// no text for them.
func (d *Document) Kind() gvk.Kind { return d.kind }

// Name returns metadata.name, or "".
func (d *Document) Name() string { return d.name }

// Namespace returns metadata.namespace, or "".
func (d *Document) Namespace() string { return d.namespace }

// identify finds out what the document says of itself.
func (d *Document) identify() {
	d.kind = gvk.Parse(d.string("apiVersion"), d.string("kind"))
	d.namespace, d.name = d.string("metadata", "namespace"), d.string("metadata", "name")
	d.local = d.string("metadata", "annotations", localConfig) == "true"
	d.start = d.unit.tape().offset(d.root, nil)
}

// TextAt returns the string under keys, or "".
func (d *Document) TextAt(keys ...string) string { return d.string(keys...) }

func (d *Document) string(path ...string) string {
	for _, pair := range d.implied {
		if len(path) == 1 && pair[0] == path[0] && d.unit.tape().lookup(d.root, path[0]) < 0 {
			return pair[1]
		}
	}
	return d.unit.tape().lookupString(d.root, path...)
}

// Object returns the value of the document as it was read, without edits. Every
// call builds a new one. The items of a typed list have the apiVersion and kind
// that follow from the list.
func (d *Document) Object() map[string]any {
	object := d.unit.tape().object(d.root)
	for _, pair := range d.implied {
		if _, ok := object[pair[0]]; !ok {
			object[pair[0]] = pair[1]
		}
	}
	return object
}

// At returns where the value at path is in the stream; its key, if it is null
// without text; its deepest ancestor that exists, if there is no such value. The
// empty path is the start of the document's first key.
func (d *Document) At(path change.Path) source.Position {
	if origin := d.unit.stream.origin; origin != nil {
		return origin(path)
	}
	if d.unit.rewritten != nil {
		return d.unit.rewritten.position(append(d.at[:len(d.at):len(d.at)], path...))
	}
	if len(path) == 0 {
		return d.unit.stream.position(d.start)
	}
	return d.unit.stream.position(d.unit.tape().offset(d.root, path))
}

// positionOf is the position of the node at index i, to which path leads from the
// root of the unit.
func (d *Document) positionOf(i int, path change.Path) source.Position {
	if d.unit.rewritten != nil {
		return d.unit.rewritten.position(path)
	}
	return d.unit.stream.position(d.unit.tape().offset(i, nil))
}

// In returns where the byte at an offset of the string at path is. It is exact
// for what the scanner reads, and close to it otherwise.
func (d *Document) In(path change.Path, offset int) source.Position {
	if d.unit.rewritten != nil {
		return d.unit.rewritten.positionIn(append(d.at[:len(d.at):len(d.at)], path...), offset)
	}
	return d.unit.stream.position(d.unit.tape().offsetIn(d.root, path, offset))
}

// Line returns the line of the stream that p is on, without its line break.
func (d *Document) Line(p source.Position) string { return d.unit.stream.line(p.Line) }

// Excerpt returns the line of the stream that p is on, with a caret below the place;
// "" if the place is not known. Of a long line it has what is near the place.
func (d *Document) Excerpt(p source.Position) string {
	line := d.Line(p)
	if line == "" || p.Column == 0 {
		return ""
	}
	before := []rune(line)
	at := min(p.Column-1, len(before))
	if start := max(0, at-limit.Excerpt/2); len(before) > limit.Excerpt {
		before, at = before[start:min(start+limit.Excerpt, len(before))], at-start
		line = string(before)
	}
	before = before[:at]
	for i, c := range before {
		if c != '\t' {
			before[i] = ' '
		}
	}
	return line + "\n" + string(before) + "^"
}

// Changed reports whether the document's text is edited.
func (d *Document) Changed() bool { return len(d.splices) > 0 }

// Reset takes back what Set did.
func (d *Document) Reset() {
	if s := d.unit.shared; s != nil && s.members[d] != nil {
		s.reset(d)
		return
	}
	d.splices, d.anew = nil, nil
}

// Release lets go of what is known of the text of a document by itself: it is found out again
// when it is asked for.
func (d *Document) Release() {
	if d.unit.isPlain() {
		d.unit.release()
	}
}

// Set edits the document so that it reads as object, and replaces what an earlier
// Set did. Only the text of values that differ from Object is touched. Items of
// lists are recognised with change.Align and shape.
//
// A YAML document cannot tell a floating-point number without fraction from an
// integer, so 1.0 is written as 1 and reads as an integer.
func (d *Document) Set(object map[string]any, shape change.Shape) error {
	if s := d.unit.shared; s != nil && s.members[d] != nil {
		return s.set(d, object, shape)
	}
	_, err := d.set(object, shape, above{})
	return err
}

// set edits the document below a. It returns the anchors that the text has then, nil if
// nothing changed.
func (d *Document) set(object map[string]any, shape change.Shape, a above) (*names, error) {
	d.splices, d.anew = nil, nil
	t := d.unit.tape()
	if !a.changed && d.isAt(t, d.root, object) {
		return nil, nil
	}
	wholeFloats, err := checkValue(object)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", d.At(nil), err)
	}
	st := t.styleOf(d.root, d.unit.rootOf(d.root), d.unit.lineBreak)
	if wholeFloats && !st.strict {
		object, _ = asYAML(object).(map[string]any)
	}
	e := d.edits(object, shape, st, a)
	if e == nil {
		return nil, fmt.Errorf("writing %s: the new text would not read as the object; please report this document's layout", d.At(nil))
	}
	d.splices, d.anew = e.splices, e.anew
	return e.names, nil
}

// ways are the ways to edit a document, in the order in which they are tried. New
// block scalars may swallow comments and blank lines below them: then strings are
// quoted, or the blank lines dropped. Text that becomes JSON may have to be exact.
var ways = [...]struct{ quoted, tidy, expand, exact bool }{
	{},
	{quoted: true},
	{tidy: true},
	{quoted: true, tidy: true},
	{expand: true},
	{quoted: true, tidy: true, expand: true},
	{exact: true},
}

// edits finds the splices that make the document read as object; nil if there are none.
// No text that a person would write needs more than the ways above. But a value that
// is lost is worse than a comment that is: otherwise values are written anew, as deep
// in the document as possible.
func (d *Document) edits(object map[string]any, shape change.Shape, st style, a above) *editor {
	text := d.withoutImplied(object)
	for _, way := range ways {
		st.quoted = way.quoted
		e := d.editor(st, a)
		e.tidy, e.expand, e.exact = way.tidy, way.expand, way.exact
		e.edit(d.root, d.place(), text, shape)
		if d.readsAs(e.splices, object, a) {
			return e
		}
	}
	for level := d.unit.tape().height(d.root); level > 0; level-- {
		e := d.editor(st, a)
		e.tidy, e.expand, e.limit = true, true, level
		e.edit(d.root, d.place(), text, shape)
		if d.readsAs(e.splices, object, a) {
			return e
		}
	}
	return nil
}

func (d *Document) editor(st style, a above) *editor {
	return &editor{t: d.unit.tape(), style: st, names: newNames(d.unit.tape(), a)}
}

// Warnings tells what Set could not keep: the text around what has changed.
func (d *Document) Warnings() []source.Diagnostic {
	var found []source.Diagnostic
	if w := d.unit.rewritten; w != nil && d.Changed() {
		found = append(found, source.Warningf(w.odd, writtenAnew, "this YAML cannot be edited in place; the whole document was written anew").
			With("check its comments and its layout, and write maps, lists and scalars in their usual forms here"))
	}
	for _, i := range d.anew {
		found = append(found, source.Warningf(d.positionOf(i, nil), writtenAnew, "this value could not be edited in place and was written anew, without its comments").
			With("check its comments and its layout, and please report what it looked like"))
	}
	return found
}

// writtenAnew is the code of warnings about text that is lost.
const writtenAnew = "written-anew"

// withoutImplied returns object without what the document's list says in its place.
func (d *Document) withoutImplied(object map[string]any) map[string]any {
	text := object
	for _, pair := range d.implied {
		if d.unit.tape().lookup(d.root, pair[0]) < 0 && object[pair[0]] == pair[1] {
			if len(text) == len(object) {
				text = maps.Clone(object)
			}
			delete(text, pair[0])
		}
	}
	return text
}

// isAt reports whether the map at index i of a tape reads as object.
func (d *Document) isAt(t *tape, i int, object map[string]any) bool {
	i = t.real(i)
	count := t.size(i)
	for _, pair := range d.implied {
		if t.lookup(i, pair[0]) >= 0 {
			continue
		}
		if object[pair[0]] != pair[1] {
			return false
		}
		count++
	}
	return len(object) == count && t.within(i, object)
}

// place says what holds the document in its unit.
func (d *Document) place() place {
	t := d.unit.tape()
	n := &t.nodes[d.root]
	switch {
	case n.lead < 0 && n.kind.isFlow():
		return place{flow: true}
	case n.lead < 0:
		return place{column: -1}
	}
	// The indicator before the value is in the column of the collection around
	// it, or after the key that does.
	return place{column: d.column, item: t.text[n.lead] == '-'}
}

// asYAML copies a value with the numbers that YAML can tell apart.
func asYAML(value any) any {
	switch v := value.(type) {
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key := range v {
			copied[key] = asYAML(v[key])
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i := range v {
			copied[i] = asYAML(v[i])
		}
		return copied
	case float64:
		return number.Whole(v)
	}
	return value
}

// A trial is room to read an edited text in, which is forgotten then.
type trial struct {
	text []byte
	scan scanner
}

var trials = sync.Pool{New: func() any { return new(trial) }}

// readsAs reports whether the document reads as object with splices carried out, below a.
func (d *Document) readsAs(splices []splice, object map[string]any, a above) bool {
	w, t := d.window, d.unit.tape()
	try := trials.Get().(*trial)
	defer trials.Put(try)
	try.text = append(try.text[:0], a.prelude(t)...)
	start := len(try.text)
	for range w.column {
		try.text = append(try.text, ' ')
	}
	try.text = appendSpliced(try.text, t.text, w.start, w.end, splices, d.unit.lineBreak)
	scan := &try.scan
	scan.reset(unsafe.String(unsafe.SliceData(try.text), len(try.text)))
	root, ok := -1, false
	if marks := t.nodes[d.root].marks; marks&fromJSON != 0 {
		root, _, ok = scan.json(0, len(scan.text), marks&strict != 0)
	} else {
		scan.document(0, start)
		scan.inherits = true
		root, ok = scan.document(start, len(scan.text))
	}
	if !ok || root < 0 || refuses(scan.problems) {
		return false
	}
	t = scan.tape()
	return t.nodes[t.real(root)].kind.isMap() && d.isAt(t, root, object) && d.readsAsJSON(scan.text[start:], object)
}

// readsAsJSON reports whether a text reads as object should it have become JSON by an
// edit: 0.0 is another number there than in YAML.
func (d *Document) readsAsJSON(text string, object map[string]any) bool {
	n := &d.unit.tape().nodes[d.root]
	if n.marks&fromJSON != 0 || !n.kind.isFlow() || !slices.Contains(d.unit.roots, d.root) {
		return true
	}
	scan := scanner{text: text}
	root, _, ok := scan.json(firstToken(text, 0, len(text)), len(text), true)
	return !ok || d.isAt(scan.tape(), root, object)
}
