package kyverno

import (
	"fmt"
	"slices"
	"strings"

	"github.com/preadmit/preadmit/engine/change"
	"github.com/preadmit/preadmit/engine/internal/jmespath"
	"github.com/preadmit/preadmit/engine/internal/schema"
	"github.com/preadmit/preadmit/engine/source"
)

// This file finds the fields that expressions read of the object and of the request, but that neither has: Kyverno
// fails, or JMESPath takes null for them.

// requestFields are the fields of the variable request, of which admission requests have some only at times.
var requestFields = strings.Fields(`clusterRoles dryRun kind name namespace object oldObject operation options requestKind
	requestResource requestSubResource resource roles subResource uid userInfo`)

// read is a field that an expression reads, but the kind does not have.
type read struct {
	offset int
	text   string
	advice source.Advice
}

// checkReads reports the fields that the expressions of a rule read, but none of its kinds has.
func (d *definition) checkReads(schemas *schema.Registry) (found []source.Diagnostic) {
	rules, kinds := map[string]*rule{}, map[*rule][]*schema.Kind{}
	for _, r := range d.rules {
		if !r.generated {
			rules[r.root.Path.String()], kinds[r] = r, r.triggers(schemas)
		}
	}
	for _, e := range d.expressions {
		const depth = 3 // of spec.rules[i]
		r := rules[e.node.Path[:min(depth, len(e.node.Path))].String()]
		if r == nil || len(kinds[r]) == 0 || !r.isOnVariables(e) {
			continue
		}
		n, err := jmespath.Parse(e.text)
		if err != nil {
			continue // it was compiled
		}
		for _, m := range missed(n, kinds[r]) {
			at, text := e.at(d.document, m.offset), m.text+", so the expression never finds it"
			w := r.warning(at, e.node.Path, "field-undefined", text, "")
			found = append(found, d.document.Mended(w, e.node.Path, m.advice.In(e.node.Text(), e.offset+m.offset)))
		}
	}
	return found
}

// isOnVariables reports whether an expression of the rule is evaluated on the variables: jmesPath is not if there
// is a value.
func (r *rule) isOnVariables(e compiledExpression) bool {
	path := e.node.Path
	if path[len(path)-1].Key != "jmesPath" {
		return true
	}
	of, _ := path[len(r.root.Path) : len(path)-1].Get(r.root.Value)
	fields, _ := of.(map[string]any)
	return path[len(path)-2].Key == "variable" && fields["value"] == nil
}

// triggers returns the kinds whose objects start the rule; none if some are not known.
func (r *rule) triggers(schemas *schema.Registry) (kinds []*schema.Kind) {
	for _, k := range schemas.Kinds() {
		if k.Resource != "" && r.match.covers(k.Kind) {
			kinds = append(kinds, k)
		}
	}
	for _, b := range r.match.blocks() {
		if len(b.kinds) == 0 || slices.ContainsFunc(b.kinds, func(s KindPattern) bool {
			return s.Subresource != "" || !slices.ContainsFunc(kinds, func(k *schema.Kind) bool { return s.matches(k.Kind) })
		}) {
			return nil
		}
	}
	if slices.ContainsFunc(kinds, func(k *schema.Kind) bool { return k.Unknown || k.Type() == nil }) {
		return nil
	}
	return schemas.Checked(kinds)
}

// missed returns the fields that an expression reads, but none of the kinds has.
func missed(n jmespath.Node, kinds []*schema.Kind) (all []read) {
	lacking := map[int]int{}
	for i, k := range kinds {
		w := reading{kind: k}
		w.read(n, operand{isVariables: true})
		for _, m := range w.missed {
			if lacking[m.offset]++; lacking[m.offset] == i+1 && i+1 == len(kinds) {
				all = append(all, m)
			}
		}
	}
	return all
}

// reading reads an expression for one kind.
type reading struct {
	kind   *schema.Kind
	missed []read
}

// operand is what a part of an expression is evaluated on. The zero operand is not known.
type operand struct {
	isVariables, isRequest bool
	of                     *schema.Type
	path                   change.Path
	// isItems says that it is a list of values of that type, which no field has.
	isItems bool
}

// items returns the items of a list, or the values of a map.
func (v operand) items() operand {
	switch {
	case v.isItems:
		v.isItems = false
		return v
	case v.of == nil || v.of.Elem == nil || v.of.Scalar != schema.NotScalar:
		return operand{}
	}
	return operand{of: v.of.Elem, path: v.path.Key("*")}
}

// listed returns a list of the values.
func (v operand) listed() operand {
	if v.of == nil || v.isItems {
		return operand{}
	}
	v.isItems = true
	return v
}

// read returns the value of a part of an expression, which is evaluated on another value.
func (w *reading) read(n jmespath.Node, on operand) operand {
	child := func(i int, on operand) operand { return w.read(n.Children[i], on) }
	switch n.Op {
	case jmespath.OpField:
		return w.field(n, on)
	case jmespath.OpCurrent:
		return on
	case jmespath.OpIndex:
		if on.isItems || on.of != nil && on.of.IsList {
			return on.items()
		}
		return operand{}
	case jmespath.OpSelect, jmespath.OpPipe:
		return child(1, child(0, on))
	case jmespath.OpProjection, jmespath.OpValues:
		return child(1, child(0, on).items()).listed()
	case jmespath.OpFlatten:
		of := child(0, on)
		if items := of.items(); items.of != nil && items.of.IsList {
			return items.items().listed()
		} else if of.isItems || of.of != nil && of.of.IsList {
			return items.listed()
		}
		return operand{}
	case jmespath.OpFilter:
		items := child(0, on).items()
		child(2, items)
		return child(1, items).listed()
	case jmespath.OpReference:
		return operand{} // its items are those of another argument
	}
	for i := range n.Children {
		child(i, on)
	}
	return operand{}
}

// field returns the value of a field.
func (w *reading) field(n jmespath.Node, on operand) operand {
	switch {
	case on.isVariables && n.Name == "request":
		return operand{isRequest: true}
	case on.isRequest && (n.Name == "object" || n.Name == "oldObject"):
		return operand{of: w.kind.Type()}
	case on.isRequest && !slices.Contains(requestFields, n.Name):
		text := "an admission request has no field " + n.Name
		w.missed = append(w.missed, read{n.Offset, text, source.Suggest(n.Name, requestFields)})
		return operand{}
	case on.of == nil || on.isItems || on.of.IsList || on.of.Preserve || on.of.Scalar != schema.NotScalar:
		return operand{}
	}
	if f := on.of.Declared(n.Name); f != nil {
		return operand{of: f.Type, path: on.path.Key(n.Name)}
	}
	if on.of.Elem == nil && len(on.of.Fields) > 0 {
		text := fmt.Sprintf("%s has no field %s", w.kind.Title(), on.path.Key(n.Name))
		w.missed = append(w.missed, read{n.Offset, text, w.kind.SuggestField(on.of, n.Name, on.path)})
	}
	return operand{of: on.of.Elem, path: on.path.Key(n.Name)}
}
