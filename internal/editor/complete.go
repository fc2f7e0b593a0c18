package editor

import (
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/gvk"
	"github.com/preadmit/preadmit/engine/source"
)

// ItemKind is what a completion is.
type ItemKind int

// The kinds: fields of objects, variables of expressions, functions, and values of fields.
const (
	FieldItem ItemKind = iota
	VariableItem
	FunctionItem
	ValueItem
)

// Item is a completion of the word before the cursor.
type Item struct {
	Kind ItemKind
	Name string
	// Insert is the text to write; "" for Name.
	Insert string
	// Detail is its type or signature, and Doc its documentation.
	Detail, Doc string
}

// Completion is what can be written instead of a word that ends at the cursor.
type Completion struct {
	Word  string
	Items []Item
}

// Complete returns what can be written at a position of a text: a key, a value, or a part of an
// expression. The items need not begin with the word.
func (s *State) Complete(text string, at source.Position) Completion {
	l, ok := linesAt(text, at)
	if !ok {
		return Completion{}
	}
	if before, start, ok := l.queryAt(); ok {
		return s.completeQuery(before, s.scopeOfQuery(&l, start))
	}
	if e, ok := l.expressionAt(); ok {
		return s.completeExpression(&l, e)
	}
	if match := patchPointer().FindStringSubmatchIndex(l.before); match != nil {
		return s.scopeOfQuery(&l, match[2]).completePointer(l.before[match[2]:])
	}
	if match := location().FindStringSubmatch(l.before); match != nil {
		return s.completeLocation(&l, match[1])
	}
	if k, ok := l.keyAt(); ok {
		if items := s.completeKey(&l, k); len(items) > 0 {
			return Completion{k.word, items}
		}
	}
	slot, ok := l.slotAt()
	switch {
	case !ok:
		return Completion{}
	case slot.isKey:
		return Completion{slot.word, s.completeKey(&l, key{kind: slot.kind, path: slot.path})}
	}
	return Completion{slot.word, s.completeValue(&l, slot)}
}

// typeFields are the fields of a document whose kind is not known yet.
var typeFields = []Item{
	{Kind: FieldItem, Name: "apiVersion", Detail: "string"},
	{Kind: FieldItem, Name: "kind", Detail: "string"},
	{Kind: FieldItem, Name: "metadata", Detail: "object"},
}

// completeKey lists the fields that can be added at a key.
func (s *State) completeKey(l *lines, k key) []Item {
	items := s.fieldsAt(l, k)
	if len(k.path) == 0 && (k.kind.Version == "" || k.kind.Kind == "") {
		items = slices.Clone(typeFields)
	}
	items = slices.DeleteFunc(items, func(item Item) bool { return slices.Contains(k.siblings, item.Name) })
	return l.withColons(items)
}

// fieldsAt lists the fields at a key. Where no kind declares any, they are those that the workspace has there. Below
// a strategic merge patch or a mutation tree they are those of the kinds that the rule matches.
func (s *State) fieldsAt(l *lines, k key) []Item {
	n, isPatch := s.inPatch(k.kind, k.path, func() []map[string]any {
		return trail(l.read(strings.TrimSuffix(l.before, k.word)+cursorMark+": "), cursorMark)
	})
	sc := &scope{state: s}
	if !isPatch {
		items := sc.known(named{kinds: []gvk.Kind{k.kind}, path: k.path})
		switch isDefined := len(s.Schemas.Fields(k.kind)) > 0; {
		case !isDefined && len(k.path) == 0:
			items = withItems(items, typeFields)
		case !isDefined && k.path[0] == "metadata":
			items = withItems(sc.fields(named{kinds: []gvk.Kind{namespaceKind}, path: k.path}), items)
		}
		return items
	}
	items := sc.fields(n)
	if open := strings.IndexByte(k.word, '('); open >= 0 {
		for i := range items {
			items[i].Name = k.word[:open+1] + items[i].Name + ")"
		}
	}
	return items
}

// withItems adds those items that have other names.
func withItems(items, others []Item) []Item {
	for _, other := range others {
		if !slices.ContainsFunc(items, func(item Item) bool { return item.Name == other.Name }) {
			items = append(items, other)
		}
	}
	return items
}

// namespaceKind is a kind with metadata as all have.
var namespaceKind = gvk.Kind{Version: "v1", Kind: "Namespace"}

// inPatch returns the field of an object that a path leads to below a strategic merge patch or a mutation tree.
// around returns the mappings that it is in.
func (s *State) inPatch(kind gvk.Kind, path []string, around func() []map[string]any) (n named, ok bool) {
	patch := slices.Index(path, "patchStrategicMerge")
	if kind.Group == treeGroup {
		patch = slices.Index(path, "mutate")
	}
	if patch < 0 {
		return n, false
	}
	n.path = slices.Clone(path[patch+1:])
	for i, name := range n.path {
		n.path[i] = withoutAnchor(name)
	}
	n.kinds = s.scopeOfRule(around()).patched()
	return n, true
}

// withoutAnchor returns a key of a patch of Kyverno without its anchor.
func withoutAnchor(name string) string {
	_, inner, ok := strings.Cut(name, "(")
	if !ok {
		return name
	}
	return strings.TrimSuffix(inner, ")")
}

// withColons inserts a colon after each field, unless it is there.
func (l *lines) withColons(items []Item) []Item {
	rest := strings.TrimPrefix(l.all[l.line], l.before)
	rest = strings.TrimLeft(rest[len(wordIn(rest)):], " ")
	for i := range items {
		if item := &items[i]; !strings.HasPrefix(rest, ":") {
			item.Insert = item.Name + ":"
			if isInline(item.Detail) {
				item.Insert += " "
			}
		}
	}
	return items
}

// isInline reports whether a value of a type usually follows its key on the same line.
func isInline(of string) bool {
	return of != "object" && !strings.HasPrefix(of, "list of ") && !strings.HasPrefix(of, "map of ")
}

// wordIn returns the letters and digits at the start of a text.
func wordIn(text string) string {
	end := strings.IndexFunc(text, func(char rune) bool { return !isWord(char) || char == '-' })
	if end < 0 {
		return text
	}
	return text[:end]
}
