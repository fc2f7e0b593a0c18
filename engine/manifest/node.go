package manifest

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/number"
	"github.com/preadmit/preadmit/engine/limit"
	"github.com/preadmit/preadmit/engine/source"
)

// maxExpanded is how many values the aliases of a document may expand to. A request of 3 MB, the
// limit of an API server, has fewer.
const maxExpanded = 100_000

// A rewritten document is a document that the scanner could not read. It has the nodes of the
// library, without aliases, merge keys and tags, and a new text from these nodes.
type rewritten struct {
	stream *Stream
	end    int
	// lines are the offsets in the stream at which the lines of the nodes start.
	lines []int
	root  *yaml.Node
	// odd is the position of the text that the scanner could not read.
	odd source.Position
}

// rewrite reads the document of u with the YAML library, and gives u a new text and tape. If the
// library cannot read the document either, the failure of the scanner explains why.
func (r *streamReader) rewrite(u *unit, isOdd bool) {
	if u.end-u.start > limit.YAMLBytes {
		r.refuse(u.start, tooOdd)
		return
	}
	failedAt := r.scan.failedAt
	if odd, _ := within(r.odd, u.start, u.end); isOdd {
		failedAt = odd.at
	}
	text := r.stream.text[u.start:u.end]
	w := &rewritten{stream: r.stream, end: u.end, lines: libraryLines(r.stream.text, u.start, u.end), odd: r.stream.position(failedAt)}
	root, err := parseNodes(text)
	switch {
	case err != nil && !isOdd && r.scan.failed > notJSON:
		r.refuse(failedAt, r.scan.failed)
	case err != nil:
		w.refuse(r, text, err)
	case root != nil && len(root.Content) > 0:
		r.adopt(u, w, root)
	}
}

// adopt gives u the nodes of a document, with a text and a tape that are made from them.
func (r *streamReader) adopt(u *unit, w *rewritten, root *yaml.Node) {
	content := root.Content[0]
	x := expander{document: w, active: map[*yaml.Node]bool{}, brackets: r.trees || isTreePolicy(content)}
	w.root = x.value(content, 0)
	hasKind := false
	if kind := w.find(change.Keys("kind")); kind != nil && kind != w.root {
		hasKind = kind.Kind == yaml.ScalarNode && kind.Value != ""
	}
	for _, p := range x.problems[:min(maxProblems, len(x.problems))] {
		if d := r.refuseAt(w.at(p.node), p.why); hasKind {
			d.Field = p.path.String()
		}
	}
	switch {
	case slices.ContainsFunc(x.problems, func(p nodeProblem) bool { return p.why < booleanKey }):
	case w.root.Kind == yaml.ScalarNode && nodeValue(w.root) == nil:
	case w.root.Kind != yaml.MappingNode:
		r.refuseAt(w.at(w.root), notObject)
	default:
		root.Content[0] = w.root
		if t := encodeNodes(root, content, u.lineBreak); t != nil {
			u.know(t)
			u.roots, u.rewritten = []int{0}, w
		} else {
			r.refuseAt(w.at(w.root), unwritable)
		}
	}
}

// parseNodes parses one document. The library panics on some malformed documents.
func parseNodes(text string) (root *yaml.Node, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("yaml: malformed document")
		}
	}()
	var n, next yaml.Node
	d := yaml.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&n); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if !errors.Is(d.Decode(&next), io.EOF) {
		return nil, errTrailing
	}
	return &n, nil
}

// errTrailing means that the library would not read all of a text.
var errTrailing = errors.New("yaml: there is text after the end of the document")

// libraryLines returns the starts of the lines of a document for the YAML library, which knows more
// line breaks than other readers.
func libraryLines(text string, start, end int) []int {
	lines := []int{start}
	for i := start; i < end; {
		c, size := utf8.DecodeRuneInString(text[i:end])
		i += size
		switch c {
		case '\r':
			if i < end && text[i] == '\n' {
				i++
			}
		case '\n', 0x85, 0x2028, 0x2029:
		default:
			continue
		}
		lines = append(lines, i)
	}
	return lines
}

// refuse reports an error of the YAML library. The message of the library may contain a scalar, so
// it is not shown.
func (w *rewritten) refuse(r *streamReader, text string, err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(message, "unknown anchor '"); ok {
		name, _, _ := strings.Cut(rest, "'")
		r.refuse(w.lines[0]+max(strings.Index(text, "*"+name), 0), unknownAnchor)
		return
	}
	line := 1
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		digits, _, _ := strings.Cut(rest, ":")
		line, _ = strconv.Atoi(digits)
	}
	at := r.stream.position(w.offset(line, 1))
	at.Column = 0
	r.refuseAt(at, malformed)
}

// encodeNodes writes nodes as a text that the scanner can read, in the indentation of the original,
// and scans the text. It returns nil if that is not possible.
func encodeNodes(document, original *yaml.Node, lineBreak string) *tape {
	object, ok := nodeValue(document.Content[0]).(map[string]any)
	if !ok {
		return nil
	}
	st := nodeStyle(original)
	st.lineBreak = lineBreak
	if text, err := encode(document, st); err == nil {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", lineBreak)
		if t := readsAs(text, object); t != nil {
			return t
		}
	}
	e := emitter{style: st}
	e.entries(object, sortedKeys(object), 0, noModel)
	return readsAs(e.String(), object)
}

func encode(document *yaml.Node, st style) (text string, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("yaml: the nodes cannot be written")
		}
	}()
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(st.step)
	if st.compact {
		encoder.CompactSeqIndent()
	} else {
		encoder.DefaultSeqIndent()
	}
	if err := encoder.Encode(document); err != nil {
		return "", err
	}
	err = encoder.Close()
	return out.String(), err
}

// readsAs returns the tape of text if the text reads as object, or else nil.
func readsAs(text string, object map[string]any) *tape {
	s := scanner{text: text}
	root, ok := s.document(0, len(text))
	if !ok || root != 0 || refuses(s.problems) {
		return nil
	}
	t := s.tape()
	if !change.Equal(t.value(0), object) {
		return nil
	}
	return t
}

// nodeStyle returns the indentation of a document.
func nodeStyle(root *yaml.Node) style {
	st := style{step: 2, compact: true, colon: ": ", comma: ", "}
	stepKnown, listKnown := false, false
	var look func(n *yaml.Node)
	look = func(n *yaml.Node) {
		for i, child := range n.Content {
			if child.Kind == yaml.AliasNode || child.Style&yaml.FlowStyle != 0 || len(child.Content) == 0 {
				continue
			}
			if n.Kind == yaml.MappingNode && i%2 == 1 {
				key := n.Content[i-1].Column
				switch {
				case child.Kind == yaml.MappingNode && !stepKnown:
					st.step, stepKnown = child.Content[0].Column-key, true
				case child.Kind == yaml.SequenceNode && !listKnown && child.Anchor == "" && child.Style == 0:
					st.compact, listKnown = child.Column == key, true
				}
			}
			look(child)
		}
	}
	look(root)
	st.step = max(st.step, 1)
	return st
}

// nodeValue builds the value of an expanded node.
func nodeValue(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		object := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			object[nodeKey(n.Content[i])] = nodeValue(n.Content[i+1])
		}
		return object
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = nodeValue(item)
		}
		return list
	}
	if n.Style == 0 {
		return plainValue(n.Value)
	}
	return n.Value
}

func nodeKey(n *yaml.Node) string {
	if n.Style == 0 {
		if v, isString := resolve(n.Value); !isString {
			name, _ := keyText(v)
			return name
		}
	}
	return n.Value
}

// An expander copies nodes and replaces aliases, merge keys and tags by values.
type expander struct {
	document *rewritten
	path     change.Path
	active   map[*yaml.Node]bool
	// brackets says that keys like [labels] are text.
	brackets bool
	// outer is the alias that is being expanded, or nil.
	outer    *yaml.Node
	expanded int
	problems []nodeProblem
}

type nodeProblem struct {
	node *yaml.Node
	path change.Path
	why  reason
}

func (x *expander) refuse(n *yaml.Node, why reason) *yaml.Node {
	x.problems = append(x.problems, nodeProblem{n, slices.Clone(x.path), why})
	return &yaml.Node{Kind: yaml.ScalarNode, Line: n.Line, Column: n.Column}
}

func (x *expander) value(n *yaml.Node, depth int) *yaml.Node {
	if depth > maxDepth {
		return x.refuse(n, tooDeep)
	}
	if x.outer != nil {
		if x.expanded++; x.expanded == maxExpanded {
			x.refuse(x.outer, aliasBomb)
		}
	}
	if x.expanded >= maxExpanded {
		return n
	}
	copied := *n
	copied.Anchor = ""
	if x.outer != nil { // comments stay with the original
		copied.HeadComment, copied.LineComment, copied.FootComment = "", "", ""
	}
	switch n.Kind {
	case yaml.AliasNode:
		return x.alias(n, depth)
	case yaml.MappingNode:
		x.enter(n, func() { x.mapping(&copied, depth) })
	case yaml.SequenceNode:
		copied.Tag, copied.Style = "", n.Style&yaml.FlowStyle
		copied.Content = make([]*yaml.Node, len(n.Content))
		x.enter(n, func() {
			for i, item := range n.Content {
				x.path = append(x.path, change.Index(i))
				copied.Content[i] = x.value(item, depth+1)
				x.path = x.path[:len(x.path)-1]
			}
		})
	default:
		x.scalar(&copied)
	}
	return &copied
}

// enter calls f while n is marked as open, so that an alias to n is a cycle.
func (x *expander) enter(n *yaml.Node, f func()) {
	x.active[n] = true
	f()
	delete(x.active, n)
}

// alias returns a copy of the value of the alias n, with the position of n.
func (x *expander) alias(n *yaml.Node, depth int) *yaml.Node {
	if x.active[n.Alias] {
		return x.refuse(n, aliasCycle)
	}
	outer := x.outer
	if outer == nil {
		x.outer = n
	}
	copied := *x.value(n.Alias, depth)
	x.outer = outer
	copied.Line, copied.Column = n.Line, n.Column
	copied.HeadComment, copied.LineComment, copied.FootComment = n.HeadComment, n.LineComment, n.FootComment
	return &copied
}

// mapping expands the entries of n in order. As in go.yaml.in/yaml/v2, a merge key overrides the
// entries before it, and the entries after it override the merged entries.
func (x *expander) mapping(n *yaml.Node, depth int) {
	entries := n.Content
	n.Tag, n.Style, n.Content = "", n.Style&yaml.FlowStyle, nil
	merged := map[string]bool{}
	index := map[string]int{}
	set := func(key, value *yaml.Node, merging bool) {
		name := nodeKey(key)
		i, exists := index[name]
		switch {
		case !exists:
			index[name] = len(n.Content)
			n.Content = append(n.Content, key, value)
		case !merging && !merged[name]:
			x.refuse(key, duplicateKey)
		default:
			n.Content[i], n.Content[i+1] = key, value
		}
		merged[name] = merging
	}
	for i := 0; i+1 < len(entries); i += 2 {
		if isMerge(entries[i]) {
			x.merge(entries[i+1], depth, set)
		} else if key := x.key(entries[i], depth); key != nil {
			x.path = append(x.path, change.Key(nodeKey(key)))
			value := x.value(entries[i+1], depth+1)
			if value.Kind == yaml.ScalarNode && value.Value == "" && value.Style == 0 && n.Style&yaml.FlowStyle != 0 {
				value.Value = "null" // the scanner can read null in brackets
			}
			set(key, value, false)
			x.path = x.path[:len(x.path)-1]
		}
	}
}

const mergeTag = "!!merge"

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Style == 0 || key.Tag == mergeTag)
}

// merge calls set for the entries of the map, or of the list of maps, in a merge key.
func (x *expander) merge(n *yaml.Node, depth int, set func(key, value *yaml.Node, merging bool)) {
	maps := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		maps = n.Content
	}
	for i := len(maps) - 1; i >= 0; i-- {
		source := x.value(maps[i], depth)
		if source.Kind != yaml.MappingNode {
			x.refuse(maps[i], badMerge)
			return
		}
		for j := 0; j+1 < len(source.Content); j += 2 {
			set(source.Content[j], source.Content[j+1], true)
		}
	}
}

// key expands a key. It returns nil if the node cannot be a key.
func (x *expander) key(n *yaml.Node, depth int) *yaml.Node {
	if x.brackets && isBracketed(n) {
		key := *n.Content[0]
		key.Value, key.Tag, key.Style = "["+key.Value+"]", "", yaml.DoubleQuotedStyle
		key.Line, key.Column = n.Line, n.Column
		return &key
	}
	key := x.value(n, depth)
	if key.Kind != yaml.ScalarNode {
		x.refuse(n, badKey)
		return nil
	}
	if v, isString := resolve(key.Value); key.Style == 0 && !isString {
		if why := keyProblem(key.Value, v); why != none {
			if why < booleanKey {
				x.refuse(n, why)
				return nil
			}
			if x.outer == nil { // reported once, at the anchor
				x.refuse(n, why)
			}
		}
	}
	return key
}

// isBracketed reports whether a key is a plain scalar in brackets, which YAML reads as a list.
func isBracketed(n *yaml.Node) bool {
	return n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle != 0 && len(n.Content) == 1 &&
		n.Content[0].Kind == yaml.ScalarNode && n.Content[0].Style == 0
}

// treeGroup is the API group of policies with mutation trees.
const treeGroup = "json.preadmit.dev/"

// isTreePolicy reports whether a document is in treeGroup.
func isTreePolicy(n *yaml.Node) bool {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "apiVersion" {
			return strings.HasPrefix(n.Content[i+1].Value, treeGroup)
		}
	}
	return false
}

// A tag says how to read the text of a tagged scalar.
type tag uint8

const (
	untagged tag = iota
	textTag      // !!str, and unknown tags
	binaryTag
	timestampTag
	nullTag
	boolTag
	intTag
	floatTag
)

// tagOf returns what the tag !!name means.
func tagOf(name string) tag {
	switch name {
	case "binary":
		return binaryTag
	case "timestamp":
		return timestampTag
	case "null":
		return nullTag
	case "bool":
		return boolTag
	case "int":
		return intTag
	case "float":
		return floatTag
	}
	return textTag
}

// read returns the value of a tagged text, and whether the text fits the tag. Times are strings, as
// they are without a tag.
func (t tag) read(text string) (value any, fits bool) {
	resolved, isString := resolve(text)
	switch t {
	case binaryTag:
		data, err := base64.StdEncoding.DecodeString(text)
		return strings.ToValidUTF8(string(data), "\ufffd"), err == nil
	case timestampTag:
		return text, isDate(text)
	case nullTag:
		return nil, resolved == nil && !isString
	case boolTag:
		_, fits = resolved.(bool)
		return resolved, fits
	case intTag:
		switch resolved.(type) {
		case int64, uint64:
			return plainValue(text), true
		}
		return nil, false
	case floatTag:
		switch v := resolved.(type) {
		case int64:
			return number.Whole(float64(v)), true
		case float64:
			return number.Whole(v), !isNotFinite(text)
		}
		return nil, false
	}
	return text, true
}

// scalar removes the tag of a scalar, and changes its text so that it reads as the tag says.
func (x *expander) scalar(n *yaml.Node) {
	tag := n.ShortTag()
	tagged := n.Style&yaml.TaggedStyle != 0
	n.Tag, n.Style = "", n.Style&^yaml.TaggedStyle
	if !tagged {
		if n.Style == 0 && x.document.isNonSpecific(n) {
			n.Style = yaml.DoubleQuotedStyle
		} else if n.Style == 0 && isNotFinite(n.Value) {
			x.refuse(n, notFinite)
		}
		return
	}
	value, fits := tagOf(strings.TrimPrefix(tag, "!!")).read(n.Value)
	if !fits {
		x.refuse(n, badTag)
	}
	n.Style = 0
	if text, ok := value.(string); ok {
		n.Value, n.Style = text, yaml.DoubleQuotedStyle
	}
}

// find returns the node at the path, or its deepest ancestor that exists.
func (w *rewritten) find(path change.Path) *yaml.Node {
	n := w.root
	for _, e := range path {
		var child *yaml.Node
		switch {
		case e.IsIndex() && n.Kind == yaml.SequenceNode && e.Index < len(n.Content):
			child = n.Content[e.Index]
		case !e.IsIndex() && n.Kind == yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if nodeKey(n.Content[i]) == e.Key {
					child = n.Content[i+1]
				}
			}
		}
		if child == nil {
			break
		}
		n = child
	}
	return n
}

// offset returns the offset in the stream of a line and column of the nodes.
func (w *rewritten) offset(line, column int) int {
	at := w.lines[min(max(line, 1), len(w.lines))-1]
	for column--; column > 0 && at < w.end; column-- {
		_, size := utf8.DecodeRuneInString(w.stream.text[at:])
		at += size
	}
	return at
}

// at returns the position of a node in the stream.
func (w *rewritten) at(n *yaml.Node) source.Position {
	return w.stream.position(w.offset(n.Line, n.Column))
}

func (w *rewritten) position(path change.Path) source.Position { return w.at(w.find(path)) }

// positionIn returns the position of the byte at an offset of the string at path. It is exact for
// literal block scalars and for strings on one line without escapes.
func (w *rewritten) positionIn(path change.Path, offset int) source.Position {
	n := w.find(path)
	if n.Kind != yaml.ScalarNode {
		return w.at(n)
	}
	before := n.Value[:min(max(offset, 0), len(n.Value))]
	line, column := n.Line, n.Column
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		column = 1 + leadingBlanks(w.stream.text[w.offset(line+1, 1):w.end]) - leadingBlanks(n.Value)
		column += utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:])
		line += 1 + strings.Count(before, "\n")
	case !strings.Contains(n.Value, "\n"):
		column += utf8.RuneCountInString(before)
		if n.Style != 0 {
			column++
		}
	}
	return w.stream.position(w.offset(line, column))
}

func leadingBlanks(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

// isNonSpecific reports whether the scalar n has the tag "!", which makes it a string. The library
// does not report this tag.
func (w *rewritten) isNonSpecific(n *yaml.Node) bool {
	start := w.offset(n.Line, n.Column)
	text := w.stream.text[start:w.end]
	if strings.HasPrefix(text, "&") {
		rest := strings.TrimLeftFunc(text[1:], func(c rune) bool {
			return c == '_' || c == '-' || c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c))
		})
		text = strings.TrimLeft(rest, libraryBlanks)
		blanks := rest[:len(rest)-len(text)]
		if i := strings.LastIndexAny(blanks, libraryBreaks); i >= 0 {
			_, size := utf8.DecodeRuneInString(blanks[i:])
			if len(blanks)-i-size <= entryColumn(w.stream.text[w.offset(n.Line, 1):start]) {
				return false // the rest is the next entry
			}
		}
	}
	text, ok := strings.CutPrefix(text, "!")
	return ok && (text == "" || strings.IndexAny(text, libraryBlanks) == 0)
}

// The line breaks of libraryLines.
const (
	libraryBreaks = "\r\n\u0085\u2028\u2029"
	libraryBlanks = " \t" + libraryBreaks
)

// entryColumn returns the column, from 0, of the entry of a block map or list that begins on a
// line.
func entryColumn(line string) int {
	rest := strings.TrimLeft(line, " ")
	for strings.HasPrefix(rest, "- ") || strings.HasPrefix(rest, "? ") {
		rest = strings.TrimLeft(rest[2:], " ")
	}
	return len(line) - len(rest)
}
