package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/preadmit/preadmit/engine/internal/number"
)

// A style is the way in which a document is written.
type style struct {
	lineBreak string
	// step is the indentation of a nested map. compact means that the items of a list are in the
	// column of its key.
	step    int
	compact bool
	// quoted means that strings of several lines are quoted.
	quoted bool
	// json means that the document is JSON, and strict that its numbers keep their type.
	json, strict bool
	// tab is the indentation of a nested JSON collection, "" if the JSON is on one line.
	tab string
	// colon and comma are the separators in a flow collection.
	colon, comma string
}

// An emitter writes values as text. If a value is a copy, its model is the index of the original
// node, and the copy keeps the order of keys, the form of collections and scalars, and aliases.
type emitter struct {
	strings.Builder
	style style
	// inline means that the next entry goes on the current line.
	inline bool
	// t is the tape of the models. fromJSON means that t is JSON, which quotes differently. names
	// are the anchors that aliases may use.
	t        *tape
	fromJSON bool
	names    names
}

// noModel is the model of a value that is not a copy.
const noModel = -1

// orderKeys sorts the keys of new entries: the keys that name an object first.
func orderKeys(keys []string) []string {
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(keyRank(a), keyRank(b)), strings.Compare(a, b))
	})
	return keys
}

func keyRank(key string) int {
	switch key {
	case "apiVersion":
		return 0
	case "kind":
		return 1
	case "metadata":
		return 2
	case "name":
		return 3
	}
	return 4
}

func sortedKeys(object map[string]any) []string {
	return orderKeys(slices.Collect(maps.Keys(object)))
}

// keysLike is sortedKeys, but puts the keys of the model first, in the order of the model.
func (e *emitter) keysLike(object map[string]any, model int) []string {
	if model == noModel {
		return sortedKeys(object)
	}
	var first []string
	placed := make(map[string]bool, len(object))
	for _, en := range e.t.entries(model) {
		if _, ok := object[en.name]; ok {
			first, placed[en.name] = append(first, en.name), true
		}
	}
	rest := make([]string, 0, len(object)-len(first))
	for key := range object {
		if !placed[key] {
			rest = append(rest, key)
		}
	}
	return append(first, orderKeys(rest)...)
}

// under returns the model of the value under a key of a map, or of an item: an equal item, or else
// the item at the same index.
func (e *emitter) under(model int, key string) int {
	if model == noModel {
		return noModel
	}
	return e.t.lookup(model, key)
}

func (e *emitter) at(model, index int, value any) int {
	const many = 100 // at most this many items are searched
	if model == noModel {
		return noModel
	}
	at := e.t.item(model, index)
	if index > many || at >= 0 && e.t.equals(at, value) {
		return at
	}
	n := &e.t.nodes[model]
	for item := model + 1; item < int(n.next); item = int(e.t.nodes[item].next) {
		if e.t.equals(item, value) {
			return item
		}
	}
	return at
}

// alias writes an alias if the model is an alias and still reads as value.
func (e *emitter) alias(value any, model int) bool {
	if model == noModel || e.t.nodes[model].kind != alias || !e.names.read(e.t, model, value) {
		return false
	}
	n := &e.t.nodes[model]
	e.WriteString(e.t.text[n.start:n.end])
	return true
}

// likeModel follows aliases from the model. It returns the result if that is a collection of the
// same type as value, or else noModel.
func (e *emitter) likeModel(value any, model int) int {
	if model == noModel {
		return noModel
	}
	model = e.t.real(model)
	k := e.t.nodes[model].kind
	switch value.(type) {
	case map[string]any:
		if k.isMap() {
			return model
		}
	case []any:
		if k.isSequence() {
			return model
		}
	default:
		if k.isScalar() {
			return model
		}
	}
	return noModel
}

// isFlow reports whether the model is in brackets.
func (e *emitter) isFlow(model int) bool {
	return model != noModel && e.t.nodes[model].kind.isFlow()
}

// checkValue returns an error if a value cannot be written. wholeFloats reports whether the value
// has floating-point numbers that YAML cannot distinguish from integers. Parts that it shares with was,
// the value of a text, can be written.
func checkValue(was, value any) (wholeFloats bool, err error) {
	if shares(was, value) {
		return false, nil
	}
	switch v := value.(type) {
	case map[string]any:
		before, _ := was.(map[string]any)
		for key, child := range v {
			whole, err := checkValue(before[key], child)
			if err != nil || !utf8.ValidString(key) {
				return false, firstError(v)
			}
			wholeFloats = wholeFloats || whole
		}
	case []any:
		for i := range v {
			whole, err := checkValue(nil, v[i])
			if err != nil {
				return false, fmt.Errorf("[%d]: %w", i, err)
			}
			wholeFloats = wholeFloats || whole
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false, fmt.Errorf("a number that JSON cannot represent")
		}
		_, isFloat := number.Whole(v).(float64)
		return !isFloat, nil
	case string:
		if !utf8.ValidString(v) {
			return false, fmt.Errorf("a string that is not valid UTF-8")
		}
	case nil, bool, int64:
	default:
		return false, fmt.Errorf("a value of Go type %T, which a manifest cannot contain", value)
	}
	return wholeFloats, nil
}

// firstError returns the reason why a map cannot be written, always the same for the same map.
func firstError(object map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !utf8.ValidString(key) {
			return fmt.Errorf("a key that is not valid UTF-8: %q", key)
		}
		if _, err := checkValue(nil, object[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// indent starts a line at a column, unless the next entry goes on the current line.
func (e *emitter) indent(column int) {
	if e.inline {
		e.inline = false
		return
	}
	e.WriteString(strings.Repeat(" ", column))
}

// entries writes the entries of a map, or only the entries with the given keys, as lines.
func (e *emitter) entries(object map[string]any, keys []string, column, model int) {
	for _, key := range keys {
		e.indent(column)
		e.WriteString(e.key(key))
		e.WriteByte(':')
		e.afterKey(object[key], column, e.under(model, key))
	}
}

// afterKey writes a value after the colon of its key, with the lines below it.
func (e *emitter) afterKey(value any, column, model int) {
	if !isScalar(value) && !e.inBrackets(value, model) {
		e.WriteString(e.style.lineBreak)
		e.block(value, column+e.style.step, e.listColumn(column), model)
		return
	}
	e.WriteByte(' ')
	e.scalarLines(value, column, model)
}

// block writes a map or a list as lines.
func (e *emitter) block(value any, mapColumn, listColumn, model int) {
	model = e.likeModel(value, model)
	switch v := value.(type) {
	case map[string]any:
		e.entries(v, e.keysLike(v, model), mapColumn, model)
	case []any:
		e.items(v, listColumn, model)
	}
}

// inBrackets reports whether a collection is written on one line, like its model.
func (e *emitter) inBrackets(value any, model int) bool {
	if model == noModel {
		return false
	}
	return e.isFlow(e.likeModel(value, model)) || e.t.nodes[model].kind == alias && e.names.read(e.t, model, value)
}

func (e *emitter) listColumn(column int) int {
	if e.style.compact {
		return column
	}
	return column + e.style.step
}

// items writes the items of a list as lines.
func (e *emitter) items(list []any, column, model int) {
	for i, it := range list {
		e.item(it, column, 2, e.at(model, i, it))
	}
}

// item writes an item. Its value starts width columns after the start of the dash.
func (e *emitter) item(value any, column, width, model int) {
	e.indent(column)
	e.WriteString("-" + strings.Repeat(" ", width-1))
	e.afterDash(value, column, column+width, model)
}

// afterDash writes the value of an item, which starts on the current line at column.
func (e *emitter) afterDash(value any, dash, column, model int) {
	if !isScalar(value) && !e.inBrackets(value, model) {
		e.inline = true
		e.block(value, column, column, model)
		return
	}
	e.scalarLines(value, dash, model)
}

// scalarLines writes the rest of a line with a scalar, and the further lines of the scalar. column
// is the column of the collection around it.
func (e *emitter) scalarLines(value any, column, model int) {
	if e.alias(value, model) {
		e.WriteString(e.style.lineBreak)
		return
	}
	if s, ok := value.(string); ok {
		if header, ok := e.blockHeader(s); ok {
			e.WriteString(header)
			e.WriteString(e.style.lineBreak)
			e.blockLines(s, column+e.style.step)
			return
		}
	}
	if isScalar(value) {
		e.WriteString(e.scalarLike(value, plain, false, model))
	} else {
		e.flow(value, plain, "", model)
	}
	e.WriteString(e.style.lineBreak)
}

// scalarLike writes a scalar with the text of the model if that reads the same, or else in the
// quotes of like.
func (e *emitter) scalarLike(value any, like kind, flow bool, model int) string {
	model = e.likeModel(value, model)
	if model == noModel {
		return e.scalar(value, like, flow)
	}
	n := &e.t.nodes[model]
	isWritten := n.kind == plain || (n.kind == singleQuoted || n.kind == doubleQuoted) && !e.fromJSON
	if isWritten && n.marks&multiline == 0 && e.t.equals(model, value) {
		text := e.t.text[n.start:n.end]
		if s, isString := value.(string); !flow || !isString || n.kind != plain || isPlain(s, flow) {
			return text
		}
	}
	return e.scalar(value, n.kind, flow)
}

// blockHeader returns the header with which a string of several lines can be written as a literal
// block scalar, indented one step from the collection around it.
func (e *emitter) blockHeader(s string) (string, bool) {
	body := strings.TrimRight(s, "\n")
	if e.style.quoted || body == "" || !strings.Contains(s, "\n") {
		return "", false
	}
	for _, c := range s {
		if !isPrintable(c) && c != '\n' && c != '\t' {
			return "", false
		}
	}
	header := "|"
	if first := strings.TrimLeft(s, "\n")[0]; isBlank(first) {
		if e.style.step > 9 {
			return "", false
		}
		header += strconv.Itoa(e.style.step)
	}
	switch len(s) - len(body) {
	case 0:
		header += "-"
	case 1:
	default:
		header += "+"
	}
	return header, true
}

// blockLines writes the lines of a block scalar.
func (e *emitter) blockLines(s string, column int) {
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if line != "" {
			e.indent(column)
			e.WriteString(line)
		}
		e.WriteString(e.style.lineBreak)
	}
}

func (e *emitter) key(key string) string { return e.scalar(key, plain, false) }

// scalar writes a scalar or an empty collection on one line, in the quotes of like if possible.
func (e *emitter) scalar(value any, like kind, flow bool) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return e.number(v)
	case map[string]any:
		return "{}"
	case []any:
		return "[]"
	case string:
		if e.style.json || like == doubleQuoted {
			return doubleQuote(v)
		}
		if like != singleQuoted && isPlain(v, flow) {
			return v
		}
		if like == singleQuoted {
			if quoted, ok := singleQuote(v); ok {
				return quoted
			}
		}
		return doubleQuote(v)
	}
	return ""
}

// number writes a floating-point number as JSON does. If numbers keep their type, the text stays a
// floating-point number.
func (e *emitter) number(f float64) string {
	if size := math.Abs(f); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if e.style.strict && !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// flow writes a value in a flow collection. indent is the indentation of the line where the value
// starts, and like says how strings are quoted.
func (e *emitter) flow(value any, like kind, indent string, model int) {
	if e.alias(value, model) {
		return
	}
	model = e.likeModel(value, model)
	switch v := value.(type) {
	case map[string]any:
		keys := e.keysLike(v, model)
		e.flowCollection('{', '}', len(keys), indent, func(i int) {
			e.WriteString(e.scalar(keys[i], like, true))
			e.WriteString(e.style.colon)
			e.flow(v[keys[i]], like, indent+e.style.tab, e.under(model, keys[i]))
		})
	case []any:
		e.flowCollection('[', ']', len(v), indent, func(i int) {
			e.flow(v[i], like, indent+e.style.tab, e.at(model, i, v[i]))
		})
	default:
		e.WriteString(e.scalarLike(value, like, true, model))
	}
}

func (e *emitter) flowCollection(opening, closing byte, count int, indent string, entry func(i int)) {
	e.WriteByte(opening)
	for i := range count {
		switch {
		case e.style.tab == "" && i > 0:
			e.WriteString(e.style.comma)
		case e.style.tab != "" && i > 0:
			e.WriteString("," + e.style.lineBreak + indent + e.style.tab)
		case e.style.tab != "":
			e.WriteString(e.style.lineBreak + indent + e.style.tab)
		}
		entry(i)
	}
	if e.style.tab != "" && count > 0 {
		e.WriteString(e.style.lineBreak + indent)
	}
	e.WriteByte(closing)
}
