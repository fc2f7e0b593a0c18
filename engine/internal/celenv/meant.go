package celenv

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"github.com/preadmit/preadmit/engine/source"
)

// meantFor returns what was probably meant by an expression that compiles, but to another type than is wanted.
func (c *compiler) meantFor(text string, output, want *types.Type) source.Mend {
	env, err := c.complete()
	if err != nil {
		return source.Mend{}
	}
	m := newMender(env, c.provider, text, nil)
	if m == nil {
		return source.Mend{}
	}
	for _, proposal := range m.results(output, want) {
		checked, errors := m.try(proposal.Changes)
		if len(proposal.Changes) == 0 || len(errors) == 0 && checked.GetType(checked.Expr().ID()).IsExactType(want) {
			return proposal
		}
	}
	return source.Mend{}
}

// results returns proposals for an expression whose result has another type than is wanted.
func (m *mender) results(output, want *types.Type) []source.Mend {
	root := m.parsed.Expr()
	switch {
	case want.IsExactType(patchesType) && output.IsExactType(objectType):
		return []source.Mend{{Advice: "write it in applyConfiguration, with patchType: ApplyConfiguration"}}
	case want.IsExactType(objectType) && (output.IsExactType(patchesType) || output.IsExactType(patchType)):
		return []source.Mend{{Advice: "write it in jsonPatch, with patchType: JSONPatch"}}
	case want.IsExactType(patchesType):
		inList := m.between("[", "]")
		return slices.Concat(
			m.inPlaceOfMaps(),
			proposals("write it in a list", "Write it in a list", inList),
			proposals("write a list of JSONPatch{…} in place of the map", "Write a list of JSONPatch in place of the map", slices.Concat(inList, m.asPatches())),
		)
	case want.IsExactType(objectType) && root.Kind() == ast.MapKind:
		return proposals("write Object{…} in place of the map", "Write Object in place of the map", m.asStruct(root, "Object"))
	case want.IsExactType(types.BoolType) && root.Kind() == ast.SelectKind:
		return proposals("add == true if the field is a bool", "Add == true", m.between("", " == true"))
	case want.IsExactType(types.StringType):
		return proposals("write string() around it", "Write string() around it", m.between("string(", ")"))
	}
	return nil
}

// proposals returns a proposal if it has changes.
func proposals(advice, title string, changes []source.Change) []source.Mend {
	if len(changes) == 0 {
		return nil
	}
	return []source.Mend{{Advice: advice, Title: title, Changes: sorted(changes)}}
}

// sorted sorts changes by their places.
func sorted(changes []source.Change) []source.Change {
	slices.SortStableFunc(changes, func(a, b source.Change) int { return cmp.Compare(a.From, b.From) })
	return changes
}

// between returns the changes that write something before and after the expression.
func (m *mender) between(before, after string) (changes []source.Change) {
	if before != "" {
		changes = append(changes, source.Change{New: before})
	}
	return append(changes, source.Change{From: len(m.text), To: len(m.text), New: after})
}

// patches returns the mend that makes JSONPatches of maps, if it leaves fewer errors.
func (m *mender) patches() source.Mend {
	for _, mend := range m.inPlaceOfMaps() {
		if _, errors := m.try(mend.Changes); len(errors) < len(m.errors) {
			return mend
		}
	}
	return source.Mend{}
}

// inPlaceOfMaps returns the proposal to write JSONPatches in place of maps, if a map has the keys of one.
func (m *mender) inPlaceOfMaps() []source.Mend {
	return proposals("write JSONPatch{…} in place of the maps", "Write JSONPatch in place of the maps", m.asPatches())
}

// asPatches returns the changes that make JSONPatches of the maps with the keys of one.
func (m *mender) asPatches() (changes []source.Change) {
	ast.PreOrderVisit(m.parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.MapKind {
			if keys := keysOf(e); slices.Contains(keys, "op") && slices.Contains(keys, "path") {
				changes = append(changes, m.asStruct(e, patchType.TypeName())...)
			}
		}
	}))
	return changes
}

// asStruct returns the changes that make a literal of a type of a map: its keys are names of fields.
func (m *mender) asStruct(of ast.Expr, name string) []source.Change {
	brace := offsetOf(m.text, m.parsed, of)
	changes := []source.Change{{From: brace, To: brace, New: name}}
	for i, key := range keysOf(of) {
		at := offsetOf(m.text, m.parsed, of.AsMap().Entries()[i].AsMapEntry().Key())
		for _, p := range m.parts {
			if p.Start == at && isName(key) && m.text[p.Start+1:p.End-1] == key {
				changes = append(changes, source.Change{From: p.Start, To: p.End, New: key})
			}
		}
		if len(changes) != i+2 {
			return nil
		}
	}
	return changes
}

// keysOf returns the keys of a map that are literal texts, and "" for the others.
func keysOf(of ast.Expr) []string {
	keys := make([]string, of.AsMap().Size())
	for i, entry := range of.AsMap().Entries() {
		if key := entry.AsMapEntry().Key(); key.Kind() == ast.LiteralKind {
			keys[i], _ = key.AsLiteral().Value().(string)
		}
	}
	return keys
}

// placed replaces the name of a type in an Object by the type that its place has.
func (m *mender) placed(e *common.Error, name string) source.Mend {
	for _, node := range ast.MatchDescendants(ast.NavigateAST(m.parsed), func(n ast.NavigableExpr) bool { return n.ID() == e.ExprID && n.Kind() == ast.StructKind }) {
		if want := placeOf(node); want != "" {
			return m.replace(e, name, want, "values of this field are of type "+want)
		}
	}
	return source.Mend{}
}

// placeOf returns the type that a literal must have because of its place in an Object, or "" elsewhere.
func placeOf(e ast.NavigableExpr) string {
	fields := ""
	for {
		parent, inside := e.Parent()
		if !inside || parent.Kind() == ast.MapKind {
			return ""
		}
		if parent.Kind() == ast.StructKind {
			for _, field := range parent.AsStruct().Fields() {
				if f := field.AsStructField(); f.Value().ID() == e.ID() {
					fields = "." + f.Name() + fields
				}
			}
			if of := parent.AsStruct().TypeName(); isObject(of) {
				return of + fields
			}
		}
		e = parent
	}
}

// Placed returns the mend of an expression whose evaluation has failed with e: the type that the place has in place of
// the other one.
func (e *Env) Placed(expression string, wrong *TypeNameError) source.Mend {
	parsed := e.syntax().Parse(common.NewTextSource(expression))
	if parsed == nil {
		return source.Mend{}
	}
	mend := source.Mend{Title: fmt.Sprintf("Replace %s with %s", wrong.Name, wrong.Want)}
	for _, node := range ast.MatchDescendants(ast.NavigateAST(parsed), func(n ast.NavigableExpr) bool {
		return n.Kind() == ast.StructKind && n.AsStruct().TypeName() == wrong.Name
	}) {
		brace := offsetOf(expression, parsed, node)
		if name := strings.TrimRight(expression[:brace], " "); placeOf(node) == wrong.Want && strings.HasSuffix(name, wrong.Name) {
			mend.Changes = append(mend.Changes, source.Change{From: len(name) - len(wrong.Name), To: len(name), New: wrong.Want})
		}
	}
	mend.Changes = sorted(mend.Changes)
	return mend
}
