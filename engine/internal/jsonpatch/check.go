package jsonpatch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/source"
)

// Keys of a JSON Pointer that are not known before the patch is applied: AnyKey is a single one, or an
// index. AnyKeys, at the end, is one or several.
const (
	AnyKey  = "\x00"
	AnyKeys = "\x01"
)

// Ops are the operations of a JSON Patch.
var Ops = []string{"add", "remove", "replace", "move", "copy", "test"}

// Misfit says why an operation does not fit the objects of a kind.
type Misfit struct {
	// Code is schema.FieldUndefined or schema.TypeMismatch.
	Code, Text string
	Advice     source.Advice
	// Wants is the type of the value, if the operation writes one of another type.
	Wants *schema.Type
}

// Misfit returns why an operation does not fit the objects of a kind; nil if it may fit. An operation
// whose value is not known has no value.
func (op Operation) Misfit(kind *schema.Kind) *Misfit {
	if op.Op == "test" && op.Path == "/" {
		return nil // what people write for an operation that they filter out
	}
	if slashed := op; op.Path != "" && !strings.ContainsAny(op.Path[:1], "/"+AnyKey+AnyKeys) {
		if slashed.Path = "/" + op.Path; slashed.Misfit(kind) == nil {
			return &Misfit{Code: schema.TypeMismatch, Text: "the path has no / at its beginning", Advice: source.Meant(op.Path, slashed.Path)}
		}
	}
	w := walk{kind: kind, op: op}
	keys := Keys(op.Path)
	if w.escapes(); w.misfit != nil {
		return w.misfit
	}
	t := w.to(keys)
	if w.misfit == nil && t != nil && len(keys) > 0 && !op.NoValue && op.Value != nil && op.Op != "test" && op.Op != "remove" {
		w.checkValue(t, keys)
	}
	if w.misfit == nil && op.From != "" {
		w.op.Op = "from"
		w.to(Keys(op.From))
	}
	return w.misfit
}

// Written returns the path of the field that an operation writes, without indexes; nil if it is not known, or if
// the operation is a test.
func (op Operation) Written() (path change.Path) {
	if !slices.Contains([]string{"add", "replace", "remove", "copy", "move"}, op.Op) {
		return nil
	}
	for _, key := range Keys(op.Path) {
		if key == AnyKey || key == AnyKeys {
			break
		}
		path = path.Key(key)
	}
	return path
}

// escapes reports a ~ that escapes nothing. A server takes it for a part of the key.
func (w *walk) escapes() {
	for _, pointer := range []string{w.op.Path, w.op.From} {
		if rest := strings.NewReplacer("~0", "", "~1", "").Replace(pointer); strings.Contains(rest, "~") {
			w.fail(schema.TypeMismatch, "write ~ in a key as ~0, and / as ~1", "%s has a ~ that is followed by neither 0 nor 1", strconv.Quote(pointer))
		}
	}
}

// walk follows a JSON Pointer through the types of a kind.
type walk struct {
	kind   *schema.Kind
	op     Operation
	misfit *Misfit
}

// to returns the type at the end of a pointer. It is nil if the type is not known, or if the pointer
// does not fit.
func (w *walk) to(keys []string) *schema.Type {
	t, inMap := w.kind.Type(), false
	var fields change.Path // without indexes
	for i, key := range keys {
		if t == nil || t.Scalar == schema.Untyped || t.Preserve && t.Declared(key) == nil || t.Embedded {
			return nil
		}
		switch {
		case key == AnyKeys && t.Scalar == schema.NotScalar:
			return nil
		case t.IsList:
			w.index(keys, i)
			t, inMap = t.Elem, false
		case t.Scalar != schema.NotScalar:
			w.below(keys, i, inMap)
		case t.Declared(key) == nil && t.Elem == nil:
			if len(t.Fields) == 0 || key == AnyKey {
				return nil
			}
			w.failAdvised(schema.FieldUndefined, w.kind.SuggestField(t, key, fields), "%s has no field %s", w.kind.Title(), dotted(keys[:i+1]))
		default:
			inMap = t.Declared(key) == nil
			t, fields = t.FieldType(key), fields.Key(key)
		}
		if w.misfit != nil {
			return nil
		}
	}
	return t
}

func (w *walk) fail(code, advice, format string, args ...any) {
	w.failAdvised(code, source.Advice{Text: advice}, format, args...)
}

func (w *walk) failAdvised(code string, advice source.Advice, format string, args ...any) {
	w.misfit = &Misfit{Code: code, Text: fmt.Sprintf(format, args...), Advice: advice}
}

// index checks a key of a list. Only what is added may have the key "-".
func (w *walk) index(keys []string, i int) {
	key := keys[i]
	_, err := strconv.Atoi(key)
	isEnd := key == "-" && i == len(keys)-1
	switch adds := w.op.Op == "add" || w.op.Op == "copy" || w.op.Op == "move"; {
	case key == AnyKey, err == nil, isEnd && adds:
	case key == "-":
		w.fail(schema.TypeMismatch, "name the index of an item; only add, at the end of a path, may have -", "%s of %s is a list, and - is not the index of an item", dotted(keys[:i]), w.kind.Title())
	default:
		indexed := pointer(keys[:i]) + "/0" + pointer(keys[i:])
		w.failAdvised(schema.TypeMismatch, w.instead("write the index of an item: ", indexed), "%s of %s is a list, and %s is no index", dotted(keys[:i]), w.kind.Title(), strconv.Quote(key))
	}
}

// below reports a key below a single value. In a map, the key before it probably has a slash.
func (w *walk) below(keys []string, i int, inMap bool) {
	advice := source.Advice{Text: "end the path before"}
	if inMap {
		advice = w.instead("write / in a key as ~1: ", pointer(keys[:i-1])+"/"+Escape(strings.Join(shownAll(keys[i-1:]), "/")))
	}
	w.failAdvised(schema.TypeMismatch, advice, "%s of %s is a single value, without a field %s", dotted(keys[:i]), w.kind.Title(), shown(keys[i]))
}

// instead returns the advice to write another pointer.
func (w *walk) instead(text, pointer string) source.Advice {
	advice := source.Advice{Text: text + pointer}
	if w.op.Op != "from" && !strings.ContainsAny(w.op.Path, AnyKey+AnyKeys) {
		advice.Old, advice.New = w.op.Path, pointer
	}
	return advice
}

// checkValue checks the value against the type at the end of the path.
func (w *walk) checkValue(t *schema.Type, keys []string) {
	problems := t.Check(w.op.Value)
	if len(problems) == 0 {
		return
	}
	advice := source.Advice{Text: "write a value of the field's type"}
	if meant := problems[0].Advice; meant.New != "" {
		advice = meant
	}
	w.failAdvised(problems[0].Code, advice,
		"the value does not fit %s of %s: %s", dotted(keys), w.kind.Title(), problems[0].Text)
	w.misfit.Wants = t
}

// dotted returns keys as a field path.
func dotted(keys []string) string {
	return strings.Join(shownAll(keys), ".")
}

func shownAll(keys []string) []string {
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = shown(key)
	}
	return all
}

// pointer returns keys as a JSON Pointer.
func pointer(keys []string) string {
	var b strings.Builder
	for _, key := range keys {
		b.WriteString("/" + Escape(shown(key)))
	}
	return b.String()
}

// shown returns a key as messages show it.
func shown(key string) string {
	if key == AnyKey || key == AnyKeys {
		return "*"
	}
	return key
}
