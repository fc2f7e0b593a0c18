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

// Document is one object of a stream: a whole document, or an item of a list.
type Document struct {
	unit *unit
	root int
	// at is the path from the root of the unit to the document.
	at change.Path
	// implied are the values that a typed list gives to items without them.
	implied [][2]string
	// kind, namespace and name are read from the document.
	kind            gvk.Kind
	namespace, name string
	local           bool
	window          window
	// start is the offset of the first key in the text of the tape.
	start int
	// column is the column of the block collection around the document, if it has one.
	column  int
	splices []splice
	// hash is the IdentityHash; 0 before it is asked for.
	hash uint32
	// anew are the indexes of values whose text Set could not edit.
	anew []int
}

// A window is the part of a text that has a document, with the blank lines below. The part can be
// read alone if column blanks are put before it.
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

// rootOf returns the root of the document that has the node at index i.
func (u *unit) rootOf(i int) int {
	after, _ := slices.BinarySearch(u.roots, i+1)
	return u.roots[after-1]
}

// itemWindow returns the window of an item of a list.
func itemWindow(t *tape, list, item int) window {
	n := &t.nodes[item]
	if n.lead < 0 {
		return window{start: int(n.start), end: int(n.end)}
	}
	column := int(t.nodes[list].column)
	return window{start: int(n.lead) + 1, end: skipBlankLines(t.text, t.lineAfter(item, column)), column: column + 1}
}

// valueWindow returns the window of the value of a key in the map at a column.
func valueWindow(t *tape, value, column int) window {
	n := &t.nodes[value]
	if n.lead < 0 {
		return window{start: int(n.start), end: int(n.end)}
	}
	return window{start: int(n.lead), end: skipBlankLines(t.text, t.lineAfter(value, column))}
}

// Stream returns the stream that has the document.
func (d *Document) Stream() *Stream { return d.unit.stream }

// Kind returns the kind of the object. Its parts are empty if the document does not have them as
// strings.
func (d *Document) Kind() gvk.Kind { return d.kind }

// Name returns metadata.name, or "".
func (d *Document) Name() string { return d.name }

// Namespace returns metadata.namespace, or "".
func (d *Document) Namespace() string { return d.namespace }

// identify reads the kind, namespace and name of the document.
func (d *Document) identify() {
	d.kind = gvk.Parse(d.string("apiVersion"), d.string("kind"))
	d.namespace, d.name = d.string("metadata", "namespace"), d.string("metadata", "name")
	d.local = d.string("metadata", "annotations", localConfig) == "true"
	d.start = d.unit.tape().offset(d.root, nil)
}

// TextAt returns the string at keys, or "".
func (d *Document) TextAt(keys ...string) string { return d.string(keys...) }

func (d *Document) string(path ...string) string {
	for _, pair := range d.implied {
		if len(path) == 1 && pair[0] == path[0] && d.unit.tape().lookup(d.root, path[0]) < 0 {
			return pair[1]
		}
	}
	return d.unit.tape().lookupString(d.root, path...)
}

// Object returns the value of the document as it was read, without edits. Every call builds a new
// value. The items of a typed list have the apiVersion and kind that follow from the list.
func (d *Document) Object() map[string]any {
	object := d.unit.tape().object(d.root)
	for _, pair := range d.implied {
		if _, ok := object[pair[0]]; !ok {
			object[pair[0]] = pair[1]
		}
	}
	return object
}

// Value returns the value at keys of the Object, without building the rest; nil if it has none. What a typed list
// implies is not at keys.
func (d *Document) Value(keys ...string) any {
	t, i := d.unit.tape(), d.root
	for _, key := range keys {
		if i = t.lookup(i, key); i < 0 {
			return nil
		}
	}
	return t.value(i)
}

// At returns the position of the value at path in the stream. For a null without text it is the
// position of the key, and for a missing value the position of the deepest ancestor that exists.
// The empty path has the position of the document's first key.
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

// Key returns the position of the key of the value at path. It is that of the value for documents
// that the scanner does not read.
func (d *Document) Key(path change.Path) source.Position {
	if d.unit.stream.origin != nil || d.unit.rewritten != nil {
		return d.At(path)
	}
	t := d.unit.tape()
	if _, key := t.find(d.root, path); key >= 0 {
		return d.unit.stream.position(int(t.nodes[key].start))
	}
	return d.At(path)
}

// positionOf returns the position of the node at index i. path is the path of the node from the
// root of the unit.
func (d *Document) positionOf(i int, path change.Path) source.Position {
	if d.unit.rewritten != nil {
		return d.unit.rewritten.position(path)
	}
	return d.unit.stream.position(d.unit.tape().offset(i, nil))
}

// In returns the position of the byte at offset in the string at path. It is exact for documents
// that the scanner reads, and close for others.
func (d *Document) In(path change.Path, offset int) source.Position {
	if d.unit.rewritten != nil {
		return d.unit.rewritten.positionIn(append(d.at[:len(d.at):len(d.at)], path...), offset)
	}
	return d.unit.stream.position(d.unit.tape().offsetIn(d.root, path, offset))
}

// KeyIn returns the position of the byte at offset in the key at the end of path. It is exact for
// documents that the scanner reads, and that of the key for others.
func (d *Document) KeyIn(path change.Path, offset int) source.Position {
	if d.unit.stream.origin != nil || d.unit.rewritten != nil {
		return d.Key(path)
	}
	t := d.unit.tape()
	if _, key := t.find(d.root, path); key >= 0 && t.nodes[key].kind.isScalar() {
		return d.unit.stream.position(t.byteOf(key, offset))
	}
	return d.Key(path)
}

// Line returns the line of the stream that has p, without its line break.
func (d *Document) Line(p source.Position) string { return d.unit.stream.line(p.Line) }

// Excerpt returns the line of the stream that has p, with a caret below p. Long lines are cut
// around p. Excerpt returns "" if p is unknown.
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

// Changed reports whether the document has been edited.
func (d *Document) Changed() bool { return len(d.splices) > 0 }

// Reset undoes Set.
func (d *Document) Reset() {
	d.splices, d.anew = nil, nil
}

// Fitting is the type of a value, as far as Fits asks for it. A nil Fitting accepts everything.
type Fitting interface {
	// Member returns the type of the value under a key, if maps fit and may have the key.
	Member(key string) (of Fitting, ok bool)
	// Item returns the type of the items, if lists fit.
	Item() (of Fitting, ok bool)
	// Accepts reports whether a scalar fits.
	Accepts(scalar any) bool
}

// Fits reports whether the Object of the document surely fits a type, without building it. It is
// false for a document with aliases, too.
func (d *Document) Fits(of Fitting) bool { return d.unit.tape().fits(d.root, of) }

// Release frees the memory of the document's tape. The text is scanned again when the tape is
// needed.
func (d *Document) Release() {
	if d.unit.isPlain() {
		d.unit.release()
	}
}

// Set edits the document so that it reads as object, and replaces the edits of an earlier Set. It
// only touches the text of values that differ from Object. It matches the items of lists with
// change.Align and shape.
//
// YAML cannot distinguish a floating-point number without a fraction from an integer, so 1.0 is
// written as 1 and reads as an integer.
func (d *Document) Set(object map[string]any, shape change.Shape) error {
	return d.Edit(nil, object, shape)
}

// Edit is Set for an object that shares parts with a value that Object has returned, and that nobody has
// changed. It does not read the text of these parts again before it edits the others.
func (d *Document) Edit(was, object map[string]any, shape change.Shape) error {
	d.splices, d.anew = nil, nil
	t := d.unit.tape()
	if d.isAt(t, d.root, object) {
		return nil
	}
	wholeFloats, err := checkValue(known(was), object)
	if err != nil {
		return fmt.Errorf("writing %s: %w", d.At(nil), err)
	}
	st := t.styleOf(d.root, d.unit.rootOf(d.root), d.unit.lineBreak)
	if wholeFloats && !st.strict {
		object, _ = number.Wholes(object).(map[string]any)
	}
	e := d.edits(was, object, shape, st)
	if e == nil {
		return fmt.Errorf("writing %s: the new text would not read as the object; please report this document's layout", d.At(nil))
	}
	d.splices, d.anew = e.splices, e.anew
	return nil
}

// ways are the ways to edit a document, in the order in which they are tried. A new block scalar
// may swallow the comments and blank lines below it; then strings are quoted, or the blank lines
// are dropped. Numbers in text that becomes JSON may have to be exact.
var ways = [...]struct{ quoted, tidy, exact bool }{
	{},
	{quoted: true},
	{tidy: true},
	{quoted: true, tidy: true},
	{exact: true},
}

// known returns a value that Object has returned, nil for nil.
func known(was map[string]any) any {
	if was == nil || change.Reference {
		return nil
	}
	return was
}

// edits returns an editor with the splices that make the document read as object, or nil if it
// finds no splices. Text that a person would write never needs more than the ways above. As a last
// resort, values are written anew, as deep in the document as possible, because losing a comment is
// better than losing a value.
func (d *Document) edits(was, object map[string]any, shape change.Shape, st style) *editor {
	text := d.withoutImplied(object)
	for _, way := range ways {
		st.quoted = way.quoted
		e := d.editor(st)
		e.tidy, e.exact = way.tidy, way.exact
		e.edit(d.root, d.surroundings(), known(was), text, shape)
		if d.readsAs(e.splices, object) {
			return e
		}
	}
	for level := d.unit.tape().height(d.root); level > 0; level-- {
		e := d.editor(st)
		e.tidy, e.limit = true, level
		e.edit(d.root, d.surroundings(), known(was), text, shape)
		if d.readsAs(e.splices, object) {
			return e
		}
	}
	return nil
}

func (d *Document) editor(st style) *editor {
	return &editor{t: d.unit.tape(), style: st, names: newNames(d.unit.tape())}
}

// Warnings reports the text that Set could not keep.
func (d *Document) Warnings() []source.Diagnostic {
	var found []source.Diagnostic
	if w := d.unit.rewritten; w != nil && d.Changed() {
		found = append(found, source.Warningf(w.odd, writtenAnew, "this YAML cannot be edited in place; the whole document was written anew").
			With("check its comments and its layout, and write maps, lists and scalars in their usual forms here"))
	}
	for _, i := range d.anew {
		found = append(found, source.Warningf(d.positionOf(i, nil), writtenAnew, "this value could not be edited in place and was written anew, without its comments").
			With("check it; comments between brackets can stay if every entry has a line of its own"))
	}
	return found
}

// writtenAnew is the code of warnings about lost text.
const writtenAnew = "written-anew"

// withoutImplied returns object without the values that the document's list implies.
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

// surroundings returns those of the document in its unit.
func (d *Document) surroundings() surroundings {
	t := d.unit.tape()
	n := &t.nodes[d.root]
	switch {
	case n.lead < 0 && n.kind.isFlow():
		return surroundings{flow: true}
	case n.lead < 0:
		return surroundings{column: -1}
	}
	// The indicator before the value is in the column of the collection around the document,
	// or after a key in that column.
	return surroundings{column: d.column, item: t.text[n.lead] == '-'}
}

// A trial has reusable memory for reading an edited text.
type trial struct {
	text []byte
	scan scanner
}

var trials = sync.Pool{New: func() any { return new(trial) }}

// readsAs reports whether the document with the splices applied reads as object.
func (d *Document) readsAs(splices []splice, object map[string]any) bool {
	w, t := d.window, d.unit.tape()
	try := trials.Get().(*trial)
	defer trials.Put(try)
	try.text = try.text[:0]
	for range w.column {
		try.text = append(try.text, ' ')
	}
	try.text = appendSpliced(try.text, t.text, w.start, w.end, t.end(splices, false), d.unit.lineBreak)
	scan := &try.scan
	scan.reset(unsafe.String(unsafe.SliceData(try.text), len(try.text)))
	root, ok := -1, false
	if marks := t.nodes[d.root].marks; marks&fromJSON != 0 {
		root, _, ok = scan.json(0, len(scan.text), marks&strict != 0)
	} else {
		root, ok = scan.document(0, len(scan.text))
	}
	if !ok || root < 0 || refuses(scan.problems) {
		return false
	}
	t = scan.tape()
	return t.nodes[t.real(root)].kind.isMap() && d.isAt(t, root, object) && d.readsAsJSON(scan.text, object)
}

// readsAsJSON reports whether a text reads as object if an edit has turned it into JSON, where 0.0
// is a different number than in YAML.
func (d *Document) readsAsJSON(text string, object map[string]any) bool {
	n := &d.unit.tape().nodes[d.root]
	if n.marks&fromJSON != 0 || !n.kind.isFlow() || !slices.Contains(d.unit.roots, d.root) {
		return true
	}
	scan := scanner{text: text}
	root, _, ok := scan.json(firstToken(text, 0, len(text)), len(text), true)
	return !ok || d.isAt(scan.tape(), root, object)
}
