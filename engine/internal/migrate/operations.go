package migrate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/kyverno"
	"github.com/preadmit/preadmit/engine/policy"
)

// operations converts a JSON Patch. Each operation becomes a separate mutation, because it sees
// the result of the one before. Kyverno creates the missing parents of what an operation adds.
func (c *converter) operations(s *scope, n policy.Node, l *loop) error {
	written := n.Value
	if text, ok := n.Value.(string); ok && strings.HasPrefix(strings.TrimSpace(text), "{{") {
		return c.refuse(n.Path, "a JSON Patch that an expression makes", "write its operations in CEL by hand")
	}
	list, err := kyverno.ReadJSONPatch(quoteVariables(written))
	if err != nil {
		return c.failed(n.Path, err)
	}
	for i, item := range list {
		operation, _ := item.(map[string]any)
		path := n.Path
		if _, isList := n.Value.([]any); isList {
			path = path.Index(i)
		}
		if err := c.operation(s, operation, l); err != nil {
			return c.failed(path, err)
		}
	}
	return nil
}

// quoteVariables puts quotes around variables, so that a text with unquoted variables can be
// parsed as YAML.
func quoteVariables(value any) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		key, rest, found := strings.Cut(line, ": ")
		rest = strings.TrimSpace(rest)
		if found && strings.HasPrefix(rest, "{{") && strings.HasSuffix(rest, "}}") {
			lines[i] = key + ": " + strconv.Quote(rest)
		}
	}
	return strings.Join(lines, "\n")
}

// operation converts one operation.
func (c *converter) operation(s *scope, operation map[string]any, l *loop) error {
	op, _ := operation["op"].(string)
	pointer, _ := operation["path"].(string)
	inner, condition, err := c.element(s, l)
	if err != nil {
		return err
	}
	at, err := c.pointed(inner, pointer, l)
	if err != nil {
		return err
	}
	var said layout
	switch op {
	case "add", "replace":
		value, err := inner.value(operation["value"])
		if err != nil {
			return err
		}
		said = added(at, value, op)
	case "remove":
		if l != nil && l.isElement(at.path) && l.entry.At("order").Text() != "Descending" {
			return noFormf("set order: Descending", "a foreach that removes its elements, the first one first: after that, the others have other places")
		}
		said = guarded(at.path.present(), operationOf("remove", at, nil))
	case "test":
		return noFormf("say it as a precondition", "the operation test, which keeps only its own mutation from being carried out")
	default:
		from, _ := operation["from"].(string)
		origin, err := c.pointed(inner, from, l)
		if err != nil {
			return err
		}
		said = group{"[", []layout{group{"JSONPatch{", []layout{plain("op: " + quote(op)), plain("from: " + origin.path.pointer()), plain("path: " + at.path.pointer())}, "}"}}, "]"}
	}
	one, isOne := single(said)
	switch {
	case l != nil:
		said = l.all(said, condition)
	case isOne:
		said = group{"[", []layout{one}, "]"}
	}
	c.addPatch(said, "true", "", effectsOf(at))
	return nil
}

// effectsOf returns the places that an operation changes. If it adds or removes an item, the
// whole list counts.
func effectsOf(at code) []effect {
	n := len(at.path.parts)
	for i, part := range at.path.parts {
		if part.isIndex || part.key == "-" {
			n = i
			break
		}
	}
	return []effect{{at.path.write(n, false), at.path.pointer()}}
}

// single returns the operation in a list with one operation.
func single(l layout) (layout, bool) {
	switch l := l.(type) {
	case group:
		if l.open == "[" && len(l.items) == 1 {
			return l.items[0], true
		}
	case either:
		yes, ok := single(l.yes)
		no, ok2 := single(l.no)
		return either{l.condition, yes, no}, ok && ok2
	}
	return l, false
}

func guarded(condition string, operation layout) layout {
	list := group{"[", []layout{operation}, "]"}
	if condition == "" {
		return list
	}
	return either{condition, list, plain("[]")}
}

// element returns the scope of an operation. In a foreach it is the scope of the element with
// index i.
func (c *converter) element(s *scope, l *loop) (*scope, string, error) {
	if l == nil {
		return s, "true", nil
	}
	element := ofPath(&path{root: l.list.in(primary) + "[i]"}, itemTypes(l.list.types))
	if l.list.path != nil {
		known := l.list.path.then(part{computed: "i", isIndex: true}, true)
		known.sure = len(known.parts)
		element = ofPath(known, itemTypes(l.list.types))
	}
	condition, err := l.condition(element)
	return l.inner(element).with("elementIndex", code{text: "i", kind: number}), condition, err
}

// all returns the operations for all elements of a foreach.
func (l *loop) all(said layout, condition string) layout {
	indexes := fmt.Sprintf("lists.range(size(%s))", l.list.text)
	if l.entry.At("order").Text() == "Descending" {
		indexes += ".reverse()"
	}
	if e, ok := said.(either); ok && e.no.flat() == "[]" {
		said, condition = e.yes, and(condition, e.condition)
	}
	if one, ok := single(said); ok {
		return forEach(indexes, condition, one, ")")
	}
	return forEach(indexes, condition, said, ").flatten()")
}

// pointed returns the target of a JSON Pointer, which may contain variables.
func (c *converter) pointed(s *scope, pointer string, l *loop) (code, error) {
	at := c.changed()
	written := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	if strings.Contains(pointer, "{{") {
		written = splitPointer(strings.TrimPrefix(pointer, "/"))
	}
	for i, key := range written {
		next := ""
		if i < len(written)-1 {
			next = written[i+1]
		}
		var err error
		if at, err = c.step(s, at, key, next); err != nil {
			return code{}, err
		}
		if l != nil && l.isElement(at.path) { // it exists
			known := *at.path
			known.sure = len(known.parts)
			at = ofPath(&known, at.types)
		}
	}
	return at, nil
}

// isElement reports whether a path is that of the element of a foreach.
func (l *loop) isElement(p *path) bool {
	list := l.list.path
	if list == nil || len(p.parts) != len(list.parts)+1 || p.parts[len(list.parts)] != (part{computed: "i", isIndex: true}) {
		return false
	}
	return slices.Equal(p.parts[:len(list.parts)], list.parts)
}

// splitPointer splits a pointer at the slashes that are not in variables.
func splitPointer(pointer string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(pointer); i++ {
		switch {
		case strings.HasPrefix(pointer[i:], "{{"):
			depth++
			i++
		case strings.HasPrefix(pointer[i:], "}}"):
			depth--
			i++
		case pointer[i] == '/' && depth == 0:
			parts = append(parts, pointer[start:i])
			start = i + 1
		}
	}
	return append(parts, pointer[start:])
}

// step returns the code of one part of a pointer.
func (c *converter) step(s *scope, at code, key, next string) (code, error) {
	if strings.Contains(key, "{{") {
		said, err := s.text(key)
		if err != nil {
			return code{}, err
		}
		if said.kind == number {
			return ofPath(at.path.then(part{computed: said.text, isIndex: true}, false), itemTypes(at.types)), nil
		}
		return ofPath(at.path.then(part{computed: said.asText().text}, false), nil), nil
	}
	isList := at.kind == list
	index, err := strconv.Atoi(key)
	switch {
	case key == "-" && (isList || at.kind == anything):
		return ofPath(at.path.then(part{key: "-"}, true), itemTypes(at.types)), nil
	case err == nil && (isList || at.kind == anything) && index == -1:
		if next == "" {
			return ofPath(at.path.then(part{key: "-"}, true), itemTypes(at.types)), nil
		}
		last := fmt.Sprintf("size(%s) - 1", at.orEmptyList().text)
		return ofPath(at.path.then(part{computed: last, isIndex: true}, true), itemTypes(at.types)), nil
	case err == nil && index >= 0 && (isList || at.kind == anything):
		return at.item(index), nil
	}
	return at.field(strings.NewReplacer("~1", "/", "~0", "~").Replace(key)), nil
}

// added returns the operation that adds a value, and creates the missing parents.
func added(at code, value any, op string) layout {
	p := at.path
	if last := p.parts[len(p.parts)-1]; op == "replace" && (p.present() == "" || last.isIndex) {
		return group{"[", []layout{operationOf("replace", at, valueLayout(value))}, "]"}
	}
	result := layout(group{"[", []layout{operationOf("add", at, valueLayout(value))}, "]"})
	whole := value
	for n := len(p.parts) - 1; n > 0; n-- {
		last := p.parts[n]
		switch {
		case last.isIndex || last.key == "-" && last.computed == "":
			whole = []any{whole}
		case last.computed != "":
			whole = keyed{{code{text: last.computed, kind: text}, whole}}
		default:
			whole = keyed{{literal(last.key), whole}}
		}
		parent := &path{root: p.root, parts: p.parts[:n], sure: min(p.sure, n)}
		present := parent.present()
		if present == "" {
			continue
		}
		created := group{"[", []layout{operationOf("add", ofPath(parent, nil), valueLayout(whole))}, "]"}
		result = either{not(present), created, result}
	}
	return result
}
