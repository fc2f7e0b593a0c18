// Package manifest reads streams of Kubernetes manifests, in YAML and JSON, and writes back
// what changed in them and nothing else.
//
// A Stream keeps its bytes. A scanner writes the text of every document down on a tape of
// offsets. Values are built from the tape when they are asked for, and an edit is a splice in
// the text.
//
// The scanner does not understand YAML that people hardly write: lists as keys, keys without
// values in braces, carriage returns alone. Such a document goes through the nodes of the YAML
// library. If it is edited, it is written anew, with a warning. In a list this is true of the
// item alone; the other items keep their text.
//
// Anchors, aliases, merge keys and tags stay. If an edit changes an alias alone, the alias
// becomes a copy. If it changes an anchor alone, its aliases become copies.
//
// Scalars mean what kubectl and the API server read: YAML 1.1 as in sigs.k8s.io/yaml v1.6.0,
// then integers where JSON has integers.
//
// Laws:
//
//	Bytes is the input if no document was set, or if all were set to what they were
//	after d.Set(o), reading Bytes again gives an object equal to o in place of d,
//	and every other object as before
//	an edit keeps the comments and anchors of what stays, and the bytes of what does
//	not change
//	a document that the scanner takes reads as sigs.k8s.io/yaml reads it
//
// No diagnostic holds a scalar of a manifest, which may be secret. It names a position and,
// where the document has a kind, the path of the field.
//
// The files in order:
//
//	stream.go                        Stream, Read, Join
//	scan.go, scanscalar.go,          from text to the tape
//	property.go, flow.go             (anchors, tags and aliases; braces and brackets)
//	scalar.go, decode.go             what scalars mean
//	tape.go                          from the tape to values
//	node.go                          what the scanner does not understand
//	list.go                          lists, ResourceList
//	document.go                      Document
//	shared.go                        documents with anchors for each other
//	position.go                      where values are
//	edit.go, names.go                Set, and what aliases stand for
//	editmap.go, editmerge.go,        from values to splices
//	editlist.go, editflow.go,
//	arrange.go
//	emit.go, quote.go                from values to text
//	splice.go                        from splices to text
//	diagnose.go, mistake.go          why a text is refused, and what led to that
//	text.go                          the text of one document
//	value.go                         a single value
//	made.go, object.go               streams of objects that are not in a file
//	json.go, yaml.go                 new documents
//	annotations.go                   annotations of clients
package manifest

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
	"unsafe"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/source"
)

// Stream is a sequence of documents in one text.
type Stream struct {
	name  string
	text  string
	units []*unit
	docs  []*Document
	list  *ResourceList
	lines func() []int32
	// origin is where values of a stream come from that was not read; see Made.
	origin func(change.Path) source.Position
	// sensitive: see MarkSensitive.
	sensitive bool
}

// MarkSensitive says that the documents of the stream must stay secret, as if
// they were Secrets.
func (s *Stream) MarkSensitive() { s.sensitive = true }

// Sensitive reports whether the stream is marked so.
func (s *Stream) Sensitive() bool { return s.sensitive }

// A unit is what is between two document separators of a stream: a document
// with its comments, or several JSON objects.
type unit struct {
	stream *Stream
	// start and end bound the unit in the stream's text; a "..." is after it.
	start, end int
	lineBreak  string
	// roots are where its documents are on its tape, which has size nodes. The tape is known
	// while somebody needs it; see tape. It may be that of a rewritten text.
	roots     []int
	known     atomic.Pointer[tape]
	size      int
	rewritten *rewritten
	// json says that it was read as JSON, and exact that its numbers keep their types.
	json, exact bool
	docs        []*Document
	results     []splice
	// items are the items of a list that the scanner has set aside, and aside is why.
	items []*unit
	aside []problem
	// shared ties documents together that share values; it is nil where none do.
	shared *sharing
	// column is how many columns are before the text of an item on its first line.
	column int
}

// Read splits data into documents; it keeps data, which must not be modified from then on.
// name is how positions name the file, "-" for standard input. Documents that cannot be read are left out, and a diagnostic
// says why; there is one at least for each of them.
func Read(name string, data []byte) (*Stream, []source.Diagnostic) {
	return Bounds{}.Read(name, data)
}

// Reread is Read for what was written by this package, without bounds.
func Reread(name string, data []byte) (*Stream, []source.Diagnostic) {
	return Bounds{Documents: math.MaxInt}.Read(name, data)
}

// ReadPlain is Read for objects of any kind: lists are documents like others.
func ReadPlain(name string, data []byte) (*Stream, []source.Diagnostic) {
	return Bounds{}.ReadPlain(name, data)
}

// ReadTrees is ReadPlain for mutation trees: a key in brackets, like [labels], is text
// also where it is not quoted. In policies of json.preadmit.dev it is for Read, too.
func ReadTrees(name string, data []byte) (*Stream, []source.Diagnostic) {
	return Bounds{}.ReadTrees(name, data)
}

// Bounds are how much a stream may hold: so many Documents; zero stands for
// limit.Documents.
type Bounds struct{ Documents int }

// Read is Read within bounds.
func (b Bounds) Read(name string, data []byte) (*Stream, []source.Diagnostic) {
	return read(name, data, reader{bounds: b})
}

// ReadPlain is ReadPlain within bounds.
func (b Bounds) ReadPlain(name string, data []byte) (*Stream, []source.Diagnostic) {
	return read(name, data, reader{bounds: b, plain: true})
}

// ReadTrees is ReadTrees within bounds.
func (b Bounds) ReadTrees(name string, data []byte) (*Stream, []source.Diagnostic) {
	return read(name, data, reader{bounds: b, plain: true, trees: true})
}

func read(name string, data []byte, r reader) (*Stream, []source.Diagnostic) {
	s := &Stream{name: name, text: unsafe.String(unsafe.SliceData(data), len(data))}
	s.lines = sync.OnceValue(func() []int32 { return lineStarts(s.text) })
	r.stream = s
	switch {
	case len(s.text) > math.MaxInt32:
		r.refuseAt(source.Position{File: name, Line: 1, Column: 1}, tooLarge)
	case isUTF16(s.text):
		r.refuse(0, utf16Text)
	default:
		r.scan.text = s.text
		r.findOddities()
		r.split()
		r.addOnlyUnit()
	}
	source.Sort(r.found)
	return s, r.found
}

// Name is the name that the stream was read under.
func (s *Stream) Name() string { return s.name }

// Documents returns every object of the stream in order. The items of a List, of a
// typed list (ConfigMapList) and of a ResourceList are in place of the list.
func (s *Stream) Documents() []*Document { return s.docs }

// Text returns the stream as it was read.
func (s *Stream) Text() string { return s.text }

// Bytes returns the stream with all edits; the very bytes that were read if there
// are none.
func (s *Stream) Bytes() []byte {
	const growth = 16 // of a text is what policies usually add at most
	var out bytes.Buffer
	out.Grow(len(s.text) + len(s.text)/growth)
	s.write(&out) // which does not fail
	return out.Bytes()
}

// write writes the stream with all edits, unit by unit.
func (s *Stream) write(w io.Writer) error {
	var text []byte
	done := 0
	for _, u := range s.units {
		edits := u.splices()
		if len(edits) == 0 {
			continue
		}
		if _, err := io.WriteString(w, s.text[done:u.start]); err != nil {
			return err
		}
		text = u.append(text[:0], edits)
		if _, err := w.Write(text); err != nil {
			return err
		}
		done = u.end
	}
	_, err := io.WriteString(w, s.text[done:])
	return err
}

// splices are all edits of the unit.
func (u *unit) splices() []splice {
	if len(u.docs) == 1 && len(u.items)+len(u.results) == 0 {
		return u.docs[0].splices
	}
	var all []splice
	for _, d := range u.docs {
		all = append(all, d.splices...)
	}
	for _, item := range u.items {
		if edits := item.splices(); len(edits) > 0 {
			all = append(all, item.inList(string(item.append(nil, edits))))
		}
	}
	return append(all, u.results...)
}

// append appends the text of the unit with edits.
func (u *unit) append(out []byte, edits []splice) []byte {
	if u.rewritten != nil {
		return appendSpliced(out, u.text(), 0, len(u.text()), edits, u.lineBreak)
	}
	return appendSpliced(out, u.text(), u.start, u.end, edits, u.lineBreak)
}

// lineBreakOf is the line break of the text from start to end: that of its first line,
// or else of the line before.
func lineBreakOf(text string, start, end int) string {
	i := strings.IndexByte(text[start:end], '\n')
	if i < 0 {
		i = strings.LastIndexByte(text[:start], '\n') - start
	}
	if i += start; i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// Join makes one stream of several: a missing line break is added between them, and
// a document separator where one is needed.
func Join(streams []*Stream) []byte {
	if len(streams) == 1 {
		return streams[0].Bytes()
	}
	var out bytes.Buffer
	WriteJoined(&out, streams) // which does not fail
	return out.Bytes()
}

// WriteJoined writes what Join makes of streams. It does not hold all of it at once.
func WriteJoined(to io.Writer, streams []*Stream) error {
	w := bufio.NewWriterSize(to, 64<<10)
	if len(streams) == 1 {
		if err := streams[0].write(w); err != nil {
			return err
		}
		return w.Flush()
	}
	begun, ended := false, false // the line
	for _, s := range streams {
		text := s.Bytes()
		if begun {
			text = bytes.TrimPrefix(text, []byte(byteOrderMark))
		}
		if len(text) == 0 {
			continue
		}
		lineBreak := lineBreakOf(s.text, 0, len(s.text))
		if begun && !ended {
			w.WriteString(lineBreak)
		}
		if begun && !startsWithSeparator(text) {
			w.WriteString("---" + lineBreak)
		}
		w.Write(text)
		begun, ended = true, bytes.HasSuffix(text, []byte("\n"))
	}
	return w.Flush()
}

func startsWithSeparator(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, []byte("---"))
	return ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

const byteOrderMark = "\ufeff"

func isUTF16(text string) bool {
	if len(text) < 2 {
		return false
	}
	return text[:2] == "\xff\xfe" || text[:2] == "\xfe\xff" || text[0] == 0 && text[1] != 0 || text[0] != 0 && text[1] == 0
}

// nodeSize is how many bytes of a manifest there are to a node, at the least in most.
const nodeSize = 11

// A reader fills a stream.
type reader struct {
	stream *Stream
	bounds Bounds
	scan   scanner
	// plain says that lists are documents, trees that every document is a mutation tree.
	plain, trees bool
	// odd are the places of characters that the scanner does not know to be line
	// breaks, or that only JSON may hold; bad are those that nothing may hold.
	odd, bad []oddity
	found    []source.Diagnostic
	// documents and warnings count; stopped says that the rest is not read.
	documents, warnings int
	stopped             bool
}

type oddity struct {
	at  int
	why reason
}

func (r *reader) refuse(at int, why reason) *source.Diagnostic {
	return r.refuseAt(r.stream.position(at), why)
}

// refuseAt reports a problem. It returns the diagnostic, which may be none of those that
// are shown.
func (r *reader) refuseAt(at source.Position, why reason) *source.Diagnostic {
	e := explanations[why]
	d := source.Errorf(at, e.code, "%s", e.message).With(e.advice)
	if why >= booleanKey {
		d.Severity = source.Warning
		if r.warnings++; r.warnings > limit.Messages {
			return &d
		}
	}
	r.found = append(r.found, d)
	return &r.found[len(r.found)-1]
}

// another counts a document that begins, unless there are too many.
func (r *reader) another(at int) bool {
	if most := cmp.Or(r.bounds.Documents, limit.Documents); r.documents == most && !r.stopped {
		r.refuse(at, tooMany).Message = fmt.Sprintf("there are more than %d documents", most)
		r.stopped = true
	}
	r.documents++
	return !r.stopped
}

// full reports whether reading ends before the end of the stream, and says why, once.
func (r *reader) full(at int) bool {
	switch {
	case r.stopped:
	case len(r.found)-min(r.warnings, limit.Messages) > limit.Mistakes:
		r.refuse(at, tooWrong)
		r.stopped = true
	}
	return r.stopped
}

// refuses reports whether some of the problems are more than a warning.
func refuses(problems []problem) bool {
	return slices.ContainsFunc(problems, func(p problem) bool { return p.why < booleanKey })
}

// findOddities looks at every character once.
func (r *reader) findOddities() {
	text, line := r.stream.text, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case ' ' <= c && c < 0x7f, c == '\t':
		case c == '\n':
			line = i
		case c == '\r':
			if i+1 == len(text) || text[i+1] != '\n' {
				r.odd = note(r.odd, line, i, outside)
			}
		case c == 0x7f:
			r.odd = note(r.odd, line, i, controlCharacter)
		case c < ' ':
			r.bad = note(r.bad, line, i, controlCharacter)
		default:
			char, size := utf8.DecodeRuneInString(text[i:])
			switch {
			case char == utf8.RuneError && size == 1:
				r.bad = note(r.bad, line, i, notUTF8)
			case char == 0x85, char == 0x2028, char == 0x2029, char == 0xfeff:
				r.odd = note(r.odd, line, i, outside)
			case char < 0xa0, char == 0xfffe, char == 0xffff:
				r.odd = note(r.odd, line, i, controlCharacter)
			}
			i += size - 1
		}
	}
}

// note adds a place, if it is the first of its kind on the line that starts at line.
func note(places []oddity, line, at int, why reason) []oddity {
	if n := len(places); n > 0 && places[n-1].why == why && places[n-1].at >= line {
		return places
	}
	return append(places, oddity{at, why})
}

// within returns the first of places from start to end.
func within(places []oddity, start, end int) (oddity, bool) {
	i, _ := slices.BinarySearchFunc(places, start, func(o oddity, at int) int { return o.at - at })
	if i < len(places) && places[i].at < end {
		return places[i], true
	}
	return oddity{}, false
}

// split cuts the stream at its document separators and reads what is between.
func (r *reader) split() {
	text := r.stream.text
	exact := strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{")
	for at := len(text) - len(strings.TrimPrefix(text, byteOrderMark)); ; exact = false {
		end := separator(text, at)
		r.unit(at, end, exact)
		if end == len(text) || r.full(end) {
			return
		}
		stop := lineEnd(text, end)
		if rest := strings.TrimLeft(text[end+3:stop], " \t\r"); rest != "" && (rest[0] != '#' || text[end+3] == '#') {
			r.refuse(stop-len(rest), separatorContent)
		}
		at = min(stop+1, len(text))
	}
}

// separator finds the first line from at on that starts with ---.
func separator(text string, at int) int {
	if strings.HasPrefix(text[at:], "---") {
		return at
	}
	if i := strings.Index(text[at:], "\n---"); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// lineEnd returns where the line of i ends; a carriage return is part of the line.
func lineEnd(text string, i int) int {
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(text)
}

// unit reads the text from start to end, which holds one document, none, or several
// JSON objects.
func (r *reader) unit(start, end int, exact bool) {
	text := r.stream.text
	if strings.HasPrefix(text[start:end], byteOrderMark) {
		start += len(byteOrderMark)
	}
	if bad, ok := within(r.bad, start, end); ok {
		r.refuse(bad.at, bad.why)
		return
	}
	end = r.documentEnd(start, end)
	u := &unit{stream: r.stream, start: start, end: end, lineBreak: lineBreakOf(text, start, end)}
	first := firstToken(text, start, end)
	switch {
	case first == end:
		return
	case text[first] == '%' && (first == start || text[first-1] == '\n'):
		r.refuse(first, directive)
		return
	}
	r.unroll((end - start) / nodeSize)
	switch {
	case text[first] == '{' && r.jsonUnit(u, first, exact):
	default:
		known := len(r.found)
		r.yamlUnit(u)
		r.explain(u, known)
	}
	r.addUnit(u)
}

// unroll gives the scanner an empty tape with room for so many nodes. That of the first unit
// is still needed.
func (r *reader) unroll(size int) {
	s := &r.scan
	if len(r.stream.units) == 1 {
		s.nodes, s.properties, s.aliases = nil, nil, nil
	}
	s.nodes, s.properties, s.aliases, s.problems = slices.Grow(s.nodes[:0], size), s.properties[:0], s.aliases[:0], nil
}

// documentEnd returns where the document from start to end ends: before its "..."
// if it has one, after which there may be only comments.
func (r *reader) documentEnd(start, end int) int {
	text := r.stream.text[:end]
	for at := start; ; {
		if strings.HasPrefix(text[at:], "...") && (at+3 == end || strings.IndexByte(" \t\r\n", text[at+3]) >= 0) {
			if rest := firstToken(text, at+3, end); rest < end {
				r.refuse(rest, afterEnd)
			}
			return at
		}
		i := strings.Index(text[at:], "\n...")
		if i < 0 {
			return end
		}
		at += i + 1
	}
}

// firstToken returns where the first text from start to end is that is no comment.
func firstToken(text string, start, end int) int {
	for i := start; i < end; i++ {
		switch text[i] {
		case ' ', '\t', '\r', '\n':
		case '#':
			i = lineEnd(text[:end], i)
		default:
			return i
		}
	}
	return end
}

// jsonUnit reads JSON objects, one after the other. It reports false, having read
// nothing, if the first is no JSON.
func (r *reader) jsonUnit(u *unit, first int, exact bool) bool {
	for at := first; at < u.end && !r.full(at); {
		root, stop, ok := r.scan.json(at, u.end, exact)
		if !ok && at == first {
			r.scan.problems = nil
			return false
		}
		if !ok {
			r.refuse(r.scan.failedAt, r.scan.failed)
			return true
		}
		if !r.another(at) {
			return true
		}
		u.json, u.exact = true, exact
		r.accept(u, root)
		at = firstToken(r.stream.text, stop, u.end)
		if at < u.end && r.stream.text[at] != '{' {
			r.refuse(at, afterJSON)
			return true
		}
	}
	return true
}

// yamlUnit reads one YAML document.
func (r *reader) yamlUnit(u *unit) {
	if !r.another(u.start) {
		return
	}
	odd, isOdd := within(r.odd, u.start, u.end)
	if isOdd && odd.why != outside {
		r.refuse(odd.at, odd.why)
		return
	}
	if !isOdd {
		root, ok := r.scan.document(u.start, u.end)
		if !ok {
			root, ok = r.scanApart(u)
		}
		if ok && root >= 0 {
			r.accept(u, root)
		}
		if ok {
			return
		}
		r.scan.problems = nil
		if r.scan.failed.isFinal() {
			r.refuse(r.scan.failedAt, r.scan.failed)
			return
		}
	}
	r.rewrite(u, isOdd)
}

// maxProblems is how many problems of a document are reported.
const maxProblems = 100

// accept takes the root that the scanner has found, or refuses it for what is
// wrong with it. A document that is null is none, as for kubectl.
func (r *reader) accept(u *unit, root int) {
	t := r.scan.tape()
	if t.equals(root, nil) {
		return
	}
	if !t.nodes[root].kind.isMap() {
		r.refuse(int(t.nodes[root].start), notObject)
		return
	}
	if !refuses(r.scan.problems) {
		u.roots = append(u.roots, root)
	} else {
		r.refuseAside(u)
	}
	if len(r.scan.problems) == 0 {
		return
	}
	hasKind := t.lookupString(root, "kind") != ""
	for _, p := range r.scan.problems[:min(maxProblems, len(r.scan.problems))] {
		if d := r.refuse(p.at, p.why); hasKind {
			d.Field = t.pathTo(root, p.at).String()
		}
	}
	r.scan.problems = nil
}

// refuseAside reports what is malformed in the items that the scanner has set aside,
// where the list around them is refused.
func (r *reader) refuseAside(u *unit) {
	for _, p := range u.aside {
		if p.why > notJSON {
			r.refuse(p.at, p.why)
		}
	}
}
