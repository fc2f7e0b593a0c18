// Package manifest reads streams of Kubernetes manifests, in YAML and JSON, and edits them without
// touching any other text.
//
// A Stream keeps its bytes. A scanner records the structure of every document on a tape of offsets
// into the text. Values are built from the tape on demand. An edit is a splice in the text.
//
// The scanner does not read rare YAML: merge keys, tags, keys after a question mark, lists as keys,
// keys without values in braces, carriage returns without line feeds. Such a document is read with
// the nodes of the YAML library, and an edit writes it anew, with a warning. The same goes for a
// List whose items share text through aliases, because an edit of one would change the others, and
// for brackets with comments between entries that share lines. Of 17,649 manifests in 13 public
// repositories, 3 have such brackets, and 1 has anything else of these (counted by TestForeign).
//
// Anchors and aliases are kept. If an edit changes only the value of an alias, the alias becomes a
// copy. If it changes only the value of an anchor, the aliases become copies.
//
// Scalars have the values that kubectl and the API server read: YAML 1.1 as in sigs.k8s.io/yaml
// v1.6.0, with integers where JSON has integers.
//
// Laws:
//
//	Bytes returns the input if no document was set, or if all were set to their own values
//	after d.Set(o), Bytes reads as the same objects as before, but with o as the object of d
//	an edit keeps the comments and anchors of all values that stay, and the bytes of values
//	that do not change, or Warnings names the value or document that is written anew
//	a document that the scanner accepts reads as in sigs.k8s.io/yaml
//
// No diagnostic contains a scalar of a manifest, because it may be secret. A diagnostic has a
// position and, if the document has a kind, the path of the field.
//
// The files in order:
//
//	stream.go                        Stream, Read, Join
//	scan.go, scanscalar.go,          from text to the tape
//	anchor.go, flow.go               (anchors and aliases; braces and brackets)
//	scalar.go, decode.go             the values of scalars
//	tape.go                          from the tape to values
//	node.go                          documents that the scanner does not read
//	list.go                          lists, ResourceList
//	document.go                      Document
//	position.go                      positions of values
//	identity.go                      what identifies a document
//	edit.go, names.go                edits, and the anchors in edited text
//	entries.go, editblock.go,        from values to splices: maps and lists, as lines and in
//	editflow.go                      brackets
//	emit.go, quote.go                from values to text
//	splice.go, ending.go             from splices to text
//	diagnose.go, mistake.go          reasons to refuse a text, and the mistakes that cause them
//	mend.go, repair.go               edits that mend a mistake, and YAML that cannot be read
//	text.go                          the text of a single document
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

// Stream is the sequence of documents in one text.
type Stream struct {
	name  string
	text  string
	units []*unit
	docs  []*Document
	list  *ResourceList
	lines func() []int32
	// origin returns the positions of values in a stream that was not read; see Made.
	origin func(change.Path) source.Position
	// sensitive: see MarkSensitive. private: see MarkPrivate. plugin: see MarkPlugin.
	sensitive, private, plugin bool
}

// MarkSensitive marks the documents of the stream as secret, as if they were Secrets.
func (s *Stream) MarkSensitive() { s.sensitive = true }

// Sensitive reports whether MarkSensitive was called.
func (s *Stream) Sensitive() bool { return s.sensitive }

// MarkPrivate marks the documents of the stream as documents that may contain sensitive values
// anywhere. Messages do not show their values.
func (s *Stream) MarkPrivate() { s.private = true }

// Private reports whether MarkPrivate was called.
func (s *Stream) Private() bool { return s.private }

// A unit is the text between two document separators of a stream: a document with its comments, or
// several JSON objects.
type unit struct {
	stream *Stream
	// start and end bound the unit in the stream's text. A "..." is after end.
	start, end int
	lineBreak  string
	// roots are the nodes of the unit's documents on its tape, which has size nodes. The tape is
	// kept in known while it is needed; see tape. It may be the tape of a rewritten text.
	roots     []int
	known     atomic.Pointer[tape]
	size      int
	rewritten *rewritten
	// json means that the unit was read as JSON, and exact that its numbers keep their types.
	json, exact bool
	docs        []*Document
	results     []splice
}

// Read splits data into documents. It keeps data, which must not be modified. name is the file name
// in positions, "-" for standard input. Documents that cannot be read are left out; each of them
// has at least one diagnostic.
func Read(name string, data []byte) (*Stream, []source.Diagnostic) {
	return Bounds{}.Read(name, data)
}

// Reread is Read without bounds, for text that this package has written.
func Reread(name string, data []byte) (*Stream, []source.Diagnostic) {
	return Bounds{Documents: math.MaxInt}.Read(name, data)
}

// ReadPlain is Read for objects of any kind: a list is one document.
func ReadPlain(name string, data []byte) (*Stream, []source.Diagnostic) {
	return Bounds{}.ReadPlain(name, data)
}

// ReadTrees is ReadPlain for mutation trees: a key in brackets, like [labels], is text even without
// quotes. Read does the same in policies of json.preadmit.dev.
func ReadTrees(name string, data []byte) (*Stream, []source.Diagnostic) {
	return Bounds{}.ReadTrees(name, data)
}

// Bounds limit the size of a stream to Documents documents. Zero means limit.Documents.
type Bounds struct{ Documents int }

// Read is Read within bounds.
func (b Bounds) Read(name string, data []byte) (*Stream, []source.Diagnostic) {
	return read(name, data, streamReader{bounds: b})
}

// ReadPlain is ReadPlain within bounds.
func (b Bounds) ReadPlain(name string, data []byte) (*Stream, []source.Diagnostic) {
	return read(name, data, streamReader{bounds: b, plain: true})
}

// ReadTrees is ReadTrees within bounds.
func (b Bounds) ReadTrees(name string, data []byte) (*Stream, []source.Diagnostic) {
	return read(name, data, streamReader{bounds: b, plain: true, trees: true})
}

func read(name string, data []byte, r streamReader) (*Stream, []source.Diagnostic) {
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

// Name returns the name that was given to Read.
func (s *Stream) Name() string { return s.name }

// Documents returns every object of the stream in order. A List, a typed list (ConfigMapList) or a
// ResourceList is replaced by its items.
func (s *Stream) Documents() []*Document { return s.docs }

// Text returns the stream as it was read.
func (s *Stream) Text() string { return s.text }

// Bytes returns the stream with all edits. Without edits, these are the bytes that were read.
func (s *Stream) Bytes() []byte {
	const growth = 16 // policies usually add at most 1/16 of a text
	var out bytes.Buffer
	out.Grow(len(s.text) + len(s.text)/growth)
	s.write(&out) // never fails
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

// splices returns all edits of the unit.
func (u *unit) splices() []splice {
	if len(u.docs) == 1 && len(u.results) == 0 {
		return u.docs[0].splices
	}
	var all []splice
	for _, d := range u.docs {
		all = append(all, d.splices...)
	}
	return append(all, u.results...)
}

// append appends the text of the unit with edits.
func (u *unit) append(out []byte, edits []splice) []byte {
	if u.rewritten != nil {
		return appendSpliced(out, u.text(), 0, len(u.text()), edits, u.lineBreak)
	}
	if text := u.stream.text; u.end == len(text) && !strings.HasSuffix(text, "\n") {
		edits = u.tape().end(edits, false)
	}
	return appendSpliced(out, u.text(), u.start, u.end, edits, u.lineBreak)
}

// lineBreakOf returns the line break of the first line from start to end, or else of the line
// before.
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

// Join returns several streams as one. It adds missing line breaks and document separators between
// them.
func Join(streams []*Stream) []byte {
	if len(streams) == 1 {
		return streams[0].Bytes()
	}
	var out bytes.Buffer
	WriteJoined(&out, streams) // never fails
	return out.Bytes()
}

// WriteJoined writes the result of Join, without holding all of it in memory.
func WriteJoined(to io.Writer, streams []*Stream) error {
	w := bufio.NewWriterSize(to, 64<<10)
	if len(streams) == 1 {
		if err := streams[0].write(w); err != nil {
			return err
		}
		return w.Flush()
	}
	before := "" // the text that is written when it is known whether another follows
	for _, s := range streams {
		data := s.Bytes()
		text := unsafe.String(unsafe.SliceData(data), len(data))
		if before != "" {
			text = strings.TrimPrefix(text, byteOrderMark)
		}
		if text == "" {
			continue
		}
		if before != "" {
			lineBreak := lineBreakOf(s.text, 0, len(s.text))
			w.WriteString(withLineBreak(before, lineBreak))
			if !startsWithSeparator(text) {
				w.WriteString("---" + lineBreak)
			}
		}
		before = text
	}
	w.WriteString(before)
	return w.Flush()
}

func startsWithSeparator(text string) bool {
	rest, ok := strings.CutPrefix(text, "---")
	return ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

const byteOrderMark = "\ufeff"

func isUTF16(text string) bool {
	if len(text) < 2 {
		return false
	}
	return text[:2] == "\xff\xfe" || text[:2] == "\xfe\xff" || text[:2] == "\x00\x00" || text[0] == 0 && text[1] != 0 || text[0] != 0 && text[1] == 0
}

// nodeSize is the smallest usual number of bytes of a manifest per node.
const nodeSize = 11

// A streamReader fills a stream.
type streamReader struct {
	stream *Stream
	bounds Bounds
	scan   scanner
	// plain means that a list is one document, trees that every document is a mutation tree.
	plain, trees bool
	// isTrial means that the text is a trial of a fix.
	isTrial bool
	// odd are the positions of characters that the scanner does not treat as line breaks, or that
	// only JSON may contain. bad are the positions of characters that are never allowed.
	odd, bad []oddity
	found    []source.Diagnostic
	// documents and warnings are counts. stopped means that the rest is not read.
	documents, warnings int
	stopped             bool
}

type oddity struct {
	at  int
	why reason
}

func (r *streamReader) refuse(at int, why reason) *source.Diagnostic {
	return r.refuseAt(r.stream.position(at), why)
}

// refuseAt reports a problem. It returns the diagnostic, which is not shown if there are too many.
func (r *streamReader) refuseAt(at source.Position, why reason) *source.Diagnostic {
	e := explanations[why]
	d := r.mended(source.Errorf(at, e.code, "%s", e.message).With(e.advice), why)
	if why >= booleanKey {
		d.Severity = source.Warning
		if r.warnings++; r.warnings > limit.Messages {
			return &d
		}
	}
	r.found = append(r.found, d)
	return &r.found[len(r.found)-1]
}

// another counts a new document, and reports whether it is within the bound.
func (r *streamReader) another(at int) bool {
	if most := cmp.Or(r.bounds.Documents, limit.Documents); r.documents == most && !r.stopped {
		r.refuse(at, tooMany).Message = fmt.Sprintf("there are more than %d documents", most)
		r.stopped = true
	}
	r.documents++
	return !r.stopped
}

// full reports whether reading must stop before the end of the stream, and reports the reason once.
func (r *streamReader) full(at int) bool {
	switch {
	case r.stopped:
	case len(r.found)-min(r.warnings, limit.Messages) > limit.Mistakes:
		r.refuse(at, tooWrong)
		r.stopped = true
	}
	return r.stopped
}

// refuses reports whether any of the problems is an error.
func refuses(problems []problem) bool {
	return slices.ContainsFunc(problems, func(p problem) bool { return p.why < booleanKey })
}

// findOddities finds the positions odd and bad in one pass over the text.
func (r *streamReader) findOddities() {
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

// note adds a position if it is the first on the line that starts at line.
func note(places []oddity, line, at int, why reason) []oddity {
	if n := len(places); n > 0 && places[n-1].why == why && places[n-1].at >= line {
		return places
	}
	return append(places, oddity{at, why})
}

// within returns the first of places between start and end.
func within(places []oddity, start, end int) (oddity, bool) {
	i, _ := slices.BinarySearchFunc(places, start, func(o oddity, at int) int { return o.at - at })
	if i < len(places) && places[i].at < end {
		return places[i], true
	}
	return oddity{}, false
}

// split cuts the stream at its document separators and reads the parts.
func (r *streamReader) split() {
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

// separator returns the start of the first line at or after at that starts with ---.
func separator(text string, at int) int {
	if strings.HasPrefix(text[at:], "---") {
		return at
	}
	if i := strings.Index(text[at:], "\n---"); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// lineEnd returns the end of the line of i. A carriage return is part of the line.
func lineEnd(text string, i int) int {
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(text)
}

// unit reads the text from start to end. It has zero or one YAML document, or several JSON objects.
func (r *streamReader) unit(start, end int, exact bool) {
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
		r.repair(u, known)
	}
	r.addUnit(u)
}

// unroll gives the scanner an empty tape with room for size nodes. It keeps the tape of the first
// unit, which is still needed.
func (r *streamReader) unroll(size int) {
	s := &r.scan
	if len(r.stream.units) == 1 {
		s.nodes, s.anchors, s.aliases = nil, nil, nil
	}
	s.nodes, s.anchors, s.aliases, s.problems = slices.Grow(s.nodes[:0], size), s.anchors[:0], s.aliases[:0], nil
}

// documentEnd returns the end of the document from start to end: before its "...", if it has one.
// Only comments may follow the "...".
func (r *streamReader) documentEnd(start, end int) int {
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

// firstToken returns the start of the first text from start to end that is not a comment.
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

// jsonUnit reads consecutive JSON objects. If the first is not JSON, it reads nothing and returns
// false.
func (r *streamReader) jsonUnit(u *unit, first int, exact bool) bool {
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
func (r *streamReader) yamlUnit(u *unit) {
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

// maxProblems is the largest number of problems that are reported for a document.
const maxProblems = 100

// accept adds the root that the scanner has found, or refuses it because of its problems. Like
// kubectl, it ignores a document that is null.
func (r *streamReader) accept(u *unit, root int) {
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
	}
	if len(r.scan.problems) == 0 {
		return
	}
	hasKind := t.lookupString(root, "kind") != ""
	for i, p := range r.scan.problems[:min(maxProblems, len(r.scan.problems))] {
		d := r.refuse(p.at, p.why)
		if !hasKind {
			continue
		}
		d.Field = t.pathTo(root, p.at).String()
		if i == 0 && p.why == duplicateKey && (d.Field == "apiVersion" || d.Field == "kind") {
			*d = d.With("put --- before it if another manifest begins here; otherwise remove one of the two")
		}
	}
	r.scan.problems = nil
}
