package celenv

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/preadmit/preadmit/engine/internal/celenv/syntax"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/source"
)

// missing finds expressions that read a list or a map which objects of the kind may lack: they fail on these. It
// leaves out fields for which the policy asks anywhere, fields that its mutations may have written before, and
// policies with an expression without a tree, which may ask for any field.
func (t *typed) missing(expressions []Expression, trees []*ast.AST) (problems []Problem) {
	if slices.Contains(trees, nil) {
		return nil
	}
	var known *mentions
	for i, x := range expressions {
		told := map[string]bool{}
		for _, r := range needsOf(trees[i]) {
			parent, field := t.optional(r.path)
			if parent == nil || len(parent)+1 != len(r.path) || told[field] {
				continue
			}
			if known == nil {
				known = askedIn(trees)
			}
			last := parent[len(parent)-1]
			if told[field] = true; known.names[last] || x.Patch && known.written[last] {
				continue
			}
			at := offsetOf(x.Text, trees[i], r.at)
			problems = append(problems, Problem{
				Expression: i, Offset: at, Code: FieldMissing, Field: field,
				Text: fmt.Sprintf("the expression fails on objects without %s, which %s may lack", field, t.kind.Title()),
				Mend: r.mend(x.Text, at, t.emptyAt(parent)),
			})
		}
	}
	return problems
}

// need is a field of object that an expression reads. at selects a field on the way to it, and path ends with "" after
// the field itself.
type need struct {
	at   ast.Expr
	path []string
	// searched says that the expression looks for something in the field, so that it works if that is empty.
	searched bool
}

// mend returns advice about a list or a map that may be missing, and of one in which the expression searches the
// change to an empty one.
func (n need) mend(text string, at int, empty string) source.Mend {
	chain := chainOf(n.at)
	m := source.Mend{Advice: "ask with has(" + chain + ") first"}
	dot := strings.LastIndexByte(chain, '.')
	if word, ok := wordAt(text, syntax.Parts(text), at, chain[dot+1:]); ok && n.searched && text[at] == '.' {
		orElse := ".orValue(" + empty + ")"
		m.Advice += ", or write " + chain[:dot] + ".?" + chain[dot+1:] + orElse
		m.Title = "Read missing " + chain[dot+1:] + " as empty"
		m.Changes = []source.Change{{From: at + 1, To: at + 1, New: "?"}, {From: word.End, To: word.End, New: orElse}}
	}
	return m
}

// needsOf returns the fields of object that an expression reads as a whole, or in which it reads.
func needsOf(tree *ast.AST) (needs []need) {
	items, searched := map[string][]string{}, map[int64]bool{}
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			if list := fieldPath(e.AsComprehension().IterRange(), items); list != nil {
				items[e.AsComprehension().IterVar()] = append(list, "[]")
			}
			searched[e.AsComprehension().IterRange().ID()] = true
		case ast.CallKind:
			if e.AsCall().FunctionName() == operators.In {
				searched[e.AsCall().Args()[1].ID()] = true
			}
		case ast.SelectKind:
			if path := fieldPath(e, items); path != nil && !e.AsSelect().IsTestOnly() {
				needs = append(needs, need{e, append(path, ""), searched[e.ID()]})
			}
		}
	}))
	return needs
}

// emptyAt returns an expression of an empty list or map, as objects of the kind have one at a path.
func (t *typed) emptyAt(path []string) string {
	of := t.kind.Type()
	for _, key := range path {
		if item := of.ItemType(); item != nil {
			of = item
		} else {
			of = of.FieldType(key)
		}
	}
	if of != nil && of.IsList {
		return "[]"
	}
	return "{}"
}

// askedIn returns the names of fields for which expressions ask, and those that their mutations write.
func askedIn(trees []*ast.AST) *mentions {
	m := &mentions{names: map[string]bool{}, written: map[string]bool{}}
	for _, tree := range trees {
		for _, l := range patchLiterals(tree) {
			for _, key := range jsonpatch.Keys(l.operation.Path) {
				m.written[key] = true
			}
		}
		ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
			switch {
			case e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly():
				m.names[e.AsSelect().FieldName()] = true
			case e.Kind() == ast.StructKind:
				for _, entry := range e.AsStruct().Fields() {
					m.written[entry.AsStructField().Name()] = true
				}
			case isOptional(e), isCallOf(e, operators.In):
				for _, argument := range e.AsCall().Args() {
					text, _ := constantText(argument)
					m.names[text] = true
				}
			}
		}))
	}
	return m
}
