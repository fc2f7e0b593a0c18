package reach

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/witness"
	"github.com/preadmit/preadmit/internal/lazyregexp"
)

// field is a field of the object that an expression reads. or is the value of the expression if the object
// lacks the field.
type field struct {
	path []string
	or   any
}

// variablePattern finds variables that contain no others.
var variablePattern = lazyregexp.New(`\{\{([^{}]*)\}\}`)

// fieldOf returns the field that a text reads which consists of one variable.
func (w *wishes) fieldOf(value any) (field, bool) {
	text, _ := value.(string)
	text = strings.TrimSpace(text)
	found := variablePattern().FindStringSubmatch(text)
	if found == nil || found[0] != text {
		return field{}, false
	}
	n, err := jmespath.Parse(strings.TrimSpace(found[1]))
	if err != nil {
		return field{}, false
	}
	return w.read(n)
}

// read returns the field that an expression is, with or without a constant for objects that lack it.
func (w *wishes) read(n jmespath.Node) (f field, ok bool) {
	switch n.Op {
	case jmespath.OpOr:
		if n.Children[1].Op == jmespath.OpLiteral {
			f, ok = w.read(n.Children[0])
			f.or = n.Children[1].Value
		}
		return f, ok
	case jmespath.OpProjection: // path[]
		if list := n.Children[0]; list.Op == jmespath.OpFlatten && n.Children[1].Op == jmespath.OpCurrent {
			return w.read(list.Children[0])
		}
		return f, false
	}
	keys, ok := keysOf(n)
	if !ok {
		return f, false
	}
	if len(keys) > 1 && keys[0] == "request" && keys[1] == "object" {
		return field{path: keys[2:]}, len(keys) > 2
	}
	if depth, isElement := strings.CutPrefix(keys[0], "element"); isElement && len(w.elements) > 0 {
		around := len(w.elements) - 1
		if depth != "" {
			index, err := strconv.Atoi(depth)
			if err != nil || index > around {
				return f, false
			}
			around = index
		}
		return field{path: slices.Concat(w.elements[around], keys[1:])}, true
	}
	return f, false
}

// keysOf returns the keys of a path of fields and items.
func keysOf(n jmespath.Node) (keys []string, ok bool) {
	switch n.Op {
	case jmespath.OpField:
		return []string{n.Name}, true
	case jmespath.OpIndex:
		index, _ := n.Value.(int)
		return []string{fmt.Sprint(index)}, index >= 0
	case jmespath.OpSelect:
		for _, child := range n.Children {
			more, ok := keysOf(child)
			if !ok {
				return nil, false
			}
			keys = append(keys, more...)
		}
		return keys, true
	}
	return nil, false
}

// replaced returns a text in which the variables have values: the fields that they read must exist.
func (w *wishes) replaced(text string) string {
	text = variablePattern().ReplaceAllStringFunc(text, func(variable string) string {
		name := strings.TrimSpace(strings.Trim(variable, "{}"))
		if strings.HasPrefix(name, "elementIndex") {
			return "0"
		}
		f, ok := w.fieldOf(variable)
		if !ok || !w.areScalars(f.path) {
			w.unclear = true
		} else if f.or == nil {
			w.need(witness.Exists(f.path))
		}
		return "example"
	})
	if strings.Contains(text, "{{") || strings.Contains(text, "$(") {
		w.unclear = true
	}
	return text
}
