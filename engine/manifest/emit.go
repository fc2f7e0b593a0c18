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
)

// A style is how a document is written.
type style struct {
	lineBreak string
	// step is how much deeper a nested map is indented; compact says that the items
	// of a list stand in the column of its key.
	step    int
	compact bool
	// quoted says that strings of several lines are quoted.
	quoted bool
	// json says that the document is JSON, and strict that its numbers keep their
	// type.
	json, strict bool
	// tab is what a nested JSON collection is indented by, "" where JSON is all on
	// one line.
	tab string
	// colon and comma separate what stands in a flow collection.
	colon, comma string
}

// An emitter writes values as text.
type emitter struct {
	style
	strings.Builder
	// inline says that the next entry goes on the current line.
	inline bool
}

// orderKeys puts the keys of new entries in order: what names an object first.
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

// checkValue reports what cannot be written, and whether there are floating-point
// numbers that YAML does not tell from integers.
func checkValue(value any) (wholeFloats bool, err error) {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			whole, err := checkValue(child)
			if err != nil || !utf8.ValidString(key) {
				return false, firstError(v)
			}
			wholeFloats = wholeFloats || whole
		}
	case []any:
		for i := range v {
			whole, err := checkValue(v[i])
			if err != nil {
				return false, fmt.Errorf("[%d]: %w", i, err)
			}
			wholeFloats = wholeFloats || whole
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false, fmt.Errorf("a number that JSON cannot say")
		}
		_, isFloat := numberValue(v).(float64)
		return !isFloat, nil
	case string:
		if !utf8.ValidString(v) {
			return false, fmt.Errorf("a string that is not valid UTF-8")
		}
	case nil, bool, int64:
	default:
		return false, fmt.Errorf("a value of Go type %T, which no manifest holds", value)
	}
	return wholeFloats, nil
}

// firstError is why a map cannot be written, the same each time.
func firstError(object map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !utf8.ValidString(key) {
			return fmt.Errorf("a key that is not valid UTF-8: %q", key)
		}
		if _, err := checkValue(object[key]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// indent starts a line at a column, unless the entry goes on the current line.
func (e *emitter) indent(column int) {
	if e.inline {
		e.inline = false
		return
	}
	e.WriteString(strings.Repeat(" ", column))
}

// entries writes the entries of a map, or those with the given keys, as lines.
func (e *emitter) entries(object map[string]any, keys []string, column int) {
	for _, key := range keys {
		e.indent(column)
		e.WriteString(e.key(key))
		e.WriteByte(':')
		e.behindKey(object[key], column)
	}
}

// behindKey writes a value behind the colon of its key, with the lines below it.
func (e *emitter) behindKey(value any, column int) {
	switch v := value.(type) {
	case map[string]any:
		if len(v) > 0 {
			e.WriteString(e.lineBreak)
			e.entries(v, sortedKeys(v), column+e.step)
			return
		}
	case []any:
		if len(v) > 0 {
			e.WriteString(e.lineBreak)
			e.items(v, e.listColumn(column))
			return
		}
	}
	e.WriteByte(' ')
	e.scalarLines(value, column)
}

func (e *emitter) listColumn(column int) int {
	if e.compact {
		return column
	}
	return column + e.step
}

// items writes the items of a list as lines.
func (e *emitter) items(list []any, column int) {
	for _, it := range list {
		e.item(it, column, 2)
	}
}

// item writes an item, whose value starts the given width behind its dash.
func (e *emitter) item(value any, column, width int) {
	e.indent(column)
	e.WriteString("-" + strings.Repeat(" ", width-1))
	e.behindDash(value, column, column+width)
}

// behindDash writes the value of an item, which starts on the current line at a
// column.
func (e *emitter) behindDash(value any, dash, column int) {
	switch v := value.(type) {
	case map[string]any:
		if len(v) > 0 {
			e.inline = true
			e.entries(v, sortedKeys(v), column)
			return
		}
	case []any:
		if len(v) > 0 {
			e.inline = true
			e.items(v, column)
			return
		}
	}
	e.scalarLines(value, dash)
}

// scalarLines writes a scalar or an empty collection to the end of its last line.
// column is that of the collection around it.
func (e *emitter) scalarLines(value any, column int) {
	if s, ok := value.(string); ok {
		if header, ok := e.blockHeader(s); ok {
			e.WriteString(header)
			e.WriteString(e.lineBreak)
			e.blockLines(s, column+e.step)
			return
		}
	}
	e.WriteString(e.scalar(value, plain, false))
	e.WriteString(e.lineBreak)
}

// blockHeader returns the header under which a string of several lines can be
// written as a literal block scalar, a step behind the collection around it.
func (e *emitter) blockHeader(s string) (string, bool) {
	body := strings.TrimRight(s, "\n")
	if e.quoted || body == "" || !strings.Contains(s, "\n") {
		return "", false
	}
	for _, c := range s {
		if !isPrintable(c) && c != '\n' && c != '\t' {
			return "", false
		}
	}
	header := "|"
	if first := strings.TrimLeft(s, "\n")[0]; isBlank(first) {
		if e.step > 9 {
			return "", false
		}
		header += strconv.Itoa(e.step)
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
		e.WriteString(e.lineBreak)
	}
}

func (e *emitter) key(key string) string { return e.scalar(key, plain, false) }

// scalar writes a scalar, or an empty collection, on one line, quoted as like is
// quoted if that is possible.
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
		if e.json || like == doubleQuoted {
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

// number writes a floating-point number as JSON does, or so that it stays one
// where numbers keep their type.
func (e *emitter) number(f float64) string {
	if size := math.Abs(f); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if e.strict && !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// flow writes a value as it stands in a flow collection; indent starts the line
// that the value starts on, and like says how strings are quoted.
func (e *emitter) flow(value any, like kind, indent string) {
	switch v := value.(type) {
	case map[string]any:
		keys := sortedKeys(v)
		e.flowCollection('{', '}', len(keys), indent, func(i int) {
			e.WriteString(e.scalar(keys[i], like, true))
			e.WriteString(e.colon)
			e.flow(v[keys[i]], like, indent+e.tab)
		})
	case []any:
		e.flowCollection('[', ']', len(v), indent, func(i int) {
			e.flow(v[i], like, indent+e.tab)
		})
	default:
		e.WriteString(e.scalar(value, like, true))
	}
}

func (e *emitter) flowCollection(opening, closing byte, count int, indent string, entry func(i int)) {
	e.WriteByte(opening)
	for i := range count {
		switch {
		case e.tab == "" && i > 0:
			e.WriteString(e.comma)
		case e.tab != "" && i > 0:
			e.WriteString("," + e.lineBreak + indent + e.tab)
		case e.tab != "":
			e.WriteString(e.lineBreak + indent + e.tab)
		}
		entry(i)
	}
	if e.tab != "" && count > 0 {
		e.WriteString(e.lineBreak + indent)
	}
	e.WriteByte(closing)
}
