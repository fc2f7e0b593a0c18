package migrate

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/preadmit/preadmit/engine/internal/celenv/expr"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
)

// path is a chain of fields from a variable.
type path struct {
	root  expr.Expr
	parts []part
	// sure is the number of parts that always exist.
	sure int
}

// part is a key of a map, or the place of an item of a list.
type part struct {
	// key is a constant key, if computed is zero.
	key string
	// computed is the index of an item, or an expression for a key.
	computed expr.Expr
	// isItem says that the part is the place of an item: without an index, the one after the last item.
	isItem bool
}

// atIndex returns the place of an item.
func atIndex(index expr.Expr) part { return part{computed: index, isItem: true} }

// end is the place after the last item of a list.
var end = part{key: "-", isItem: true}

// maxNulls is the maximum of nulls.
const maxNulls = 100

// nulls returns how many nulls Kyverno puts before the part of a list that it creates. It also creates a
// list for the key of a map that looks like an index. nulls is -1 if it creates a map.
func (p part) nulls() int {
	constant, _ := p.computed.Constant()
	if index, isWhole := constant.(int64); p.isItem && isWhole {
		return int(max(index, 0))
	}
	index, err := strconv.Atoi(p.key)
	switch {
	case p.isItem, p.computed.IsZero() && p.key == "-":
		return 0
	case err != nil || !p.computed.IsZero():
		return -1
	}
	return max(index, 0)
}

// around returns the list or map with a value at the part that Kyverno creates.
func (p part) around(value any) any {
	switch n := p.nulls(); {
	case n >= 0:
		return append(make([]any, n), value)
	case !p.computed.IsZero():
		return keyed{{computed(p.computed, text), value}}
	}
	return keyed{{literal(p.key), value}}
}

func (p part) equal(other part) bool {
	return p.key == other.key && p.isItem == other.isItem && expr.Equal(p.computed, other.computed)
}

// expr returns the key or index of a part.
func (p part) expr() expr.Expr {
	if p.computed.IsZero() {
		return expr.Literal(p.key)
	}
	return p.computed
}

// of returns the value that a part selects.
func (p part) of(x expr.Expr, optional bool) expr.Expr {
	isField := p.computed.IsZero()
	switch {
	case isField && optional:
		return x.OptSelect(p.key)
	case isField:
		return x.Select(p.key)
	case optional:
		return x.OptIndex(p.computed)
	}
	return x.Index(p.computed)
}

// expr returns the value of the first n parts.
func (p *path) expr(n int, optional bool) expr.Expr {
	x := p.root
	for i, part := range p.parts[:n] {
		x = part.of(x, optional && i >= p.sure)
	}
	return x
}

// then returns the path extended by a part.
func (p *path) then(part part, sure bool) *path {
	extended := &path{root: p.root, parts: append(slices.Clone(p.parts), part), sure: p.sure}
	if sure && p.sure == len(p.parts) {
		extended.sure++
	}
	return extended
}

// parent returns the path of the first n parts.
func (p *path) parent(n int) *path {
	return &path{root: p.root, parts: p.parts[:n], sure: min(p.sure, n)}
}

// isSure reports whether the value always exists.
func (p *path) isSure() bool { return p.sure >= len(p.parts) }

// present returns a condition that the value exists.
func (p *path) present() expr.Expr {
	n := len(p.parts)
	switch {
	case p.isSure():
		return expr.True
	case p.sure < n-1:
		return p.expr(n, true).Call("hasValue")
	}
	last, parent := p.parts[n-1], p.expr(n-1, false)
	switch {
	case last.isItem:
		return expr.Compare(expr.Call("size", parent), ">", last.expr())
	case last.computed.IsZero():
		return parent.Has(last.key)
	}
	return expr.In(last.computed, parent)
}

// pointer returns an expression for the path below its root as a JSON Pointer.
func (p *path) pointer() expr.Expr {
	var parts []expr.Expr
	constant := ""
	for _, part := range p.parts {
		index, isConstant := part.computed.Constant()
		switch {
		case part.computed.IsZero():
			constant += "/" + jsonpatch.Escape(part.key)
			continue
		case part.isItem && isConstant:
			constant += fmt.Sprint("/", index)
			continue
		}
		function := "jsonpatch.escapeKey"
		if part.isItem {
			function = "string"
		}
		parts = append(parts, expr.Literal(constant+"/"), expr.Call(function, part.computed))
		constant = ""
	}
	if constant != "" || len(parts) == 0 {
		parts = append(parts, expr.Literal(constant))
	}
	return expr.Plus(parts...)
}

// place returns the path as a place that a policy writes to: items of lists are not told apart,
// and writing an item, or an entry with an unknown key, is writing the whole list or map.
func (p *path) place() []string {
	var keys []string
	for i, part := range p.parts {
		isLast := i == len(p.parts)-1
		switch {
		case part.isItem && isLast, !part.isItem && !part.computed.IsZero():
			return keys
		case part.isItem:
			keys = append(keys, anyItem)
		default:
			keys = append(keys, part.key)
		}
	}
	return keys
}

// asSure returns the path of a value that exists.
func (p *path) asSure() *path {
	known := *p
	known.sure = len(known.parts)
	return &known
}
