package celenv

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/admission"
	"github.com/preadmit/preadmit/engine/internal/celenv/syntax"
	"github.com/preadmit/preadmit/engine/internal/jsonpatch"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/source"
)

// patchLiteral is a JSONPatch literal in an expression, as far as it is constant.
type patchLiteral struct {
	operation jsonpatch.Operation
	// in is the whole patch. op, path and value are the expressions of these fields.
	in, op, path, value ast.Expr
}

// patchLiterals returns the JSONPatch literals with a path that is at least partly constant.
func patchLiterals(tree *ast.AST) (found []patchLiteral) {
	ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.StructKind || e.AsStruct().TypeName() != patchType.TypeName() {
			return
		}
		l := patchLiteral{operation: jsonpatch.Operation{NoValue: true}, in: e}
		for _, entry := range e.AsStruct().Fields() {
			value := entry.AsStructField().Value()
			switch entry.AsStructField().Name() {
			case "op":
				l.op = value
				l.operation.Op, _ = constantText(value)
			case "path":
				l.operation.Path, l.path = pointerOf(tree, value), value
			case "from":
				l.operation.From = pointerOf(tree, value)
			case "value":
				l.value = value
				if value.Kind() == ast.LiteralKind && value.AsLiteral().Type() != types.NullType {
					l.operation.Value, l.operation.NoValue = value.AsLiteral().Value(), false
				}
			}
		}
		if l.operation.Path != "" {
			found = append(found, l)
		}
	}))
	return found
}

func constantText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().Value().(string)
	return text, ok
}

// pointerOf returns a JSON Pointer that an expression makes: a key that it computes is AnyKey, and the
// rest after a part that may be several keys is AnyKeys.
func pointerOf(tree *ast.AST, e ast.Expr) string {
	pointer, complete := "", true
	for _, part := range terms(e) {
		if !complete {
			break
		}
		var text string
		if text, complete = partOfPointer(tree, part); complete {
			pointer += text
		}
	}
	if !complete {
		end := strings.LastIndexByte(pointer, '/')
		if end < 0 {
			return ""
		}
		return pointer[:end+1] + jsonpatch.AnyKeys
	}
	keys := strings.Split(pointer, "/")
	for i, key := range keys {
		if strings.Contains(key, jsonpatch.AnyKey) {
			keys[i] = jsonpatch.AnyKey
		}
	}
	return strings.Join(keys, "/")
}

// terms returns the parts of a sum.
func terms(e ast.Expr) []ast.Expr {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Add {
		args := e.AsCall().Args()
		return append(terms(args[0]), terms(args[1])...)
	}
	return []ast.Expr{e}
}

// partOfPointer returns a part of a pointer; ok is false if it may be several keys.
func partOfPointer(tree *ast.AST, e ast.Expr) (part string, ok bool) {
	if text, isConstant := constantText(e); isConstant {
		return text, true
	}
	if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 1 {
		return "", false
	}
	argument := e.AsCall().Args()[0]
	switch e.AsCall().FunctionName() {
	case "jsonpatch.escapeKey":
		if text, isConstant := constantText(argument); isConstant {
			return jsonpatch.Escape(text), true
		}
		return jsonpatch.AnyKey, true
	case "string":
		return jsonpatch.AnyKey, tree.GetType(argument.ID()).IsExactType(types.IntType)
	}
	return "", false
}

// misfits finds operations that do not fit the kind, and those whose result a server does not store.
func (o Objects) misfits(index int, text string, tree *ast.AST) (problems []Problem) {
	for _, l := range patchLiterals(tree) {
		at := offsetOf(text, tree, terms(l.path)[0])
		if op := l.operation.Op; op != "" && !slices.Contains(jsonpatch.Ops, op) {
			at = offsetOf(text, tree, l.op)
			problems = append(problems, Problem{
				Expression: index, Offset: at, Code: TypeMismatch, Text: fmt.Sprintf("no JSON Patch has the operation %q, so the policy fails", op),
				Mend: source.Suggest(op, jsonpatch.Ops).In(text, at),
			})
		} else if misfit := l.operation.Misfit(o.Kind); misfit != nil {
			mend := misfit.Advice.In(text, at)
			if len(mend.Changes) == 0 { // it may be about from
				mend = misfit.Advice.In(text, offsetOf(text, tree, l.in))
			}
			if misfit.Wants != nil {
				m := mender{text: text, parsed: tree, parts: syntax.Parts(text)}
				if literal := m.literalAs(l.value, misfit.Wants.Fits); literal.Advice != "" {
					mend = literal
				}
			}
			problems = append(problems, Problem{Expression: index, Offset: at, Code: misfit.Code, Text: misfit.Text, Mend: mend})
		} else if why := admission.NotStored(o.Kind, o.Subresources, l.operation.Written()); why != nil {
			problems = append(problems, unstored(index, at, why))
		}
	}
	return problems
}

// parents finds operations below a list or map that objects of the kind may lack. It leaves out
// fields that the policy reads or writes anywhere: it may make sure of them. An expression without a
// tree may read any field. A test is a condition.
func (t *typed) parents(expressions []Expression, trees []*ast.AST) (problems []Problem) {
	if slices.Contains(trees, nil) {
		return nil
	}
	var known *mentions
	for i, x := range expressions {
		if !x.Patch || x.Apply {
			continue
		}
		for _, l := range patchLiterals(trees[i]) {
			parent, field := t.optional(jsonpatch.Keys(l.operation.Path))
			if parent == nil || l.operation.Op == "test" || l.operation.Misfit(t.kind) != nil {
				continue
			}
			if known == nil {
				known = mentionsIn(trees)
			}
			pointer := "/" + strings.Join(parent, "/")
			if known.cover(pointer) {
				continue
			}
			p := Problem{
				Expression: i, Offset: offsetOf(x.Text, trees[i], terms(l.path)[0]), Code: ParentMissing, Field: field,
				Text: fmt.Sprintf("the operation fails on objects without %s, which %s may lack", field, t.kind.Title()),
				Mend: source.Mend{Advice: "where !has(object." + field + "), add " + strings.ReplaceAll(pointer, jsonpatch.AnyKey, "*") + " first, or all of it at once"},
			}
			if list := listWith(trees[i].Expr(), l.in.ID()); list != nil && !strings.Contains(pointer, jsonpatch.AnyKey) {
				at := offsetOf(x.Text, trees[i], list)
				p.Mend.Title = "Add " + pointer + " where it is missing"
				p.Mend.Changes = []source.Change{{From: at, To: at, New: t.adding(parent)}}
			}
			problems = append(problems, p)
		}
	}
	return problems
}

// listWith returns the list that has a patch, in an expression that makes patches of lists; nil if there is no such.
func listWith(e ast.Expr, patch int64) ast.Expr {
	var parts []ast.Expr
	switch {
	case e.Kind() == ast.ListKind:
		if slices.ContainsFunc(e.AsList().Elements(), func(item ast.Expr) bool { return item.ID() == patch }) {
			return e
		}
	case isCallOf(e, operators.Add):
		parts = e.AsCall().Args()
	case isCallOf(e, operators.Conditional):
		parts = e.AsCall().Args()[1:]
	}
	for _, part := range parts {
		if list := listWith(part, patch); list != nil {
			return list
		}
	}
	return nil
}

// adding returns the text that adds the list or map at keys to objects without it, before another list of patches.
func (t *typed) adding(keys []string) string {
	field, of := "object", t.kind.Type()
	for _, key := range keys {
		if item := of.ItemType(); item != nil {
			field, of = field+"["+key+"]", item
		} else {
			field, of = field+"."+key, of.FieldType(key)
		}
	}
	return fmt.Sprintf("(has(%s) ? [] : [JSONPatch{op: \"add\", path: %q, value: %s}]) + ", field, "/"+strings.Join(keys, "/"), t.emptyAt(keys))
}

// optional returns the keys and the path of the first list or map above a value that objects
// of the kind may lack; nil if they lack none. Of a field of an unknown name nothing is certain.
func (t *typed) optional(keys []string) (parent []string, field string) {
	of := t.kind.Type()
	var path change.Path
	for i, key := range keys[:max(len(keys)-1, 0)] {
		if item := of.ItemType(); item != nil {
			of, path = item, path.Index(0)
			continue
		}
		f := of.Declared(key)
		if f == nil {
			return nil, ""
		}
		of, path = f.Type, path.Key(key)
		if isContainer := of.IsList || of.Elem != nil && len(of.Fields) == 0; !isContainer || f.Required || completed(t.kind, path) {
			continue
		}
		if _, isSet := admission.Defaulted(t.kind, path); !isSet {
			return keys[:i+1], path.String()
		}
	}
	return nil, ""
}

// completed reports whether the plug-ins of an API server, or its validation, make sure that objects
// have a field.
func completed(kind *schema.Kind, path change.Path) bool {
	switch field := path.String(); kind.Kind.Kind {
	case "Pod":
		return field == "spec.volumes" || field == "spec.tolerations" || field == "spec.containers[0].volumeMounts"
	case "Namespace":
		return field == "metadata.labels"
	default:
		return strings.HasSuffix(field, "template.metadata.labels")
	}
}

// prefixes returns a pointer and the pointers above it.
func prefixes(pointer string) (all []string) {
	for i, c := range pointer {
		if c == '/' && i > 0 {
			all = append(all, pointer[:i])
		}
	}
	return append(all, pointer)
}

// mentions are what the expressions of a policy mention besides the paths of patches.
type mentions struct {
	// names has fields that are read or written, and texts. written and tested have the pointers to
	// values that patches write, and the pointers down to values that they test.
	names, written, tested map[string]bool
}

// cover reports whether a policy may make sure that objects have the value at a pointer.
func (m *mentions) cover(pointer string) bool {
	return m.names[pointer[strings.LastIndexByte(pointer, '/')+1:]] || m.tested[pointer] ||
		slices.ContainsFunc(prefixes(pointer), func(p string) bool { return m.written[p] })
}

func mentionsIn(trees []*ast.AST) *mentions {
	m := &mentions{names: map[string]bool{}, written: map[string]bool{}, tested: map[string]bool{}}
	for _, tree := range trees {
		ofPaths := map[int64]bool{}
		for _, l := range patchLiterals(tree) {
			for _, term := range terms(l.path) {
				ofPaths[term.ID()] = true
			}
			if l.operation.Op != "test" {
				m.written[l.operation.Path] = true
				continue
			}
			for _, p := range prefixes(l.operation.Path) {
				m.tested[p] = true
			}
		}
		ast.PreOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
			if !ofPaths[e.ID()] {
				m.addNames(e)
			}
		}))
	}
	return m
}

func (m *mentions) addNames(e ast.Expr) {
	switch e.Kind() {
	case ast.LiteralKind:
		text, _ := constantText(e)
		for _, part := range strings.Split(text, "/") {
			m.names[part] = true
		}
	case ast.SelectKind:
		m.names[e.AsSelect().FieldName()] = true
	case ast.StructKind:
		for _, entry := range e.AsStruct().Fields() {
			m.names[entry.AsStructField().Name()] = true
		}
	}
}
